"""Compiled E-step in two halves: one that knows the labels, one that knows the posteriors.

Per sweep the holder of labels turns tendencies e into shares of s, and the holder of
posteriors turns s into a step. Both halves are made of the kernels of the whole E-step
(:func:`bc3e.model.kernels.e_step_block`), object for object in the same order of operations; only
the order in which the clusterings of different holders are added to s can differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel, part
from bc3e.model.evidence import FloatArray
from bc3e.model.label_kernels import add_counts, add_soft_counts, exchange, gather
from bc3e.model.lanes import (
    CLASS,
    FOLLOWED,
    LAST_E,
    LAST_S,
    MOVING,
    OBJECT,
    R2,
    TOLD,
    TOTAL,
    VALUE,
    E,
    P,
    S,
)
from bc3e.model.lanes import LANES as L
from bc3e.model.step_kernels import constant_terms, evaluate, load, moments, step, store, take_rows


@part
def all_rest(rows: NDArray[np.int64], moving: NDArray[np.uint8]) -> bool:
    """Whether no lane moves any more: a resting object stays as it is."""
    left = 0
    for j in range(L):
        left += moving[rows[j]]
    return left == 0


@kernel
def exchange_block(
    labels: NDArray[np.signedinteger[Any]],
    hard_weight: FloatArray,
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    soft_weight: FloatArray,
    weights: FloatArray,
    profiles: FloatArray,
    log_profiles: FloatArray,
    tendencies: FloatArray,
    valued: bool,
    shares: FloatArray,
    counts: FloatArray,
    spread: FloatArray,
) -> float:
    """Fill ``shares`` with s of every object; if ``valued``, also add the counts B.

    Those of hard clusterings go to ``counts`` ((n_rows + 1) * k,), those of soft ones to ``spread``
    (q * k * LANES,).

    Returns the label part of the bound, sum_n weight_n sum_m w_m lse(e + log beta), if ``valued``.
    """
    k = tendencies.shape[1]
    slots = labels.shape[1] + soft_row.shape[0]
    rows = np.empty(L, dtype=np.int64)
    work, single, heft = np.empty(k * CLASS), np.empty(OBJECT), np.zeros(L)
    likelihood, weight, inverse = np.empty(slots * k * L), np.empty(slots * L), np.empty(slots * L)
    places = np.empty(labels.shape[1] * L, dtype=np.int64)
    lanes = np.empty(k * L)
    value = 0.0
    for start in range(0, tendencies.shape[0], L):
        count = take_rows(start, tendencies.shape[0], rows)
        for j in range(L):
            for i in range(k):
                work[i * CLASS + E + j] = tendencies[rows[j], i]
        gather(
            rows, labels, hard_weight, memberships, soft_start, soft_row, soft_weight, profiles,
            log_profiles, places, likelihood, weight, single,
        )  # fmt: skip
        exchange(k, likelihood, weight, work, single, inverse, valued)
        for j in range(count):
            for i in range(k):
                shares[rows[j], i] = work[i * CLASS + S + j]
        if valued:
            for j in range(L):
                heft[j] = weights[rows[j]] if j < count else 0.0
                value += heft[j] * single[TOLD + j]
            add_counts(
                labels.shape[1], heft, places, likelihood, work, inverse, lanes, counts
            )  # fmt: skip
            add_soft_counts(
                start, heft, labels.shape[1], memberships, soft_start, likelihood, work, inverse, lanes,
                spread,
            )  # fmt: skip
    return value


@kernel
def step_block(
    votes: FloatArray,
    shares: FloatArray,
    label_weight: FloatArray,
    mu: FloatArray,
    sigma2: FloatArray,
    delta2: float,
    structured: bool,
    means: FloatArray,
    tendencies: FloatArray,
    precision_a: FloatArray,
    precision_d: FloatArray,
    precision_g: FloatArray,
    tolerance: float,
    moving: NDArray[np.uint8],
    last_tendencies: FloatArray,
    last_shares: FloatArray,
    followed: FloatArray,
) -> int:
    """One step of every object that still moves, given its s; returns how many move on.

    ``last_tendencies``, ``last_shares`` (P, k) and ``followed`` (P,) are what the objects remember of
    their last step.
    """
    k = votes.shape[1]
    rows = np.empty(L, dtype=np.int64)
    work, single = np.zeros(k * CLASS), np.zeros(OBJECT)
    each = np.arange(votes.shape[0]).astype(np.int32)
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    left = 0
    for start in range(0, votes.shape[0], L):
        count = take_rows(start, votes.shape[0], rows)
        if all_rest(rows, moving):
            continue
        load(
            rows, votes, each, False, means, tendencies, precision_a, precision_d, precision_g, work,
            single,
        )  # fmt: skip
        for j in range(L):
            n = rows[j]
            single[R2 + j] = label_weight[n]
            single[MOVING + j] = float(moving[n])
            single[FOLLOWED + j] = followed[n]
            for i in range(k):
                work[i * CLASS + S + j] = shares[n, i]
                work[i * CLASS + LAST_E + j] = last_tendencies[n, i]
                work[i * CLASS + LAST_S + j] = last_shares[n, i]
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        step(k, mu, inv_sigma2, inv_delta2, structured, tolerance, work, single)
        store(rows, count, means, tendencies, precision_a, precision_d, precision_g, work, single)
        for j in range(count):
            n = rows[j]
            moving[n] = np.uint8(single[MOVING + j])
            left += moving[n]
            followed[n] = single[FOLLOWED + j]
            for i in range(k):
                last_tendencies[n, i] = work[i * CLASS + LAST_E + j]
                last_shares[n, i] = work[i * CLASS + LAST_S + j]
    return left


@kernel
def moments_block(
    votes: FloatArray,
    label_weight: FloatArray,
    mu: FloatArray,
    sigma2: FloatArray,
    delta2: float,
    structured: bool,
    means: FloatArray,
    tendencies: FloatArray,
    precision_a: FloatArray,
    precision_d: FloatArray,
    precision_g: FloatArray,
    squares: FloatArray,
    totals: FloatArray,
) -> None:
    """Statistics of each object by itself: V11 + m^2 (P, k), totals (P, 3) = (1, D, bound).

    The bound is without its label part, which only the holders of labels can add.
    """
    k = votes.shape[1]
    rows = np.empty(L, dtype=np.int64)
    work, single = np.zeros(k * CLASS), np.zeros(OBJECT)
    each = np.arange(votes.shape[0]).astype(np.int32)
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    constant = constant_terms(sigma2, delta2)
    for start in range(0, votes.shape[0], L):
        count = take_rows(start, votes.shape[0], rows)
        load(
            rows, votes, each, False, means, tendencies, precision_a, precision_d, precision_g, work,
            single,
        )  # fmt: skip
        for j in range(L):
            single[R2 + j] = label_weight[rows[j]]
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        moments(k, structured, work, single)
        for j in range(count):
            n = rows[j]
            totals[n, 0] = 1.0
            totals[n, 1] = single[TOTAL + j]
            totals[n, 2] = single[VALUE + j] + constant
            for i in range(k):
                squares[n, i] = work[i * CLASS + P + j]


@kernel
def fold_block(values: FloatArray, grids: FloatArray, coarse: FloatArray, largest: FloatArray) -> None:
    """Round values (n, w) to one grid after the other, each time what the one before left over.

    ``coarse`` (w,) receives the sums of what the last grid keeps, ``largest`` (w,) the largest number
    that is left over then. The order of the rows does not matter: the sums are exact.
    """
    folds = grids.shape[0]
    for n in range(values.shape[0]):
        for j in range(values.shape[1]):
            rest, kept = values[n, j], 0.0
            for fold in range(folds):
                kept = (rest + grids[fold, j]) - grids[fold, j]
                rest -= kept
            coarse[j] += kept
            largest[j] = max(largest[j], abs(rest))
