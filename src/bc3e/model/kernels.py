"""Compiled E-step. :mod:`bc3e.model.reference` says the same in readable NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray
from bc3e.model.label_kernels import add_counts, add_soft_counts, exchange, fold_counts, gather
from bc3e.model.lanes import CLASS, OBJECT, TOLD, VALUE
from bc3e.model.lanes import LANES as L
from bc3e.model.step_kernels import (
    add_moments,
    constant_terms,
    evaluate,
    load,
    step,
    store,
    take_rows,
)


@kernel
def e_step_block(
    first: int,
    last: int,
    votes: FloatArray,
    labels: NDArray[np.int32],
    hard_weight: FloatArray,
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    soft_weight: FloatArray,
    weights: FloatArray,
    mu: FloatArray,
    sigma2: FloatArray,
    delta2: float,
    profiles: FloatArray,
    log_profiles: FloatArray,
    structured: bool,
    means: FloatArray,
    tendencies: FloatArray,
    precision_a: FloatArray,
    precision_d: FloatArray,
    precision_g: FloatArray,
    sweeps: int,
    tolerance: float,
    counts: FloatArray,
    moments: FloatArray,
    totals: FloatArray,
) -> None:
    """Sweep objects first..last-1 and add their sufficient statistics.

    ``counts`` (n_rows, k) receives B, ``moments`` (2, k) S1 and S2, ``totals``
    (W, D, bound).
    """
    k = votes.shape[1]
    slots = labels.shape[1] + soft_row.shape[0]
    rows = np.empty(L, dtype=np.int64)
    work, single = np.empty(k * CLASS), np.empty(OBJECT)
    likelihood, weight, inverse = np.empty(slots * k * L), np.empty(slots * L), np.empty(slots * L)
    phi, shares, spread = np.empty(k), np.empty(k * L), np.zeros(soft_start[-1] * k * L)
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    constant = constant_terms(sigma2, delta2)
    swept, done = k < 0, k > 0  # no and yes; written out, exchange would be compiled for each
    for start in range(first, last, L):
        count = take_rows(start, last, rows)
        load(
            rows, votes, means, tendencies, precision_a, precision_d, precision_g, work, single
        )  # fmt: skip
        gather(
            rows, labels, hard_weight, memberships, soft_start, soft_row, soft_weight, profiles,
            log_profiles, likelihood, weight, single,
        )  # fmt: skip
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        for _ in range(sweeps):
            exchange(k, likelihood, weight, work, single, inverse, swept)
            if step(k, mu, inv_sigma2, inv_delta2, structured, tolerance, work, single) == 0:
                break
        exchange(k, likelihood, weight, work, single, inverse, done)
        store(rows, count, means, tendencies, precision_a, precision_d, precision_g, work, single)
        for j in range(count):
            w = weights[rows[j]]
            totals[0] += w
            totals[2] += w * (single[VALUE + j] + single[TOLD + j] + constant)
            add_moments(w, j, k, structured, work, single, moments, totals)
            add_counts(w, rows[j], j, labels, likelihood, work, inverse, phi, counts)
        add_soft_counts(
            start, count, weights, labels.shape[1], memberships, soft_start, likelihood, work, inverse,
            phi, shares, spread,
        )  # fmt: skip
    fold_counts(spread, soft_start, soft_row, counts)
