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

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.agreement import COMPANY, DIGITS, choices_counted, leading_class
from bc3e.ballots import Ballots, Cells, summed
from bc3e.columns import Column, LabelColumn
from bc3e.model.evidence import FloatArray
from bc3e.model.rows import weighed_sum
from bc3e.objects import Objects

ALONE = 1e-9  # what is left of an object beside its cluster, but for rounding, if it has that to itself
ENOUGH = 30.0  # objects with two votes from which on the errors of means are known
MET = 0.5  # share of the objects that two classifiers judge which must be in clusters
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
    accord : float
        By how many standard errors those two classifiers that do so least agree beyond chance.
    worst : float
        Share that clusters leave of what two classifiers have in common: the largest of any two.
    """

    means: FloatArray
    covariance: FloatArray
    votes: float
    classes: int
    accord: float
    worst: float

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


@dataclass(frozen=True)
class Screenings:
    """What several clusterings leave, each and together.

    Attributes
    ----------
    each : Screening or None
        Inside the clusters of one clustering, on average over these; None if there is too little to
        compare.
    together : Screening or None
        In what they say together: clusterings that err apart from each other leave much each, and
        little together.
    alike : float
        Correlation of the errors of two of them, see :func:`_alikeness`.
    different : int
        How many they are but for copies; 0 if some are copied more often than others, as these
        would get more of what all are worth.
    """

    each: Screening | None
    together: Screening | None
    alike: float
    different: int

    def apart(self, alike: float, rest: float) -> bool:
        """Whether the clusterings err apart from each other.

        Errors that all of them share look right to :func:`_alikeness`; but then they leave together
        what each of them leaves. So their errors correlate by less than `alike`, and they leave less
        together than the share `rest` of what each leaves.
        """
        if self.each is None or self.together is None:
            return False
        left, shared = self.each.means[0], self.together.means[0]
        return bool(self.alike < alike and shared < rest * left)


def screenings(objects: Objects, heard: NDArray[np.bool_]) -> Screenings:
    """Variance components inside the clusters of the clusterings that are heard.

    Of soft votes the strongest class is taken, of soft clusterings the strongest cluster.
    """
    ballots = Ballots(objects)
    overall = _inside(Cells(np.zeros(len(ballots.at), dtype=np.intp), ballots), ballots)
    each = _Parts(np.zeros_like(overall.rows), np.zeros_like(overall.pairs))
    named = np.zeros((len(ballots.at), ballots.k + 1))
    chosen: dict[bytes, NDArray[Any]] = {}  # a copy says nothing new
    copies: Counter[bytes] = Counter()
    for m in np.flatnonzero(heard):  # one at a time: of many clusters a table of counts is large
        held = Cells(_strongest(objects.table.clusters[m]), ballots)
        each = each + _inside(held, ballots)
        odds = _named(held, ballots)
        leading = _in_front(odds[:, :-1], odds[:, -1] > 0).take(held.of_row)
        key = leading.tobytes()
        copies[key] += 1
        if key not in chosen:
            chosen[key] = leading
            named += odds.take(held.of_row, axis=0)
    joint = _together(named, ballots)
    together = _inside(Cells(joint, ballots), ballots)
    return Screenings(
        each=_measured(each, overall, ballots, int(heard.sum())),
        together=_measured(together, overall, ballots, 1),
        alike=_alikeness(np.array(list(chosen.values())), joint, ballots),
        different=len(chosen) if len(set(copies.values())) == 1 else 0,
    )


def _alikeness(chosen: NDArray[Any], joint: NDArray[np.intp], ballots: Ballots) -> float:
    """Correlation of the errors of two clusterings, if what they say together is right.

    Each names a class for an object, the one that most votes in its cluster are for (`chosen`, a row
    each, -1 if none). If they err apart from each other, two of them agree on an object no more often
    than on two objects of which all together (`joint`) say the same. Those that err alike, such as
    k-means runs of the same features, agree on their errors. Errors that all of them make are not seen.
    1 if there are no three to compare.
    """
    r = len(chosen)
    if r < COMPANY:
        return 1.0
    n, k = (chosen >= 0).sum(axis=0), ballots.k
    rows = np.flatnonzero((n > 1) & (joint >= 0))
    weights = ballots.weights[rows]
    total = weights.sum()
    if not total > 0:
        return 1.0
    chosen, joint, n = chosen[:, rows], joint[rows], n[rows]
    counts = choices_counted(chosen.T, k)
    same = np.sum(counts * (counts - 1.0), axis=1) / (n * (n - 1.0))
    shares, squares = np.zeros((len(rows), k)), np.zeros(len(rows))
    for choice in chosen:  # of another object of which all say the same
        present = choice >= 0
        at, mass = joint[present], weights[present]
        held = summed(at, mass, k)
        share = summed(at * k + choice[present], mass, k * k).reshape(k, k)
        share /= np.where(held > 0, held, 1.0)[:, None]
        shares[present] += share[at]
        squares[present] += np.sum(share**2, axis=1)[at]
    two = (np.sum(shares**2, axis=1) - squares) / (n * (n - 1.0))
    spread = float(weighed_sum(weights, 1.0 - squares / n))
    return float(weighed_sum(weights, same - two)) / spread if spread > NOTHING * total else 1.0


@dataclass(frozen=True)
class _Parts:
    """What makes up covariances of votes.

    Attributes
    ----------
    rows : (3, P) array
        Each row's part in the covariance of two votes and in the variance of one, and how many
        clusterings tell it.
    pairs : (pairs, 5) array
        Of every two classifiers: weight of the objects that both judge and sum of the parts in their
        covariance; sums of squared weights, of these times the parts, and times the squared parts.
    """

    rows: FloatArray
    pairs: FloatArray

    def __add__(self, other: _Parts) -> _Parts:
        return _Parts(self.rows + other.rows, self.pairs + other.pairs)

    def covariances(self) -> FloatArray:
        """Covariance of the votes of every two classifiers, 0 of those that never meet, (pairs,)."""
        mass, total = self.pairs[:, :2].T
        found: FloatArray = np.divide(total, mass, out=np.zeros(len(mass)), where=mass > 0)
        return found

    def errors(self) -> FloatArray:
        """Standard errors of the covariances, (pairs,)."""
        mass, _, squares, first, second = self.pairs.T
        mean = self.covariances()
        spread = second - 2.0 * mean * first + mean**2 * squares
        found: FloatArray = np.sqrt(np.maximum(spread, 0.0)) / np.where(mass > 0, mass, 1.0)
        return found


def _measured(inside: _Parts, overall: _Parts, ballots: Ballots, r2: int) -> Screening | None:
    """Variance components by parts inside clusters of r2 clusterings and over all; None if unknown."""
    known = (overall.rows[2] > 0) & (inside.rows[2] > 0)
    mass, copies = ballots.weights[known], ballots.counts[known]
    # Objects of equal weight that would tell as much.
    size = mass.sum() ** 2 / max(np.sum(mass**2 / copies), NOTHING)
    if size < ENOUGH:
        return None
    shared, spread, times = inside.rows.compress(known, axis=1)
    parts = np.stack([shared / times, overall.rows[0].compress(known), spread / times])
    means = np.average(parts, axis=1, weights=mass)
    away = parts - means[:, None]
    votes = (ballots.chosen >= 0).sum(axis=1).take(ballots.at)
    common = overall.covariances()
    # Two that hardly meet inside clusters are not explained by them.
    met = inside.pairs[:, 0] > MET * r2 * overall.pairs[:, 0]
    left = np.where(met, inside.covariances() / np.maximum(common, NOTHING), np.inf)
    return Screening(
        means=means,
        covariance=np.einsum("in,jn->ij", away * mass, away) / (mass.sum() * size),
        votes=float(np.average(votes[known], weights=mass)),
        classes=ballots.classes,
        accord=float(np.min(common / np.maximum(overall.errors(), NOTHING))),
        worst=float(np.max(left)),
    )


def _named(held: Cells, ballots: Ballots) -> FloatArray:
    """Log of the votes of the others for each class in the cluster of each cell, and 1; or 0."""
    # Few votes in a cluster are believed as far as they exceed those of one object.
    prior = ballots.prior
    others = held.counts.sum(axis=0)[held.at] - ballots.votes[held.ballot] + prior
    found = np.ones((len(others), ballots.k + 1))
    np.log(np.maximum(others, prior), out=found[:, :-1])
    found[held.at == held.counts.shape[1] - 1] = 0.0
    return found


def _in_front(scores: NDArray[np.floating[Any]], counted: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Where the largest score of each row is, -1 in rows that do not count or have several such."""
    rounded = np.round(scores, DIGITS)
    largest = rounded.max(axis=1, keepdims=True)
    clear = counted & (np.count_nonzero(rounded == largest, axis=1) == 1)
    return np.where(clear, rounded.argmax(axis=1), -1)


