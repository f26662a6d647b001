"""Compiled kernel of the step of an object: where to go from its posterior, given s.

The equations that a posterior obeys at the optimum are solved by Newton's method, for means and
precisions together. What couples the classes of an object is of rank three, so the cost is proportional
to their number. :func:`bc3e.model.reference.coupled_step` writes the whole matrix out.
"""

from __future__ import annotations

from bc3e.model.compiled import part
from bc3e.model.evidence import FloatArray
from bc3e.model.lanes import (
    BEFORE,
    CLASS,
    COUPLED,
    FOLLOWED,
    INVERSE,
    LAST_E,
    LAST_S,
    N11,
    N12,
    N13,
    N22,
    N23,
    N33,
    NEW_E,
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
    VALUE,
    Z1,
    Z2,
    Z3,
    A,
    C,
    D,
    E,
    G,
    M,
    P,
    S,
    T,
    X,
)
from bc3e.model.vectors import alike, at_least, get, larger, magnitude, put, smaller, where

TINY = 1e-300  # less is nothing
ROUNDING = 1e-13  # relative rounding of a surrogate; a smaller fall is noise
DAMPING = 0.85  # share of their way that precisions go by themselves: p falls as V does
UNSEEN = 0.2  # share of the slope of s, were all phi alike, that the first step reckons with
SEEN = 1e-24  # mean square of a move of e from which on it tells how far s follows
ROOM = 0.9  # how steep that may be against the prior precision of e: from 1 on blocks may be indefinite
LOST = 0.9  # share of p and t that a step of the precisions takes away at most


@part
def learn_slope(k: int, work: FloatArray, single: FloatArray) -> None:
    """How far s followed the last move of e, as a share of what it would have been, were all phi alike.

    That share is between 0 and 1, and the next step reckons with it. An object that has not moved
    keeps what it reckoned with.
    """
    weight = moved = alike(0.0)
    for i in range(k):
        here = i * CLASS
        s = get(work, here + LAST_S)
        weight = weight + s
        moved = moved + s * (get(work, here + E) - get(work, here + LAST_E))
    known = 1.0 - at_least(0.0, weight)
    middle = moved / where(known, weight, 1.0)
    alike_phi = seen = alike(0.0)
    for i in range(k):
        here = i * CLASS
        s = get(work, here + LAST_S)
        beyond = (get(work, here + E) - get(work, here + LAST_E)) - middle
        alike_phi = alike_phi + s * beyond * beyond
        seen = seen + (get(work, here + S) - s) * beyond
    known = known * (1.0 - at_least(SEEN * weight, alike_phi))
    share = smaller(larger(seen / where(known, alike_phi, 1.0), 0.0), 1.0)
    put(single, FOLLOWED, where(known, share, get(single, FOLLOWED)))


@part
def direct(
    k: int, mu: FloatArray, inv_sigma2: FloatArray, inv_delta2: float, structured: bool,
    work: FloatArray, single: FloatArray,
) -> None:  # fmt: skip
    """The full step of every lane from s, p and t: Newton's, for means and precisions together.

    Fills the steps, SIZE (the largest of them), BEFORE (the surrogate here) and SLACK.

    A lane that is not COUPLED moves its means as if precisions stood still, and its precisions
    DAMPING of the way to where the means are now: a shorter step, but always an ascent.
    """
    room = ROOM * inv_delta2 if structured else 0.0  # there it would take more sweeps
    for i in range(k):
        room = min(room, ROOM / (1.0 / inv_delta2 + 1.0 / inv_sigma2[i]))
    solve_classes(k, mu, inv_sigma2, inv_delta2, structured, room, work, single)
    close(k, single)
    finish(k, inv_sigma2, inv_delta2, room, work, single)


