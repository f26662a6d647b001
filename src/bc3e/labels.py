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

from bc3e.alignment import (
    align_clusters,
    align_votes,
    class_list,
    cluster_values,
    distinct_names,
    given_classes,
    is_nameless,
    match_names,
)
from bc3e.columns import Column, Frame, LabelColumn, ScoreColumn, read_columns
from bc3e.errors import InputError, InputTypeError
from bc3e.grouping import distinct, pack
from bc3e.model.calibration import BLOCK, tempered
from bc3e.model.evidence import Evidence, FloatArray, Layout
from bc3e.model.rows import row_sum

LARGEST_WEIGHT = 1e15  # beyond it sums of squares lose the other objects


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
        given = given_classes(classes)
        keep = given is not None and -1 in given.tolist()
        vote_columns, vote_frame = read_columns("votes", votes, noun="classifier", keep_minus_one=keep)
        cluster_columns, cluster_frame = read_columns("clusters", clusters, noun="clustering")
        n_objects = _common_length(vote_columns, cluster_columns)
        _same_index(vote_frame, cluster_frame)
        distinct_names("votes", vote_columns)
        distinct_names("clusters", cluster_columns)
        found = class_list(vote_columns, given, n_classes)
        return cls(
            classes=found,
            votes=tuple(align_votes(column, found) for column in vote_columns),
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
        vote_columns = match_names(
            "votes", vote_columns, known.classifier_names, by_position=is_nameless(votes, vote_frame)
        )
        cluster_columns = match_names(
            "clusters",
            cluster_columns,
            known.clusterer_names,
            by_position=is_nameless(clusters, cluster_frame),
        )
        return cls(
            classes=known.classes,
            votes=tuple(align_votes(column, known.classes) for column in vote_columns),
            clusters=tuple(
                align_clusters(column, values)
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
            tuple(cluster_values(column) for column in self.clusters),
        )

    @property
    def layout(self) -> Layout:
        return Layout(
            tuple(max(1, len(cluster_values(column))) for column in self.clusters),
            tuple(isinstance(column, ScoreColumn) for column in self.clusters),
        )

    @property
    def is_hard(self) -> bool:
        return all(isinstance(column, LabelColumn) for column in (*self.votes, *self.clusters))

    def votes_per_class(
        self, rows: NDArray[np.intp] | slice = slice(None), weights: FloatArray | None = None
    ) -> FloatArray:
        """Summed votes of some rows (all by default), each classifier's by its weight, (rows, k)."""
        shares = np.ones(len(self.votes)) if weights is None else weights
        count = self._count(rows)
        total = np.zeros((count, len(self.classes)))
        cells, begin = total.reshape(-1), np.arange(0, total.size, len(self.classes))
        for column, weight in zip(self.votes, shares.tolist(), strict=True):
            if isinstance(column, ScoreColumn):
                scores = column.scores[rows]
                for first in range(0, count, BLOCK):  # no copy of the whole column
                    block = slice(first, first + BLOCK)
                    total[block] += np.multiply(scores[block], weight, dtype=np.float64)
            else:
                codes = column.codes[rows]
                if codes.min(initial=0) >= 0:
                    cells[begin + codes] += weight
                else:
                    voted = np.flatnonzero(codes >= 0)
                    cells[begin[voted] + codes[voted]] += weight
        return total

    def soft_vote(self) -> FloatArray:
        """Mean vote of each object, uniform where nobody voted, (N, k)."""
        return soft_vote(self.votes_per_class())

    def evidence(
        self,
        *,
        evidence_weights: FloatArray,
        weights: FloatArray | None = None,
        classifier_weights: FloatArray | None = None,
        vote_weight: float | None = None,
        vote_exponent: float = 1.0,
    ) -> Evidence:
        """Arrays for the model, a row for each row of the table.

        Parameters
        ----------
        evidence_weights : (r2,) array
            How much a label of each clustering counts.
        weights : (N,) array, optional
            Weight of each row; one by default.
        classifier_weights : (r1,) array, optional
            How much a vote of each classifier counts; one by default.
        vote_weight : float, optional
            The votes of an object are scaled to sum to this; None counts
            every vote as one.
        vote_exponent : float
            Power that the shares of an object's votes are raised to.
        """
        layout = self.layout
        # Objects have far fewer different votes than labels: what follows is done once for each.
        rows, groups = self._distinct(self.votes)
        votes = self.votes_per_class(slice(None) if rows is None else rows, classifier_weights)
        if vote_weight is not None:
            total = votes.sum(axis=1, keepdims=True)
            votes *= vote_weight / np.where(total > 0, total, 1.0)
        soft = tuple(column.scores for column in self.clusters if isinstance(column, ScoreColumn))
        return Evidence(
            ballots=tempered(votes, vote_exponent),
            labels=self._stacked_labels(),
            memberships=soft,
            weights=np.ones(self.n_objects) if weights is None else weights,
            evidence_weights=evidence_weights,
            layout=layout,
            vote_groups=None if groups is None else groups.astype(np.int32, copy=False),
        )

    def _stacked_labels(self) -> NDArray[np.signedinteger]:
        """Rows of the stacked profiles that the hard labels select, -1 where missing, (N, h)."""
        layout = self.layout
        labels = np.empty((self.n_objects, len(layout.hard_columns)), dtype=layout.label_type)
        for at, m in enumerate(layout.hard_columns):
            column = self.clusters[m]
            assert isinstance(column, LabelColumn)
            np.add(column.codes, layout.offsets[m], out=labels[:, at], casting="unsafe")
            labels[column.codes < 0, at] = -1
        return labels

    def patterns(self) -> tuple[NDArray[np.intp] | None, NDArray[np.intp] | None]:
        """Rows of the distinct label patterns and each object's pattern; None if a column is soft."""
        return self._distinct((*self.votes, *self.clusters))

    def _distinct(
        self, columns: tuple[Column, ...]
    ) -> tuple[NDArray[np.intp] | None, NDArray[np.intp] | None]:
        """A row for each pattern of some columns, and the pattern of each row; None if one is soft."""
        labelled = [column for column in columns if isinstance(column, LabelColumn)]
        if len(labelled) < len(columns):
            return None, None
        key, size, packed = np.zeros(self.n_objects, dtype=np.int64), 1, 0
        for at, column in enumerate(labelled):
            base = len(column.values) + 1
            if size * base >= 2**63:  # compress what was packed so far, then go on
                pack(key, labelled[packed:at])
                rows, key = distinct(key)
                size, packed = len(rows), at
            size *= base
        pack(key, labelled[packed:])
        return distinct(key)

    def representatives(self, inverse: NDArray[np.intp] | None, patterns: int) -> NDArray[np.intp]:
        """For each of the patterns of :meth:`patterns` the row of an object that has it."""
        rows = np.arange(self.n_objects)
        if inverse is None:
            return rows
        found = np.empty(patterns, dtype=np.intp)
        found[inverse] = rows
        return found

    def without_vote(self, column: int) -> LabelTable:
        """The table as if one classifier had not been asked."""
        return replace(self, votes=self.votes[:column] + self.votes[column + 1 :])

    def take(self, rows: NDArray[np.intp] | slice) -> LabelTable:
        """The table of some of the objects; of consecutive ones, a slice, it is a view."""
        return replace(
            self,
            votes=tuple(_take(column, rows) for column in self.votes),
            clusters=tuple(_take(column, rows) for column in self.clusters),
            n_objects=self._count(rows),
            frame=None,
        )

    def _count(self, rows: NDArray[np.intp] | slice) -> int:
        return len(range(self.n_objects)[rows]) if isinstance(rows, slice) else len(rows)

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
    total = row_sum(votes)[:, None]
    shares: FloatArray = votes / np.where(total > 0, total, 1.0)
    shares[total[:, 0] <= 0] = 1.0 / votes.shape[1]
    return shares


def check_sample_weight(
    sample_weight: Any, n_objects: int, frame: Frame | None = None
) -> FloatArray | None:
    """Weights as a checked float array; None stays None."""
    if sample_weight is None:
        return None
    index = getattr(sample_weight, "index", None) if hasattr(sample_weight, "iloc") else None
    known = None if frame is None else frame.index
    if index is not None and known is not None and not index.equals(known):
        raise InputError(
            "sample_weight",
            "its index differs from the index of the labels",
            "Bring the rows into one order first, with .loc.",
        )
    try:
        weights = np.array(sample_weight, dtype=np.float64)  # a copy: kernels are compiled for one kind
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
    bad = ~np.isfinite(weights) | (weights < 0) | (weights > LARGEST_WEIGHT)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            "sample_weight",
            f"weight {weights[row]} is negative, not finite or beyond {LARGEST_WEIGHT:g}",
            "Pass weights from 0 up, of any common scale.",
            place=f"row {row}",
        )
    if not weights.any():
        raise InputError("sample_weight", "every weight is zero", "Give some object a weight.")
    return weights


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


def _take(column: Column, rows: NDArray[np.intp] | slice) -> Column:
    if isinstance(column, LabelColumn):
        return replace(column, codes=column.codes[rows])
    return replace(column, scores=column.scores[rows])
