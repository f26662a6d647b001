"""The label table column by column, one row per label pattern.

The classes of a classifier and the clusters of a clustering are both *groups*
that objects belong to: fully (hard labels), in part (probabilities and
memberships) or not at all (missing labels).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bc3e.columns import Column, LabelColumn
from bc3e.labels import LabelTable
from bc3e.model.evidence import FloatArray
from bc3e.objects import Objects


@dataclass(frozen=True)
class Block:
    """One classifier or clustering.

    Attributes
    ----------
    n_groups : int
    codes : (P,) array or None
        The group of each pattern, -1 where the label is missing.
    scores : (P, n_groups) array or None
        In place of codes: shares in the groups, a row of zeros where missing.
    """

    n_groups: int
    codes: NDArray[np.signedinteger[Any]] | None
    scores: FloatArray | None

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether each pattern has a label here, (P,)."""
        if self.codes is not None:
            return self.codes >= 0
        assert self.scores is not None
        return np.asarray(self.scores.any(axis=1))

    def hardened(self) -> Block:
        """Every pattern in the group with its largest share, the first if equal."""
        if self.scores is None:
            return self
        winners = np.where(self.present, np.argmax(self.scores, axis=1), -1)
        return Block(self.n_groups, winners, None)

    def spread(self, values: FloatArray) -> FloatArray:
        """From groups (n_groups, c) to patterns (P, c): the values of a pattern's groups."""
        if self.scores is not None:
            return self.scores @ values
        assert self.codes is not None
        # The extra row of zeros is the last one, so that -1 finds it.
        found: FloatArray = np.vstack([values, np.zeros((1, values.shape[1]))])[self.codes]
        return found

    def add_shares(self, target: FloatArray, amounts: FloatArray) -> None:
        """Add to each row of `target` (P, n_groups) its amount, spread over its groups."""
        if self.scores is not None:
            target += amounts[:, None] * self.scores
            return
        assert self.codes is not None
        rows = np.flatnonzero(self.codes >= 0)
        target[rows, self.codes[rows]] += amounts[rows]

    def totals(self, values: FloatArray) -> FloatArray:
        """From patterns (P, c) to groups (n_groups, c): sums over the members of a group."""
        if self.scores is not None:
            return self.scores.T @ values
        assert self.codes is not None
        bins = self.codes.astype(np.intp) + 1
        sums = [np.bincount(bins, weights=column, minlength=self.n_groups + 1) for column in values.T]
        return np.stack(sums, axis=1)[1:].astype(np.float64)

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The block of some of the patterns."""
        codes = None if self.codes is None else self.codes[rows]
        return Block(self.n_groups, codes, None if self.scores is None else self.scores[rows])

    def table_with(self, other: Block, weights: FloatArray) -> FloatArray:
        """Contingency table (n_groups, n_groups of the other): weight in both groups."""
        if self.codes is None or other.codes is None:
            shares = np.zeros((len(weights), other.n_groups))
            other.add_shares(shares, weights)
            return self.totals(shares)
        size = (self.n_groups + 1, other.n_groups + 1)
        cells = (self.codes.astype(np.intp) + 1) * size[1] + (other.codes + 1)
        found = np.bincount(cells, weights=weights, minlength=size[0] * size[1])
        return found.reshape(size)[1:, 1:].astype(np.float64)

    def matrix(self) -> sparse.csr_array:
        """Patterns by groups, sparse."""
        if self.scores is not None:
            return sparse.csr_array(self.scores)
        assert self.codes is not None
        return _indicator_matrix([self], len(self.codes))


@dataclass(frozen=True)
class Patterns:
    """The distinct label patterns of a table, column by column.

    Attributes
    ----------
    votes, clusters : tuple of Block
        One block per classifier, with the classes as groups, and per clustering.
    weights : (P,) array
        How many objects each pattern stands for.
    inverse : (N,) array or None
        The pattern of each object; None if every object is its own.
    n_classes : int
    """

    votes: tuple[Block, ...]
    clusters: tuple[Block, ...]
    weights: FloatArray
    inverse: NDArray[np.intp] | None
    n_classes: int

    @property
    def n_patterns(self) -> int:
        return len(self.weights)

    def take(self, rows: NDArray[np.intp]) -> Patterns:
        """Some of the patterns."""
        return replace(
            self,
            votes=tuple(block.take(rows) for block in self.votes),
            clusters=tuple(block.take(rows) for block in self.clusters),
            weights=self.weights[rows],
            inverse=None,
        )

    def vote_totals(self) -> FloatArray:
        """Summed votes of each pattern, (P, k)."""
        total, one = np.zeros((self.n_patterns, self.n_classes)), np.ones(self.n_patterns)
        for block in self.votes:
            block.add_shares(total, one)
        return total


def read_patterns(table: LabelTable, weights: FloatArray | None) -> Patterns:
    """Bring a label table into patterns; identical objects become one weighted pattern.

    Tables with soft columns keep one pattern per object.
    """
    objects = Objects.of(table, weights)
    rows = objects.table
    return Patterns(
        votes=tuple(_block(column, len(rows.classes)) for column in rows.votes),
        clusters=tuple(
            _block(column, size)
            for column, size in zip(rows.clusters, rows.layout.n_clusters, strict=True)
        ),
        weights=objects.weights,
        inverse=objects.inverse,
        n_classes=len(rows.classes),
    )


def stack(blocks: Sequence[Block], n_patterns: int) -> sparse.csr_array:
    """Patterns by all groups of some columns, sparse: one entry per label."""
    if all(block.codes is not None for block in blocks):
        return _indicator_matrix(blocks, n_patterns)
    return sparse.csr_array(sparse.hstack([block.matrix() for block in blocks], format="csr"))


def offsets(blocks: Sequence[Block]) -> NDArray[np.intp]:
    """Where the groups of each block begin among the stacked ones, and the end."""
    return np.cumsum([0, *(block.n_groups for block in blocks)], dtype=np.intp)


def _block(column: Column, n_groups: int) -> Block:
    if isinstance(column, LabelColumn):
        return Block(n_groups, column.codes, None)
    return Block(n_groups, None, np.asarray(column.scores, dtype=np.float64))


def _indicator_matrix(blocks: Sequence[Block], n_patterns: int) -> sparse.csr_array:
    """Rows are written in order, so the sparse arrays need no sorting and no second copy."""
    starts = offsets(blocks)
    columns = np.full((n_patterns, len(blocks)), -1, dtype=np.int32)
    for i, block in enumerate(blocks):
        assert block.codes is not None
        present = block.codes >= 0
        columns[present, i] = block.codes[present] + starts[i]
    filled = columns >= 0
    ends = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    entries = (np.ones(int(ends[-1])), columns[filled], ends)
    return sparse.csr_array(entries, shape=(n_patterns, int(starts[-1])))