@part
def solve_classes(
    k: int, mu: FloatArray, inv_sigma2: FloatArray, inv_delta2: float, structured: bool, room: float,
    work: FloatArray, single: FloatArray,
) -> None:  # fmt: skip
    """The steps that each class would take alone, and what the sums over classes need.

    A step of the precisions moves p and t as a step of the means does, and p and t move the
    precisions: a 2x2 matrix K takes what m + V11/2 and e + V22/2 gain to what R1 p and R2 t gain. So
    the means of a class obey a 2x2 matrix, whose inverse is c, but for three sums over classes: the
    means of these gains under p and t, and that of the step of e under s, as far as s follows it.
    K11, K12 and K22 are left in STEP_A, X and STEP_D; what V11/2 and V22/2 gain from precisions that
    go where the means are now, in NEW_M and NEW_E.
    """
    r1, r2, g, coupled = get(single, R1), get(single, R2), get(single, G), get(single, COUPLED)
    followed = coupled * get(single, FOLLOWED)
    half = 0.5 * coupled
    own = g * (0.0 if structured else 1.0)
    short = inv_delta2 - g
    step_g = half * short
    put(single, STEP_G, (coupled + DAMPING * (1.0 - coupled)) * short)
    put(single, SIZE, magnitude(short) / inv_delta2)
    # Without votes or labels nothing follows from a sum over them: one equation is z = 0.
    n11, n22 = 1.0 - at_least(r1, TINY), 1.0 - at_least(r2, TINY)
    n12 = n13 = n23 = n33 = z1 = z2 = z3 = alike(0.0)
    before = get(single, VALUE)
    for i in range(k):
        here = i * CLASS
        m, e, s = get(work, here + M), get(work, here + E), get(work, here + S)
        a, d = get(work, here + A), get(work, here + D)
        p, t = r1 * get(work, here + P), r2 * get(work, here + T)
        inverse = 1.0 / (a * d + g * (a + d) + own * g)
        v11, v22, v12 = (d + g) * inverse, (a + g) * inverse, (g - own) * inverse
        h11, h22, h12 = half * v11 * v11, half * v22 * v22, half * v12 * v12
        step_a, step_d = inv_sigma2[i] + p - a, t - d
        u11, u22 = v11 - v12, v22 - v12
        # Of V11/2 and V22/2, by these steps.
        gain_m = 0.0 - (h11 * step_a + h12 * step_d + step_g * u11 * u11)
        gain_e = 0.0 - (h12 * step_a + h22 * step_d + step_g * u22 * u22)
        inverse = 1.0 / ((1.0 + h11 * p) * (1.0 + h22 * t) - (h12 * p) * (h12 * t))
        k11, k22 = p * (1.0 + h22 * t) * inverse, t * (1.0 + h11 * p) * inverse
        k12 = 0.0 - h12 * p * t * inverse
        follow = smaller(followed * s, room)
        x, y = k11 + inv_sigma2[i], k22 - follow
        inverse = 1.0 / (x * y - k12 * k12 + inv_delta2 * (x + y + 2.0 * k12))
        c11, c12, c22 = (
            (y + inv_delta2) * inverse,
            (inv_delta2 - k12) * inverse,
            (x + inv_delta2) * inverse,
        )
        u1 = get(work, here + C) - p - (m - mu[i]) * inv_sigma2[i] - (k11 * gain_m + k12 * gain_e)
        u2 = s - t - (k12 * gain_m + k22 * gain_e)
        pull = inv_delta2 * (m - e) * inverse
        step_m = c11 * u1 + c12 * u2 - pull * (y + k12)
        step_e = c12 * u1 + c22 * u2 + pull * (x + k12)
        y1, y2 = follow * (c12 * k11 + c22 * k12), follow * (c12 * k12 + c22 * k22)
        d1 = ((y + k12) * k11 - (x + k12) * k12) * inverse * inv_delta2
        d2 = ((y + k12) * k12 - (x + k12) * k22) * inverse * inv_delta2
        n11 = n11 + (inv_sigma2[i] * (c11 * k11 + c12 * k12) + d1)
        n12 = n12 - (d1 + y1)
        n22 = n22 - (d2 + y2)
        n13 = n13 + y1
        n23 = n23 + y2
        n33 = n33 - (follow + follow * follow * c22)
        z1 = z1 + (k11 * (step_m + gain_m) + k12 * (step_e + gain_e))
        z2 = z2 + (k12 * (step_m + gain_m) + k22 * (step_e + gain_e))
        z3 = z3 - follow * step_e
        before = before + s * e
        put(work, here + X, k12)
        put(work, here + STEP_A, k11)
        put(work, here + STEP_D, k22)
        put(work, here + STEP_M, step_m)
        put(work, here + STEP_E, step_e)
        put(work, here + NEW_M, gain_m)
        put(work, here + NEW_E, gain_e)
        put(work, here + INVERSE, inverse)
    put(single, N11, n11)
    put(single, N12, n12)
    put(single, N22, n22)
    put(single, N13, n13)
    put(single, N23, n23)
    put(single, N33, n33)
    put(single, Z1, z1)
    put(single, Z2, z2)
    put(single, Z3, z3)
    put(single, BEFORE, before)


