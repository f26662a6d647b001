"""Labels as the file has them -> codes and a short list of values, without visiting rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.cli.errors import Problems, fault

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
    values : list of str, int or bool
    """

    name: str
    codes: NDArray[np.int32]
    values: list[Any]


def coded(column: Any, name: str, where: str, missing: Collection[str]) -> Coded:
    """Codes and distinct values of an Arrow column; words for missing become -1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        kind = column.type
        allowed = (
            pa.types.is_integer(kind), pa.types.is_floating(kind), pa.types.is_boolean(kind),
            pa.types.is_string(kind), pa.types.is_large_string(kind), pa.types.is_null(kind),
        )  # fmt: skip
        if not any(allowed):
            raise fault(
                f"{where}, column {name!r}",
                f"labels of type {kind}",
                "Labels are whole numbers, text or booleans.",
            )
        column = pc.dictionary_encode(column)
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # no chunk at all
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], column.type)
    codes = pc.fill_null(whole.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
    values = whole.dictionary.to_pylist()
    gone = [v is None or (isinstance(v, float) and v != v) or v in missing for v in values]
    return _without(Coded(name, codes, values), gone)


def _without(column: Coded, gone: Sequence[bool]) -> Coded:
    """Some values become missing."""
    if not any(gone):
        return column
    kept = [value for value, is_gone in zip(column.values, gone, strict=True) if not is_gone]
    table = np.append(np.where(gone, -1, np.cumsum(~np.array(gone)) - 1), -1).astype(np.int32)
    return replace(column, codes=table[column.codes], values=kept)


def refuse_fractions(column: Coded, where: str, problems: Problems, *, grouped: bool) -> None:
    """Numbers that are not whole are probabilities, or a target of regression: no labels."""
    for i, value in enumerate(column.values):
        if isinstance(value, str) and not ANY_NUMBER.fullmatch(value):
            return
        if float(value).is_integer():
            continue
        row = problems.row(np.flatnonzero(column.codes == i)[0])
        remedy = (
            f"Name columns of probabilities {column.name}:CLASS and ask for '{column.name}:*'."
            if grouped
            else "Name a column of classes."
        )
        raise fault(
            f"{where}, column {column.name!r}, row {row}",
            f"{value} is not a whole number, so no label",
            remedy,
        )


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


def as_labels(column: Coded, keep_minus_one: bool = False) -> Any:
    """The column as the library reads it fastest.

    Whole numbers become an integer array with -1 for missing (which is how -1 in
    the file is read, too, unless it is a class); text a dictionary array.
    """
    import pyarrow as pa

    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in column.values)
    if whole and column.values:
        if not keep_minus_one:
            return np.array([*column.values, -1], dtype=np.int64)[column.codes]
        return np.array([*column.values, np.nan])[column.codes]
    kind = pa.bool_() if column.values and isinstance(column.values[0], bool) else pa.string()
    gaps = column.codes < 0
    codes = pa.array(column.codes, mask=gaps if gaps.any() else None)
    labels = pa.DictionaryArray.from_arrays(codes, pa.array(column.values, type=kind))
    return labels.cast(kind) if kind == pa.bool_() else labels
