"""Compiled kernels of those who know the posteriors: votes and s in, steps and moments out.

State of one object: means m (of y) and e (of theta), and the precision of the
pair (y_i, theta_i), kept as ``[[a_i + g, -g], [-g, d_i + g]]``. H has this form
with g = 1/delta2, blends of such matrices keep it, and it avoids the
cancellation that a 2x2 inverse would suffer when delta2 is small:

    det = a d + g (a + d),  V11 = (d + g) / det,  V22 = (a + g) / det,
    V12 = g / det,          V11 + V22 - 2 V12 = (a + d) / det.

The factorized family keeps the diagonal only, det = (a + g) (d + g) and V12 = 0: each
precision has a g of its ``own``.

Objects are taken LANES at a time; :mod:`bc3e.model.lanes` describes ``work`` and ``single``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import part
from bc3e.model.evidence import FloatArray
from bc3e.model.lanes import (
    AFTER,
    BEFORE,
    CLASS,
    COUPLED,
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
from bc3e.model.newton_kernels import direct

HALVINGS = 40


@part
def load(
    rows: NDArray[np.int64],
    ballots: FloatArray,
    ballot: NDArray[np.int32],
    means: FloatArray,
    tendencies: FloatArray,
    precision_a: FloatArray,
    precision_d: FloatArray,
    precision_g: FloatArray,
    work: FloatArray,
    single: FloatArray,
) -> None:
    """Put the votes and the state of some objects into the lanes, with no step ahead of them."""
    k = ballots.shape[1]
    for j in range(L):
        n = rows[j]
        b = ballot[n]
        r1 = 0.0
        for i in range(k):
            r1 += ballots[b, i]
            work[i * CLASS + C + j] = ballots[b, i]
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


@part
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


@part
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
            own = 0.0 if structured else g  # what the two precisions do not share
            det = a * d + g * (a + d) + own * g
            inverse = 1.0 / det
            v11 = (d + g) * inverse
            v22 = (a + g) * inverse
            spread = (a + d + 2.0 * own) * inverse
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


@part
def step(
    k: int, mu: FloatArray, inv_sigma2: FloatArray, inv_delta2: float, structured: bool,
    tolerance: float, work: FloatArray, single: FloatArray,
) -> int:  # fmt: skip
    """One safeguarded step of every lane that is MOVING; returns how many still move.

    Where the coupled step lets the surrogate fall the plain one is taken, and halved until the surrogate
    does not fall. A lane rests when its step was no larger than ``tolerance``, or when no
    step ascends within rounding.
    """
    for j in range(L):
        single[COUPLED + j] = 1.0
    directing, halving = True, 0
    while halving <= HALVINGS:
        if directing:
            direct(k, mu, inv_sigma2, inv_delta2, structured, work, single)
            for j in range(L):
                single[TAU + j] = single[MOVING + j]
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        if halving == 1 and not directing:  # back where the step began, for the plain ones
            directing = True
            continue
        directing = False
        falling = 0
        for j in range(L):
            rises = single[AFTER + j] >= single[BEFORE + j] - single[SLACK + j]  # no, if not a number
            if not rises and single[TAU + j] > 0.0:
                falling += 1
                single[COUPLED + j] = 0.0
                single[TAU + j] = 0.5 * single[TAU + j] if halving < HALVINGS - 1 else 0.0
        if falling == 0:
            break
        if halving == 0:
            for j in range(L):
                single[TAU + j] = 0.0
        halving += 1
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


@part
def constant_terms(sigma2: FloatArray, delta2: float) -> float:
    """The terms of an object's bound that no state changes."""
    k = sigma2.shape[0]
    constant = k * 1.0 - 0.5 * k * np.log(delta2)
    for i in range(k):
        constant -= 0.5 * np.log(sigma2[i])
    return float(constant)


@part
def moments(k: int, structured: bool, work: FloatArray, single: FloatArray) -> None:
    """V11 + m^2 of every class, in P, and the object's part of D, in TOTAL."""
    for j in range(L):
        single[TOTAL + j] = 0.0
    for i in range(k):
        for j in range(L):
            m, e, g = work[i * CLASS + M + j], work[i * CLASS + E + j], single[G + j]
            a, d = work[i * CLASS + A + j], work[i * CLASS + D + j]
            own = 0.0 if structured else g
            inverse = 1.0 / (a * d + g * (a + d) + own * g)
            work[i * CLASS + P + j] = (d + g) * inverse + m * m
            single[TOTAL + j] += (a + d + 2.0 * own) * inverse + (e - m) * (e - m)


@part
def add_moments(
    k: int, structured: bool, heft: FloatArray, work: FloatArray, single: FloatArray, sums: FloatArray
) -> None:
    """Add every lane, of weight ``heft``, to sums of its own (2k + 1, LANES): S1, S2 and D."""
    moments(k, structured, work, single)
    for i in range(k):
        for j in range(L):
            sums[i, j] += heft[j] * work[i * CLASS + M + j]
            sums[k + i, j] += heft[j] * work[i * CLASS + P + j]
    for j in range(L):
        sums[2 * k, j] += heft[j] * single[TOTAL + j]


@part
def take_rows(first: int, last: int, rows: NDArray[np.int64]) -> int:
    """Give each lane an object, from `first` on but before `last`; returns how many lanes are in use.

    Lanes without an object of their own repeat the last one.
    """
    count = min(L, last - first)
    for j in range(L):
        rows[j] = first + min(j, count - 1)
    return count
