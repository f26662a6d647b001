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
    FOLLOWED,
    LAST_E,
    LAST_S,
    MOVING,
    NEW_E,
    NEW_G,
    NEW_M,
    R1,
    R2,
    SIZE,
    SLACK,
    STEP_A,
    STEP_D,
    STEP_E,
    STEP_G,
    STEP_M,
    TAU,
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
from bc3e.model.newton_kernels import UNSEEN, direct, learn_slope
from bc3e.model.vectors import alike, any_of, at_least, get, larger, put, where

HALVINGS = 40
AT_ONCE = 4  # determinants that are multiplied before their logarithm is taken


@part
def load(
    rows: NDArray[np.int64],
    ballots: FloatArray,
    ballot: NDArray[np.int32],
    fresh: bool,
    means: FloatArray,
    tendencies: FloatArray,
    precision_a: FloatArray,
    precision_d: FloatArray,
    precision_g: FloatArray,
    work: FloatArray,
    single: FloatArray,
) -> None:
    """Put the votes and the state of some objects into the lanes, with no step ahead of them.

    The state is that of each object; if ``fresh``, where its ballot begins, d for a label weight of 1.
    """
    k = ballots.shape[1]
    for j in range(L):
        b = ballot[rows[j]]
        n = b if fresh else rows[j]
        r2 = single[R2 + j] if fresh else 1.0
        r1 = 0.0
        for i in range(k):
            r1 += ballots[b, i]
            work[i * CLASS + C + j] = ballots[b, i]
            work[i * CLASS + M + j] = means[n, i]
            work[i * CLASS + E + j] = tendencies[n, i]
            work[i * CLASS + A + j] = precision_a[n, i]
            work[i * CLASS + D + j] = r2 * precision_d[n, i]
        single[R1 + j] = r1
        single[G + j] = precision_g[n]
    none = alike(0.0)
    for i in range(k):
        for field in (STEP_M, STEP_E, STEP_A, STEP_D, LAST_S):
            put(work, i * CLASS + field, none)
        put(work, i * CLASS + LAST_E, get(work, i * CLASS + E))
    put(single, FOLLOWED, alike(UNSEEN))
    put(single, STEP_G, none)
    put(single, TAU, none)
    put(single, MOVING, alike(1.0))


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
    tau = get(single, TAU)
    g = get(single, G) + tau * get(single, STEP_G)
    put(single, NEW_G, g)
    own = g * (0.0 if structured else 1.0)  # what the two precisions do not share
    value = surrogate = alike(0.0)
    product = alike(1.0)  # of determinants, a few at a time: one logarithm for all of them
    top = second_top = alike(-np.inf)
    for i in range(k):
        here = i * CLASS
        m = get(work, here + M) + tau * get(work, here + STEP_M)
        e = get(work, here + E) + tau * get(work, here + STEP_E)
        a = get(work, here + A) + tau * get(work, here + STEP_A)
        d = get(work, here + D) + tau * get(work, here + STEP_D)
        put(work, here + NEW_M, m)
        put(work, here + NEW_E, e)
        det = a * d + g * (a + d) + own * g
        inverse = 1.0 / det
        v11, v22 = (d + g) * inverse, (a + g) * inverse
        spread = (a + d + 2.0 * own) * inverse
        off, gap = m - mu[i], e - m
        squares = (v11 + off * off) * inv_sigma2[i] + (spread + gap * gap) * inv_delta2
        value = value + (get(work, here + C) * m - 0.5 * squares)
        product = product * det
        if (i + 1) % AT_ONCE == 0:
            value = value - 0.5 * log(product)
            product = alike(1.0)
        surrogate = surrogate + get(work, here + S) * e
        p, t = m + 0.5 * v11, e + 0.5 * v22
        put(work, here + P, p)
        put(work, here + T, t)
        top, second_top = larger(top, p), larger(second_top, t)
    value = value - 0.5 * log(product)
    total = second_total = alike(0.0)
    for i in range(k):
        here = i * CLASS
        p, t = exp(get(work, here + P) - top), exp(get(work, here + T) - second_top)
        put(work, here + P, p)
        put(work, here + T, t)
        total, second_total = total + p, second_total + t
    value = value - (
        get(single, R1) * (top + log(total)) + get(single, R2) * (second_top + log(second_total))
    )
    put(single, VALUE, value)
    put(single, AFTER, surrogate + value)
    inverse, second_inverse = 1.0 / total, 1.0 / second_total
    for i in range(k):
        here = i * CLASS
        put(work, here + P, get(work, here + P) * inverse)
        put(work, here + T, get(work, here + T) * second_inverse)


