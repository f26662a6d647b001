"""From a refined answer back to the totals behind it.

An answer is where an object's posterior rests. There the E-step moves nothing, so its two equations

    c_i - R1 p_i - (m_i - mu_i)/sigma2_i - (m_i - e_i)/delta2 = 0
    s_i - R2 t_i - (e_i - m_i)/delta2 = 0

hold, and can be solved for what is not known: from the mean m and the votes c the first gives the
tendency e, and the second the cluster evidence s. The answer gives m (its logarithm, up to a constant
that the equations fix) and, since it is blended with the votes in a known ratio, the votes as well. So
whoever has the answers of many objects has what their auxiliary server had in the last sweep.

A guarded answer holds, besides, what the clusters say alone: the evidence s itself, but for a power and
the class frequencies, which are those of the votes and so are read first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bc3e.agreement import guarded_answer, leading_class
from bc3e.model.calibration import (
    AHEAD,
    ALONE,
    FLOOR,
    GIVEN,
    blended,
    second_opinion,
    tempered,
)
from bc3e.model.evidence import FloatArray
from bc3e.model.parameters import Parameters
from bc3e.model.schedule import FINAL_SWEEPS, SETTLED
from bc3e.model.split import PosteriorHolder

ROUNDS = 400
NEAR = 1e-9  # how exactly answers obey the rules that made them
MOST_TOTALS = 500  # ways to cast the votes of an object
LEAST = 1e-12  # share of a class that can be told from none


@dataclass(frozen=True)
class Powers:
    """Public numbers of the calibration; all 1 where it is off.

    Attributes
    ----------
    votes, answer : float
        Powers.
    vote_weight : float or None
        What the votes of an object count in all; as many as there are if None.
    guarded : bool
        Whether answers also hold what the clusters say alone.
    """

    votes: float
    answer: float
    vote_weight: float | None
    calibrated: bool
    guarded: bool = False


@dataclass(frozen=True)
class Behind:
    """What is behind the answers of some objects.

    Attributes
    ----------
    read : (n,) of bool
        Objects that could be read. Others were blended to a tie: their answer holds one number less.
    given, tendency, totals : (read, k)
        Votes as given, tendencies e and cluster evidence s of the objects that could be read.
    frequencies : (k,)
        Shares of the classes in the votes that could be read.
    """

    read: NDArray[np.bool_]
    given: FloatArray
    tendency: FloatArray
    totals: FloatArray
    frequencies: FloatArray


def behind(
    answer: FloatArray, classifiers: int, label_weight: float, parameters: Parameters, powers: Powers
) -> Behind | None:
    """Votes, tendencies and evidence behind answers (n, k); None if there are too many ways to vote.

    Every object is taken to have a hard vote of each classifier, and all cluster labels.
    """
    ways = vote_totals(classifiers, answer.shape[1])
    if not ways.size or not powers.calibrated:
        return None
    shares = ways / classifiers
    refined = (answer[:, None, :] - GIVEN * shares[None]) / (1.0 - GIVEN)
    fits: NDArray[np.bool_] = np.all(refined > -NEAR, axis=2)
    top = np.sort(answer, axis=1)
    alone = fits.sum(axis=1) == 1
    frequencies = shares[fits[alone].argmax(axis=1)].mean(axis=0)
    read = alone & (top[:, -1] - top[:, -2] > 2 * AHEAD)
    at = fits[read].argmax(axis=1)
    given = ways[at]
    votes = given if powers.vote_weight is None else given * (powers.vote_weight / classifiers)
    votes = tempered(votes, powers.votes)
    second = refined[read, at]
    if not powers.guarded:
        plain = _untempered(second, powers.answer)
        logs = np.log(np.maximum(plain, 1e-300))
        return Behind(read, given, *_at_rest(logs, votes, label_weight, parameters), frequencies)
    tendency, totals, found = _unpooled(second, votes, label_weight, parameters, powers, frequencies)
    read[read] = found
    return Behind(read, given[found], tendency[found], totals[found], frequencies)


def vote_totals(classifiers: int, k: int) -> FloatArray:
    """All ways in which so many votes can fall on k classes; empty if there are too many."""
    found: list[Sequence[int]] = []
    for chosen in combinations_with_replacement(range(k), classifiers):
        found.append(np.bincount(chosen, minlength=k).tolist())
        if len(found) > MOST_TOTALS:
            return np.empty((0, k))
    return np.array(found, dtype=np.float64)


def _untempered(refined: FloatArray, power: float) -> FloatArray:
    """Inverse of :func:`bc3e.model.calibration.tempered` for shares."""
    if power == 1.0:
        return refined
    raised = np.maximum(refined, 1e-300) ** (1.0 / power)
    k = refined.shape[1]
    plain: FloatArray = raised * ((1.0 + k * FLOOR) / raised.sum(axis=1, keepdims=True)) - FLOOR
    return plain


def _unpooled(
    second: FloatArray,
    votes: FloatArray,
    label_weight: float,
    parameters: Parameters,
    powers: Powers,
    frequencies: FloatArray,
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Tendency e and evidence s behind opinions that hold what clusters say alone, and which are found.

    The refined half depends little on the evidence: it is taken off as it is at present, the other half
    gives the evidence, and that moves the posterior, until all of it rests.
    """
    k = second.shape[1]
    holder = PosteriorHolder(votes, np.full(len(votes), label_weight), structured=True)
    holder.begin(parameters)
    totals, off = np.zeros_like(second), np.full(len(second), np.inf)
    for _ in range(ROUNDS):
        refined = tempered(softmax(holder.state.mean, axis=1), powers.answer)
        alone = np.maximum(2.0 * second - refined, LEAST)
        own = softmax(holder.state.tendency, axis=1) + FLOOR
        told = (alone / np.maximum(frequencies, LEAST)) ** (1.0 / ALONE) * own
        told = told * ((1.0 + k * FLOOR) / told.sum(axis=1, keepdims=True)) - FLOOR
        moved = label_weight * told
        off, totals = np.abs(moved - totals).max(axis=1), moved
        holder.start_sweeps()
        holder.step(totals, parameters, SETTLED)
    return holder.state.tendency, totals, off < NEAR


