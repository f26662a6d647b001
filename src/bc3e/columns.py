"""The forms in which users hand over labels, read into plain columns.

A column is either labels (one per object, some missing) or scores (one row of
probabilities per object). Nothing here knows what a class or a cluster is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from bc3e.errors import InputError, InputTypeError
from bc3e.whole_numbers import MISSING, code_type, factorize_integers

ROWS = 65_536  # rows of scores that are checked at a time


@dataclass(frozen=True)
class LabelColumn:
    """Labels of one classifier or clustering: a code per object, -1 where missing.

    ``values`` are the distinct labels in sorted order, ``family`` their kind
    (number, text, bool, bytes), ``dropped`` tells that the whole number -1 occurred and
    was read as missing.
    """

    name: str
    values: tuple[Any, ...]
    codes: NDArray[np.signedinteger[Any]]
    family: str
    dropped: bool = False

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class ScoreColumn:
    """Probabilities of one classifier, or memberships of one clustering.

    A missing row is all zero. ``labels`` are the column names, if there were any.
    """

    name: str
    scores: NDArray[np.floating[Any]]
    labels: tuple[Any, ...] | None

    def __len__(self) -> int:
        return len(self.scores)


Column = LabelColumn | ScoreColumn


@dataclass(frozen=True)
class Frame:
    """The data frame library that the input came in, to answer in kind."""

    backend: Any  # the name of the library: a module could not be pickled
    index: Any = None

    def labels(self, values: NDArray[Any]) -> Any:
        if self.index is not None:
            return import_module("pandas").Series(values, index=self.index, name="label")
        return nw.new_series("label", values.tolist(), backend=self.backend).to_native()

    def table(self, values: NDArray[np.float64], names: Sequence[Any]) -> Any:
        if self.index is not None:
            return import_module("pandas").DataFrame(values, index=self.index, columns=list(names))
        columns = {str(name): values[:, i] for i, name in enumerate(names)}
        return nw.from_dict(columns, backend=self.backend).to_native()


def read_columns(
    argument: str, value: Any, *, noun: str, keep_minus_one: bool = False
) -> tuple[list[Column], Frame | None]:
    """Read what a user passed as `votes` or `clusters`.

    Parameters
    ----------
    argument : str
        Name of the argument, for messages.
    value : object
        2-D labels, a data frame of labels, a sequence or mapping of columns, or None.
    noun : str
        What a column is called when it has no name.
    keep_minus_one : bool
        -1 is a label of its own here, not a missing entry.
    """
    if value is None or (isinstance(value, list | tuple | Mapping) and not value):
        return [], None
    if hasattr(value, "tocsr"):
        raise InputTypeError(argument, "a sparse matrix", "Pass a dense array of labels.")
    frame = _as_frame(argument, value)
    if frame is not None:
        columns: list[Column] = [
            _label_column(argument, str(series.name), series, keep_minus_one)
            for series in frame.iter_columns()
        ]
        return columns, _frame_of(frame)
    if isinstance(value, Mapping):
        items = [(str(name), item) for name, item in value.items()]
        return _read_items(argument, items, keep_minus_one)
    if _is_column_list(value):
        named = [(_name_of(item) or f"{noun}_{i}", item) for i, item in enumerate(value)]
        return _read_items(argument, named, keep_minus_one)
    if _is_series(value):
        return _read_items(argument, [(_name_of(value) or f"{noun}_0", value)], keep_minus_one)
    return _read_array(argument, value, noun, keep_minus_one), None


def _is_column_list(value: Any) -> bool:
    """A list of arrays or series is one item per column; a list of lists is rows."""
    if not isinstance(value, list | tuple):
        return False
    return any(
        not isinstance(item, _ROW) and (len(getattr(item, "shape", ())) > 0 or _is_series(item))
        for item in value
    )


_ROW = (list, tuple, str, bytes, int, float, bool, type(None), np.generic)


def _name_of(item: Any) -> str | None:
    name = getattr(item, "name", None)
    return str(name) if isinstance(name, str | int) else None


def _is_series(item: Any) -> bool:
    if type(item).__module__.split(".")[0] == "pyarrow" and hasattr(item, "to_numpy"):
        return not hasattr(item, "column_names")
    return isinstance(nw.from_native(item, allow_series=True, pass_through=True), nw.Series)


def _as_frame(argument: str, value: Any) -> Any:
    if hasattr(value, "collect") and hasattr(value, "lazy"):
        raise InputTypeError(argument, "a lazy frame", "Call .collect() first.")
    names = getattr(value, "columns", None)
    if hasattr(value, "iloc") and names is not None and not names.is_unique:
        twice = names[names.duplicated()][0]
        raise InputError(
            argument, f"two columns are called {str(twice)!r}", "Give every column its own name."
        )
    found = nw.from_native(value, eager_only=True, pass_through=True)
    return found if isinstance(found, nw.DataFrame) else None


def _frame_of(found: Any) -> Frame:
    native = found.to_native()
    index = native.index if hasattr(native, "iloc") else None
    return Frame(nw.get_native_namespace(found).__name__, index)


def _one_index(argument: str, name: str, frame: Frame | None, item: Any) -> None:
    """Refuse a pandas column whose rows are labelled otherwise than those before it."""
    index = getattr(item, "index", None) if hasattr(item, "iloc") else None
    if frame is None or frame.index is None or index is None or index.equals(frame.index):
        return
    raise InputError(
        argument,
        "its index differs from that of the columns before it",
        "Bring all columns into one order of rows first, with .loc or .reindex.",
        place=f"column {name!r}",
    )


def _read_items(
    argument: str, items: list[tuple[str, Any]], keep_minus_one: bool
) -> tuple[list[Column], Frame | None]:
    columns: list[Column] = []
    frame: Frame | None = None
    for name, item in items:
        table = _as_frame(argument, item)
        _one_index(argument, name, frame, item)
        if table is not None:
            frame = frame or _frame_of(table)
            scores = _numbers(argument, name, table.to_numpy())
            columns.append(_score_column(argument, name, scores, tuple(table.columns)))
            continue
        if _is_series(item):
            if type(item).__name__ != "ChunkedArray" and hasattr(item, "__arrow_c_array__"):
                item = import_module("pyarrow").chunked_array([item])
            if frame is None and hasattr(item, "iloc"):
                frame = Frame("pandas", item.index)
            series = nw.from_native(item, series_only=True)
            columns.append(_label_column(argument, name, series, keep_minus_one))
            continue
        if hasattr(item, "tocsr"):
            raise InputTypeError(
                argument, "a sparse matrix", "Pass a dense array.", place=f"column {name!r}"
            )
        array = _plain_array(argument, item, place=f"column {name!r}")
        if array.ndim == 1:
            columns.append(_label_column(argument, name, array, keep_minus_one))
        elif array.ndim == 2:
            columns.append(_score_column(argument, name, _numbers(argument, name, array), None))
        else:
            raise InputError(
                argument,
                f"an array of {array.ndim} dimensions",
                "Each item must be labels (N,) or probabilities (N, classes).",
                place=f"column {name!r}",
            )
    return columns, frame


def _read_array(argument: str, value: Any, noun: str, keep_minus_one: bool) -> list[Column]:
    if isinstance(value, str | bytes) or (not isinstance(value, list | tuple) and np.ndim(value) == 0):
        raise InputTypeError(
            argument, f"a {type(value).__name__}", "Pass an array of labels, one row per object."
        )
    array = _plain_array(argument, value)
    if array.ndim == 1 and array.size:
        array = array[:, None]
    if array.size == 0 and array.ndim == 1:
        raise InputError(argument, "empty input", "Pass at least one object, or None.")
    if array.ndim != 2:
        raise InputError(
            argument,
            f"an array of {array.ndim} dimensions",
            "Labels are (objects, columns); pass probabilities as a list of (N, k) arrays.",
        )
    return [
        _label_column(argument, f"{noun}_{i}", array[:, i], keep_minus_one)
        for i in range(array.shape[1])
    ]


def plain_value(value: Any) -> Any:
    """A value of numpy's as Python's own, as JSON wants it; others as they are."""
    return value.item() if isinstance(value, np.generic) else value


def _plain_array(argument: str, value: Any, place: str = "") -> NDArray[Any]:
    if np.ma.isMaskedArray(value):
        filled = np.array(value.data, dtype=object)
        filled[np.ma.getmaskarray(value)] = None
        return filled
    try:
        array = np.asarray(value)
        if array.dtype.kind in "US" and not isinstance(value, np.ndarray):
            array = np.asarray(value, dtype=object)  # keeps None and numbers beside strings
    except ValueError:
        raise InputError(
            argument, "rows of different lengths", "Pass a rectangular table.", place=place
        ) from None
    return array


def _numbers(argument: str, name: str, array: NDArray[Any]) -> NDArray[np.floating[Any]]:
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InputTypeError(
                argument,
                "probabilities that are not numbers",
                "Pass labels as a 1-D column, or numeric probabilities (N, k).",
                place=f"column {name!r}",
            ) from None
    if array.dtype == np.float32:
        return array
    return array.astype(np.float64, copy=False)


def _label_column(argument: str, name: str, raw: Any, keep_minus_one: bool) -> LabelColumn:
    """Codes of a 1-D array or narwhals series of labels of any type."""
    if isinstance(raw, nw.Series):
        null = raw.is_null().to_numpy()
        values = np.asarray(raw.drop_nulls().to_numpy() if null.any() else raw.to_numpy())
        rows = np.flatnonzero(~null) if null.any() else None
    else:
        values, rows, null = raw, None, None
    place = _Place(argument, name, rows)
    if values.ndim != 1:
        raise InputTypeError(
            argument, "a column of nested values", "Labels are whole numbers, text or booleans.",
            place=f"column {name!r}",
        )  # fmt: skip
    kind = values.dtype.kind
    if kind in "iu":
        distinct, codes, dropped = factorize_integers(values, keep_minus_one)
        family = "number"
    elif kind == "f":
        whole, gaps = _whole_numbers(place, values)
        distinct, codes, dropped = factorize_integers(whole, keep_minus_one)
        codes[gaps] = MISSING
        distinct, codes = _compact(distinct, codes)
        family = "number"
    elif kind == "b":
        distinct, codes, dropped = factorize_integers(values.astype(np.int8), True)
        distinct, family = tuple(bool(v) for v in distinct), "bool"
    elif kind in "USOT":
        distinct, codes, family, dropped = _factorize_objects(place, values, keep_minus_one)
    else:
        raise InputTypeError(
            argument,
            f"labels of type {values.dtype}",
            "Labels are whole numbers, text or booleans.",
            place=f"column {name!r}",
        )
    codes = codes.astype(code_type(len(distinct)), copy=False)
    if rows is not None and null is not None:
        full = np.full(len(null), MISSING, dtype=codes.dtype)
        full[rows] = codes
        codes = full
    return LabelColumn(name, distinct, codes, family, dropped)


@dataclass(frozen=True)
class _Place:
    """Points at a row of the user's column even if missing rows were dropped first."""

    argument: str
    name: str
    rows: NDArray[np.int64] | None

    def at(self, position: int) -> str:
        row = position if self.rows is None else int(self.rows[position])
        return f"column {self.name!r}, row {row}"


