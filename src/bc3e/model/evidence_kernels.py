"""Compiled sums over objects that tell what cluster labels are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray
from bc3e.model.label_kernels import exchange, gather, shares_of
from bc3e.model.lanes import CLASS, OBJECT, TOP, TOTAL, VALUE, E, X, exp, log
from bc3e.model.lanes import LANES as L
from bc3e.model.step_kernels import take_rows


@kernel
def count_block(
    first: int,
    last: int,
    responsibilities: FloatArray,
    weights: FloatArray,
    labels: NDArray[np.int32],
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    counts: FloatArray,
) -> None:
    """Add objects first..last-1, by weight and responsibility, to the counts of their clusters."""
    k = responsibilities.shape[1]
    for n in range(first, last):
        for h in range(labels.shape[1]):
            at = labels[n, h]
            if at >= 0:
                for i in range(k):
                    counts[at, i] += weights[n] * responsibilities[n, i]
        for q in range(soft_row.shape[0]):
            for c in range(soft_start[q + 1] - soft_start[q]):
                share = weights[n] * float(memberships[n, soft_start[q] + c])
                if share > 0.0:
                    for i in range(k):
                        counts[soft_row[q] + c, i] += share * responsibilities[n, i]


@kernel
def left_out_gains(
    first: int,
    last: int,
    responsibilities: FloatArray,
    weights: FloatArray,
    unit: float,
    labels: NDArray[np.int32],
    hard: NDArray[np.int64],
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    soft: NDArray[np.int64],
    counts: FloatArray,
    class_totals: FloatArray,
    frequency: FloatArray,
    strengths: FloatArray,
    gains: FloatArray,
    squares: FloatArray,
) -> None:
    """Add up, per clustering and strength, what profiles predict better than frequencies do.

    The gain of an object is the leave-one-out log-likelihood of its cluster
    label under the profiles less that under the overall frequencies; ``squares``
    receives its square. An object leaves with ``unit`` of weight and, in a soft
    clustering, from each cluster by its membership.
    """
    k = responsibilities.shape[1]
    gain = np.empty(strengths.shape[0])
    for n in range(first, last):
        if weights[n] == 0.0:
            continue
        for column in range(labels.shape[1] + soft_row.shape[0]):
            is_hard = column < labels.shape[1]
            if is_hard:
                m, q, cells = hard[column], 0, 1
            else:
                q = column - labels.shape[1]
                m, cells = soft[q], soft_start[q + 1] - soft_start[q]
            gain[:] = 0.0
            for j in range(cells):
                if is_hard:
                    at, share = np.int64(labels[n, column]), 1.0
                else:
                    at, share = soft_row[q] + j, float(memberships[n, soft_start[q] + j])
                if at < 0 or share <= 0.0:
                    continue
                for i in range(k):
                    own = unit * responsibilities[n, i]
                    inside = max(counts[at, i] - own * share, 0.0)
                    total = max(class_totals[m, i] - own, 0.0)
                    for g in range(strengths.shape[0]):
                        s = strengths[g]
                        ratio = (inside / frequency[at] + s) / (total + s)
                        gain[g] += share * responsibilities[n, i] * log(ratio)
            for g in range(strengths.shape[0]):
                gains[m, g] += weights[n] * gain[g]
                squares[m, g] += weights[n] * gain[g] ** 2


@kernel
def information_block(
    first: int,
    last: int,
    votes: FloatArray,
    labels: NDArray[np.int32],
    hard_weight: FloatArray,
    hard: NDArray[np.int64],
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    soft_weight: FloatArray,
    soft: NDArray[np.int64],
    weights: FloatArray,
    delta2: float,
    profiles: FloatArray,
    log_profiles: FloatArray,
    means: FloatArray,
    tendencies: FloatArray,
    totals: FloatArray,
) -> None:
    """Add up what votes and cluster labels tell about y; see :mod:`bc3e.model.trust`.

    ``totals`` receives the information of the votes and of each clustering alone.
    """
    k = votes.shape[1]
    slots = labels.shape[1] + soft_row.shape[0]
    rows = np.empty(L, dtype=np.int64)
    work, single = np.empty(k * CLASS), np.empty(OBJECT)
    likelihood, weight, inverse = np.empty(slots * k * L), np.empty(slots * L), np.empty(slots * L)
    phi = np.empty(k)
    for start in range(first, last, L):
        count = take_rows(start, last, rows)
        for j in range(L):
            for i in range(k):
                work[i * CLASS + E + j] = tendencies[rows[j], i]
        gather(
            rows, labels, hard_weight, memberships, soft_start, soft_row, soft_weight, profiles,
            log_profiles, likelihood, weight, phi, single,
        )  # fmt: skip
        exchange(k, likelihood, weight, work, single, inverse, False)
        for j in range(count):
            n = rows[j]
            totals[0] += weights[n] * vote_information(votes[n], means[n], phi)
            scale = 0.0  # exchange left exp(e - max e) in X: softmax(e) is that over its sum
            for i in range(k):
                scale += work[i * CLASS + X + j]
            for h in range(slots):
                if weight[h * L + j] <= 0.0:
                    continue
                shares_of(k, h, j, likelihood, work, inverse, phi)
                told = 0.0
                for i in range(k):
                    told += weight[h * L + j] * (phi[i] - work[i * CLASS + X + j] / scale) ** 2
                m = hard[h] if h < labels.shape[1] else soft[h - labels.shape[1]]
                totals[1 + m] += weights[n] * told / (1.0 + delta2 * told)


@kernel
def vote_information(votes: FloatArray, mean: FloatArray, p: FloatArray) -> float:
    """Fisher information R1 sum_i p_i (1 - p_i) of one object's votes; ``p`` is (k,) scratch."""
    k = votes.shape[0]
    r1, top, total = 0.0, mean[0], 0.0
    for i in range(k):
        r1 += votes[i]
        top = max(top, mean[i])
    for i in range(k):
        p[i] = np.exp(mean[i] - top)
        total += p[i]
    told = 0.0
    for i in range(k):
        told += (p[i] / total) * (1.0 - p[i] / total)
    return r1 * told