def _at_rest(
    logs: FloatArray, votes: FloatArray, label_weight: float, parameters: Parameters
) -> tuple[FloatArray, FloatArray]:
    """Tendency e and evidence s of objects that rest with means `logs` up to a constant."""
    inv_sigma2 = 1.0 / parameters.class_variance
    inv_delta2 = 1.0 / parameters.delta2
    # Both equations summed over classes: the deviations from mu, in units of sigma2, add up to 0.
    shift = ((logs - parameters.class_mean) * inv_sigma2).sum(axis=1, keepdims=True) / inv_sigma2.sum()
    mean = logs - shift
    cast = votes.sum(axis=1, keepdims=True)
    p = t = softmax(mean, axis=1)
    tendency = mean
    for _ in range(ROUNDS):
        a, d = inv_sigma2 + cast * p, label_weight * t
        det = a * d + inv_delta2 * (a + d)
        p = softmax(mean + 0.5 * (d + inv_delta2) / det, axis=1)
        pull = votes - cast * p - (mean - parameters.class_mean) * inv_sigma2
        tendency = mean - pull / inv_delta2
        t = softmax(tendency + 0.5 * (a + inv_delta2) / det, axis=1)
    totals: FloatArray = label_weight * t + (tendency - mean) * inv_delta2
    return tendency, totals


def answers_of(
    votes: FloatArray,
    evidence: Sequence[FloatArray],
    label_weight: float,
    weight: float,
    parameters: Parameters,
    powers: Powers,
    frequencies: FloatArray | None = None,
) -> FloatArray:
    """The answers (P, k) that objects with these votes and log profiles of their labels would get.

    Guarded ones take the class `frequencies` by the votes.
    """
    cast = votes.sum(axis=1, keepdims=True)
    scale = 1.0 if powers.vote_weight is None else powers.vote_weight / np.maximum(cast, 1.0)
    holder = PosteriorHolder(
        tempered(votes * scale, powers.votes), np.full(len(votes), label_weight), structured=True
    )
    holder.begin(parameters)
    holder.start_sweeps()
    for _ in range(FINAL_SWEEPS):
        shares = sum(weight * softmax(holder.state.tendency + told, axis=1) for told in evidence)
        if not holder.step(np.asarray(shares), parameters, SETTLED):
            break
    plain = softmax(holder.state.mean, axis=1)
    refined = tempered(plain, powers.answer)
    if not powers.guarded:
        return blended(votes, refined, leading_class(plain))
    assert frequencies is not None
    second = second_opinion(refined, holder.state, frequencies)
    return guarded_answer(votes, votes, refined, second, leading_class(plain))
