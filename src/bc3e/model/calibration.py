"""Votes made as confident as they are likely to be right.

Mean probabilities of several classifiers are too timid where the classifiers
agree and too bold where drift makes them wrong together with confidence. How
often two classifiers agree is, without any label, a fair estimate of how often
they are right (for calibrated ensembles it is exact: Jiang et al., "Assessing
generalization of SGD via disagreement", ICLR 2022). Votes are therefore raised
to the power that makes their mean confidence equal to the agreement rate.

Inside the model that is what they need: the clusterings are weighed against
votes of the right size. As an answer neither the votes nor the refined
shares can be relied on alone. Log-loss is convex, so a mean of the two loses little
where one is wrong: the answer is the mean of the votes as they were given and of
the refined shares, as far as the refined label stays in front. Where labels hardly
move, the refined shares say little that the votes do not say; there the other half of
the second opinion is what the clusters say of an object without its own votes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from bc3e.model.evidence import FloatArray
from bc3e.model.inference import State, Workers
from bc3e.model.rows import by_class, class_sum, of_class, row_max, row_sum, weighed_sum

EXPONENTS = (0.15, 6.0)
EXACT = 1e-13  # to which a power is found
NEAR = 1e-6  # to which it is found where some objects stand for all
EACH = 16  # of so many objects one is among those
MANY = 16_384  # objects from which on that is worth it
STEPS = 20  # in which it is found, or not by secants
CERTAIN = 0.98  # the highest accuracy that agreement may stand for
FLOOR = 1e-3  # added to every share: a vote of zero is not a proof
BLOCK = 16_384  # rows at a time where a copy of the whole table would be too much
GIVEN = 0.75  # share of the votes as given in the answer: they count as three, the refined as one
AHEAD = 1e-6  # by which the refined label stays in front of the others
ALONE = 3.0  # labels that the clusters count as where they speak alone: as many as the votes


def softmax(values: FloatArray) -> FloatArray:
    """Rows as shares in proportion to exp."""
    shares = np.empty(values.shape)
    for first in range(0, len(values), BLOCK):
        rows = slice(first, first + BLOCK)
        shares[rows] = softmax_by_class(values[rows]).T
    return shares


def softmax_by_class(values: FloatArray) -> FloatArray:
    """The shares of :func:`softmax` with a row for each class, (k, N)."""
    shares = by_class(values)
    shares -= shares.max(axis=0)
    np.exp(shares, out=shares)
    shares /= class_sum(shares)
    return shares


def tempered(votes: FloatArray, exponent: float, out: FloatArray | None = None) -> FloatArray:
    """Rows raised to a power and scaled back to their sums; rows without votes stay empty."""
    if exponent == 1.0:
        return votes
    powers = np.empty(votes.shape) if out is None else out
    for first in range(0, len(votes), BLOCK):
        rows = slice(first, first + BLOCK)
        part = by_class(votes[rows])
        total = class_sum(part)
        part /= np.where(total > 0, total, 1.0)
        part += FLOOR
        np.log(part, out=part)
        part *= exponent
        part -= part.max(axis=0)
        np.exp(part, out=part)
        part *= total / class_sum(part)
        powers[rows] = part.T
    return powers


class Confidence:
    """How confident shares are at any power; what does not depend on the power is done once.

    The tempered share of the strongest class is 1 / sum_i (x_i / x_max)^exponent, with x the shares
    plus FLOOR. The logs of these ratios are kept, a block of objects at a time and within it class by
    class.

    Parameters
    ----------
    shape : (int, int)
        Objects and classes.
    read : callable
        The votes or shares of the objects from one to another, a row for each class; used up.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        read: Callable[[int, int], FloatArray],
        workers: Workers | None = None,
    ) -> None:
        self.workers = workers or Workers(1)
        self.logs = np.empty(shape)
        self.voted = np.empty(len(self.logs), dtype=np.bool_)

        def run(first: int, last: int) -> None:
            logs, self.voted[first:last] = log_ratios(read(first, last))
            self.block(first, last)[:] = logs

        self.workers.blocks(len(self.logs), run)

    def block(self, first: int, last: int) -> FloatArray:
        """Logs of the ratios of the objects of a block, (k, objects)."""
        return self.logs[first:last].reshape(-1, last - first)

    def power_for(
        self, weights: FloatArray, confidence: float, start: tuple[float, float] | None = None
    ) -> float:
        """The power at which the mean confidence is `confidence`; 1 without votes.

        The search begins at `start`, if given: see :meth:`near`.
        """
        mass, held = self._mass(weights), [self]

        def voted(first: int, last: int) -> float:
            return float(weights[first:last][self.voted[first:last]].sum())

        total = sum(self.workers.blocks(len(mass), voted))
        if total <= 0:
            return 1.0
        try:  # brentq keeps its function alive in a cycle: the logs shall not live as long
            return solve_exponent(lambda power: held[0]._strong(mass, power) / total, confidence, start)
        finally:
            held.clear()

    def near(self, weights: FloatArray, confidence: float) -> tuple[float, float] | None:
        """Log of a power near that of :meth:`power_for`, and the slope of confidence over it there.

        One in EACH objects tells; None if there are not many of them.
        """
        some, asked = self._mass(weights[::EACH], EACH), min(confidence, CERTAIN)
        total = float(some.sum())
        if len(weights) < MANY or total <= 0:
            return None
        # Blocks begin at multiples of EACH: these are the logs of the same objects.
        parts = self.workers.blocks(len(weights), lambda *rows: self.block(*rows)[:, ::EACH])
        logs = np.concatenate(parts, axis=1)
        return _by_secants(
            lambda power: _strong_mass(logs, some, power) / total - asked, _guess(asked), NEAR
        )

    def _mass(self, weights: FloatArray, each: int = 1) -> FloatArray:
        """The weights, 0 for objects without votes."""
        voted = self.voted[::each]
        return weights if voted.all() else weights * voted

    def _strong(self, mass: FloatArray, exponent: float) -> float:
        """Strongest shares of all objects, each times its mass: their sum."""

        def run(first: int, last: int) -> float:
            return _strong_mass(self.block(first, last), mass[first:last], exponent)

        return sum(self.workers.blocks(len(self.logs), run))


