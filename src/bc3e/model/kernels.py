"""Compiled E-step. :mod:`bc3e.model.reference` says the same in readable NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray
from bc3e.model.label_kernels import add_counts, add_soft_counts, exchange, gather
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
    ballots: FloatArray,
    ballot: NDArray[np.int32],
    labels: NDArray[np.signedinteger[Any]],
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
    fresh: bool,
    begin_means: FloatArray,
    begin_tendencies: FloatArray,
    begin_a: FloatArray,
    begin_d: FloatArray,
    begin_g: FloatArray,
    sweeps: int,
    tolerance: float,
    summed: bool,
    counts: FloatArray,
    spread: FloatArray,
    sums: FloatArray,
    totals: FloatArray,
) -> None:
    """Sweep objects first..last-1 and add their sufficient statistics.

    They begin where ``begin_means`` and so on say: of each of them, or if ``fresh`` of each ballot.

    ``totals`` receives W and the bound; if ``summed``, ``counts`` ((n_rows + 1) * k,) receives B of the
    hard clusterings, ``spread`` (q * k * LANES,) that of the soft ones for every lane, and ``sums``
    ((2k + 1) * LANES,) S1, S2 and D for every lane.
    """
    k = ballots.shape[1]
    slots = labels.shape[1] + soft_row.shape[0]
    rows = np.empty(L, dtype=np.int64)
    work, single, heft = np.zeros(k * CLASS), np.zeros(OBJECT), np.zeros(L)
    likelihood, weight, inverse = np.empty(slots * k * L), np.empty(slots * L), np.empty(slots * L)
    places = np.empty(labels.shape[1] * L, dtype=np.int64)
    shares = np.empty(k * L)
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    constant = constant_terms(sigma2, delta2)
    swept, done = k < 0, k > 0  # no and yes; written out, exchange would be compiled for each
    for start in range(first, last, L):
        count = take_rows(start, last, rows)
        gather(
            rows, labels, hard_weight, memberships, soft_start, soft_row, soft_weight, profiles,
            log_profiles, places, likelihood, weight, single,
        )  # fmt: skip
        load(
            rows, ballots, ballot, fresh, begin_means, begin_tendencies, begin_a, begin_d, begin_g,
            work, single,
        )  # fmt: skip
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        for _ in range(sweeps):
            exchange(k, likelihood, weight, work, single, inverse, swept)
            if not step(k, mu, inv_sigma2, inv_delta2, structured, tolerance, work, single):
                break
        exchange(k, likelihood, weight, work, single, inverse, done)
        store(rows, count, means, tendencies, precision_a, precision_d, precision_g, work, single)
        for j in range(L):
            heft[j] = weights[rows[j]] if j < count else 0.0
            totals[0] += heft[j]
            totals[1] += heft[j] * (single[VALUE + j] + single[TOLD + j] + constant)
        if summed:
            add_moments(k, structured, heft, work, single, sums)
            add_counts(
                labels.shape[1], heft, places, likelihood, work, inverse, shares, counts
            )  # fmt: skip
            add_soft_counts(
                start, heft, labels.shape[1], memberships, soft_start, likelihood, work, inverse,
                shares, spread,
            )  # fmt: skip
