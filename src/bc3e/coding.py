"""Labels as codes and a short list of values, as files have them and as the library reads them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?")
ANY_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Coded:
    """One column of labels.

    Attributes
    ----------
    name : str
    codes : (N,) array of int
        Positions in `values`, -1 where missing.
    values : list of str, int, bool or bytes
    """

    name: str
    codes: NDArray[np.int32]
    values: list[Any]

    def without(self, gone: Sequence[bool]) -> Coded:
        """The column with some of its values missing."""
        if not any(gone):
            return self
        kept = [value for value, is_gone in zip(self.values, gone, strict=True) if not is_gone]
        table = np.append(np.where(gone, -1, np.cumsum(~np.array(gone)) - 1), -1).astype(np.int32)
        return replace(self, codes=table[self.codes], values=kept)


def in_common(columns: Sequence[Coded], names: Collection[str] = ()) -> tuple[list[Coded], list[Any]]:
    """One kind of label for all columns: whole numbers if all are, else text.

    Returns the columns, and the `names` (of the classes of probability columns) in
    the same kind.

    Examples
    --------
    >>> one = Coded("a", np.array([0, 1], dtype=np.int32), ["1", "2.0"])
    >>> in_common([one], ["1", "2"])[0][0].values
    [1, 2]
    """
    values = [value for column in columns for value in column.values]
    if all(isinstance(value, bool) for value in values) and not names:
        return list(columns), []
    whole = all(not isinstance(v, bool) and _whole(v) is not None for v in (*values, *names))
    if whole:
        changed = [replace(c, values=[_whole(v) for v in c.values]) for c in columns]
        return changed, [_whole(name) for name in names]
    return [replace(c, values=[_text(v) for v in c.values]) for c in columns], list(names)


def _whole(value: Any) -> int | None:
    """A value as a whole number, None if it is not one."""
    if isinstance(value, str):
        return (
            int(float(value))
            if "." in value and WHOLE.fullmatch(value)
            else (int(value) if WHOLE.fullmatch(value) else None)
        )
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    return int(value) if isinstance(value, int) else None


def _text(value: Any) -> str:
    whole = _whole(value) if isinstance(value, float) else None
    return str(value if whole is None else whole)


def first_fraction(values: Sequence[Any]) -> int | None:
    """Position of the first number that is not whole; None if there is none, or text before it.

    Examples
    --------
    >>> first_fraction(["1", "0.5"]), first_fraction(["a", "0.5"])
    (1, None)
    """
    for i, value in enumerate(values):
        if isinstance(value, str) and not ANY_NUMBER.fullmatch(value):
            return None
        if not float(value).is_integer():
            return i
    return None


def as_labels(column: Coded, keep_minus_one: bool = False) -> Any:
    """The column as the library reads it fastest.

    Whole numbers become an integer array with -1 for missing (which is how -1 in
    the file is read, too, unless it is a class); text a dictionary array.
    """
    import pyarrow as pa

    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in column.values)
    if whole and column.values:
        if not keep_minus_one:
            return np.array([*column.values, -1], dtype=_narrowest(column.values))[column.codes]
        return np.array([*column.values, np.nan])[column.codes]
    if column.values and isinstance(column.values[0], bytes):
        return np.array([*column.values, None], dtype=object)[column.codes]
    kind = pa.bool_() if column.values and isinstance(column.values[0], bool) else pa.string()
    gaps = column.codes < 0
    codes = pa.array(column.codes, mask=gaps if gaps.any() else None)
    labels = pa.DictionaryArray.from_arrays(codes, pa.array(column.values, type=kind))
    return labels.cast(kind) if kind == pa.bool_() else labels


def _narrowest(values: Sequence[int]) -> np.dtype[Any]:
    """The smallest signed type that holds the values and -1."""
    return np.result_type(np.min_scalar_type(-1 - max(0, *values)), np.min_scalar_type(min(-1, *values)))