def _whole_numbers(place: _Place, values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    gaps = np.isnan(values)
    filled = np.where(gaps, 0.0, values)
    bad = ~np.isfinite(filled) | (filled != np.floor(filled)) | (np.abs(filled) > 2.0**53)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            place.argument,
            f"{values[row]!s} is not a whole number, so not a label",
            "Pass probabilities or memberships as a list of (N, k) arrays.",
            place=place.at(row),
        )
    return filled.astype(np.int64), gaps


def _compact(distinct: tuple[Any, ...], codes: NDArray[Any]) -> tuple[tuple[Any, ...], NDArray[Any]]:
    """Forget labels that no object has (the stand-in used for gaps, perhaps)."""
    used = np.unique(codes[codes >= 0])
    if len(used) == len(distinct):
        return distinct, codes
    table = np.full(len(distinct) + 1, MISSING, dtype=np.int64)  # the last entry serves -1
    table[used] = np.arange(len(used))
    return tuple(distinct[i] for i in used), table[codes]


def _factorize_objects(
    place: _Place, values: NDArray[Any], keep_minus_one: bool
) -> tuple[tuple[Any, ...], NDArray[Any], str, bool]:
    """Codes of Python objects: text, bytes, numbers or booleans, None for missing."""
    items = values.tolist()
    known: dict[Any, Any] = {}
    families: dict[str, int] = {}
    dropped = False
    position = 0
    try:
        for position, item in enumerate(items):
            if item not in known:
                family, label = _as_label(place, position, item)
                if family == "number" and label == MISSING and not keep_minus_one:
                    label, dropped = None, True
                elif label is not None:
                    families.setdefault(family, position)
                known[item] = label
    except TypeError:
        raise _not_a_label(place, position, items[position]) from None
    if len(families) > 1:
        raise InputTypeError(
            place.argument,
            f"labels of mixed kinds: {' and '.join(sorted(families))}",
            "Use one kind of label in a column.",
            place=place.at(max(families.values())),
        )
    distinct = tuple(sorted({label for label in known.values() if label is not None}))
    code = {label: i for i, label in enumerate(distinct)} | {None: MISSING}
    table = {item: code[label] for item, label in known.items()}
    codes = np.fromiter((table[item] for item in items), dtype=np.int64, count=len(items))
    return distinct, codes, next(iter(families), "none"), dropped


