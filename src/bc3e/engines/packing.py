"""Label columns as digits of a few whole numbers: what is grouped and joined by is small.

A digit is 0 where the label is missing. Digits are packed into words of 63 bits, in the order of
the columns, so that equal words mean equal labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.coding import Coded

ROOM = 2**63  # a word is a positive BIGINT


@dataclass(frozen=True)
class Digit:
    """One label column as a digit.

    Attributes
    ----------
    name : str
    expression : str
        SQL: 0 if the label is missing, 1 and up otherwise.
    first : int
        The whole number that digit 1 stands for, if `values` is None.
    base : int
        Digits are below it.
    values : tuple or None
        What the digits from 1 stand for, None for a missing label; or None: whole numbers in a row.
    is_bool : bool
        The whole numbers 0 and 1 are False and True.
    """

    name: str
    expression: str
    first: int
    base: int
    values: tuple[Any, ...] | None = None
    is_bool: bool = False

    @property
    def has_labels(self) -> bool:
        """Whether any object has a label here."""
        return self.base > 1 and (self.values is None or any(v is not None for v in self.values))

    def coded(self, digits: NDArray[np.int64]) -> Coded:
        """Codes and values of the labels that occur."""
        if self.values is not None:
            every = Coded(self.name, (digits - 1).astype(np.int32), list(self.values))
            return every.without([value is None for value in self.values])
        seen = np.flatnonzero(np.bincount(digits, minlength=self.base)[1:])
        table = np.full(self.base, -1, dtype=np.int32)
        table[1 + seen] = np.arange(len(seen), dtype=np.int32)
        values = [int(v) + self.first for v in seen]
        return Coded(self.name, table[digits], [bool(v) for v in values] if self.is_bool else values)


@dataclass(frozen=True)
class Word:
    """Some digits in one number."""

    digits: tuple[Digit, ...]

    @property
    def expression(self) -> str:
        """SQL for the word, a BIGINT."""
        text = f"({self.digits[0].expression})"
        for digit in self.digits[1:]:
            text = f"({text} * {digit.base} + ({digit.expression}))"
        return text

    def unpacked(self, words: NDArray[np.int64]) -> Iterator[Coded]:
        """The columns, in order."""
        size = 1
        strides = []
        for digit in reversed(self.digits):
            strides.append(size)
            size *= digit.base
        for digit, stride in zip(self.digits, reversed(strides), strict=True):
            yield digit.coded(words // stride % digit.base)


def packed(digits: Sequence[Digit]) -> list[Word]:
    """As few words as the digits fit into, in their order.

    Examples
    --------
    >>> two = packed([Digit(name, name, 0, 2**40) for name in "ab"])
    >>> [word.expression for word in two]
    ['(a)', '(b)']
    """
    words: list[list[Digit]] = []
    size = ROOM
    for digit in digits:
        if size * digit.base >= ROOM:
            words.append([])
            size = 1
        words[-1].append(digit)
        size *= digit.base
    return [Word(tuple(word)) for word in words]
