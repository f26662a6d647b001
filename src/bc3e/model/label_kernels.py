"""Compiled kernels of those who know the cluster labels: tendencies in, shares of s and counts out.

Objects are taken LANES at a time; :mod:`bc3e.model.lanes` describes ``work`` and ``single``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import part
from bc3e.model.evidence import FloatArray
from bc3e.model.lanes import CLASS, R2, TOLD, TOTAL, E, S, X, exp, log
from bc3e.model.lanes import LANES as L
from bc3e.model.vectors import alike, any_of, at_least, get, get_row, larger, put, where

UNDERFLOW = 1e-280


@part
def gather(
    rows: NDArray[np.int64],
    labels: NDArray[np.signedinteger[Any]],
    hard_weight: FloatArray,
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    soft_weight: FloatArray,
    profiles: FloatArray,
    log_profiles: FloatArray,
    places: NDArray[np.int64],
    likelihood: FloatArray,
    weight: FloatArray,
    single: FloatArray,
) -> None:
    """Likelihood of the cluster labels per class, and how much each counts: 0 where it is missing.

    ``profiles`` is flat and has one row more than there are clusters, that of a missing label
    (:meth:`bc3e.model.evidence.Layout.with_missing`). Number ``h * LANES + lane`` of ``places`` tells
    where the row of the label of hard clustering h begins.

    Number ``(h * k + i) * LANES + lane`` of ``likelihood`` is that of class i by clustering h, first the
    hard ones, then the soft ones; number ``h * LANES + lane`` of ``weight`` its weight, and R2 the sum
    of the weights.
    """
    n_rows, k = log_profiles.shape
    hard = labels.shape[1]
    for h in range(hard):
        for j in range(L):
            at = labels[rows[j], h]
            places[h * L + j] = (at if at >= 0 else n_rows) * k
            weight[h * L + j] = hard_weight[h] if at >= 0 else 0.0
        for i in range(k):
            for j in range(L):
                likelihood[(h * k + i) * L + j] = profiles[places[h * L + j] + i]
    for q in range(soft_row.shape[0]):
        h = hard + q
        first = h * k * L
        told = alike(0.0)
        for i in range(k):
            put(likelihood, first + i * L, told)
        for c in range(soft_start[q + 1] - soft_start[q]):
            member = get_row(memberships, soft_start[q] + c, rows[0])
            told = told + member
            for i in range(k):
                at = first + i * L
                put(likelihood, at, get(likelihood, at) + member * log_profiles[soft_row[q] + c, i])
        for i in range(k):
            put(likelihood, first + i * L, exp(get(likelihood, first + i * L)))
        put(weight, h * L, where(told, alike(soft_weight[q]), 0.0))
    total = alike(0.0)
    for h in range(weight.shape[0] // L):
        total = total + get(weight, h * L)
    put(single, R2, total)


@part
def exchange(
    k: int,
    likelihood: FloatArray,
    weight: FloatArray,
    work: FloatArray,
    single: FloatArray,
    inverse: FloatArray,
    valued: bool,
) -> None:
    """Cluster evidence s = sum_m w_m phi_m of every lane, from the tendencies E.

    With x = exp(e - max e), taken once for all clusterings, phi_m = x likelihood_m / their sum;
    one over that sum is left in ``inverse``. If ``valued``, TOLD is
    sum_m w_m log sum_i exp(e_i) likelihood[m, i]. Logarithms are used only where the product
    underflows: there ``inverse`` is 0.
    """
    top = get(work, E)
    for i in range(1, k):
        top = larger(top, get(work, i * CLASS + E))
    for i in range(k):
        put(work, i * CLASS + X, exp(get(work, i * CLASS + E) - top))
        put(work, i * CLASS + S, alike(0.0))
    told = underflows = alike(0.0)
    for h in range(weight.shape[0] // L):
        first, heft, total = h * k * L, get(weight, h * L), alike(0.0)
        for i in range(k):
            total = total + get(work, i * CLASS + X) * get(likelihood, first + i * L)
        low = at_least(UNDERFLOW, total)
        underflows = underflows + low
        total = where(low, 1.0, total)
        over = where(low, 0.0, 1.0 / total)
        put(inverse, h * L, over)
        share = heft * over
        for i in range(k):
            here = i * CLASS
            phi = get(work, here + X) * get(likelihood, first + i * L)
            put(work, here + S, get(work, here + S) + phi * share)
        if valued:
            told = told + heft * (top + log(total))
    put(single, TOLD, told)
    if any_of(underflows):
        put(single, TOTAL, top)
        _exchange_in_logs(k, likelihood, weight, work, single, inverse)


@part
def _exchange_in_logs(
    k: int, likelihood: FloatArray, weight: FloatArray, work: FloatArray, single: FloatArray,
    inverse: FloatArray,
) -> None:  # fmt: skip
    """Add what clusterings say in lanes where x likelihood underflows, marked by an inverse of 0.

    TOTAL holds the largest tendency, which has been added to TOLD for them.
    """
    for h in range(weight.shape[0] // L):
        for j in range(L):
            if inverse[h * L + j] == 0.0:
                total = total_in_logs(k, h, j, likelihood, work)
                for i in range(k):
                    phi = np.exp(in_logs(k, h, i, j, likelihood, work) - total)
                    work[i * CLASS + S + j] += weight[h * L + j] * phi
                single[TOLD + j] += weight[h * L + j] * (total - single[TOTAL + j])


@part
def in_logs(k: int, h: int, i: int, lane: int, likelihood: FloatArray, work: FloatArray) -> float:
    """e_i + log likelihood[h, i] of one lane."""
    return float(work[i * CLASS + E + lane] + np.log(likelihood[(h * k + i) * L + lane]))


@part
def total_in_logs(k: int, h: int, lane: int, likelihood: FloatArray, work: FloatArray) -> float:
    """The log of sum_i exp(e_i) likelihood[h, i] in one lane; :func:`in_logs` less it is log phi."""
    top = -np.inf
    for i in range(k):
        top = max(top, in_logs(k, h, i, lane, likelihood, work))
    total = 0.0
    for i in range(k):
        total += np.exp(in_logs(k, h, i, lane, likelihood, work) - top)
    return float(top + np.log(total))


@part
def weighed_shares(
    k: int, h: int, heft: FloatArray, likelihood: FloatArray, work: FloatArray, inverse: FloatArray,
    shares: FloatArray,
) -> None:  # fmt: skip
    """phi_h of every lane times its weight: number ``i * LANES + lane`` of ``shares``."""
    share = get(inverse, h * L) * get(heft, 0)
    for i in range(k):
        phi_i = get(work, i * CLASS + X) * get(likelihood, (h * k + i) * L)
        put(shares, i * L, phi_i * share)
    if not any_of(at_least(0.0, get(inverse, h * L))):
        return
    for j in range(L):
        if inverse[h * L + j] == 0.0:
            total = total_in_logs(k, h, j, likelihood, work)
            for i in range(k):
                shares[i * L + j] = heft[j] * np.exp(in_logs(k, h, i, j, likelihood, work) - total)


@part
def add_counts(
    hard: int,
    heft: FloatArray,
    places: NDArray[np.int64],
    likelihood: FloatArray,
    work: FloatArray,
    inverse: FloatArray,
    shares: FloatArray,
    counts: FloatArray,
) -> None:
    """Add the lanes, of weights ``heft``, to the counts of clusters they are wholly in.

    ``counts`` is flat, with a last row for missing labels. ``shares`` (k * LANES,) is scratch, here and
    below.
    """
    k = shares.shape[0] // L
    for h in range(hard):
        weighed_shares(k, h, heft, likelihood, work, inverse, shares)
        for j in range(L):
            place = places[h * L + j]
            for i in range(k):
                counts[place + i] += shares[i * L + j]


@part
def add_soft_counts(
    first: int,
    heft: FloatArray,
    hard: int,
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    likelihood: FloatArray,
    work: FloatArray,
    inverse: FloatArray,
    shares: FloatArray,
    spread: FloatArray,
) -> None:
    """Add the lanes, objects from ``first`` on, to the class counts of clusters that they are partly in.

    ``spread`` (q * k * LANES,) keeps a count for each lane, of every class in the q clusters of all soft
    clusterings.
    """
    k = shares.shape[0] // L
    for q in range(soft_start.shape[0] - 1):
        weighed_shares(k, hard + q, heft, likelihood, work, inverse, shares)
        for c in range(soft_start[q], soft_start[q + 1]):
            member = get_row(memberships, c, first)
            for i in range(k):
                at = (c * k + i) * L
                put(spread, at, get(spread, at) + member * get(shares, i * L))
