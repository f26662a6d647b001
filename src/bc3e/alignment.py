"""Which class or cluster a column's labels mean: class lists, names and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.columns import Column, Frame, LabelColumn, ScoreColumn
from bc3e.errors import InputError, InputTypeError
from bc3e.whole_numbers import code_type


def given_classes(classes: Sequence[Any] | None) -> NDArray[Any] | None:
    """The class list that a user passed, checked; None stays None."""
    if classes is None:
        return None
    scalars = (str, bytes, int, float, bool, np.generic, type(None))
    values = [] if isinstance(classes, str | bytes) else list(classes)
    if isinstance(classes, str | bytes) or not all(
        isinstance(value, scalars) or type(value).__name__ == "NAType" for value in values
    ):
        raise InputTypeError("classes", "not a list of labels", "Pass each class once, in order.")
    if len(values) < 1:
        raise InputError("classes", "no class", "Pass at least one class.")
    if any(value is None or type(value).__name__ == "NAType" or value != value for value in values):
        raise InputError("classes", "a missing label", "Pass each class once, without None or NaN.")
    if len(set(values)) < len(values):
        raise InputError("classes", "a class is listed twice", "Pass each class once.")
    array = np.asarray(classes)
    return (
        array
        if array.dtype.kind in "iufb"
        else np.array(values, dtype=object if array.dtype == object else None)
    )


def distinct_names(argument: str, columns: list[Column]) -> None:
    """Refuse two columns of one name."""
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                argument, f"two columns are called {name!r}", "Give every column its own name."
            )


def class_list(columns: list[Column], given: NDArray[Any] | None, n_classes: int | None) -> NDArray[Any]:
    """The class list: given, or found in the labels, the column names or the widths."""
    hard = [column for column in columns if isinstance(column, LabelColumn)]
    soft = [column for column in columns if isinstance(column, ScoreColumn)]
    if given is not None:
        if n_classes not in (None, len(given)):
            raise InputError(
                "n_classes",
                f"n_classes={n_classes}, but classes= lists {len(given)}",
                "Pass one of them.",
            )
        return given
    if not columns:
        if n_classes is None:
            raise InputError(
                "votes", "no classifier, so the classes are unknown",
                "Pass votes, or n_classes= for a plain cluster ensemble.",
            )  # fmt: skip
        return np.arange(n_classes)
    if n_classes is not None and not soft and not any(column.values for column in hard):
        return np.arange(n_classes)
    found = _found_classes(hard, soft)
    if n_classes is not None and len(found) != n_classes:
        raise InputError(
            "n_classes", f"n_classes={n_classes}, but the votes name {len(found)} classes",
            "Pass classes= with the full list.",
        )  # fmt: skip
    return found


def _found_classes(hard: list[LabelColumn], soft: list[ScoreColumn]) -> NDArray[Any]:
    seen: dict[Any, str] = {}
    families: dict[str, str] = {}
    for column in hard:
        if column.values:
            families.setdefault(column.family, column.name)
        for value in column.values:
            seen.setdefault(value, column.name)
    if len(families) > 1:
        (one, a), (two, b) = list(families.items())[:2]
        raise InputTypeError(
            "votes",
            f"column {a!r} has labels that are {one}, column {b!r} {two}",
            "Use one kind of class label in all columns.",
            place=f"column {b!r}",
        )
    widths = {column.scores.shape[1]: column.name for column in soft}
    if len(widths) > 1:
        raise InputError(
            "votes",
            f"probability arrays of different widths: {sorted(widths)}",
            "Give every classifier one probability per class.",
            place=f"column {widths[max(widths)]!r}",
        )
    labels = sorted(seen)
    named = [column for column in soft if column.labels is not None]
    if named:
        names = list(named[0].labels or ())
        if len(named) < len(soft) and names != sorted(names, key=str):
            raise InputError(
                "votes",
                f"one table names its columns {names}, another has no names",
                "Pass classes= to say which column of the unnamed one is which class.",
            )
        return np.array(names)
    if soft:
        return _classes_of_width(labels, next(iter(widths)))
    if len(labels) < 2 and any(column.dropped for column in hard):
        raise InputError(
            "votes",
            f"{'one class' if labels else 'no class'} is left, because -1 means missing",
            "Pass classes= with every class, -1 included, if -1 is a class.",
        )
    if not labels:
        raise InputError("votes", "every vote is missing", "Pass classes= or n_classes=.")
    return np.array(labels)


def _classes_of_width(labels: list[Any], width: int) -> NDArray[Any]:
    """Class list for unnamed probability columns beside hard labels."""
    if len(labels) == width:
        return np.array(labels)
    counted = all(type(v) is int and 0 <= v < width for v in labels)
    if not labels or (counted and 0 in labels):
        return np.arange(width)
    raise InputError(
        "votes",
        f"{width} probability columns, but {len(labels)} distinct labels in the other columns",
        "Pass classes= to say which column is which class.",
    )


def _unknown_class(column: Column, value: Any, classes: NDArray[Any]) -> InputError:
    known = ", ".join(repr(v) for v in classes.tolist()[:8])
    more = ", ..." if len(classes) > 8 else ""
    return InputError(
        "votes",
        f"unknown class {value!r}; the classes are {known}{more}",
        "Add it to classes=, or mark the vote as missing (None).",
        place=f"column {column.name!r}",
    )


def align_votes(column: Column, classes: NDArray[Any]) -> Column:
    """Recode a vote column by position in the class list."""
    position = {value: i for i, value in enumerate(classes.tolist())}
    if isinstance(column, LabelColumn):
        for value in column.values:
            if value not in position:
                raise _unknown_class(column, value, classes)
        places = [position[value] for value in column.values]
        return _recoded(column, tuple(classes.tolist()), places)
    if column.scores.shape[1] != len(classes):
        raise InputError(
            "votes",
            f"{column.scores.shape[1]} probabilities per object for {len(classes)} classes",
            "Pass one probability per class.",
            place=f"column {column.name!r}",
        )
    if column.labels is None:
        return column
    names = [str(value) for value in classes.tolist()]
    mine = [str(label) for label in column.labels]
    if sorted(names) != sorted(mine):
        raise InputError(
            "votes",
            f"its columns {mine[:8]} are not the classes {names[:8]}",
            "Name the columns of a probability table after the classes.",
            place=f"column {column.name!r}",
        )
    order = [mine.index(name) for name in names]
    return replace(column, scores=column.scores[:, order], labels=tuple(classes.tolist()))


def is_nameless(given: Any, frame: Frame | None) -> bool:
    """Whether columns were handed over without names of their own."""
    return frame is None and not isinstance(given, Mapping)


def match_names(
    argument: str, columns: list[Column], names: tuple[str, ...], *, by_position: bool
) -> list[Column]:
    """Columns of new data in the order of the fit: by name for data frames, else by position."""
    if len(columns) != len(names):
        raise InputError(
            argument,
            f"{len(columns)} columns, but the model was fitted with {len(names)}",
            f"Pass the columns {list(names)}; fill a column that is gone with None.",
        )
    distinct_names(argument, columns)
    by_name = {column.name: column for column in columns}
    if set(by_name) == set(names):
        return [by_name[name] for name in names]
    if by_position:
        return columns
    unknown = sorted(set(by_name) - set(names))
    raise InputError(
        argument,
        f"columns {unknown} were not part of the fit",
        f"Name the columns as in the fit: {list(names)}.",
    )


def cluster_values(column: Column) -> tuple[Any, ...]:
    """The cluster labels of a clustering, in the order of its profiles."""
    if isinstance(column, LabelColumn):
        return column.values
    return column.labels or tuple(range(column.scores.shape[1]))


def _reordered(column: ScoreColumn, values: tuple[Any, ...]) -> ScoreColumn:
    """Memberships of new objects in the order of the fit, if both have names."""
    if column.labels is None or column.labels == values:
        return column
    names, known = [str(label) for label in column.labels], [str(value) for value in values]
    if sorted(names) != sorted(known):
        raise InputError(
            "clusters",
            f"its columns {names[:8]} are not the clusters of the fit",
            "Name the columns of a membership table as in the fit.",
            place=f"column {column.name!r}",
        )
    order = [names.index(name) for name in known]
    return replace(column, scores=column.scores[:, order], labels=values)


def align_clusters(column: Column, values: tuple[Any, ...]) -> Column:
    """Recode a clustering of new objects by the cluster list of the fit."""
    if isinstance(column, ScoreColumn):
        if column.scores.shape[1] != len(values):
            raise InputError(
                "clusters",
                f"{column.scores.shape[1]} memberships per object, the fit had {len(values)}",
                "Pass one membership per cluster of the fit.",
                place=f"column {column.name!r}",
            )
        return _reordered(column, values)
    position = {value: i for i, value in enumerate(values)}
    for value in column.values:
        if value not in position:
            raise InputError(
                "clusters",
                f"cluster {value!r} was not part of the fit",
                "Assign new objects to the clusters of the fit, or mark the label as missing.",
                place=f"column {column.name!r}",
            )
    return _recoded(column, values, [position[value] for value in column.values])


def _recoded(column: LabelColumn, values: tuple[Any, ...], places: list[int]) -> LabelColumn:
    """The column coded by a longer list, in which its labels have the given places."""
    kind = code_type(len(values))
    if places == list(range(len(places))):  # as a rule the codes stay as they are
        return replace(column, values=values, codes=column.codes.astype(kind, copy=False))
    table = np.array([*places, -1], dtype=kind)
    return replace(column, values=values, codes=table[column.codes])
