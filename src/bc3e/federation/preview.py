"""A site's preview, before it joins, of how much the totals would show of its own columns.

Masked or not, the party that adds up a sum learns the total, and a total tells something of its parts:
if all votes of an object fall on one class, everybody's vote is known. How much depends on what the
other sites have, which a site does not know. So it says how many columns it expects there
and how often their labels go with its own, and the others are drawn at random accordingly.

The model is simple on purpose. A vote of another classifier equals the site's own vote with
probability a, else it falls on any other class alike. Then, for a total c, the site's vote was i with
probability proportional to pi_i c_i rho^c_i, rho = a (k - 1) / (1 - a), pi the shares of its votes. A
clustering of another site has as many clusters as the site's own and puts an object into the
corresponding one with probability a, else into any, drawn by size; the sum of cluster
evidence in the first sweep is then computed as the protocol does and attacked by
:mod:`bc3e.federation.additive`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bc3e.columns import Column, LabelColumn
from bc3e.errors import InputError
from bc3e.federation.additive import additive_parts
from bc3e.federation.scoring import Labels, clustering_score, codes, leave_one_out, perplexity
from bc3e.model.evidence import Evidence, FloatArray, Layout
from bc3e.model.parameters import normalize_profiles
from bc3e.model.starts import cluster_counts, vote_responsibilities
from bc3e.summary import Section, Summary

if TYPE_CHECKING:
    from bc3e.federation.sites import Site

MOST_OBJECTS = 2000  # a preview needs no more
REVEALED = 0.95


@dataclass(frozen=True)
class ColumnExposure:
    """How much one column of the site would show.

    Attributes
    ----------
    column : str
    kind : {"votes", "clusters"}
    perplexity : float
        Of the column's labels given the totals: 1 is fully known.
    chance : float
        The same for somebody who knows only how frequent the labels are.
    unanimous : float or None
        Votes: share of objects whose total lies on one class.
    revealed : float or None
        Votes: share of objects whose vote is known with at least 95% probability.
    recovered : float or None
        Clusters: adjusted Rand index of the clustering that the attack reads off the totals.
    """

    column: str
    kind: str
    perplexity: float
    chance: float
    unanimous: float | None = None
    revealed: float | None = None
    recovered: float | None = None


@dataclass(frozen=True)
class Exposure:
    """Preview of a site: ``print(exposure)``, or the last line of a notebook cell."""

    site: str
    columns: tuple[ColumnExposure, ...]
    other_votes: int
    other_clusterings: int
    agreement: float

    def __getitem__(self, column: str) -> ColumnExposure:
        for found in self.columns:
            if found.column == column:
                return found
        raise KeyError(column)

    def summary(self) -> Summary:
        rows = tuple(
            (
                found.column,
                found.kind,
                _percent(found.unanimous),
                _percent(found.revealed),
                "" if found.recovered is None else f"{found.recovered:.2f}",
                f"{found.perplexity:.2f}",
                f"{found.chance:.2f}",
            )
            for found in self.columns
        )
        title = (
            f"{self.site}: what masked totals would show, with {self.other_votes} other votes and "
            f"{self.other_clusterings} other clusterings that agree {self.agreement:.0%}"
        )
        header = ("column", "kind", "unanimous", "known 95%", "recovered", "perplexity", "by chance")
        return Summary((Section(title, header, rows),))

    def __str__(self) -> str:
        return str(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def exposure(
    site: Site,
    *,
    other_votes: int = 2,
    other_clusterings: int = 2,
    agreement: float = 0.8,
    classes: Sequence[Any] | None = None,
    random_state: int = 0,
) -> Exposure:
    """Show a site, before it joins, how much masked totals would tell of its own columns.

    Without masks there is nothing to preview: whoever adds up the parts sees them.

    Parameters
    ----------
    site : Site
    other_votes, other_clusterings : int
        Columns expected at the other sites together.
    agreement : float
        How often a label there goes with the site's own, between 0 and 1.
    classes : sequence, optional
        The class list, if the site's votes do not name all classes.
    random_state : int
        Seed of the imagined columns of the others.

    Returns
    -------
    Exposure

    Examples
    --------
    >>> import pandas as pd
    >>> from bc3e.federation.sites import Site
    >>> votes = pd.DataFrame({"svm": [0, 1] * 50})
    >>> preview = exposure(Site("a", votes=votes), other_votes=3, agreement=0.9)
    >>> bool(0.6 < preview["svm"].unanimous < 0.9)
    True
    """
    for name, count in (("other_votes", other_votes), ("other_clusterings", other_clusterings)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InputError(name, f"{count!r}", "Pass a whole number, 0 or larger.")
    if not 0.0 < agreement < 1.0:
        raise InputError("agreement", f"{agreement!r}", "Pass a number between 0 and 1.")
    from bc3e.federation.sites import common_classes

    rng = np.random.default_rng(random_state)
    has_votes = bool(site.column_names[0])
    listed = common_classes([site], classes) if has_votes or classes is None else np.asarray(classes)
    table = site.table(listed)
    if table.n_objects > MOST_OBJECTS:
        table = table.take(rng.choice(table.n_objects, MOST_OBJECTS, replace=False))
    k = len(listed)
    own = {column.name: _hard(column) for column in table.votes}
    totals = np.zeros((table.n_objects, k))
    for labels in own.values():
        _count(totals, labels)
    found = []
    for name, labels in own.items():
        total = totals.copy()
        for _ in range(other_votes):
            _count(total, _other_vote(labels, k, agreement, rng))
        found.append(_vote_exposure(name, labels, total, agreement))
    clusterings = {column.name: _hard(column) for column in table.clusters}
    for name in clusterings:
        found.append(_cluster_exposure(name, clusterings, totals, other_clusterings, agreement, rng))
    return Exposure(site.name, tuple(found), other_votes, other_clusterings, agreement)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}%"


def _hard(column: Column) -> Labels:
    """Codes of the labels, -1 where missing; of scores the largest."""
    if isinstance(column, LabelColumn):
        return column.codes.astype(np.intp)
    return np.where(column.scores.any(axis=1), column.scores.argmax(axis=1), -1).astype(np.intp)


def _count(totals: FloatArray, labels: Labels) -> None:
    present = np.flatnonzero(labels >= 0)
    totals[present, labels[present]] += 1.0


def _other_vote(labels: Labels, k: int, agreement: float, rng: np.random.Generator) -> Labels:
    base = np.where(labels >= 0, labels, rng.integers(k, size=len(labels)))
    other = (base + rng.integers(1, max(k, 2), size=len(labels))) % k
    return np.where(rng.random(len(labels)) < agreement, base, other)


def _vote_exposure(name: str, labels: Labels, total: FloatArray, agreement: float) -> ColumnExposure:
    voted = labels >= 0
    labels, total = labels[voted], total[voted]
    k = total.shape[1]
    shares = np.bincount(labels, minlength=k) / max(1, len(labels))
    log_odds = np.log(agreement * max(k - 1, 1) / (1.0 - agreement))
    with np.errstate(divide="ignore"):
        logs = np.log(shares) + np.log(total) + total * log_odds
    believed = np.exp(logs - logs.max(axis=1, keepdims=True))
    believed /= believed.sum(axis=1, keepdims=True)
    right = believed[np.arange(len(labels)), labels]
    return ColumnExposure(
        name,
        "votes",
        perplexity(believed, labels),
        perplexity(np.repeat(shares[None, :], len(labels), axis=0), labels),
        unanimous=float(np.mean((total > 0).sum(axis=1) == 1)),
        revealed=float(np.mean(right >= REVEALED)),
    )


def _cluster_exposure(
    name: str,
    clusterings: dict[str, Labels],
    votes: FloatArray,
    others: int,
    agreement: float,
    rng: np.random.Generator,
) -> ColumnExposure:
    target = clusterings[name]
    present = target >= 0
    columns = [labels[present] for labels in clusterings.values()]
    columns += [_other_clustering(target[present], agreement, rng) for _ in range(others)]
    truth = codes(target[present])
    if not votes.any():  # no votes here: imagine some that go with the clusters
        votes = np.zeros((len(target), max(2, votes.shape[1])))
        _count(
            votes,
            np.where(present, _other_vote(target % votes.shape[1], votes.shape[1], agreement, rng), -1),
        )
    score = clustering_score(additive_parts(_first_totals(columns, votes[present])), truth)
    alone = np.zeros(len(truth), dtype=np.intp)
    chance = perplexity(leave_one_out(alone, truth), truth)
    return ColumnExposure(name, "clusters", score.perplexity, chance, recovered=score.success)


def _other_clustering(target: Labels, agreement: float, rng: np.random.Generator) -> Labels:
    drawn = rng.permutation(target)
    return np.where(rng.random(len(target)) < agreement, target, drawn)


def _first_totals(columns: Sequence[NDArray[np.intp]], votes: FloatArray) -> FloatArray:
    """Summed cluster evidence of the first sweep, where the tendency is still the same for all."""
    sizes = tuple(int(labels.max()) + 1 for labels in columns)
    layout = Layout(sizes, (False,) * len(sizes))
    stacked = np.stack(
        [
            np.where(labels >= 0, labels + first, -1)
            for labels, first in zip(columns, layout.offsets, strict=False)
        ],
        axis=1,
    ).astype(np.int32)
    n = len(votes)
    evidence = Evidence(votes, stacked, (), np.ones(n), np.ones(len(sizes)), layout)
    counts = cluster_counts(evidence, vote_responsibilities(votes))
    profiles = normalize_profiles(counts + 1e-3, layout)
    profiles /= profiles.sum(axis=1, keepdims=True)
    given = np.where(stacked[:, :, None] >= 0, profiles[stacked], 0.0)
    total: FloatArray = given.sum(axis=1)
    return total
