"""What the model sees of the objects: vote totals, cluster labels, weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

LANES = 16  # objects that kernels take at a time; see bc3e.model.lanes
KEPT = 8  # labels to each cell of a table that is kept beside them
FloatArray = NDArray[np.float64]
ALL = slice(None)
Kind = TypeVar("Kind", bound=np.generic)
IntArray = NDArray[np.signedinteger]
One = NDArray[Any]
LabelArrays = tuple[One, One, One, One, One, One]


@dataclass(frozen=True)
class Layout:
    """Where the clusters of each clustering lie in the stacked profile matrix.

    Clusters of all clusterings are stacked into one axis of length
    ``n_rows``: clustering m owns the rows ``offsets[m]`` to ``offsets[m + 1]``.

    Parameters
    ----------
    n_clusters : tuple of int
        Number of clusters of each clustering.
    soft : tuple of bool
        Whether a clustering hands over memberships instead of labels.
    """

    n_clusters: tuple[int, ...]
    soft: tuple[bool, ...]

    @property
    def n_clusterings(self) -> int:
        return len(self.n_clusters)

    @property
    def n_rows(self) -> int:
        return int(sum(self.n_clusters))

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.n_clusters, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def hard_columns(self) -> NDArray[np.int64]:
        return np.flatnonzero(~np.array(self.soft, dtype=bool)).astype(np.int64)

    @cached_property
    def soft_columns(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.array(self.soft, dtype=bool)).astype(np.int64)

    @cached_property
    def membership_offsets(self) -> NDArray[np.int64]:
        """Where each soft clustering begins in the stacked membership columns."""
        sizes = [self.n_clusters[m] for m in self.soft_columns]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    def empty_counts(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Room for counts of classes in clusters, as kernels fill it: (n_rows + 1, k), (q, k, LANES).

        The last row is that of missing labels. The second array is for the clusters of soft
        clusterings, with a place for each lane.
        """
        return np.zeros((self.n_rows + 1, k)), np.zeros((int(self.membership_offsets[-1]), k, LANES))

    def with_missing(self, profiles: FloatArray) -> FloatArray:
        """Profiles row after row, and a last row for missing labels, which speak for no class."""
        return np.append(profiles, np.ones(profiles.shape[1]))

    def folded(self, counts: FloatArray, spread: FloatArray) -> FloatArray:
        """The counts with those of the soft clusterings put in, without missing labels, (n_rows, k)."""
        counts = counts[:-1]
        starts = zip(self.membership_offsets[:-1], self.membership_offsets[1:], strict=True)
        for m, (first, last) in zip(self.soft_columns, starts, strict=True):
            counts[self.offsets[m] : self.offsets[m + 1]] = spread[first:last].sum(axis=2)
        return counts

    @property
    def label_type(self) -> type[np.signedinteger]:
        """The kind of number that stacked labels are: as small as it can be."""
        return np.int16 if self.n_rows <= np.iinfo(np.int16).max else np.int32

    def split(self, stacked: FloatArray) -> list[FloatArray]:
        """Cut a stacked (n_rows, ...) array into one block per clustering."""
        return [stacked[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def totals(self, stacked: FloatArray) -> FloatArray:
        """Sums over the clusters of each clustering of a stacked (n_rows, ...) array, (r2, ...)."""
        found = np.empty((self.n_clusterings, *stacked.shape[1:]))
        for m, block in enumerate(self.split(stacked)):
            np.add.reduce(block, axis=0, out=found[m, ...])
        return found

    def per_row(self, values: NDArray[Kind]) -> NDArray[Kind]:
        """Repeat one value per clustering to one value per stacked row."""
        return np.repeat(values, np.array(self.n_clusters, dtype=np.int64), axis=0)


@dataclass(frozen=True)
class Evidence:
    """Objects, or label patterns that stand for many objects, as arrays.

    Attributes
    ----------
    ballots : (G, k) float64
        Votes per class, the c of the model, as often as they differ; a row's sum is its R1.
    labels : (P, h) int16 or int32
        For each hard clustering the row of the stacked profiles that the
        object's label selects; -1 where the label is missing.
    memberships : tuple of (P, k_m) float
        Memberships of each soft clustering; a row of zeros is missing.
    weights : (P,) float64
        How many objects a pattern stands for, or the sum of their weights.
    evidence_weights : (r2,) float64
        How much a label of each clustering counts (w_m; 1 in the paper).
    layout : Layout
    vote_groups : (P,) int32 or None
        The row of `ballots` that has an object's votes; None if each has its own.
    """

    ballots: FloatArray
    labels: IntArray
    memberships: tuple[NDArray[np.floating], ...]
    weights: FloatArray
    evidence_weights: FloatArray
    layout: Layout
    vote_groups: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        kind = self.layout.label_type
        if self.labels.dtype != kind:
            object.__setattr__(self, "labels", self.labels.astype(kind))

    @property
    def n_patterns(self) -> int:
        return len(self.weights)

    @property
    def n_classes(self) -> int:
        return int(self.ballots.shape[1])

    @property
    def votes(self) -> FloatArray:
        """Votes of every object, (P, k): made when asked for, and large."""
        return self.per_object(self.ballots)

    def per_object(self, values: NDArray[Kind], rows: slice = ALL) -> NDArray[Kind]:
        """A value for each ballot as one for each object that has it, or for some of the objects."""
        if self.vote_groups is None:
            return values[rows]
        return values.take(self.vote_groups[rows], axis=0)

    def apart(self) -> Evidence:
        """The same, with a ballot for each object."""
        return replace(self, ballots=self.votes, vote_groups=None)

    def ballot_weights(self) -> FloatArray:
        """Weight of the objects that have each of the ballots, (G,)."""
        if self.vote_groups is None:
            return self.weights
        found = np.bincount(self.vote_groups, weights=self.weights, minlength=len(self.ballots))
        return found.astype(np.float64, copy=False)

    def meetings(self) -> FloatArray | None:
        """Weight of the objects of each vote group in each hard cluster, (groups, n_rows).

        None if the groups are not known, a clustering is soft, or the table would be as
        large as that of the labels.
        """
        if self.vote_groups is None or len(self.layout.soft_columns):
            return None
        cells = len(self.ballots) * self.layout.n_rows
        if 2 * cells > self.labels.size:
            return None
        return self._met if KEPT * cells <= self.labels.size else self._meet()

    @cached_property
    def _met(self) -> FloatArray:
        return self._meet()

    def _meet(self) -> FloatArray:
        count, rows = len(self.ballots), self.layout.n_rows
        assert self.vote_groups is not None
        met, where = np.zeros(count * rows), self.vote_groups * np.intp(rows)
        for column in self.labels.T:
            if (column >= 0).all():
                met += np.bincount(where + column, weights=self.weights, minlength=len(met))
            else:
                there = column >= 0
                cells = (where + column)[there]
                met += np.bincount(cells, weights=self.weights[there], minlength=len(met))
        return met.reshape(count, rows)

    def membership_block(self, m: int) -> NDArray[np.floating]:
        """Memberships of soft clustering m, (P, k_m)."""
        return self.memberships[int(np.searchsorted(self.layout.soft_columns, m))]

    def stacked(self, first: int, last: int) -> NDArray[np.floating]:
        """Memberships of some objects in the clusters of all soft clusterings, (q, objects).

        Objects lie side by side, as kernels take them; the last is repeated up to a multiple of LANES.
        """
        count = last - first
        padded = -(-count // LANES) * LANES
        kind = np.result_type(*self.memberships) if self.memberships else np.float64
        side_by_side = np.empty((int(self.layout.membership_offsets[-1]), padded), dtype=kind)
        for at, block in zip(self.layout.membership_offsets, self.memberships, strict=False):
            side_by_side[at : at + block.shape[1], :count] = block[first:last].T
        side_by_side[:, count:] = side_by_side[:, count - 1 : count]
        return side_by_side

    def labels_for_kernels(self, first: int, last: int) -> LabelArrays:
        """Labels and memberships of some objects, what they count and where they lie."""
        layout, weights = self.layout, self.evidence_weights
        hard, soft = layout.hard_columns, layout.soft_columns
        memberships, begin = self.stacked(first, last), layout.membership_offsets
        labels, rows = self.labels[first:last], layout.offsets[soft]
        return labels, weights[hard], memberships, begin, rows, weights[soft]

    def take(self, rows: NDArray[np.intp] | slice) -> Evidence:
        """Some of the rows."""
        return replace(
            self,
            ballots=self.ballots[rows] if self.vote_groups is None else self.ballots,
            labels=self.labels[rows],
            memberships=tuple(block[rows] for block in self.memberships),
            weights=self.weights[rows],
            vote_groups=None if self.vote_groups is None else self.vote_groups[rows],
        )

    def assignments(self) -> Iterator[tuple[int, NDArray[np.bool_], NDArray[Any]]]:
        """Each clustering as (m, present, labels or memberships of it)."""
        for h, m in enumerate(self.layout.hard_columns):
            column = self.labels[:, h]
            yield int(m), column >= 0, column
        for m in self.layout.soft_columns:
            block = self.membership_block(int(m))
            yield int(m), np.asarray(block.any(axis=1)), block
