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
from bc3e.model.kernels import (
    add_counts,
    add_moments,
    constant_terms,
    exchange,
    gather,
    local_terms,
    natural_step,
)


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
    likelihood = np.empty((slots, k))
    weight = np.empty(slots)
    source = np.empty(slots, dtype=np.int64)
    phi = np.empty((slots + 1, k))
    value = 0.0
    for n in range(tendencies.shape[0]):
        present = gather(
            n, labels, hard_weight, memberships, soft_start, soft_row, soft_weight,
            profiles, log_profiles, likelihood, weight, source,
        )  # fmt: skip
        told = exchange(tendencies[n], likelihood, weight, present, shares[n], phi, valued)
        if valued:
            value += weights[n] * told
            add_counts(weights[n], n, present, source, phi, memberships, soft_start, soft_row, counts)
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
    work = np.empty((8, k))
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    left = 0
    for n in range(votes.shape[0]):
        if moving[n] == 0:
            continue
        c, m, e = votes[n], means[n], tendencies[n]
        a, d, g = precision_a[n], precision_d[n], precision_g[n]
        r1 = 0.0
        for i in range(k):
            r1 += c[i]
        r2 = label_weight[n]
        base = local_terms(
            c, r1, r2, m, e, a, d, g, mu, inv_sigma2, inv_delta2, structured, work[0], work[1]
        )
        g, base, size = natural_step(
            c, r1, shares[n], r2, m, e, a, d, g, mu, inv_sigma2, inv_delta2, structured, base, work
        )
        precision_g[n] = g
        if size <= tolerance:
            moving[n] = 0
        else:
            left += 1
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
    p = np.empty(k)
    t = np.empty(k)
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    constant = constant_terms(sigma2, delta2)
    for n in range(votes.shape[0]):
        c, m, e = votes[n], means[n], tendencies[n]
        a, d, g = precision_a[n], precision_d[n], precision_g[n]
        r1 = 0.0
        for i in range(k):
            r1 += c[i]
        base = local_terms(
            c, r1, label_weight[n], m, e, a, d, g, mu, inv_sigma2, inv_delta2, structured, p, t
        )
        totals[n, 0] = 1.0
        totals[n, 2] = base + constant
        add_moments(1.0, m, e, a, d, g, structured, moments[n], totals[n])