@part
def step(
    k: int, mu: FloatArray, inv_sigma2: FloatArray, inv_delta2: float, structured: bool,
    tolerance: float, work: FloatArray, single: FloatArray,
) -> bool:  # fmt: skip
    """One safeguarded step of every lane that is MOVING; returns whether one of them still moves.

    Where the coupled step lets the surrogate fall the plain one is taken, and halved until the surrogate
    does not fall. A lane rests when its step was no larger than ``tolerance``, or when no
    step ascends within rounding.
    """
    learn_slope(k, work, single)
    put(single, COUPLED, alike(1.0))
    directing, halving = True, 0
    while halving <= HALVINGS:
        if directing:
            direct(k, mu, inv_sigma2, inv_delta2, structured, work, single)
            put(single, TAU, get(single, MOVING))
        evaluate(k, mu, inv_sigma2, inv_delta2, structured, work, single)
        if halving == 1 and not directing:  # back where the step began, for the plain ones
            directing = True
            continue
        directing = False
        tau = get(single, TAU)
        rises = at_least(get(single, AFTER), get(single, BEFORE) - get(single, SLACK))
        falls = (1.0 - rises) * (1.0 - at_least(0.0, tau))
        if not any_of(falls):
            break
        put(single, COUPLED, get(single, COUPLED) * (1.0 - falls))
        if halving == 0:
            put(single, TAU, alike(0.0))
        else:
            put(single, TAU, where(falls, tau * (0.5 if halving < HALVINGS - 1 else 0.0), tau))
        halving += 1
    tau = get(single, TAU)
    for i in range(k):
        here = i * CLASS
        put(work, here + LAST_E, get(work, here + E))
        put(work, here + LAST_S, get(work, here + S))
        put(work, here + M, get(work, here + NEW_M))
        put(work, here + E, get(work, here + NEW_E))
        put(work, here + A, get(work, here + A) + tau * get(work, here + STEP_A))
        put(work, here + D, get(work, here + D) + tau * get(work, here + STEP_D))
    put(single, G, get(single, NEW_G))
    moving = get(single, MOVING) * (1.0 - at_least(tolerance, tau * get(single, SIZE)))
    put(single, MOVING, moving)
    return any_of(moving)


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
    g, total = get(single, G), alike(0.0)
    own = g * (0.0 if structured else 1.0)
    for i in range(k):
        here = i * CLASS
        m, e, a, d = (
            get(work, here + M),
            get(work, here + E),
            get(work, here + A),
            get(work, here + D),
        )
        inverse = 1.0 / (a * d + g * (a + d) + own * g)
        put(work, here + P, (d + g) * inverse + m * m)
        total = total + ((a + d + 2.0 * own) * inverse + (e - m) * (e - m))
    put(single, TOTAL, total)


@part
def add_moments(
    k: int, structured: bool, heft: FloatArray, work: FloatArray, single: FloatArray, sums: FloatArray
) -> None:
    """Add every lane, of weight ``heft``, to sums of its own ((2k + 1) * LANES,): S1, S2 and D."""
    moments(k, structured, work, single)
    mass = get(heft, 0)
    for i in range(k):
        first, second = i * L, (k + i) * L
        put(sums, first, get(sums, first) + mass * get(work, i * CLASS + M))
        put(sums, second, get(sums, second) + mass * get(work, i * CLASS + P))
    last = 2 * k * L
    put(sums, last, get(sums, last) + mass * get(single, TOTAL))


@part
def take_rows(first: int, last: int, rows: NDArray[np.int64]) -> int:
    """Give each lane an object, from `first` on but before `last`; returns how many lanes are in use.

    Lanes without an object of their own repeat the last one.
    """
    count = min(L, last - first)
    for j in range(L):
        rows[j] = first + min(j, count - 1)
    return count