@part
def close(k: int, single: FloatArray) -> None:
    """Solve N z = Z for the three sums over classes that couple them; Z receives z. Fills SLACK.

    The third pivot is below 0, and what it leaves of the two others is positive definite.
    """
    n13, n23, n33 = get(single, N13), get(single, N23), get(single, N33)
    given = get(single, Z3)
    follows = 1.0 - at_least(n33, 0.0)
    over = where(follows, 1.0 / where(follows, n33, 1.0), 0.0)
    n11, n12 = get(single, N11) - n13 * n13 * over, get(single, N12) - n13 * n23 * over
    n22 = get(single, N22) - n23 * n23 * over
    z1, z2 = get(single, Z1) - n13 * given * over, get(single, Z2) - n23 * given * over
    capacity = n11 * n22 - n12 * n12
    solvable = 1.0 - at_least(0.0, capacity)
    inverse = where(solvable, 1.0 / where(solvable, capacity, 1.0), 0.0)
    first, second = (n22 * z1 - n12 * z2) * inverse, (n11 * z2 - n12 * z1) * inverse
    put(single, Z1, first)
    put(single, Z2, second)
    put(single, Z3, (given - n13 * first - n23 * second) * over)
    size = magnitude(get(single, BEFORE)) + get(single, R1) + get(single, R2) + float(k)
    put(single, SLACK, ROUNDING * size)


@part
def finish(
    k: int, inv_sigma2: FloatArray, inv_delta2: float, room: float, work: FloatArray, single: FloatArray
) -> None:
    """The steps with the sums over classes put in, and SIZE."""
    r1, r2, coupled = get(single, R1), get(single, R2), get(single, COUPLED)
    followed = coupled * get(single, FOLLOWED)
    z1, z2, z3 = get(single, Z1), get(single, Z2), get(single, Z3)
    damping = coupled + DAMPING * (1.0 - coupled)
    size = get(single, SIZE)
    for i in range(k):
        here = i * CLASS
        p, t = r1 * get(work, here + P), r2 * get(work, here + T)
        k11, k12, k22 = get(work, here + STEP_A), get(work, here + X), get(work, here + STEP_D)
        inverse = get(work, here + INVERSE)
        follow = smaller(followed * get(work, here + S), room)
        c11, c12 = (k22 - follow + inv_delta2) * inverse, (inv_delta2 - k12) * inverse
        c22 = (k11 + inv_sigma2[i] + inv_delta2) * inverse
        more_m, more_e = k11 * z1 + k12 * z2, k12 * z1 + k22 * z2 - follow * z3
        step_m = get(work, here + STEP_M) + (c11 * more_m + c12 * more_e)
        step_e = get(work, here + STEP_E) + (c12 * more_m + c22 * more_e)
        gain_m = step_m + get(work, here + NEW_M) - z1
        gain_e = step_e + get(work, here + NEW_E) - z2
        # p and t stay positive, so precisions do.
        gain_p = larger(k11 * gain_m + k12 * gain_e, -LOST * p)
        gain_t = larger(k12 * gain_m + k22 * gain_e, -LOST * t)
        step_a = damping * (inv_sigma2[i] + p - get(work, here + A)) + coupled * gain_p
        step_d = damping * (t - get(work, here + D)) + coupled * gain_t
        put(work, here + STEP_M, step_m)
        put(work, here + STEP_E, step_e)
        put(work, here + STEP_A, step_a)
        put(work, here + STEP_D, step_d)
        means = larger(magnitude(step_m), magnitude(step_e))
        size = larger(size, larger(means, larger(magnitude(step_a) * c11, magnitude(step_d) * c22)))
    put(single, SIZE, size)
