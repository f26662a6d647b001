"""Compiled passes over the numbers of a message: its checksum, and fixed point for masked sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray

Words = NDArray[np.uint64]
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that a product keeps all of a word
HALF = np.uint64(32)


@kernel
def mixed(words: Words, start: int) -> int:
    """64 bits that depend on every word and on its place; not meant against forgery.

    Four chains side by side: one would wait for each of its products.
    """
    a, b = np.uint64(start), np.uint64(start) ^ FACTOR
    c, d = ~a, ~b
    whole = words.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        a = (a ^ words[i]) * FACTOR
        b = (b ^ words[i + 1]) * FACTOR
        c = (c ^ words[i + 2]) * FACTOR
        d = (d ^ words[i + 3]) * FACTOR
        # A product moves bits upwards only; this brings the upper half back.
        a, b, c, d = a ^ (a >> HALF), b ^ (b >> HALF), c ^ (c >> HALF), d ^ (d >> HALF)
    for i in range(whole, words.shape[0]):
        a = (a ^ words[i]) * FACTOR
        a ^= a >> HALF
    for other in (b, c, d):
        a = (a ^ other) * FACTOR
        a ^= a >> HALF
    return a  # type: ignore[return-value]  # compiled code hands out an int


@kernel
def to_fixed_point(values: FloatArray, scale: float, limit: float, words: Words) -> bool:
    """Fill `words` with values * scale, rounded; whether all are finite and below the limit."""
    fits = True
    for i in range(values.shape[0]):
        scaled = np.rint(values[i] * scale)
        if abs(scaled) < limit:  # a NaN is not
            words[i] = np.uint64(np.int64(scaled))
        else:
            fits = False
    return fits
