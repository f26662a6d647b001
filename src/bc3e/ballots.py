"""Objects counted by what their classifiers choose and by where they lie.

Many objects have the same ballot, and many of these the same cluster: what is asked of every object is
worked out once for all that are alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.agreement import choices_counted, winners
from bc3e.grouping import distinct
from bc3e.model.evidence import FloatArray
from bc3e.model.rows import weighed_sum
from bc3e.objects import Objects

TRACE = 0.1  # share of an even share of the votes up to which a class is not counted
LEAST = 1e-12  # of all votes, that a class without any has


def summed(places: NDArray[Any], weights: FloatArray, size: int) -> FloatArray:
    """Weights summed by place, (size,)."""
    return np.bincount(places, weights=weights, minlength=size).astype(np.float64, copy=False)


def counted(total: FloatArray) -> NDArray[np.bool_]:
    """Classes, or classifiers, that more than a trace of all votes is for: a stray one makes none."""
    found: NDArray[np.bool_] = total > TRACE * total.sum() / len(total)
    return found


class Ballots:
    """What the classifiers of each object choose; objects that have the same, and weigh the same, once.

    Attributes
    ----------
    k : int
        Classes.
    weights, counts : (P,) arrays
        Weight of all objects of a row, where an object weighs 1 on average, and how many they are.
    at : (P,) array
        Ballot of each row.
    chosen : (B, r1) array
        Class that each classifier chooses, -1 where it does not vote.
    own : (B,) array
        Weight of one object; those of a row count alike.
    votes : (B, k) array
        Votes of one object for each class.
    classes : int
        Classes that more than a trace of all votes is for.
    prior : (k,) array
        Class frequencies, times the votes of one object.
    """

    def __init__(self, objects: Objects) -> None:
        self.k = len(objects.table.classes)
        self.weights, self.counts = objects.weights / objects.unit, objects.counts
        chosen, own = winners(objects.table), self.weights / self.counts
        places, self.at = _alike(chosen, own, self.k)
        self.chosen, self.own = chosen[places], own[places]
        cast = choices_counted(self.chosen, self.k)
        self.votes = cast * self.own[:, None]
        mass = summed(self.at, self.weights, len(places))
        total = weighed_sum(mass, cast)
        self.classes = int(np.count_nonzero(counted(total)))
        total += LEAST
        self.prior = chosen.shape[1] * total / total.sum()


def _alike(
    chosen: NDArray[np.intp], own: FloatArray, k: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A place of each different row of choices and weight, and the number of each row there."""
    sizes, rank = np.unique(own, return_inverse=True)
    if len(sizes) * (k + 1) ** chosen.shape[1] >= 2**63:
        everyone = np.arange(len(own))
        return everyone, everyone
    keys = rank.astype(np.int64)
    for choice in chosen.T:
        keys *= k + 1
        keys += choice + 1
    return distinct(keys)


class Cells:
    """The votes in every cluster: objects with the same cluster and ballot are one cell.

    A missing cluster is one more cluster, of which nothing counts.

    Attributes
    ----------
    of_row : (P,) array
        Cell of each row.
    at, ballot : (n,) arrays
        Cluster and ballot of each cell.
    placed : (n,) array
        Whether it is a cell of a cluster, of objects that have a weight.
    weights : (n,) array
    counts : (r1, clusters, k) array
        Votes of every classifier in every cluster.
    """

    def __init__(self, clusters: NDArray[np.intp], ballots: Ballots) -> None:
        size, different = int(clusters.max(initial=-1)) + 1, len(ballots.own)
        place = np.where(clusters >= 0, clusters, size)
        if (size + 1) * different <= len(clusters):  # else there is a cell for nearly every row
            self.of_row = place * different + ballots.at
            self.at = np.repeat(np.arange(size + 1), different)
            self.ballot = np.tile(np.arange(different), size + 1)
            self.weights = summed(self.of_row, ballots.weights, len(self.at))
        else:
            self.of_row, self.at, self.ballot = np.arange(len(place)), place, ballots.at
            self.weights = ballots.weights
        self.placed = (self.at < size) & (ballots.own[self.ballot] > 0)
        heavy, found = self.weights * self.placed, []
        for choice in ballots.chosen.T:
            voted = choice[self.ballot]
            cells = self.at * ballots.k + np.maximum(voted, 0)
            mass = heavy * (voted >= 0)
            found.append(summed(cells, mass, (size + 1) * ballots.k))
        self.counts = np.reshape(found, (len(found), size + 1, ballots.k))