def _strong_mass(logs: FloatArray, mass: FloatArray, exponent: float) -> float:
    """Strongest shares at a power, from :func:`log_ratios`, each times a mass: their sum."""
    return float(weighed_sum(mass, _strongest(logs, exponent)))


def log_ratios(votes: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Logs of the shares plus FLOOR, over those of the strongest, (k, N), and who has votes, (N,).

    They take the place of the votes, (k, N).
    """
    total = class_sum(votes)
    voted = total > 0
    votes /= np.where(voted, total, 1.0)
    votes += FLOOR
    np.log(votes, out=votes)
    votes -= votes.max(axis=0)
    return votes, voted


def powered(logs: FloatArray, exponent: float) -> FloatArray:
    """Tempered shares from the logs of :func:`log_ratios`, (k, N)."""
    powers = exponent * logs
    np.exp(powers, out=powers)
    powers /= class_sum(powers)
    return powers


def _strongest(logs: FloatArray, exponent: float) -> FloatArray:
    """Strongest tempered share of each object, from the logs of :func:`log_ratios`, (N,)."""
    powers = exponent * logs
    np.exp(powers, out=powers)
    return 1.0 / class_sum(powers)


def confidences(votes: FloatArray, exponent: float) -> FloatArray:
    """Strongest share of the tempered votes of each object, and 1; 0 and 0 without votes, (N, 2)."""
    if exponent == 1.0:  # as they are
        total = row_sum(votes)
        return np.stack([row_max(votes) / np.where(total > 0, total, 1.0), total > 0], axis=1)
    logs, voted = log_ratios(by_class(votes))
    return np.stack([voted * _strongest(logs, exponent), voted], axis=1)


def mean_confidence(
    votes: FloatArray, weights: FloatArray, exponent: float = 1.0, workers: Workers | None = None
) -> float:
    """Mean share of the strongest class of the tempered votes, over the objects that have any."""
    return mean_of(confidence_sums(votes, weights, exponent, workers), int(votes.shape[1]))


def mean_of(sums: FloatArray, k: int) -> float:
    """The mean confidence from :func:`confidence_sums`; that of a guess if nobody voted."""
    strength, mass = sums
    return float(strength / mass) if mass > 0 else 1.0 / k


def confidence_sums(
    votes: FloatArray, weights: FloatArray, exponent: float = 1.0, workers: Workers | None = None
) -> FloatArray:
    """Shares of the strongest class of the tempered votes, and objects that have votes: two sums."""

    def run(first: int, last: int) -> FloatArray:
        return weighed_sum(weights[first:last], confidences(votes[first:last], exponent))

    found: FloatArray = np.sum((workers or Workers(1)).blocks(len(votes), run), axis=0)
    return found


def exponent_for(
    votes: FloatArray, weights: FloatArray, confidence: float, workers: Workers | None = None
) -> float:
    """The power at which the mean confidence of the votes is `confidence`; 1 without votes."""
    held = Confidence(votes.shape, lambda first, last: by_class(votes[first:last]), workers)
    return held.power_for(weights, confidence)


def solve_exponent(
    mean_confidence_at: Callable[[float], float],
    confidence: float,
    start: tuple[float, float] | None = None,
) -> float:
    """The power at which a mean confidence, which grows with it, is `confidence`.

    If known, `start` is the log of a power nearby and the slope of the confidence there over it.
    """
    asked = min(confidence, CERTAIN)

    def excess(exponent: float) -> float:
        return mean_confidence_at(exponent) - asked

    found = _by_secants(excess, start or _guess(asked), EXACT)
    if found is not None:
        return float(np.exp(found[0]))
    low, high = EXPONENTS
    if excess(low) >= 0:
        return low
    if excess(high) <= 0:
        return high
    return float(brentq(excess, low, high, xtol=EXACT, rtol=EXACT))


def _guess(confidence: float) -> tuple[float, float]:
    """Where steps begin if nothing is known: at power 1, with the slope there over its log.

    It is the slope if all objects were as confident as the mean, between two classes.
    """
    odds = np.log(confidence) - np.log1p(-confidence) if 0.5 < confidence < 1.0 else 1.0
    return 0.0, max(confidence * (1.0 - confidence) * float(odds), 0.01)


def _by_secants(
    excess: Callable[[float], float], start: tuple[float, float], exact: float
) -> tuple[float, float] | None:
    """Log of the zero of an excess in few steps, and the slope there; None if they lead nowhere.

    Steps are taken in the log of the power, over which confidence bends less.
    """
    edges = tuple(float(edge) for edge in np.log(EXPONENTS))
    last, slope = start
    before = excess(float(np.exp(last)))
    at = last - before / slope
    for _ in range(STEPS):
        at = min(max(at, edges[0]), edges[1])
        now = excess(float(np.exp(at)))
        if now == before or (at in edges and (now >= 0) == (at == edges[0])):
            return None  # flat, or beyond the edges
        moved = at - last
        slope, step = (now - before) / moved, now * moved / (now - before)
        last, before, at = at, now, at - step
        # What a step leaves is of the order of its length times how far the point before was off.
        if abs(step) * (abs(step) + abs(moved)) <= exact and edges[0] < at < edges[1]:
            return at, slope
    return None


def blended(votes: FloatArray, refined: FloatArray, winners: NDArray[np.intp]) -> FloatArray:
    """Mean of the votes as given and the refined shares, with the refined winner in front.

    Parameters
    ----------
    votes : (P, k) array
        Votes per class as they were given; a row without votes is left to `refined`.
    refined : (P, k) array
        Refined shares.
    winners : (P,) array
        The refined labels.
    """
    return np.ascontiguousarray(blended_by_class(by_class(votes), by_class(refined), winners).T)


def blended_by_class(given: FloatArray, told: FloatArray, winners: NDArray[np.intp]) -> FloatArray:
    """:func:`blended` of votes and refined shares with a row for each class, (k, P), both used up."""
    total = class_sum(given)
    voted = total > 0
    given /= np.where(voted, total, 1.0)
    part = GIVEN * voted
    contested = np.flatnonzero(of_class(given, winners) < given.max(axis=0))
    part[contested] = _bearable(given[:, contested], told[:, contested], winners[contested])
    given *= part
    told *= 1.0 - part
    given += told
    return given


def _bearable(given: FloatArray, told: FloatArray, winners: NDArray[np.intp]) -> FloatArray:
    """The largest part w of the votes, up to GIVEN, that leaves the refined winners in front."""
    behind = of_class(given, winners) - given
    ahead = of_class(told, winners) - told
    # As long as w * behind + (1 - w) * ahead is positive.
    most = np.where(behind < 0, (ahead - AHEAD) / np.where(behind < 0, ahead - behind, 1.0), 1.0)
    part: FloatArray = np.clip(most.min(axis=0), 0.0, GIVEN)
    return part


def second_opinion(
    refined: FloatArray, state: State, frequencies: FloatArray, rows: slice = slice(None)
) -> FloatArray:
    """Mean of the refined shares and of what the clusters say alone; refined without a cluster label.

    At rest d is the weight of the labels times the expected shares of the classes, and
    g (tendency - mean) what the labels add to it: their sum, over the weight, is the mean
    posterior phi of the clusterings, each of which multiplies softmax(tendency) by
    the profile of one cluster. Divided by softmax(tendency), which holds the object's own votes,
    it leaves the likelihood of the cluster labels.

    Parameters
    ----------
    refined : (P, k) array
        Refined shares of the `rows`.
    state : State
        Posteriors at rest.
    frequencies : (k,) array
        Class frequencies by the votes.
    """
    weight = row_sum(state.d[rows])[:, None]
    told = state.d[rows] + state.g[rows, None] * (state.tendency[rows] - state.mean[rows])
    told = np.maximum(told / np.where(weight > 0, weight, 1.0), 0.0)
    likelihood = (told + FLOOR) / (softmax(state.tendency[rows]) + FLOOR)
    alone = frequencies * likelihood**ALONE
    alone /= row_sum(alone)[:, None]
    opinion: FloatArray = np.where(weight > 0, (refined + alone) / 2, refined)
    return opinion


def pooled(
    votes: FloatArray, second: FloatArray, leading: FloatArray, winners: NDArray[np.intp]
) -> FloatArray:
    """Three parts votes as given and one part second opinion, with the winner in front.

    Parameters
    ----------
    votes : (P, k) array
        Votes per class as they were given; a row without votes is left to `second`.
    second : (P, k) array
        Shares of the second opinion.
    leading : (P, k) array
        Shares in which the winner leads, to be mixed in as far as it takes to put it in front.
    winners : (P,) array
    """
    total = row_sum(votes)[:, None]
    part = GIVEN * (total > 0)
    shares = part * votes / np.where(total > 0, total, 1.0) + (1.0 - part) * second
    rows = np.arange(len(shares))
    behind = shares[rows, winners][:, None] - shares
    ahead = leading[rows, winners][:, None] - leading
    short = (behind < AHEAD) & (ahead > behind)
    most = np.where(short, (ahead - AHEAD) / np.where(short, ahead - behind, 1.0), 1.0)
    part = np.clip(most.min(axis=1, keepdims=True), 0.0, 1.0)
    answer: FloatArray = part * shares + (1.0 - part) * leading
    return answer
