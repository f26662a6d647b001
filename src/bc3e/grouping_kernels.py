"""Compiled kernel of grouping: a hash table of keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel

SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: near keys end far apart


@kernel
def number_keys(
    keys: NDArray[np.int64],
    bits: int,
    most: int,
    numbers: NDArray[np.int32],
    places: NDArray[np.int64],
) -> int:
    """Number the different keys as they come; returns how many there are, or -1 if more than ``most``.

    ``numbers`` (N,) receives the number of each key, ``places`` (most,) where each is first met. The
    table has 2^bits slots, more than ``most``: a key is looked for from the slot on that its product
    with SPREAD names, until it or an empty slot is found.
    """
    slots = np.full(1 << bits, -1, dtype=np.int32)
    held = np.empty(1 << bits, dtype=np.int64)
    last, shift = (1 << bits) - 1, np.uint64(64 - bits)
    found = 0
    for n in range(keys.shape[0]):
        key = keys[n]
        mixed = np.uint64(key)
        mixed ^= mixed >> np.uint64(32)  # or keys at some distances from each other would meet
        at = np.int64((mixed * SPREAD) >> shift)
        while slots[at] >= 0 and held[at] != key:
            at = (at + 1) & last
        number = slots[at]
        if number < 0:
            if found == most:
                return -1
            number = np.int32(found)
            slots[at] = number
            held[at] = key
            places[found] = n
            found += 1
        numbers[n] = number
    return found
