"""What classifiers say about each other: without a label, the only word on their worth.

Two classifiers that are often right agree often. How often any two agree tells
how sure the votes may be (:mod:`bc3e.model.calibration`); how well one agrees
with all the others tells how much its own vote should count.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bc3e.columns import LabelColumn
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.calibration import BLOCK, pooled
from bc3e.model.evidence import FloatArray
from bc3e.model.rows import first_largest, row_argmax, weighed_sum

WITNESSES = 6  # classifiers that are hidden in turn
COMPANY = 3  # classifiers of which it can be told who agrees best with the others
LEAST_WEIGHT = 0.02  # of a classifier that agrees with the others by chance or less
DIGITS = 9  # votes that differ by less are equal: sums in another order must not decide


def winners(table: LabelTable) -> NDArray[np.intp]:
    """Each classifier's choice for each object, -1 where it did not vote, (N, r1)."""
    chosen = np.empty((table.n_objects, len(table.votes)), dtype=np.intp)
    for column, vote in enumerate(table.votes):
        if isinstance(vote, LabelColumn):
            chosen[:, column] = vote.codes
        else:
            chosen[:, column] = np.where(vote.scores.any(axis=1), vote.scores.argmax(axis=1), -1)
    return chosen


def times_chosen(table: LabelTable) -> FloatArray:
    """How many classifiers choose each class, (N, k)."""
    return choices_counted(winners(table), len(table.classes))


def choices_counted(chosen: NDArray[np.intp], k: int) -> FloatArray:
    """How often each of k classes is among the choices (N, r1) of each object, (N, k)."""
    counts = np.zeros((len(chosen), k))
    for choice in chosen.T:
        voted = np.flatnonzero(choice >= 0)
        counts[voted, choice[voted]] += 1.0
    return counts


