"""What classifiers have in common inside clusters: how far clusters stand for what classifiers see.

Two classifiers agree on an object because both see what it is. If clusters are classes, all objects of
a cluster are the same thing: then two classifiers agree on *the same* object no more often than one of
them on this and the other on *another object* of its cluster, and how their votes vary inside a
cluster is noise. If a cluster mixes classes, both see who is who in it, and agree on the same object
more often. So the covariance of two classifiers' votes inside clusters, next to their covariance over
all objects, is the share of their common knowledge that the clusters do *not* explain. Errors that
classifiers share count as knowledge here: clusters look worse by them, not better.

These are the variance components of a random effects model. The mean of an object's votes varies
inside its cluster by what the classifiers have in common there, W, and by the noise that each adds of
its own, N. The best linear guess of what they have in common weighs the mean vote of the cluster
against that of the object itself as N against W: if the votes of an object count three labels, its
clusters are worth 3 N / W.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bc3e.agreement import winners
from bc3e.columns import Column, LabelColumn
from bc3e.model.evidence import FloatArray
from bc3e.objects import Objects

ALONE = 1e-9  # an object that has its cluster, but for rounding, to itself


@dataclass(frozen=True)
class Screening:
    """Variance components of the votes, means over objects, and how well they are known.

    Attributes
    ----------
    means : (3,) array
        Of objects that have two votes: covariance of two classifiers' votes inside clusters and over all
        objects, and variance of one classifier's votes inside clusters.
    covariance : (3, 3) array
        Of the errors of the means.
    votes : float
        Votes of an object, on average.
    classes : int
        Classes that any of the votes is for.
    """

    means: FloatArray
    covariance: FloatArray
    votes: float
    classes: int

    def leaves(self, share: float, errors: float = 0.0) -> bool:
        """Whether clusters leave less than a share of what classifiers have in common."""
        return self._below(np.array([1.0, -share, 0.0]), errors)

    def warrants(self, total: float, vote_weight: float, errors: float = 0.0) -> bool:
        """Whether clusters are worth so many labels where the votes of an object count `vote_weight`."""
        # total < vote_weight N / W, and N = (variance - W) / votes
        return self._below(np.array([vote_weight + total * self.votes, 0.0, -vote_weight]), errors)

    def _below(self, factors: FloatArray, errors: float) -> bool:
        deviation = np.sqrt(max(0.0, float(factors @ self.covariance @ factors)))
        return bool(factors @ self.means + errors * deviation < 0.0)


def screening(objects: Objects, heard: NDArray[np.bool_]) -> Screening | None:
    """Variance components inside the clusterings that are heard, on average.

    None if there is nothing to compare. Of soft votes the strongest class is taken, of soft
    clusterings the strongest cluster.
    """
    table, k = objects.table, len(objects.table.classes)
    chosen = winners(table)
    everywhere = np.zeros(table.n_objects, dtype=np.intp)
    overall, _ = _components(everywhere, chosen, k, objects)
    inside = np.zeros((2, table.n_objects))
    times = np.zeros(table.n_objects)
    for column in (table.clusters[m] for m in np.flatnonzero(heard)):
        shared, spread = _components(_strongest(column), chosen, k, objects)
        known = np.isfinite(shared)
        inside[:, known] += shared[known], spread[known]
        times += known
    known = np.isfinite(overall) & (times > 0)
    if objects.counts[known].sum() < 2.0:
        return None
    parts = np.stack([inside[0], overall, inside[1]])[:, known]
    parts[[0, 2]] /= times[known]
    mass, votes = objects.weights[known], (chosen >= 0).sum(axis=1)
    means = np.average(parts, axis=1, weights=mass)
    away = parts - means[:, None]
    covariance = (mass * away) @ away.T / (mass.sum() * objects.counts[known].sum())
    return Screening(
        means=means,
        covariance=covariance,
        votes=float(np.average(votes[known], weights=mass)),
        classes=len(np.unique(chosen[chosen >= 0])),
    )


def _strongest(column: Column) -> NDArray[np.intp]:
    """The cluster of each object, -1 where missing."""
    if isinstance(column, LabelColumn):
        return column.codes.astype(np.intp, copy=False)
    return np.where(column.scores.any(axis=1), column.scores.argmax(axis=1), -1)


def _components(
    clusters: NDArray[np.intp], chosen: NDArray[np.intp], k: int, objects: Objects
) -> tuple[FloatArray, FloatArray]:
    """Each row's part in the covariance of two votes and in the variance of one; NaN without two.

    Deviations from the mean of a cluster that an object belongs to itself are too small by its part
    in that mean. That is made up for: independent votes have covariance 0 in clusters of any size.
    """
    rows, n_clusters = len(clusters), int(clusters.max(initial=0)) + 1
    together, squares, votes = np.zeros((rows, k)), np.zeros(rows), np.zeros(rows)
    for choice in chosen.T:
        there = np.flatnonzero((clusters >= 0) & (choice >= 0))
        cells = clusters[there] * k + choice[there]
        counts = np.bincount(cells, weights=objects.weights[there], minlength=n_clusters * k)
        counts = counts.reshape(n_clusters, k)
        sizes = counts.sum(axis=1)[clusters[there]]
        own = objects.unit / sizes
        there, sizes, own = (part[own < 1.0 - ALONE] for part in (there, sizes, own))
        away = -counts[clusters[there]] / sizes[:, None]
        away[np.arange(len(there)), choice[there]] += 1.0
        away /= np.sqrt(1.0 - own)[:, None]
        together[there] += away
        squares[there] += np.sum(away**2, axis=1)
        votes[there] += 1.0
    two = votes > 1.0
    shared, spread = np.full(rows, np.nan), np.full(rows, np.nan)
    pairs = votes[two] * (votes[two] - 1.0)
    shared[two] = (np.sum(together[two] ** 2, axis=1) - squares[two]) / pairs
    spread[two] = squares[two] / votes[two]
    return shared, spread
