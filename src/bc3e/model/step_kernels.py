"""Compiled kernels of those who know the posteriors: votes and s in, steps and moments out.

State of one object: means m (of y) and e (of theta), and the precision of the
pair (y_i, theta_i), kept as ``[[a_i + g, -g], [-g, d_i + g]]``. H has this form
with g = 1/delta2, blends of such matrices keep it, and it avoids the
cancellation that a 2x2 inverse would suffer when delta2 is small:

    det = a d + g (a + d),  V11 = (d + g) / det,  V22 = (a + g) / det,
    V12 = g / det,          V11 + V22 - 2 V12 = (a + d) / det.

The factorized family keeps the diagonal only: V11 = 1/(a + g), V22 = 1/(d + g).

Objects are taken LANES at a time; :mod:`bc3e.model.lanes` describes ``work`` and ``single``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray
from bc3e.model.lanes import (
    AFTER,
    ALONG_P,
    ALONG_T,
    BEFORE,
    CLASS,
    INVERSE,
    K11,
    K12,
    K22,
    MOVING,
    NEW_E,
    NEW_G,
    NEW_M,
    R1,
    R2,
    SECOND_TOP,
    SECOND_TOTAL,
    SIZE,
    SLACK,
    STEP_A,
    STEP_D,
    STEP_E,
    STEP_G,
    STEP_M,
    TAU,
    TOP,
    TOTAL,
    VALUE,
    A,
    C,
    D,
    E,
    G,
    M,
    P,
    S,
    T,
    exp,
    log,
)
from bc3e.model.lanes import LANES as L

HALVINGS = 40
ROUNDING = 1e-13  # relative rounding of a surrogate; a smaller fall is noise
DAMPING = 0.85  # share of the way that precisions go: p falls as V does, a full step overshoots


@kernel
def load(
    rows: NDArray[np.int64],
    votes: FloatArray,
    means: FloatArray,
    tendencies: FloatArray,
    precision_a: FloatArray,
    precision_d: FloatArray,
    precision_g: FloatArray,
    work: FloatArray,
    single: FloatArray,
) -> None:
    """Put the votes and the state of some objects into the lanes, and set every step to 0."""
    k = votes.shape[1]
    for j in range(L):
        n = rows[j]
        r1 = 0.0
        for i in range(k):
            r1 += votes[n, i]
            work[i * CLASS + C + j] = votes[n, i]
            work[i * CLASS + M + j] = means[n, i]
            work[i * CLASS + E + j] = tendencies[n, i]
            work[i * CLASS + A + j] = precision_a[n, i]
            work[i * CLASS + D + j] = precision_d[n, i]
            for field in (STEP_M, STEP_E, STEP_A, STEP_D):
                work[i * CLASS + field + j] = 0.0
        single[R1 + j] = r1
        single[G + j] = precision_g[n]
        single[STEP_G + j] = 0.0
        single[TAU + j] = 0.0
        single[MOVING + j] = 1.0


@kernel
def store(
    rows: NDArray[np.int64],
    count: int,
    means: FloatArray,
    tendencies: FloatArray,
    precision_a: FloatArray,
    precision_d: FloatArray,
    precision_g: FloatArray,
    work: FloatArray,
    single: FloatArray,
) -> None:
    """Put the state of the first ``count`` lanes back."""
    for j in range(count):
        n = rows[j]
        precision_g[n] = single[G + j]
        for i in range(means.shape[1]):
            means[n, i] = work[i * CLASS + M + j]
            tendencies[n, i] = work[i * CLASS + E + j]
            precision_a[n, i] = work[i * CLASS + A + j]
            precision_d[n, i] = work[i * CLASS + D + j]


@kernel
def evaluate(
    k: int, mu: FloatArray, inv_sigma2: FloatArray, inv_delta2: float, structured: bool,
    work: FloatArray, single: FloatArray,
) -> None:  # fmt: skip
    """Try the state that lies TAU steps ahead: every term of the bound that needs no cluster label.

    Fills NEW_M, NEW_E, NEW_G, p = softmax(m + V11/2), t = softmax(e + V22/2) and VALUE, and in
    AFTER the surrogate VALUE + sum_i s_i e_i.
    """
    for j in range(L):
        tau = single[TAU + j]
        single[NEW_G + j] = single[G + j] + tau * single[STEP_G + j]
        single[VALUE + j] = 0.0
        single[AFTER + j] = 0.0
        single[TOP + j] = -np.inf
        single[SECOND_TOP + j] = -np.inf
    for i in range(k):
        for j in range(L):
            tau = single[TAU + j]
            g = single[NEW_G + j]
            m = work[i * CLASS + M + j] + tau * work[i * CLASS + STEP_M + j]
            e = work[i * CLASS + E + j] + tau * work[i * CLASS + STEP_E + j]
            a = work[i * CLASS + A + j] + tau * work[i * CLASS + STEP_A + j]
            d = work[i * CLASS + D + j] + tau * work[i * CLASS + STEP_D + j]
            work[i * CLASS + NEW_M + j] = m
            work[i * CLASS + NEW_E + j] = e
            if structured:
                det = a * d + g * (a + d)
                inverse = 1.0 / det
                v11 = (d + g) * inverse
                v22 = (a + g) * inverse
                spread = (a + d) * inverse
            else:
                det = (a + g) * (d + g)
                inverse = 1.0 / det
                v11 = (d + g) * inverse
                v22 = (a + g) * inverse
                spread = v11 + v22
            off = m - mu[i]
            gap = e - m
            single[VALUE + j] += work[i * CLASS + C + j] * m - 0.5 * (
                (v11 + off * off) * inv_sigma2[i] + (spread + gap * gap) * inv_delta2 + log(det)
            )
            single[AFTER + j] += work[i * CLASS + S + j] * e
            p = m + 0.5 * v11
            t = e + 0.5 * v22
            work[i * CLASS + P + j] = p
            work[i * CLASS + T + j] = t
            single[TOP + j] = max(single[TOP + j], p)
            single[SECOND_TOP + j] = max(single[SECOND_TOP + j], t)
    for j in range(L):
        single[TOTAL + j] = 0.0
        single[SECOND_TOTAL + j] = 0.0
    for i in range(k):
        for j in range(L):
            p = exp(work[i * CLASS + P + j] - single[TOP + j])
            t = exp(work[i * CLASS + T + j] - single[SECOND_TOP + j])
            work[i * CLASS + P + j] = p
            work[i * CLASS + T + j] = t
            single[TOTAL + j] += p
            single[SECOND_TOTAL + j] += t
    for j in range(L):
        lse_p = single[TOP + j] + log(single[TOTAL + j])
        lse_t = single[SECOND_TOP + j] + log(single[SECOND_TOTAL + j])
        single[VALUE + j] -= single[R1 + j] * lse_p + single[R2 + j] * lse_t
        single[AFTER + j] += single[VALUE + j]
        single[TOTAL + j] = 1.0 / single[TOTAL + j]
        single[SECOND_TOTAL + j] = 1.0 / single[SECOND_TOTAL + j]
    for i in range(k):
        for j in range(L):
            work[i * CLASS + P + j] *= single[TOTAL + j]
            work[i * CLASS + T + j] *= single[SECOND_TOTAL + j]


@kernel
def direct(
    k: int, mu: FloatArray, inv_sigma2: FloatArray, inv_delta2: float, work: FloatArray,
    single: FloatArray,
) -> None:  # fmt: skip
    """The full step of every lane from s, p and t: Newton for means, damped for precisions.

    Fills the steps, SIZE (the largest of them), BEFORE (the surrogate here) and SLACK.
    H is 2x2 blocks minus R1 p p' minus R2 t t'. First the blocks alone, and what Woodbury's
    formula needs of the two rank-one parts, each as a sum of positive terms.
    """
    for j in range(L):
        single[STEP_G + j] = DAMPING * (inv_delta2 - single[G + j])
        single[SIZE + j] = abs(inv_delta2 - single[G + j]) / inv_delta2
        single[BEFORE + j] = single[VALUE + j]
        for field in (K11, K12, K22, ALONG_P, ALONG_T):
            single[field + j] = 0.0
    for i in range(k):
        for j in range(L):
            p, t = work[i * CLASS + P + j], work[i * CLASS + T + j]
            m, e = work[i * CLASS + M + j], work[i * CLASS + E + j]
            r1, r2 = single[R1 + j], single[R2 + j]
            s = work[i * CLASS + S + j]
            target_a = inv_sigma2[i] + r1 * p
            target_d = r2 * t
            gap = m - e
            u1 = work[i * CLASS + C + j] - r1 * p - (m - mu[i]) * inv_sigma2[i]
            u2 = s - r2 * t
            inverse = 1.0 / (target_a * target_d + inv_delta2 * (target_a + target_d))
            step_m = ((target_d + inv_delta2) * u1 + inv_delta2 * (u2 - target_d * gap)) * inverse
            step_e = ((target_a + inv_delta2) * u2 + inv_delta2 * (u1 + target_a * gap)) * inverse
            work[i * CLASS + STEP_M + j] = step_m
            work[i * CLASS + STEP_E + j] = step_e
            work[i * CLASS + INVERSE + j] = inverse
            single[K11 + j] += (
                p * (inv_sigma2[i] * (target_d + inv_delta2) + inv_delta2 * target_d) * inverse
            )
            single[K12 + j] += p * inv_delta2 * t * inverse
            single[K22 + j] += t * inv_delta2 * target_a * inverse
            single[ALONG_P + j] += p * step_m
            single[ALONG_T + j] += t * step_e
            single[BEFORE + j] += s * e
            step_a = target_a - work[i * CLASS + A + j]
            step_d = target_d - work[i * CLASS + D + j]
            work[i * CLASS + STEP_A + j] = DAMPING * step_a
            work[i * CLASS + STEP_D + j] = DAMPING * step_d
            change = max(abs(step_a) / target_a, abs(step_d) / (target_d + 1e-3))
            single[SIZE + j] = max(single[SIZE + j], change)
    for j in range(L):
        r1, r2 = single[R1 + j], single[R2 + j]
        k11, k12, k22 = single[K11 + j], single[K12 + j], single[K22 + j]
        along_p, along_t = single[ALONG_P + j], single[ALONG_T + j]
        capacity = k11 * k22 - r1 * r2 * k12 * k12
        over = 1.0 / capacity if capacity > 0.0 else 0.0
        single[ALONG_P + j] = r1 * (k22 * along_p + r2 * k12 * along_t) * over
        single[ALONG_T + j] = r2 * (k11 * along_t + r1 * k12 * along_p) * over
        single[SLACK + j] = ROUNDING * (abs(single[BEFORE + j]) + r1 + r2 + k)
    for i in range(k):
        for j in range(L):
            p, t = work[i * CLASS + P + j], work[i * CLASS + T + j]
            inverse = work[i * CLASS + INVERSE + j]
            target_a = inv_sigma2[i] + single[R1 + j] * p
            target_d = single[R2 + j] * t
            along_m = p * single[ALONG_P + j] * inverse
            along_e = t * single[ALONG_T + j] * inverse
            step_m = work[i * CLASS + STEP_M + j] + (
                (target_d + inv_delta2) * along_m + inv_delta2 * along_e
            )
            step_e = work[i * CLASS + STEP_E + j] + (
                inv_delta2 * along_m + (target_a + inv_delta2) * along_e
            )
            work[i * CLASS + STEP_M + j] = step_m
            work[i * CLASS + STEP_E + j] = step_e
            single[SIZE + j] = max(single[SIZE + j], max(abs(step_m), abs(step_e)))


@kernel
def step(
    k: int, mu: FloatArray, inv_sigma2: FloatArray, inv_delta2: float, structured: bool,
    tolerance: float, work: FloatArray, single: FloatArray,
) -> int:  # fmt: skip
    """One safeguarded step of every lane that is MOVING; returns how many still move.

    The step is halved until the surrogate does not fall. A lane rests when its step was no
    larger than ``tolerance``, or when no step ascends within rounding.
    """
    direct(k, mu, inv_sigma2, inv_delta2, work, single)
    for j in range(L):
        single[TAU + j] = single[MOVING + j]
    for halving in range(HALVINGS + 1):
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        falling = 0
        for j in range(L):
            rises = single[AFTER + j] >= single[BEFORE + j] - single[SLACK + j]  # no, if not a number
            if not rises and single[TAU + j] > 0.0:
                falling += 1
                single[TAU + j] = 0.5 * single[TAU + j] if halving < HALVINGS - 1 else 0.0
        if falling == 0:
            break
    for i in range(k):
        for j in range(L):
            tau = single[TAU + j]
            work[i * CLASS + M + j] = work[i * CLASS + NEW_M + j]
            work[i * CLASS + E + j] = work[i * CLASS + NEW_E + j]
            work[i * CLASS + A + j] += tau * work[i * CLASS + STEP_A + j]
            work[i * CLASS + D + j] += tau * work[i * CLASS + STEP_D + j]
    left = 0
    for j in range(L):
        single[G + j] = single[NEW_G + j]
        size = single[TAU + j] * single[SIZE + j]
        if size <= tolerance:
            single[MOVING + j] = 0.0
        elif single[MOVING + j] > 0.0:
            left += 1
    return left


@kernel
def constant_terms(sigma2: FloatArray, delta2: float) -> float:
    """The terms of an object's bound that no state changes."""
    k = sigma2.shape[0]
    constant = k * 1.0 - 0.5 * k * np.log(delta2)
    for i in range(k):
        constant -= 0.5 * np.log(sigma2[i])
    return float(constant)


@kernel
def add_moments(
    w: float, lane: int, k: int, structured: bool, work: FloatArray, single: FloatArray,
    moments: FloatArray, totals: FloatArray,
) -> None:  # fmt: skip
    """Add one object of weight w to S1 and S2 (``moments``) and to D (``totals[1]``)."""
    g = single[G + lane]
    for i in range(k):
        m, e = work[i * CLASS + M + lane], work[i * CLASS + E + lane]
        a, d = work[i * CLASS + A + lane], work[i * CLASS + D + lane]
        if structured:
            det = a * d + g * (a + d)
            v11 = (d + g) / det
            spread = (a + d) / det
        else:
            v11 = 1.0 / (a + g)
            spread = v11 + 1.0 / (d + g)
        moments[0, i] += w * m
        moments[1, i] += w * (v11 + m * m)
        totals[1] += w * (spread + (e - m) ** 2)


@kernel
def take_rows(first: int, last: int, rows: NDArray[np.int64]) -> int:
    """Give each lane an object, from `first` on but before `last`; returns how many lanes are in use.

    Lanes without an object of their own repeat the last one.
    """
    count = min(L, last - first)
    for j in range(L):
        rows[j] = first + min(j, count - 1)
    return count
