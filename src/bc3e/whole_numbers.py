"""Whole numbers as codes: the place of each among those that occur."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = -1
ROWS = 65_536  # numbers that are looked at at a time: they stay in the cache
CLOSE = 65_536  # numbers that lie no further apart are looked up in a table


def factorize_integers(
    values: NDArray[Any], keep_minus_one: bool
) -> tuple[tuple[int, ...], NDArray[np.signedinteger[Any]], bool]:
    """The different numbers in sorted order, the place of each number there, and whether -1 was dropped.

    Unless it is to be kept, -1 stands for a missing number and gets the code -1.

    Examples
    --------
    >>> labels, codes, dropped = factorize_integers(np.array([7, -1, 3, 7]), False)
    >>> labels, codes.tolist(), dropped
    ((3, 7), [1, -1, 0, 1], True)
    """
    if values.size == 0:
        return (), np.empty(0, dtype=np.int8), False
    if values.itemsize == 1:
        values = np.ascontiguousarray(values)  # no larger than the codes, and faster to go through
    low, high = _ends(values)
    if high >= 2**63 or high - low >= max(CLOSE, 4 * values.size):
        return _sorted(values, keep_minus_one)
    seen = _seen(values, low, high)
    dropped = not keep_minus_one and low <= MISSING <= high and bool(seen[MISSING - low])
    if dropped:
        seen[MISSING - low] = False
    labels = tuple((np.flatnonzero(seen) + low).tolist())
    codes = np.empty(len(values), dtype=code_type(len(labels)))
    if labels and len(labels) == high - labels[0] + 1 and labels[0] in (low, low + dropped):
        # No gaps: codes are differences. Those of numbers cut to the type of the codes are the same.
        first = np.array(labels[0]).astype(codes.dtype)
        np.subtract(values, first, out=codes, dtype=codes.dtype, casting="unsafe")
        return labels, codes, dropped
    table = _places(seen, codes.dtype)
    for rows in _blocks(values):
        codes[rows] = table.take(_above(values[rows], low))
    return labels, codes, dropped


def code_type(count: int) -> np.dtype[Any]:
    """The smallest type for codes of so many labels, -1 among them."""
    return np.min_scalar_type(-max(count, 1) - 1)


def _sorted(
    values: NDArray[Any], keep_minus_one: bool
) -> tuple[tuple[int, ...], NDArray[np.signedinteger[Any]], bool]:
    """:func:`factorize_integers` of numbers that lie too far apart for a table."""
    distinct, places = np.unique(values, return_inverse=True)
    kept = np.ones(len(distinct), dtype=np.bool_) if keep_minus_one else distinct != MISSING
    labels = tuple(distinct[kept].tolist())
    return labels, _places(kept, code_type(len(labels)))[places], not kept.all()


def _places(kept: NDArray[np.bool_], kind: np.dtype[Any]) -> NDArray[np.signedinteger[Any]]:
    """The place of each entry among those that are kept, -1 of the others."""
    places = np.cumsum(kept, dtype=kind)
    places -= 1
    places[~kept] = MISSING
    return places


def _blocks(values: NDArray[Any]) -> Iterator[slice]:
    return (slice(first, first + ROWS) for first in range(0, len(values), ROWS))


def _ends(values: NDArray[Any]) -> tuple[int, int]:
    """The smallest and the largest number."""
    low, high = values[0], values[0]
    for rows in _blocks(values):
        block = np.ascontiguousarray(values[rows])  # a column of a table is not
        low, high = min(low, block.min()), max(high, block.max())
    return int(low), int(high)


def _seen(values: NDArray[Any], low: int, high: int) -> NDArray[np.bool_]:
    """Which of the whole numbers from `low` to `high` occur."""
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    for rows in _blocks(values):
        seen[_above(values[rows], low)] = True
        if seen.all():  # as a rule after the first rows
            break
    return seen


def _above(values: NDArray[Any], low: int) -> NDArray[np.int64]:
    above: NDArray[np.int64] = np.subtract(values, low, dtype=np.int64, casting="unsafe")
    return above
