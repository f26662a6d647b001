"""LabelTable: votes and clusterings as users have them, checked and coded.

The table is the border of the library. Behind it are only arrays: classes are
0..k-1, clusters are rows of the stacked profiles, and rows with the same hard
labels are one pattern with a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.columns import Column, Frame, LabelColumn, ScoreColumn, read_columns
from bc3e.errors import InputError, InputTypeError
from bc3e.model.evidence import Evidence, FloatArray, Layout


@dataclass(frozen=True)
class LabelTable:
    """Votes and cluster labels of N objects.

    Attributes
    ----------
    classes : (k,) array
        The class labels as the user writes them.
    votes : tuple of LabelColumn or ScoreColumn
        One per classifier, coded by position in `classes`.
    clusters : tuple of LabelColumn or ScoreColumn
        One per clustering.
    n_objects : int
    frame : Frame or None
        The data frame library of the input, if it was one.
    """

    classes: NDArray[Any]
    votes: tuple[Column, ...]
    clusters: tuple[Column, ...]
    n_objects: int
    frame: Frame | None

    @classmethod
    def read(
        cls,
        votes: Any,
        clusters: Any,
        *,
        classes: Sequence[Any] | None = None,
        n_classes: int | None = None,
    ) -> LabelTable:
        """Check and code what a user passed to ``fit``."""
        given = _given_classes(classes)
        keep = given is not None and -1 in given.tolist()
        vote_columns, vote_frame = read_columns("votes", votes, noun="classifier", keep_minus_one=keep)
        cluster_columns, cluster_frame = read_columns("clusters", clusters, noun="clustering")
        n_objects = _common_length(vote_columns, cluster_columns)
        _same_index(vote_frame, cluster_frame)
        _distinct_names("votes", vote_columns)
        _distinct_names("clusters", cluster_columns)
        class_list = _class_list(vote_columns, given, n_classes)
        return cls(
            classes=class_list,
            votes=tuple(_align_votes(column, class_list) for column in vote_columns),
            clusters=tuple(cluster_columns),
            n_objects=n_objects,
            frame=vote_frame or cluster_frame,
        )

    @classmethod
    def read_like(cls, votes: Any, clusters: Any, known: LabelSchema) -> LabelTable:
        """Check and code new objects for a model that was fitted on `known`."""
        keep = -1 in known.classes.tolist()
        vote_columns, vote_frame = read_columns("votes", votes, noun="classifier", keep_minus_one=keep)
        cluster_columns, cluster_frame = read_columns("clusters", clusters, noun="clustering")
        n_objects = _common_length(vote_columns, cluster_columns)
        _same_index(vote_frame, cluster_frame)
        vote_columns = _match_names("votes", vote_columns, known.classifier_names, vote_frame)
        cluster_columns = _match_names("clusters", cluster_columns, known.clusterer_names, cluster_frame)
        return cls(
            classes=known.classes,
            votes=tuple(_align_votes(column, known.classes) for column in vote_columns),
            clusters=tuple(
                _align_clusters(column, values)
                for column, values in zip(cluster_columns, known.clusters, strict=True)
            ),
            n_objects=n_objects,
            frame=vote_frame or cluster_frame,
        )

    @property
    def schema(self) -> LabelSchema:
        return LabelSchema(
            self.classes,
            tuple(column.name for column in self.votes),
            tuple(column.name for column in self.clusters),
            tuple(_cluster_values(column) for column in self.clusters),
        )

    @property
    def layout(self) -> Layout:
        return Layout(
            tuple(max(1, len(_cluster_values(column))) for column in self.clusters),
            tuple(isinstance(column, ScoreColumn) for column in self.clusters),
        )

    @property
    def is_hard(self) -> bool:
        return all(isinstance(column, LabelColumn) for column in (*self.votes, *self.clusters))

    def votes_per_class(self, rows: NDArray[np.intp] | None = None) -> FloatArray:
        """Summed votes of the given rows (all by default), (rows, k)."""
        count = self.n_objects if rows is None else len(rows)
        total = np.zeros((count, len(self.classes)))
        everyone = np.arange(count)
        for column in self.votes:
            if isinstance(column, ScoreColumn):
                total += column.scores if rows is None else column.scores[rows]
            else:
                codes = column.codes if rows is None else column.codes[rows]
                voted = codes >= 0
                total[everyone[voted], codes[voted]] += 1.0
        return total

    def soft_vote(self) -> FloatArray:
        """Mean vote of each object, uniform where nobody voted, (N, k)."""
        return soft_vote(self.votes_per_class())

    def evidence(
        self,
        *,
        evidence_weights: FloatArray,
        sample_weight: FloatArray | None = None,
        vote_weight: float | None = None,
        group: bool = True,
    ) -> tuple[Evidence, NDArray[np.intp] | None]:
        """Arrays for the model, and the pattern of each object (None: its own row).

        Parameters
        ----------
        evidence_weights : (r2,) array
            How much a label of each clustering counts.
        sample_weight : (N,) array, optional
            Weight of each object.
        vote_weight : float, optional
            The votes of an object are scaled to sum to this; None counts
            every vote as one.
        group : bool
            Put objects with the same hard labels together.
        """
        weights = np.ones(self.n_objects) if sample_weight is None else sample_weight
        rows, inverse = self.patterns() if group else (None, None)
        if rows is not None and inverse is not None:
            weights = np.bincount(inverse, weights=weights, minlength=len(rows)).astype(np.float64)
        layout = self.layout
        votes = self.votes_per_class(rows)
        if vote_weight is not None:
            total = votes.sum(axis=1, keepdims=True)
            votes *= vote_weight / np.where(total > 0, total, 1.0)
        hard = [
            _stacked_rows(column, int(offset), rows)
            for column, offset in zip(self.clusters, layout.offsets[:-1], strict=True)
            if isinstance(column, LabelColumn)
        ]
        soft = [column.scores for column in self.clusters if isinstance(column, ScoreColumn)]
        count = len(votes)
        return Evidence(
            votes=votes,
            labels=np.stack(hard, axis=1) if hard else np.empty((count, 0), dtype=np.int32),
            memberships=np.hstack(soft) if soft else np.empty((count, 0)),
            weights=weights,
            evidence_weights=evidence_weights,
            layout=layout,
        ), inverse

    def patterns(self) -> tuple[NDArray[np.intp] | None, NDArray[np.intp] | None]:
        """Rows of the distinct label patterns and each object's pattern; None if a column is soft."""
        return self._patterns() if self.is_hard else (None, None)

    def _patterns(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """A row for each distinct label pattern, and each object's pattern."""
        key, size = np.zeros(self.n_objects, dtype=np.int64), 1
        for column in (*self.votes, *self.clusters):
            assert isinstance(column, LabelColumn)
            base = len(column.values) + 1
            if size * base >= 2**63:  # compress what was packed so far, then go on
                distinct, key = np.unique(key, return_inverse=True)
                size = len(distinct)
            key *= base
            key += column.codes
            key += 1
            size *= base
        _, rows, inverse = np.unique(key, return_index=True, return_inverse=True)
        return rows, inverse

    def take(self, rows: NDArray[np.intp]) -> LabelTable:
        """The table of some of the objects."""
        return replace(
            self,
            votes=tuple(_take(column, rows) for column in self.votes),
            clusters=tuple(_take(column, rows) for column in self.clusters),
            n_objects=len(rows),
            frame=None,
        )

    def answer_labels(self, winners: NDArray[np.intp]) -> Any:
        """Class labels for class numbers, in the user's data frame library."""
        labels = self.classes[winners]
        return labels if self.frame is None else self.frame.labels(labels)

    def answer_table(self, values: FloatArray) -> Any:
        """An (N, k) result, in the user's data frame library."""
        return values if self.frame is None else self.frame.table(values, self.classes.tolist())


@dataclass(frozen=True)
class LabelSchema:
    """What a fitted model remembers of its table: names and label lists, no rows."""

    classes: NDArray[Any]
    classifier_names: tuple[str, ...]
    clusterer_names: tuple[str, ...]
    clusters: tuple[tuple[Any, ...], ...]


def soft_vote(votes: FloatArray) -> FloatArray:
    """Rows of votes scaled to sum to 1; a row without votes is uniform."""
    total = votes.sum(axis=1, keepdims=True)
    return np.where(total > 0, votes / np.where(total > 0, total, 1.0), 1.0 / votes.shape[1])


def check_sample_weight(sample_weight: Any, n_objects: int) -> FloatArray | None:
    """Weights as a checked float array; None stays None."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(
            "sample_weight", "values that are not numbers", "Pass one number per object."
        ) from None
    if weights.shape != (n_objects,):
        raise InputError(
            "sample_weight",
            f"shape {weights.shape} for {n_objects} objects",
            "Pass one weight per object.",
        )
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            "sample_weight",
            f"weight {weights[row]} is negative or not finite",
            "Pass finite weights, zero or larger.",
            place=f"row {row}",
        )
    if not weights.any():
        raise InputError("sample_weight", "every weight is zero", "Give some object a weight.")
    return weights


def _given_classes(classes: Sequence[Any] | None) -> NDArray[Any] | None:
    if classes is None:
        return None
    if isinstance(classes, str | bytes) or np.ndim(np.asarray(classes, dtype=object)) != 1:
        raise InputTypeError("classes", "not a list of labels", "Pass each class once, in order.")
    values = list(classes)
    if len(values) < 1:
        raise InputError("classes", "no class", "Pass at least one class.")
    if any(value is None or value != value for value in values):
        raise InputError("classes", "a missing label", "Pass each class once, without None or NaN.")
    if len(set(values)) < len(values):
        raise InputError("classes", "a class is listed twice", "Pass each class once.")
    array = np.asarray(classes)
    return (
        array
        if array.dtype.kind in "iufb"
        else np.array(values, dtype=object if array.dtype == object else None)
    )


def _common_length(votes: list[Column], clusters: list[Column]) -> int:
    columns = [("votes", column) for column in votes] + [("clusters", column) for column in clusters]
    if not columns:
        raise InputError("votes", "neither votes nor clusters", "Pass at least one column of labels.")
    first_argument, first = columns[0]
    if len(first) == 0:
        raise InputError(first_argument, "empty input", "Pass at least one object.")
    for argument, column in columns[1:]:
        if len(column) != len(first):
            raise InputError(
                argument,
                f"{len(column)} objects, but {first_argument} column {first.name!r} has {len(first)}",
                "Every column must describe the same objects, in the same order.",
                place=f"column {column.name!r}",
            )
    return len(first)


def _same_index(votes: Frame | None, clusters: Frame | None) -> None:
    if votes is None or clusters is None or votes.index is None or clusters.index is None:
        return
    if not votes.index.equals(clusters.index):
        raise InputError(
            "clusters",
            "its index differs from the index of votes",
            "Bring the rows into one order first: clusters = clusters.loc[votes.index].",
        )


def _distinct_names(argument: str, columns: list[Column]) -> None:
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                argument, f"two columns are called {name!r}", "Give every column its own name."
            )


def _family(values: Sequence[Any]) -> str:
    kinds = {
        "bool" if isinstance(v, bool | np.bool_)
        else "number" if isinstance(v, int | float | np.number)
        else "text" if isinstance(v, str)
        else type(v).__name__
        for v in values
    }  # fmt: skip
    return next(iter(kinds)) if len(kinds) == 1 else "mixed"


def _class_list(
    columns: list[Column], given: NDArray[Any] | None, n_classes: int | None
) -> NDArray[Any]:
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
        return np.array(list(named[0].labels or ()))
    if soft:
        return _classes_of_width(labels, next(iter(widths)))
    if len(labels) < 2 and any(column.dropped for column in hard):
        raise InputError(
            "votes",
            "a single class is left, because -1 means missing in whole numbers",
            "Pass classes= with every class, -1 included, if -1 is a class.",
        )
    if not labels:
        raise InputError("votes", "every vote is missing", "Pass classes= or n_classes=.")
    return np.array(labels)


def _classes_of_width(labels: list[Any], width: int) -> NDArray[Any]:
    """Class list for unnamed probability columns beside hard labels."""
    if not labels or all(isinstance(v, int) and 0 <= v < width for v in labels):
        return np.arange(width)
    if len(labels) == width:
        return np.array(labels)
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


def _align_votes(column: Column, classes: NDArray[Any]) -> Column:
    """Recode a vote column by position in the class list."""
    position = {value: i for i, value in enumerate(classes.tolist())}
    if isinstance(column, LabelColumn):
        for value in column.values:
            if value not in position:
                raise _unknown_class(column, value, classes)
        dtype = np.min_scalar_type(-len(classes) - 1)
        table = np.array([position[value] for value in column.values] + [-1], dtype=dtype)
        return replace(column, values=tuple(classes.tolist()), codes=table[column.codes])
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


def _match_names(
    argument: str, columns: list[Column], names: tuple[str, ...], frame: Frame | None
) -> list[Column]:
    """Columns of new data in the order of the fit: by name for data frames, else by position."""
    if len(columns) != len(names):
        raise InputError(
            argument,
            f"{len(columns)} columns, but the model was fitted with {len(names)}",
            f"Pass the columns {list(names)}; fill a column that is gone with None.",
        )
    by_name = {column.name: column for column in columns}
    if set(by_name) == set(names):
        return [by_name[name] for name in names]
    if frame is None:
        return columns
    unknown = sorted(set(by_name) - set(names))
    raise InputError(
        argument,
        f"columns {unknown} were not part of the fit",
        f"Name the columns as in the fit: {list(names)}.",
    )


def _cluster_values(column: Column) -> tuple[Any, ...]:
    if isinstance(column, LabelColumn):
        return column.values
    return column.labels or tuple(range(column.scores.shape[1]))


def _align_clusters(column: Column, values: tuple[Any, ...]) -> Column:
    """Recode a clustering of new objects by the cluster list of the fit."""
    if isinstance(column, ScoreColumn):
        if column.scores.shape[1] != len(values):
            raise InputError(
                "clusters",
                f"{column.scores.shape[1]} memberships per object, the fit had {len(values)}",
                "Pass one membership per cluster of the fit.",
                place=f"column {column.name!r}",
            )
        return column
    position = {value: i for i, value in enumerate(values)}
    for value in column.values:
        if value not in position:
            raise InputError(
                "clusters",
                f"cluster {value!r} was not part of the fit",
                "Assign new objects to the clusters of the fit, or mark the label as missing.",
                place=f"column {column.name!r}",
            )
    dtype = np.min_scalar_type(-len(values) - 1)
    table = np.array([position[value] for value in column.values] + [-1], dtype=dtype)
    return replace(column, values=values, codes=table[column.codes])


def _stacked_rows(column: LabelColumn, offset: int, rows: NDArray[np.intp] | None) -> NDArray[np.int32]:
    codes = column.codes if rows is None else column.codes[rows]
    return np.where(codes >= 0, codes.astype(np.int32) + np.int32(offset), np.int32(-1))


def _take(column: Column, rows: NDArray[np.intp]) -> Column:
    if isinstance(column, LabelColumn):
        return replace(column, codes=column.codes[rows])
    return replace(column, scores=column.scores[rows])
