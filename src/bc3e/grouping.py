"""Equal keys put together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LOOKED_AT = 65_536  # keys that tell how many different ones there are
FEW = 0.3  # different keys, as a share of all, up to which a hash table is faster than sorting


def distinct(keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first place of each different key, in the order of keys, and the number of each key there.

    Examples
    --------
    >>> import numpy as np
    >>> places, numbers = distinct(np.array([7, 3, 7, 5]))
    >>> places.tolist(), numbers.tolist()
    ([1, 3, 0], [2, 0, 2, 1])
    """
    if len(keys) > LOOKED_AT and _estimate(keys[:: len(keys) // LOOKED_AT]) <= FEW * len(keys):
        return _hashed(keys)
    _, places, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return places, numbers


def _estimate(sample: NDArray[np.int64]) -> float:
    """How many different keys there are, were all as frequent: n keys of P have n^2 / 2P pairs alike."""
    repeated = len(sample) - len(np.unique(sample))
    return len(sample) ** 2 / (2.0 * max(repeated, 1))


def _hashed(keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """:func:`distinct` by a hash table: only the different keys are sorted."""
    import pyarrow as pa

    coded = pa.array(keys).dictionary_encode()
    order = np.argsort(coded.dictionary.to_numpy())
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    numbers: NDArray[np.intp] = rank[coded.indices.to_numpy()]
    places = np.empty(len(order), dtype=np.intp)
    places[numbers[::-1]] = np.arange(len(keys) - 1, -1, -1)  # of equal keys the first is written last
    return places, numbers
