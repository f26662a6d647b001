"""Equal keys put together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from bc3e.columns import LabelColumn

ROWS = 65_536  # rows whose labels become keys at a time: they stay in the cache
LOOKED_AT = 65_536  # keys that tell how many different ones there are
FEW = 0.25  # different keys, as a share of all, up to which a hash table is faster than sorting


def pack(keys: NDArray[np.int64], columns: Sequence[LabelColumn]) -> None:
    """Append the labels of each row to its key, in place.

    Keys are numbers whose digits are the labels, -1 for a missing one: different
    labels make different keys, in the order of the labels.
    """
    words = [(run, prod(len(column.values) + 1 for column in run)) for run in _runs(columns)]
    for first in range(0, len(keys), ROWS):
        block = keys[first : first + ROWS]
        word = np.empty(len(block), dtype=np.int32)
        for run, size in words:
            word[:] = run[0].codes[first : first + ROWS]
            for column in run[1:]:
                word *= len(column.values) + 1
                word += column.codes[first : first + ROWS]
            block *= size
            block += word


def _runs(columns: Sequence[LabelColumn]) -> list[list[LabelColumn]]:
    """The columns cut into runs whose labels together fit half a key: those are packed faster."""
    runs: list[list[LabelColumn]] = []
    size = 2**31
    for column in columns:
        base = len(column.values) + 1
        if size * base >= 2**31:
            runs.append([])
            size = 1
        runs[-1].append(column)
        size *= base
    return runs


def distinct(keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A place of each different key, in the order of keys, and the number of each key there.

    Examples
    --------
    >>> import numpy as np
    >>> places, numbers = distinct(np.array([7, 3, 7, 5]))
    >>> places.tolist(), numbers.tolist()
    ([1, 3, 0], [2, 0, 2, 1])
    """
    low = int(keys.min(initial=0))
    span = int(keys.max(initial=0)) - low + 1
    if span <= len(keys):
        return _tabled(keys - low, span)
    if LOOKED_AT < len(keys) < 2**31:
        expected = _estimate(keys[:: len(keys) // LOOKED_AT])
        if expected <= FEW * len(keys):
            return _hashed(keys, int(expected))
    return _sorted(keys)


def _tabled(keys: NDArray[np.int64], span: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """:func:`distinct` of keys from 0 to below `span`, by a table of all that there could be."""
    place = np.full(span, -1, dtype=np.intp)
    place[keys] = np.arange(len(keys))
    seen = place >= 0
    return place[seen], (np.cumsum(seen) - 1).take(keys)


def _estimate(sample: NDArray[np.int64]) -> float:
    """How many different keys there are, were all as frequent: n keys of P have n^2 / 2P pairs alike."""
    ordered = np.sort(sample)
    repeated = int(np.count_nonzero(ordered[1:] == ordered[:-1]))
    return len(sample) ** 2 / (2.0 * max(repeated, 1))


def _hashed(keys: NDArray[np.int64], expected: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """:func:`distinct` by a hash table, at first for `expected` keys: only different ones are sorted."""
    from bc3e.grouping_kernels import number_keys  # compiled code is loaded on first use

    numbers = np.empty(len(keys), dtype=np.int32)
    bits, found = max(2 * expected, 16).bit_length(), -1
    while found < 0:  # seldom twice: frequent keys can hide how many others there are
        most = min(3 << (bits - 2), len(keys))
        places = np.empty(most, dtype=np.int64)
        found = number_keys(keys, bits, most, numbers, places)
        bits += 2
    places = places[:found]
    order = _order(keys[places])
    rank = np.empty_like(order)
    rank[order] = np.arange(found)
    return places[order], rank.take(numbers)


def _sorted(keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """:func:`distinct` by sorting all keys."""
    order = _order(keys)
    ordered = keys[order]
    fresh = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
    numbers = np.empty_like(order)
    numbers[order] = np.cumsum(fresh) - 1
    return order[fresh], numbers


def _order(keys: NDArray[np.int64]) -> NDArray[np.intp]:
    """Places of the keys in their order, equal ones as they come.

    Keys are cut into pieces of 16 bits, which NumPy sorts by counting instead of comparing.
    """
    above = (keys - keys.min(initial=0)).view(np.uint64)
    bits = max(int(above.max(initial=0)).bit_length(), 1)
    return np.lexsort([(above >> np.uint64(at)).astype(np.uint16) for at in range(0, bits, 16)])