def outvoted(
    counts: FloatArray, before: NDArray[np.intp], refined: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Objects whose refined label fewer classifiers choose than the label of the votes, (N,).

    Parameters
    ----------
    counts : (N, k) array
        How many classifiers choose each class.
    before, refined : (N,) arrays
        Labels of the votes, and refined ones.
    """
    new, old = _chosen_by(counts, before, refined)
    fewer: NDArray[np.bool_] = new < old
    return fewer


def kept_labels(counts: FloatArray, votes: FloatArray, refined: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Objects that keep the label of their votes: only one that as many classifiers choose may go, (N,).

    Moving labels to the side of the many and never back would be a bias, so the many
    are not followed either. An object with a single vote has nobody to be counted.
    """
    # Sums over sites come back with rounding: half a vote is none.
    several = counts.sum(axis=1) > 1.5
    new, old = _chosen_by(np.round(counts), leading_class(soft_vote(votes)), refined)
    kept: NDArray[np.bool_] = several & (new != old)
    return kept


def _chosen_by(
    counts: FloatArray, before: NDArray[np.intp], refined: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """How many classifiers choose the refined label, and how many that of the votes."""
    rows = np.arange(len(counts))
    return counts[rows, refined], counts[rows, before]


def kept_shares(votes: FloatArray) -> FloatArray:
    """Shares of the votes, their leading class in front even where rounding puts another there."""
    shares = soft_vote(votes)
    shares[np.arange(len(shares)), leading_class(shares)] = shares.max(axis=1)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def guarded_answer(
    counts: FloatArray,
    votes: FloatArray,
    refined: FloatArray,
    second: FloatArray,
    labels: NDArray[np.intp],
) -> FloatArray:
    """Class probabilities of votes and a second opinion, where labels move only between equals, (N, k).

    Parameters
    ----------
    counts : (N, k) array
        How many classifiers choose each class.
    votes : (N, k) array
        Summed votes.
    refined, second : (N, k) arrays
        Refined shares, and those of the second opinion.
    labels : (N,) array
        Refined labels; not all of them stay.
    """
    kept = kept_labels(counts, votes, labels)
    leading = np.where(kept[:, None], kept_shares(votes), refined)
    return pooled(votes, second, leading, np.where(kept, leading_class(soft_vote(votes)), labels))


def leading_class(shares: FloatArray) -> NDArray[np.intp]:
    """The strongest class of each row, of equals the first."""
    return row_argmax(np.round(shares, DIGITS))


def leading_by_class(shares: FloatArray) -> NDArray[np.intp]:
    """The same of shares with a row for each class, (k, N)."""
    return first_largest(np.round(shares, DIGITS))


def agreement_rate(table: LabelTable, weights: FloatArray | None) -> float | None:
    """How often two classifiers choose the same class; None without two votes to compare."""
    same, both = agreeing_pairs(table, weights)
    return same / both if both > 0 else None


def usual_confidence(table: LabelTable, weights: FloatArray) -> float | None:
    """Mean share that a classifier gives to the class it chooses, 1 of hard votes: the median of all.

    None if all votes are hard, whether labels or shares of 0 and 1: these do not tell.
    """
    found, told = [], False
    for column in table.votes:
        if isinstance(column, LabelColumn):
            found.append(1.0)
            continue
        total, strongest = column.scores.sum(axis=1), column.scores.max(axis=1)
        voted = (total > 0) & (weights > 0)
        if voted.any():
            share = strongest[voted] / total[voted]
            told |= bool(np.round(share.min(), DIGITS) < 1.0)
            found.append(float(np.average(share, weights=weights[voted])))
    return float(np.median(found)) if told else None


def agreeing_pairs(table: LabelTable, weights: FloatArray | None) -> tuple[float, float]:
    """Pairs of votes for an object that choose the same class, and all pairs; sums over objects."""
    table, mass = _ballots(table, weights)
    chosen = winners(table)
    same = both = 0.0
    for a in range(chosen.shape[1]):
        for b in range(a):
            voted = (chosen[:, a] >= 0) & (chosen[:, b] >= 0)
            both += float(mass[voted].sum())
            same += float(mass[voted & (chosen[:, a] == chosen[:, b])].sum())
    return same, both


def _ballots(table: LabelTable, weights: FloatArray | None) -> tuple[LabelTable, FloatArray]:
    """The votes alone, each once that many objects have alike, and the weight of those objects."""
    mass = np.ones(table.n_objects) if weights is None else weights
    alone = replace(table, clusters=())
    rows, groups = alone.patterns()
    if rows is None or groups is None or 2 * len(rows) > table.n_objects:
        return alone, mass
    summed = np.bincount(groups, weights=mass, minlength=len(rows)).astype(np.float64, copy=False)
    return alone.take(rows), summed


def class_votes(table: LabelTable, weights: FloatArray | None) -> FloatArray:
    """Shares of the votes per class: sums over the objects that have votes, (k,)."""
    table, mass = _ballots(table, weights)
    sums = np.zeros(len(table.classes))
    for first in range(0, table.n_objects, BLOCK):  # a block at a time: no copy of the whole table
        rows = slice(first, first + BLOCK)
        votes = table.votes_per_class(rows)
        sums += weighed_sum(mass[rows] * votes.any(axis=1), soft_vote(votes))
    return sums


def classifier_weights(table: LabelTable, weights: FloatArray | None) -> FloatArray:
    """How much a vote of each classifier counts, (r1,): 1 for the one that agrees best with the rest.

    A hard vote that is right with probability a and otherwise falls on any other
    class alike is worth, in a mean of probabilities, its smoothed version: a share
    s = (a - 1/k) / (1 - 1/k) of the vote and the rest spread evenly. The accuracy
    a is unknown, but its agreement with the soft vote of all others, beyond what
    their class frequencies alone would make, estimates s up to a common factor.
    Two classifiers cannot tell which of them is the better one: both count alike.
    """
    if len(table.votes) < COMPANY:
        return np.ones(len(table.votes))
    return weights_in_company(choices_in_company(table, weights))


def choices_in_company(table: LabelTable, weights: FloatArray | None) -> FloatArray:
    """Each classifier's choice beside that of all the others: sums over objects, (r1, k, k)."""
    r1, k = len(table.votes), len(table.classes)
    table, mass = _ballots(table, weights)
    together = np.zeros((r1, k, k))
    for first in range(0, table.n_objects, BLOCK):  # a block at a time: no copy of the whole table
        rows = slice(first, min(first + BLOCK, table.n_objects))
        here = table.take(rows)
        chosen = winners(here)
        for hidden in range(r1):
            others = here.without_vote(hidden).votes_per_class()
            voted = (chosen[:, hidden] >= 0) & others.any(axis=1)
            cells = chosen[voted, hidden] * k + leading_class(soft_vote(others[voted]))
            counts = np.bincount(cells, weights=mass[rows][voted], minlength=k * k)
            together[hidden] += counts.reshape(k, k)
    return together


def weights_in_company(together: FloatArray) -> FloatArray:
    """:func:`classifier_weights` from the sums of :func:`choices_in_company`."""
    totals = together.sum(axis=(1, 2))
    totals[totals <= 0] = 1.0  # never in company: nothing is known of it
    agreed = np.trace(together, axis1=1, axis2=2) / totals
    chance = np.sum(together.sum(axis=2) * together.sum(axis=1), axis=1) / totals**2
    found = np.maximum((agreed - chance) / np.maximum(1.0 - chance, 1e-3), LEAST_WEIGHT)
    relative: FloatArray = found / found.max()
    return relative


def independent_witnesses(chosen: NDArray[np.intp], counts: FloatArray) -> list[int]:
    """The classifiers that agree least with the rest: their word is worth most.

    `chosen` (P, r1) are their choices for patterns that stand for `counts` (P,) objects each.
    """
    r1 = chosen.shape[1]
    if r1 <= WITNESSES:
        return list(range(r1))
    agree = [
        sum(float(weighed_sum(counts, chosen[:, a] == chosen[:, b])) for b in range(r1) if b != a)
        for a in range(r1)
    ]
    return sorted(np.argsort(agree, kind="stable")[:WITNESSES].tolist())