def _together(named: FloatArray, ballots: Ballots) -> NDArray[np.intp]:
    """The class that all clusters of an object name together, by sums of :func:`_named`.

    Clusterings count as independent: log-odds are added up. -1 for objects without a cluster.
    """
    odds, times = named[:, :-1], named[:, -1]
    odds = odds + (1.0 - times)[:, None] * np.log(ballots.prior / ballots.prior.sum())
    return np.where(times > 0, leading_class(odds), -1)


def _strongest(column: Column) -> NDArray[np.intp]:
    """The cluster of each object, -1 where it is missing or not one alone is the strongest."""
    if isinstance(column, LabelColumn):
        return column.codes.astype(np.intp, copy=False)
    return _in_front(column.scores, column.scores.max(axis=1) > 0)


def _inside(held: Cells, ballots: Ballots) -> _Parts:
    """Parts in the covariance of two votes and in the variance of one, and 1; 0 without two.

    Deviations from the means of a cluster that an object belongs to itself are too small by its part
    in these means, and by what the two means have in common. That is made up for, so clusters of any
    size and classifiers that judge different objects of them do not look better or worse.
    """
    at, own, k = held.at, ballots.own[held.ballot], ballots.k
    chosen = [choice[held.ballot] for choice in ballots.chosen.T]
    valid = [held.placed & (choice >= 0) for choice in chosen]
    named = [at * k + np.maximum(choice, 0) for choice in chosen]
    sizes = held.counts.sum(axis=2)
    over = 1.0 / np.where(sizes > 0, sizes, 1.0)
    means = held.counts * over[:, :, None]
    parts = [own * inverse.take(at) for inverse in over]  # of each object in the mean of its cluster
    squares, votes = np.zeros(len(at)), np.zeros(len(at))
    for a, voted in enumerate(valid):
        spread = np.sum(means[a] ** 2, axis=1).take(at) - 2.0 * means[a].reshape(-1).take(named[a])
        left = 1.0 - parts[a]
        beside = voted & (left > ALONE)
        squares += beside * (1.0 + spread) / np.where(beside, left, 1.0)
        votes += beside
    shared, pairs, sums = np.zeros(len(at)), np.zeros(len(at)), []
    for a, b in combinations(range(len(valid)), 2):
        both = valid[a] & valid[b]
        common = np.bincount(at, weights=held.weights * own * both, minlength=sizes.shape[1])
        left = 1.0 - parts[a] - parts[b] + (common * over[a] * over[b]).take(at)
        same = (chosen[a] == chosen[b]) + np.sum(means[a] * means[b], axis=1).take(at)
        same -= means[a].reshape(-1).take(named[b])
        same -= means[b].reshape(-1).take(named[a])
        beside = both & (left > ALONE)
        part = beside * same / np.where(beside, left, 1.0)
        shared += part
        pairs += beside
        mass = held.weights * beside
        powers = np.stack([np.ones(len(part)), part, part**2], axis=1)
        sums.append([*weighed_sum(mass, powers[:, :2]), *weighed_sum(mass * own, powers)])
    known = (pairs > 0) & (votes > 0)
    found = np.zeros((3, len(at)))
    np.divide(shared, pairs, out=found[0], where=known)
    np.divide(squares, votes, out=found[1], where=known)
    found[2] = known
    return _Parts(found.take(held.of_row, axis=1), np.array(sums))
