"""Compiled sums over the votes of objects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray
from bc3e.model.lanes import LANES as L
from bc3e.model.lanes import OBJECT, TOP, TOTAL, VALUE, exp, log
from bc3e.model.step_kernels import take_rows


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
