"""What classifiers have in common inside clusters: how far clusters stand for what classifiers see.

Two classifiers agree on an object because both see what it is. If clusters are classes, all objects of
a cluster are the same thing: then two classifiers agree on *the same* object no more often than one of
them on this and the other on *another object* of its cluster, and how their votes vary inside a
cluster is noise. If a cluster mixes classes, both see who is who in it, and agree on the same object
more often. So the covariance of two classifiers' votes inside clusters, next to their covariance over
all objects, is the share of their common knowledge that the clusters do *not* explain. Errors that
classifiers share on some objects of a cluster count as knowledge here: clusters look worse by them,
not better. Only an error that they share on a whole cluster goes unnoticed.

These are the variance components of a random effects model. The mean of an object's votes varies
inside its cluster by what the classifiers have in common there, W, and by the noise that each adds of
its own, N. The best linear guess of what they have in common weighs the mean vote of the cluster
against that of the object itself as N against W: if the votes of an object count three labels, its
clusters are worth 3 N / W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bc3e.agreement import DIGITS, leading_class, times_chosen, winners
from bc3e.columns import Column, LabelColumn
from bc3e.model.evidence import FloatArray
from bc3e.model.rows import weighed_sum
from bc3e.objects import Objects

ALONE = 1e-9  # what is left of an object beside its cluster, but for rounding, if it has that to itself
ENOUGH = 30.0  # objects with two votes from which on the errors of means are known
TRACE = 0.1  # share of an even share of the votes up to which a class is not counted
NOTHING = 1e-12  # a difference that may be rounding


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
        Classes that more than a trace of the votes is for.
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
        return bool(factors @ self.means + errors * deviation < -NOTHING)


def screening(objects: Objects, heard: NDArray[np.bool_]) -> Screening | None:
    """Variance components inside the clusters of the clusterings that are heard, on average.

    None if there is too little to compare. Of soft votes the strongest class is taken, of soft
    clusterings the strongest cluster.
    """
    return _measured(_heard_clusters(objects, heard), winners(objects.table), objects)


def joint_screening(objects: Objects, heard: NDArray[np.bool_]) -> Screening | None:
    """Variance components in what the clusterings that are heard say together.

    Clusterings that err apart from each other leave much each, and little together.
    """
    chosen = winners(objects.table)
    return _measured([_together(_heard_clusters(objects, heard), chosen, objects)], chosen, objects)


def _heard_clusters(objects: Objects, heard: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    return [_strongest(objects.table.clusters[m]) for m in np.flatnonzero(heard)]


def _measured(
    clusterings: Sequence[NDArray[np.intp]], chosen: NDArray[np.intp], objects: Objects
) -> Screening | None:
    """Variance components inside the clusters of some clusterings, on average; None if unknown."""
    rows, k = objects.table.n_objects, len(objects.table.classes)
    overall, _ = _components(np.zeros(rows, dtype=np.intp), chosen, k, objects)
    inside, times = np.zeros((2, rows)), np.zeros(rows)
    for clusters in clusterings:
        shared, spread = _components(clusters, chosen, k, objects)
        known = np.isfinite(shared)
        inside[:, known] += shared[known], spread[known]
        times += known
    known = np.isfinite(overall) & (times > 0)
    mass, copies = objects.weights[known], objects.counts[known]
    # Objects of equal weight that would tell as much.
    size = mass.sum() ** 2 / max(np.sum(mass**2 / copies), NOTHING)
    if size < ENOUGH:
        return None
    parts = np.stack([inside[0], overall, inside[1]])[:, known]
    parts[[0, 2]] /= times[known]
    means = np.average(parts, axis=1, weights=mass)
    away = parts - means[:, None]
    votes = (chosen >= 0).sum(axis=1)
    return Screening(
        means=means,
        covariance=np.einsum("n,in,jn->ij", mass, away, away) / (mass.sum() * size),
        votes=float(np.average(votes[known], weights=mass)),
        classes=_classes(chosen, k, objects.weights),
    )


def _together(
    clusterings: Sequence[NDArray[np.intp]], chosen: NDArray[np.intp], objects: Objects
) -> NDArray[np.intp]:
    """The class that all clusters of an object name together, by the votes of the others in them.

    Clusterings count as independent: log-odds of the votes in each cluster, without those of the object
    itself, are added up. -1 for objects without a cluster.
    """
    k, cast = len(objects.table.classes), times_chosen(objects.table)
    total = weighed_sum(objects.weights, cast) + NOTHING
    frequency = total / total.sum()
    own = cast * (objects.weights / objects.counts)[:, None]
    # Few votes in a cluster are believed as far as they exceed those of one object.
    prior = objects.unit * chosen.shape[1] * frequency
    odds, times = np.zeros(own.shape), np.zeros(len(chosen))
    for clusters in clusterings:
        votes = _Votes(clusters, chosen, k, objects)
        others = votes.counts.sum(axis=0).take(votes.at, axis=0)
        others -= own
        others += prior
        told = np.log(np.maximum(others, prior, out=others), out=others)
        there = clusters >= 0
        odds += told if there.all() else told * there[:, None]
        times += there
    odds += (1.0 - times)[:, None] * np.log(frequency)
    return np.where(times > 0, leading_class(odds), -1)


def _classes(chosen: NDArray[np.intp], k: int, weights: FloatArray) -> int:
    """Classes that more than a trace of the votes is for: a stray vote makes no further class."""
    rows, columns = np.nonzero(chosen >= 0)
    votes = np.bincount(chosen[rows, columns], weights=weights[rows], minlength=k)
    return int(np.count_nonzero(votes > TRACE * votes.sum() / k))


def _strongest(column: Column) -> NDArray[np.intp]:
    """The cluster of each object, -1 where it is missing or not one alone is the strongest."""
    if isinstance(column, LabelColumn):
        return column.codes.astype(np.intp, copy=False)
    scores = np.round(column.scores, DIGITS)
    largest = scores.max(axis=1, keepdims=True)
    clear = (largest[:, 0] > 0) & (np.count_nonzero(scores == largest, axis=1) == 1)
    return np.where(clear, scores.argmax(axis=1), -1)


class _Votes:
    """Votes of every classifier in every cluster; missing clusters are one more cluster, of no weight.

    Attributes
    ----------
    own : (P,) array
        Weight of one object; those of a row count alike.
    at : (P,) array
        Cluster of each row.
    valid : list of (P,) arrays
        Which rows have a cluster and a vote of a classifier.
    cells : list of (P,) arrays
        Cluster and vote as one number.
    counts : (r1, clusters, k) array
    """

    def __init__(
        self, clusters: NDArray[np.intp], chosen: NDArray[np.intp], k: int, objects: Objects
    ) -> None:
        size = int(clusters.max(initial=-1)) + 1
        self.own = objects.weights / objects.counts
        self.at = np.where(clusters >= 0, clusters, size)
        placed = (clusters >= 0) & (self.own > 0)
        self.valid = [placed & (choice >= 0) for choice in chosen.T]
        self.cells = [self.at * k + np.maximum(choice, 0) for choice in chosen.T]
        found = [
            np.bincount(cells, weights=objects.weights * valid, minlength=(size + 1) * k)
            for cells, valid in zip(self.cells, self.valid, strict=True)
        ]
        self.counts = np.reshape(found, (len(found), size + 1, k))


def _components(
    clusters: NDArray[np.intp], chosen: NDArray[np.intp], k: int, objects: Objects
) -> tuple[FloatArray, FloatArray]:
    """Each row's part in the covariance of two votes and in the variance of one; NaN without two.

    Deviations from the means of a cluster that an object belongs to itself are too small by its part
    in these means, and by what the two means have in common. That is made up for, so clusters of any
    size and classifiers that judge different objects of them do not look better or worse.
    """
    held = _Votes(clusters, chosen, k, objects)
    at, own, rows = held.at, held.own, len(clusters)
    sizes = held.counts.sum(axis=2)
    over = 1.0 / np.where(sizes > 0, sizes, 1.0)
    means = held.counts * over[:, :, None]
    parts = [own * inverse.take(at) for inverse in over]  # of each object in the mean of its cluster
    squares, votes = np.zeros(rows), np.zeros(rows)
    for a, valid in enumerate(held.valid):
        spread = np.sum(means[a] ** 2, axis=1).take(at) - 2.0 * means[a].reshape(-1).take(held.cells[a])
        left = 1.0 - parts[a]
        beside = valid & (left > ALONE)
        squares += beside * (1.0 + spread) / np.where(beside, left, 1.0)
        votes += beside
    shared, pairs = np.zeros(rows), np.zeros(rows)
    for a, b in combinations(range(len(held.valid)), 2):
        both = held.valid[a] & held.valid[b]
        common = np.bincount(at, weights=objects.weights * own * both, minlength=sizes.shape[1])
        left = 1.0 - parts[a] - parts[b] + (common * over[a] * over[b]).take(at)
        same = (chosen[:, a] == chosen[:, b]) + np.sum(means[a] * means[b], axis=1).take(at)
        same -= means[a].reshape(-1).take(held.cells[b])
        same -= means[b].reshape(-1).take(held.cells[a])
        beside = both & (left > ALONE)
        shared += beside * same / np.where(beside, left, 1.0)
        pairs += beside
    known = (pairs > 0) & (votes > 0)
    nothing = np.full(rows, np.nan)
    return (
        np.divide(shared, pairs, out=nothing.copy(), where=known),
        np.divide(squares, votes, out=nothing, where=known),
    )
