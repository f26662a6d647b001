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

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray
from bc3e.model.label_kernels import add_counts, add_soft_counts, exchange, fold_counts, gather
from bc3e.model.lanes import CLASS, MOVING, OBJECT, R2, TOLD, VALUE, E, S
from bc3e.model.lanes import LANES as L
from bc3e.model.step_kernels import add_moments, constant_terms, evaluate, load, step, store, take_rows


@kernel
def all_rest(rows: NDArray[np.int64], moving: NDArray[np.uint8]) -> bool:
    """Whether no lane moves any more: a resting object stays as it is."""
    left = 0
    for j in range(L):
        left += moving[rows[j]]
    return left == 0


@kernel
def exchange_block(
    labels: NDArray[np.int32],
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
) -> float:
    """Fill ``shares`` with s of every object; if ``valued``, also add the counts B.

    Returns the label part of the bound, sum_n weight_n sum_m w_m lse(e + log beta), if ``valued``.
    """
    k = tendencies.shape[1]
    slots = labels.shape[1] + soft_row.shape[0]
    rows = np.empty(L, dtype=np.int64)
    work, single = np.empty(k * CLASS), np.empty(OBJECT)
    likelihood, weight, inverse = np.empty(slots * k * L), np.empty(slots * L), np.empty(slots * L)
    phi, lanes, spread = np.empty(k), np.empty(k * L), np.zeros(soft_start[-1] * k * L)
    value = 0.0
    for start in range(0, tendencies.shape[0], L):
        count = take_rows(start, tendencies.shape[0], rows)
        for j in range(L):
            for i in range(k):
                work[i * CLASS + E + j] = tendencies[rows[j], i]
        gather(
            rows, labels, hard_weight, memberships, soft_start, soft_row, soft_weight, profiles,
            log_profiles, likelihood, weight, single,
        )  # fmt: skip
        exchange(k, likelihood, weight, work, single, inverse, valued)
        for j in range(count):
            n = rows[j]
            for i in range(k):
                shares[n, i] = work[i * CLASS + S + j]
            if valued:
                value += weights[n] * single[TOLD + j]
                add_counts(weights[n], n, j, labels, likelihood, work, inverse, phi, counts)
        if valued:
            add_soft_counts(
                start, count, weights, labels.shape[1], memberships, soft_start, likelihood, work,
                inverse, phi, lanes, spread,
            )  # fmt: skip
    fold_counts(spread, soft_start, soft_row, counts)
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
) -> int:
    """One step of every object that still moves, given its s; returns how many move on."""
    k = votes.shape[1]
    rows = np.empty(L, dtype=np.int64)
    work, single = np.empty(k * CLASS), np.empty(OBJECT)
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    left = 0
    for start in range(0, votes.shape[0], L):
        count = take_rows(start, votes.shape[0], rows)
        if all_rest(rows, moving):
            continue
        load(rows, votes, means, tendencies, precision_a, precision_d, precision_g, work, single)
        for j in range(L):
            n = rows[j]
            single[R2 + j] = label_weight[n]
            single[MOVING + j] = float(moving[n])
            for i in range(k):
                work[i * CLASS + S + j] = shares[n, i]
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        step(k, mu, inv_sigma2, inv_delta2, structured, tolerance, work, single)
        store(rows, count, means, tendencies, precision_a, precision_d, precision_g, work, single)
        for j in range(count):
            moving[rows[j]] = np.uint8(single[MOVING + j])
            left += moving[rows[j]]
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
    moments: FloatArray,
    totals: FloatArray,
) -> None:
    """Statistics of each object by itself: moments (P, 2, k), totals (P, 3) = (1, D, bound).

    The bound is without its label part, which only the holders of labels can add.
    """
    k = votes.shape[1]
    rows = np.empty(L, dtype=np.int64)
    work, single = np.zeros(k * CLASS), np.empty(OBJECT)
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    constant = constant_terms(sigma2, delta2)
    for start in range(0, votes.shape[0], L):
        count = take_rows(start, votes.shape[0], rows)
        load(rows, votes, means, tendencies, precision_a, precision_d, precision_g, work, single)
        for j in range(L):
            single[R2 + j] = label_weight[rows[j]]
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        for j in range(count):
            n = rows[j]
            totals[n, 0] = 1.0
            totals[n, 2] = single[VALUE + j] + constant
            add_moments(1.0, j, k, structured, work, single, moments[n], totals[n])


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
