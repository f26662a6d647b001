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
    INVERSE,
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
from bc3e.model.lanes import LANES as L

ROUNDING = 1e-13  # relative rounding of a surrogate; a smaller fall is noise
DAMPING = 0.85  # share of their way that precisions go by themselves: p falls as V does
FOLLOWED = 0.2  # share of the slope of s, were all phi alike, that a step reckons with
ROOM = 0.9  # how steep that may be against the prior precision of e: from 1 on blocks may be indefinite
LOST = 0.9  # share of p and t that a step of the precisions takes away at most


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
    for j in range(L):
        coupled = single[COUPLED + j]
        single[STEP_G + j] = (coupled + DAMPING * (1.0 - coupled)) * (inv_delta2 - single[G + j])
        single[SIZE + j] = abs(inv_delta2 - single[G + j]) / inv_delta2
        single[BEFORE + j] = single[VALUE + j]
        # Without votes or labels nothing follows from a sum over them: one equation is z = 0.
        single[N11 + j] = 0.0 if single[R1 + j] > 0.0 else 1.0
        single[N22 + j] = 0.0 if single[R2 + j] > 0.0 else 1.0
        for field in (N12, N13, N23, N33, Z1, Z2, Z3):
            single[field + j] = 0.0
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
    for i in range(k):
        for j in range(L):
            m, e, s = work[i * CLASS + M + j], work[i * CLASS + E + j], work[i * CLASS + S + j]
            a, d, g = work[i * CLASS + A + j], work[i * CLASS + D + j], single[G + j]
            p, t = single[R1 + j] * work[i * CLASS + P + j], single[R2 + j] * work[i * CLASS + T + j]
            own = 0.0 if structured else g
            inverse = 1.0 / (a * d + g * (a + d) + own * g)
            v11, v22, v12 = (d + g) * inverse, (a + g) * inverse, (g - own) * inverse
            half = 0.5 * single[COUPLED + j]
            h11, h22, h12 = half * v11 * v11, half * v22 * v22, half * v12 * v12
            step_a, step_d, step_g = inv_sigma2[i] + p - a, t - d, half * (inv_delta2 - g)
            u11, u22 = v11 - v12, v22 - v12
            gain_m = -(h11 * step_a + h12 * step_d + step_g * u11 * u11)  # of V11/2, by these steps
            gain_e = -(h12 * step_a + h22 * step_d + step_g * u22 * u22)
            inverse = 1.0 / ((1.0 + h11 * p) * (1.0 + h22 * t) - (h12 * p) * (h12 * t))
            k11, k22 = p * (1.0 + h22 * t) * inverse, t * (1.0 + h11 * p) * inverse
            k12 = -h12 * p * t * inverse
            follow = single[COUPLED + j] * min(FOLLOWED * s, room)
            x, y = k11 + inv_sigma2[i], k22 - follow
            inverse = 1.0 / (x * y - k12 * k12 + inv_delta2 * (x + y + 2.0 * k12))
            c11, c12, c22 = (
                (y + inv_delta2) * inverse,
                (inv_delta2 - k12) * inverse,
                (x + inv_delta2) * inverse,
            )
            u1 = (
                work[i * CLASS + C + j] - p - (m - mu[i]) * inv_sigma2[i] - (k11 * gain_m + k12 * gain_e)
            )
            u2 = s - t - (k12 * gain_m + k22 * gain_e)
            pull = inv_delta2 * (m - e) * inverse
            step_m = c11 * u1 + c12 * u2 - pull * (y + k12)
            step_e = c12 * u1 + c22 * u2 + pull * (x + k12)
            y1, y2 = follow * (c12 * k11 + c22 * k12), follow * (c12 * k12 + c22 * k22)
            d1 = ((y + k12) * k11 - (x + k12) * k12) * inverse * inv_delta2
            d2 = ((y + k12) * k12 - (x + k12) * k22) * inverse * inv_delta2
            single[N11 + j] += inv_sigma2[i] * (c11 * k11 + c12 * k12) + d1
            single[N12 + j] -= d1 + y1
            single[N22 + j] -= d2 + y2
            single[N13 + j] += y1
            single[N23 + j] += y2
            single[N33 + j] -= follow + follow * follow * c22
            single[Z1 + j] += k11 * (step_m + gain_m) + k12 * (step_e + gain_e)
            single[Z2 + j] += k12 * (step_m + gain_m) + k22 * (step_e + gain_e)
            single[Z3 + j] -= follow * step_e
            single[BEFORE + j] += s * e
            work[i * CLASS + X + j] = k12
            work[i * CLASS + STEP_A + j] = k11
            work[i * CLASS + STEP_D + j] = k22
            work[i * CLASS + STEP_M + j] = step_m
            work[i * CLASS + STEP_E + j] = step_e
            work[i * CLASS + NEW_M + j] = gain_m
            work[i * CLASS + NEW_E + j] = gain_e
            work[i * CLASS + INVERSE + j] = inverse


