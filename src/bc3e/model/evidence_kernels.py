"""Compiled sums over objects that tell what cluster labels are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray
from bc3e.model.lanes import LANES as L
from bc3e.model.lanes import OBJECT, TOP, TOTAL, VALUE, exp, log
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
                share = weights[n] * float(memberships[soft_start[q] + c, n])
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
                    at, share = soft_row[q] + j, float(memberships[soft_start[q] + j, n])
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
def confidence_sum(
    first: int, last: int, votes: FloatArray, weights: FloatArray, exponent: float, floor: float
) -> tuple[float, float]:
    """Weighted sum of the strongest share of each row's tempered votes, and the weight behind it.

    The tempered share of the strongest class is 1 / sum_i (x_i / x_max)^exponent with
    x the shares plus `floor`; with exponent 1 the votes are taken as they are.
    """
    k = votes.shape[1]
    rows = np.empty(L, dtype=np.int64)
    logs, single = np.empty(k * L), np.empty(OBJECT)
    strength, mass = 0.0, 0.0
    for start in range(first, last, L):
        count = take_rows(start, last, rows)
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
        for j in range(count):
            if single[VALUE + j] > 0.0:
                mass += weights[rows[j]]
                strength += weights[rows[j]] * single[TOP + j]
    return strength, mass
