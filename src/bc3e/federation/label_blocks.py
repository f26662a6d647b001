"""A site's labels, cut into row blocks and coded as all sites of a column code them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.planning import ColumnGroup, Plan
from bc3e.federation.sites import SiteData
from bc3e.model.evidence import Evidence, FloatArray, Layout
from bc3e.model.split import LabelHolder


@dataclass(frozen=True)
class LabelBlock:
    """Labels of the objects of one row block.

    Rows of `evidence` are in the site's own order, so that sums over them do not depend on the
    secret order of hashes; `position` says where each row of the common order is among them.
    """

    evidence: Evidence
    position: NDArray[np.intp]

    @cached_property
    def side(self) -> LabelHolder:
        return LabelHolder(self.evidence)

    @cached_property
    def common_side(self) -> LabelHolder:
        """The same labels in the common order: shares are of one object each, in whatever order."""
        return LabelHolder(self.evidence.take(self.position))

    def own(self, values: FloatArray) -> FloatArray:
        """From the common order of the block to the site's own."""
        found = np.empty(values.shape)
        found[self.position] = values
        return found

    def common(self, values: FloatArray) -> FloatArray:
        """From the site's own order to the common one."""
        return values[self.position]


def vote_tables(
    data: SiteData,
    columns: Sequence[str],
    rows: NDArray[np.intp],
    weights: Mapping[str, float],
) -> dict[str, FloatArray]:
    """Sums over the classifiers of a site, each (rows, k).

    "ballots" are the votes by the weight of their classifier (1 if it has none),
    "given" the votes as they are, "winners" the classifiers that choose each class.
    """
    shape = (len(rows), data.n_classes)
    ballots, given, winners = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for name in columns:
        said = data.votes[name][rows]
        if said.ndim == 2:
            votes = said
            voted = np.flatnonzero(said.any(axis=1))
            winners[voted, said[voted].argmax(axis=1)] += 1.0
        else:
            votes = np.zeros(shape)
            voted = np.flatnonzero(said >= 0)
            votes[voted, said[voted]] = 1.0
            winners[voted, said[voted]] += 1.0
        ballots += weights.get(name, 1.0) * votes
        given += votes
    return {"ballots": ballots, "given": given, "winners": winners}


def counted_rows(data: SiteData, plan: Plan, seats: NDArray[np.int64], column: str) -> NDArray[np.bool_]:
    """Rows of the site for which it counts a clustering, (N,)."""
    counts = np.zeros(len(plan.blocks) + 1, dtype=bool)
    for block in plan.blocks:
        counts[block.number] = column in dict(block.clusters).get(data.name, ())
    return counts[seats]


def used_clusters(
    data: SiteData, plan: Plan, seats: NDArray[np.int64], column: str
) -> NDArray[np.bytes_]:
    """Hashed names of the clusters that the counted labels of a column use."""
    return data.cluster_names[column][_used(data, plan, seats, column)]


def _used(data: SiteData, plan: Plan, seats: NDArray[np.int64], column: str) -> NDArray[np.intp]:
    given = data.clusters[column]
    if given.ndim == 2:
        return np.arange(given.shape[1])
    codes = given[counted_rows(data, plan, seats, column)]
    return np.unique(codes[codes >= 0]).astype(np.intp)


def label_blocks(
    data: SiteData,
    plan: Plan,
    seats: NDArray[np.int64],
    groups: Sequence[ColumnGroup],
    codes: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]],
    order: Mapping[int, NDArray[np.intp]],
) -> dict[int, LabelBlock]:
    """Evidence of each row block, with evidence weights of 1.

    Parameters
    ----------
    data, plan, seats
        The site's labels, the plan, and the block of each of the site's objects.
    groups : sequence of ColumnGroup
        Groups of clusterings of the site; its columns are stacked in their order.
    codes : mapping from group addresses to (codes, sizes)
        What the auxiliary clients answered to the names of the clusters.
    order : mapping from block numbers to rows
        Rows of each block in the common order.
    """
    sizes: list[int] = []
    tables: dict[str, NDArray[np.int64]] = {}
    for group in groups:
        numbers, widths = codes[group.address]
        at = 0
        for column, width in zip(group.clusters, widths, strict=True):
            used = _used(data, plan, seats, column)
            table = np.full(len(data.cluster_names[column]) + 1, -1, dtype=np.int64)
            table[used] = numbers[at : at + len(used)]
            tables[column], at = table, at + len(used)
            sizes.append(int(width))
    soft = tuple(data.clusters[column].ndim == 2 for column in tables)
    layout = Layout(tuple(sizes), soft)
    labels, memberships = _stacked(data, plan, seats, tables, layout)
    found = {}
    for number, rows in order.items():
        own = np.sort(rows)
        evidence = Evidence(
            ballots=np.zeros((len(own), data.n_classes)),
            labels=labels[own],
            memberships=tuple(block[own] for block in memberships),
            weights=np.ones(len(own)),
            evidence_weights=np.ones(layout.n_clusterings),
            layout=layout,
        )
        found[number] = LabelBlock(evidence, np.searchsorted(own, rows))
    return found


def _stacked(
    data: SiteData,
    plan: Plan,
    seats: NDArray[np.int64],
    tables: Mapping[str, NDArray[np.int64]],
    layout: Layout,
) -> tuple[NDArray[np.int32], tuple[FloatArray, ...]]:
    """Hard labels as rows of the stacked profiles, and memberships; nothing where not counted."""
    hard, soft = [], []
    for m, (column, table) in enumerate(tables.items()):
        given = data.clusters[column]
        counted = counted_rows(data, plan, seats, column)
        if given.ndim == 2:
            block = np.zeros((len(given), layout.n_clusters[m]))
            block[:, table[:-1]] = np.where(counted[:, None], given, 0.0)
            soft.append(block)
        else:
            coded = table[given]  # a missing label, -1, meets the last entry, which is -1
            at = np.where(counted & (coded >= 0), coded + layout.offsets[m], -1)
            hard.append(at.astype(np.int32))
    count = len(data.ids)
    labels = np.stack(hard, axis=1) if hard else np.empty((count, 0), dtype=np.int32)
    return labels, tuple(soft)