@part
def close(k: int, single: FloatArray) -> None:
    """Solve N z = Z for the three sums over classes that couple them; Z receives z. Fills SLACK.

    The third pivot is below 0, and what it leaves of the two others is positive definite.
    """
    for j in range(L):
        n13, n23, over = single[N13 + j], single[N23 + j], 0.0
        if single[N33 + j] < 0.0:
            over = 1.0 / single[N33 + j]
        n11, n12 = single[N11 + j] - n13 * n13 * over, single[N12 + j] - n13 * n23 * over
        n22 = single[N22 + j] - n23 * n23 * over
        z1, z2 = (
            single[Z1 + j] - n13 * single[Z3 + j] * over,
            single[Z2 + j] - n23 * single[Z3 + j] * over,
        )
        capacity, inverse = n11 * n22 - n12 * n12, 0.0
        if capacity > 0.0:
            inverse = 1.0 / capacity
        single[Z1 + j] = (n22 * z1 - n12 * z2) * inverse
        single[Z2 + j] = (n11 * z2 - n12 * z1) * inverse
        single[Z3 + j] = (single[Z3 + j] - n13 * single[Z1 + j] - n23 * single[Z2 + j]) * over
        single[SLACK + j] = ROUNDING * (abs(single[BEFORE + j]) + single[R1 + j] + single[R2 + j] + k)


@part
def finish(
    k: int, inv_sigma2: FloatArray, inv_delta2: float, room: float, work: FloatArray, single: FloatArray
) -> None:
    """The steps with the sums over classes put in, and SIZE."""
    for i in range(k):
        for j in range(L):
            z1, z2, coupled = single[Z1 + j], single[Z2 + j], single[COUPLED + j]
            p, t = single[R1 + j] * work[i * CLASS + P + j], single[R2 + j] * work[i * CLASS + T + j]
            k11, k12, k22 = (
                work[i * CLASS + STEP_A + j],
                work[i * CLASS + X + j],
                work[i * CLASS + STEP_D + j],
            )
            inverse = work[i * CLASS + INVERSE + j]
            follow = coupled * min(FOLLOWED * work[i * CLASS + S + j], room)
            c11, c12 = (k22 - follow + inv_delta2) * inverse, (inv_delta2 - k12) * inverse
            c22 = (k11 + inv_sigma2[i] + inv_delta2) * inverse
            more_m, more_e = k11 * z1 + k12 * z2, k12 * z1 + k22 * z2 - follow * single[Z3 + j]
            step_m = work[i * CLASS + STEP_M + j] + (c11 * more_m + c12 * more_e)
            step_e = work[i * CLASS + STEP_E + j] + (c12 * more_m + c22 * more_e)
            gain_m = step_m + work[i * CLASS + NEW_M + j] - z1
            gain_e = step_e + work[i * CLASS + NEW_E + j] - z2
            # p and t stay positive, so precisions do.
            gain_p = max(k11 * gain_m + k12 * gain_e, -LOST * p)
            gain_t = max(k12 * gain_m + k22 * gain_e, -LOST * t)
            damping = coupled + DAMPING * (1.0 - coupled)
            step_a = damping * (inv_sigma2[i] + p - work[i * CLASS + A + j]) + coupled * gain_p
            step_d = damping * (t - work[i * CLASS + D + j]) + coupled * gain_t
            work[i * CLASS + STEP_M + j] = step_m
            work[i * CLASS + STEP_E + j] = step_e
            work[i * CLASS + STEP_A + j] = step_a
            work[i * CLASS + STEP_D + j] = step_d
            moved = max(max(abs(step_m), abs(step_e)), max(abs(step_a) * c11, abs(step_d) * c22))
            single[SIZE + j] = max(single[SIZE + j], moved)