@kernel
def confidence_lanes(
    rows: NDArray[np.int64], votes: FloatArray, exponent: float, floor: float, logs: FloatArray,
    single: FloatArray,
) -> None:  # fmt: skip
    """TOP: the strongest share of the tempered votes of every lane; VALUE: its votes in all.

    The tempered share of the strongest class is 1 / sum_i (x_i / x_max)^exponent with
    x the shares plus `floor`; with exponent 1 the votes are taken as they are.
    """
    k = votes.shape[1]
    for j in range(L):
        total, top = 0.0, 0.0
        for i in range(k):
            total += votes[rows[j], i]
            top = max(top, votes[rows[j], i])
        single[VALUE + j] = total
        total = total if total > 0.0 else 1.0
        single[TOP + j] = top / total
        single[TOTAL + j] = 0.0
        for i in range(k):
            logs[i * L + j] = votes[rows[j], i] / total + floor
    if exponent != 1.0:
        for j in range(L):
            single[TOP + j] = log(single[TOP + j] + floor)
        for i in range(k):
            for j in range(L):
                single[TOTAL + j] += exp(exponent * (log(logs[i * L + j]) - single[TOP + j]))
        for j in range(L):
            single[TOP + j] = 1.0 / single[TOTAL + j]


@kernel
def confidence_sum(
    first: int, last: int, votes: FloatArray, weights: FloatArray, exponent: float, floor: float
) -> tuple[float, float]:
    """Weighted sum of the strongest share of each row's tempered votes, and the weight behind it."""
    rows = np.empty(L, dtype=np.int64)
    logs, single = np.empty(votes.shape[1] * L), np.empty(OBJECT)
    strength, mass = 0.0, 0.0
    for start in range(first, last, L):
        count = take_rows(start, last, rows)
        confidence_lanes(rows, votes, exponent, floor, logs, single)
        for j in range(count):
            if single[VALUE + j] > 0.0:
                mass += weights[rows[j]]
                strength += weights[rows[j]] * single[TOP + j]
    return strength, mass


@kernel
def confidence_block(votes: FloatArray, exponent: float, floor: float, each: FloatArray) -> None:
    """Fill `each` (N, 2): strongest share of each row's tempered votes, and 1; 0 and 0 without votes."""
    rows = np.empty(L, dtype=np.int64)
    logs, single = np.empty(votes.shape[1] * L), np.empty(OBJECT)
    for start in range(0, votes.shape[0], L):
        count = take_rows(start, votes.shape[0], rows)
        confidence_lanes(rows, votes, exponent, floor, logs, single)
        for j in range(count):
            voted = single[VALUE + j] > 0.0
            each[rows[j], 0] = single[TOP + j] if voted else 0.0
            each[rows[j], 1] = 1.0 if voted else 0.0