def _not_a_label(place: _Place, position: int, item: Any) -> InputTypeError:
    return InputTypeError(
        place.argument,
        f"an object of type {type(item).__name__} is not a label",
        "Labels are whole numbers, text or booleans; None or NaN where missing.",
        place=place.at(position),
    )


def _as_label(place: _Place, position: int, item: Any) -> tuple[str, Any]:
    """Family and plain Python value of one label; None for a missing one."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return "none", None
    if isinstance(item, bool | np.bool_):
        return "bool", bool(item)
    if isinstance(item, int | np.integer):
        return "number", int(item)
    if isinstance(item, str):
        return "text", str(item)
    if isinstance(item, bytes):
        return "bytes", item
    if isinstance(item, float | np.floating):
        if np.isnan(item):
            return "none", None
        here = np.array([position]) if place.rows is None else place.rows[[position]]
        whole, _ = _whole_numbers(_Place(place.argument, place.name, here), np.array([float(item)]))
        return "number", int(whole[0])
    raise _not_a_label(place, position, item)


def _score_column(
    argument: str, name: str, scores: NDArray[np.floating[Any]], labels: tuple[Any, ...] | None
) -> ScoreColumn:
    """Check that rows are probabilities, scale them to sum to 1, and blank missing rows.

    Where nothing is to be changed the array stays the caller's: it may be as large as all the rest.
    """
    if scores.shape[1] == 0:
        raise InputError(
            argument, "an array without columns", "Pass (N, k) with k > 0.", place=f"column {name!r}"
        )
    changed: NDArray[np.floating[Any]] | None = None
    for first in range(0, len(scores), ROWS):
        block = scores[first : first + ROWS]
        fitting = _as_shares(_Place(argument, name, np.arange(first, first + len(block))), block)
        if fitting is not None:
            changed = scores.copy() if changed is None else changed
            changed[first : first + ROWS] = fitting
    return ScoreColumn(name, scores if changed is None else changed, labels)


def _as_shares(place: _Place, scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]] | None:
    """Some rows as they should be, or None if they are."""

    def refuse(bad: Any, found: str, remedy: str) -> None:
        rows = np.asarray(bad)
        if rows.any():
            row = int(np.flatnonzero(rows)[0])
            raise InputError(
                place.argument, found.format(_short(scores[row])), remedy, place=place.at(row)
            )

    empty = np.isnan(scores)
    missing = empty.all(axis=1)
    refuse(
        empty.any(axis=1) & ~missing,
        "probabilities that are NaN in part: {}",
        "Fill the row, or make all of it NaN if it is missing.",
    )
    present = np.where(missing[:, None], np.float32(0), scores)
    refuse(~np.isfinite(present).all(axis=1), "an infinite probability: {}", "Pass numbers from 0 to 1.")
    refuse((present < -1e-9).any(axis=1), "a negative probability: {}", "Pass numbers from 0 to 1.")
    total = np.maximum(present, 0).sum(axis=1, dtype=np.float64)
    refuse(
        (np.abs(total - 1.0) > 1e-4) & ~missing,
        "probabilities {} that do not sum to 1",
        "Divide each row by its sum, or make it NaN if it is missing.",
    )
    rounding = 8 * float(np.finfo(scores.dtype).eps)
    if (np.abs(total - 1.0) <= rounding).all() and (present >= 0).all():
        return None
    shares = np.maximum(present, 0) / np.where(missing, 1.0, total)[:, None]
    return np.asarray(shares.astype(scores.dtype))


def _short(row: NDArray[Any]) -> str:
    shown = ", ".join(f"{v:.4g}" for v in row[:4])
    return f"[{shown}{', ...' if len(row) > 4 else ''}]"
