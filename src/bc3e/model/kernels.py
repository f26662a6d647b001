"""Compiled E-step. :mod:`bc3e.model.reference` says the same in readable NumPy.

State of one object: means m (of y) and e (of theta), and the precision of the
pair (y_i, theta_i), kept as ``[[a_i + g, -g], [-g, d_i + g]]``. H has this form
with g = 1/delta2, blends of such matrices keep it, and it avoids the
cancellation that a 2x2 inverse would suffer when delta2 is small:

    det = a d + g (a + d),  V11 = (d + g) / det,  V22 = (a + g) / det,
    V12 = g / det,          V11 + V22 - 2 V12 = (a + d) / det.

The factorized family keeps the diagonal only: V11 = 1/(a + g), V22 = 1/(d + g).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.model.compiled import kernel
from bc3e.model.evidence import FloatArray

HALVINGS = 40
SLACK = 1e-13  # relative rounding of a surrogate; a smaller fall is noise
UNDERFLOW = 1e-280
DAMPING = 0.85  # share of the way that precisions go: p falls as V does, a full step overshoots


@kernel
def softmax_in_place(v: FloatArray) -> float:
    """Overwrite v with its softmax; return its log-sum-exp."""
    top = v[0]
    for i in range(1, v.shape[0]):
        top = max(top, v[i])
    total = 0.0
    for i in range(v.shape[0]):
        v[i] = np.exp(v[i] - top)
        total += v[i]
    inverse = 1.0 / total  # a division costs several multiplications
    for i in range(v.shape[0]):
        v[i] *= inverse
    return float(top + np.log(total))


@kernel
def exchange(
    e: FloatArray,
    likelihood: FloatArray,
    weight: FloatArray,
    present: int,
    s: FloatArray,
    phi: FloatArray,
    valued: bool,
) -> float:
    """Cluster evidence of one object: fills phi and s = sum_m w_m phi_m.

    Returns sum_m w_m log sum_i exp(e_i) likelihood[m, i] if ``valued``, else 0.
    exp(e) is taken once for all clusterings (in the last row of phi);
    logarithms are used only where that underflows.
    """
    k = e.shape[0]
    x = phi[phi.shape[0] - 1]
    shift = e[0]
    for i in range(1, k):
        shift = max(shift, e[i])
    for i in range(k):
        x[i] = np.exp(e[i] - shift)
        s[i] = 0.0
    value = 0.0
    for m in range(present):
        total = 0.0
        for i in range(k):
            phi[m, i] = x[i] * likelihood[m, i]
            total += phi[m, i]
        if total > UNDERFLOW:
            inverse = 1.0 / total
            for i in range(k):
                phi[m, i] *= inverse
            if valued:
                value += weight[m] * (shift + np.log(total))
        else:
            for i in range(k):
                phi[m, i] = e[i] + np.log(likelihood[m, i])
            value += weight[m] * softmax_in_place(phi[m])
        for i in range(k):
            s[i] += weight[m] * phi[m, i]
    return value


@kernel
def local_terms(
    c: FloatArray,
    r1: float,
    r2: float,
    m: FloatArray,
    e: FloatArray,
    a: FloatArray,
    d: FloatArray,
    g: float,
    mu: FloatArray,
    inv_sigma2: FloatArray,
    inv_delta2: float,
    structured: bool,
    p: FloatArray,
    t: FloatArray,
) -> float:
    """Every term of the bound that needs no cluster label and varies with the state.

    Also fills p = softmax(m + V11/2) and t = softmax(e + V22/2).
    """
    value = 0.0
    for i in range(m.shape[0]):
        if structured:
            det = a[i] * d[i] + g * (a[i] + d[i])
            inverse = 1.0 / det
            v11 = (d[i] + g) * inverse
            v22 = (a[i] + g) * inverse
            spread = (a[i] + d[i]) * inverse
        else:
            det = (a[i] + g) * (d[i] + g)
            v11 = 1.0 / (a[i] + g)
            v22 = 1.0 / (d[i] + g)
            spread = v11 + v22
        off = m[i] - mu[i]
        gap = e[i] - m[i]
        value += (
            c[i] * m[i]
            - 0.5 * (v11 + off * off) * inv_sigma2[i]
            - 0.5 * (spread + gap * gap) * inv_delta2
            - 0.5 * np.log(det)
        )
        p[i] = m[i] + 0.5 * v11
        t[i] = e[i] + 0.5 * v22
    lse_p = softmax_in_place(p)
    lse_t = softmax_in_place(t)
    return value - r1 * lse_p - r2 * lse_t


@kernel
def natural_step(
    c: FloatArray,
    r1: float,
    s: FloatArray,
    r2: float,
    m: FloatArray,
    e: FloatArray,
    a: FloatArray,
    d: FloatArray,
    g: float,
    mu: FloatArray,
    inv_sigma2: FloatArray,
    inv_delta2: float,
    structured: bool,
    base: float,
    work: FloatArray,
) -> tuple[float, float, float]:
    """One safeguarded step of one object, in place: Newton for means, damped for precisions.

    ``work`` is (8, k) scratch whose first two rows hold p and t of the state on
    entry and on return; ``base`` is :func:`local_terms` of the state on entry.
    Returns the new g, the new base and the size of the step taken.
    """
    k = m.shape[0]
    p, t = work[0], work[1]
    step_m, step_e, new_m, new_e, new_a, new_d = (
        work[2],
        work[3],
        work[4],
        work[5],
        work[6],
        work[7],
    )
    size = abs(inv_delta2 - g) / inv_delta2
    before = base
    # H is 2x2 blocks minus R1 p p' minus R2 t t'. First the blocks alone, and what Woodbury's
    # formula needs of the two rank-one parts, each as a sum of positive terms.
    k11, k12, k22, along_p, along_t = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(k):
        target_a = inv_sigma2[i] + r1 * p[i]
        target_d = r2 * t[i]
        gap = m[i] - e[i]
        u1 = c[i] - r1 * p[i] - (m[i] - mu[i]) * inv_sigma2[i]
        u2 = s[i] - r2 * t[i]
        det = target_a * target_d + inv_delta2 * (target_a + target_d)
        inverse = 1.0 / det
        step_m[i] = ((target_d + inv_delta2) * u1 + inv_delta2 * (u2 - target_d * gap)) * inverse
        step_e[i] = ((target_a + inv_delta2) * u2 + inv_delta2 * (u1 + target_a * gap)) * inverse
        k11 += p[i] * (inv_sigma2[i] * (target_d + inv_delta2) + inv_delta2 * target_d) * inverse
        k12 += p[i] * inv_delta2 * t[i] * inverse
        k22 += t[i] * inv_delta2 * target_a * inverse
        new_m[i] = inverse  # kept for the second half of the step
        along_p += p[i] * step_m[i]
        along_t += t[i] * step_e[i]
        new_a[i] = target_a
        new_d[i] = target_d
        size = max(size, abs(target_a - a[i]) / target_a, abs(target_d - d[i]) / (target_d + 1e-3))
        before += s[i] * e[i]
    capacity = k11 * k22 - r1 * r2 * k12 * k12
    if capacity > 0.0:
        lift_p = r1 * (k22 * along_p + r2 * k12 * along_t) / capacity
        lift_t = r2 * (k11 * along_t + r1 * k12 * along_p) / capacity
        for i in range(k):
            along_m, along_e = p[i] * lift_p * new_m[i], t[i] * lift_t * new_m[i]
            step_m[i] += (new_d[i] + inv_delta2) * along_m + inv_delta2 * along_e
            step_e[i] += inv_delta2 * along_m + (new_a[i] + inv_delta2) * along_e
    for i in range(k):
        size = max(size, abs(step_m[i]), abs(step_e[i]))
    slack = SLACK * (abs(before) + r1 + r2 + k)
    for i in range(k):
        new_a[i] = a[i] + DAMPING * (new_a[i] - a[i])
        new_d[i] = d[i] + DAMPING * (new_d[i] - d[i])
    tau = 1.0
    for _ in range(HALVINGS):
        for i in range(k):
            new_m[i] = m[i] + tau * step_m[i]
            new_e[i] = e[i] + tau * step_e[i]
        if tau < 1.0:  # new_a and new_d hold where the last trial went: go half as far
            for i in range(k):
                new_a[i] = 0.5 * (a[i] + new_a[i])
                new_d[i] = 0.5 * (d[i] + new_d[i])
        new_g = g + tau * DAMPING * (inv_delta2 - g)
        new_base = local_terms(
            c, r1, r2, new_m, new_e, new_a, new_d, new_g, mu, inv_sigma2, inv_delta2, structured, p, t
        )
        after = new_base
        for i in range(k):
            after += s[i] * new_e[i]
        if after >= before - slack:
            for i in range(k):
                m[i] = new_m[i]
                e[i] = new_e[i]
                a[i] = new_a[i]
                d[i] = new_d[i]
            return new_g, new_base, tau * size
        tau *= 0.5
    # No ascent within rounding: the state stays, p and t are made its own again.
    base = local_terms(c, r1, r2, m, e, a, d, g, mu, inv_sigma2, inv_delta2, structured, p, t)
    return g, base, 0.0


@kernel
def gather(
    row: int,
    labels: NDArray[np.int32],
    hard_weight: FloatArray,
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    soft_weight: FloatArray,
    profiles: FloatArray,
    log_profiles: FloatArray,
    likelihood: FloatArray,
    weight: FloatArray,
    source: NDArray[np.int64],
) -> int:
    """Likelihood of an object's cluster labels per class; returns how many are present.

    ``source[n]`` remembers where row n of ``likelihood`` came from: a row of the
    profiles for a label, or -1 - q for soft clustering q.
    """
    k = profiles.shape[1]
    present = 0
    for h in range(labels.shape[1]):
        at = labels[row, h]
        if at >= 0:
            for i in range(k):
                likelihood[present, i] = profiles[at, i]
            weight[present] = hard_weight[h]
            source[present] = at
            present += 1
    for q in range(soft_row.shape[0]):
        mass = 0.0
        for i in range(k):
            likelihood[present, i] = 0.0
        for j in range(soft_start[q + 1] - soft_start[q]):
            w = float(memberships[row, soft_start[q] + j])
            if w > 0.0:
                mass += w
                for i in range(k):
                    likelihood[present, i] += w * log_profiles[soft_row[q] + j, i]
        if mass > 0.0:
            for i in range(k):
                likelihood[present, i] = np.exp(likelihood[present, i])
            weight[present] = soft_weight[q]
            source[present] = -1 - q
            present += 1
    return present


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
    w: float,
    m: FloatArray,
    e: FloatArray,
    a: FloatArray,
    d: FloatArray,
    g: float,
    structured: bool,
    moments: FloatArray,
    totals: FloatArray,
) -> None:
    """Add one object of weight w to S1 and S2 (``moments``) and to D (``totals[1]``)."""
    for i in range(m.shape[0]):
        if structured:
            det = a[i] * d[i] + g * (a[i] + d[i])
            v11 = (d[i] + g) / det
            spread = (a[i] + d[i]) / det
        else:
            v11 = 1.0 / (a[i] + g)
            spread = v11 + 1.0 / (d[i] + g)
        moments[0, i] += w * m[i]
        moments[1, i] += w * (v11 + m[i] * m[i])
        totals[1] += w * (spread + (e[i] - m[i]) ** 2)


@kernel
def add_counts(
    w: float,
    row: int,
    present: int,
    source: NDArray[np.int64],
    phi: FloatArray,
    memberships: NDArray[np.floating[Any]],
    soft_start: NDArray[np.int64],
    soft_row: NDArray[np.int64],
    counts: FloatArray,
) -> None:
    """Add one object of weight w to the expected class counts of its clusters."""
    k = phi.shape[1]
    for j in range(present):
        if source[j] >= 0:
            for i in range(k):
                counts[source[j], i] += w * phi[j, i]
        else:
            q = -1 - source[j]
            for col in range(soft_start[q + 1] - soft_start[q]):
                share = w * float(memberships[row, soft_start[q] + col])
                if share > 0.0:
                    for i in range(k):
                        counts[soft_row[q] + col, i] += share * phi[j, i]


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
    likelihood = np.empty((slots, k))
    weight = np.empty(slots)
    source = np.empty(slots, dtype=np.int64)
    s = np.empty(k)
    phi = np.empty((slots + 1, k))
    work = np.empty((8, k))
    inv_sigma2 = 1.0 / sigma2
    inv_delta2 = 1.0 / delta2
    constant = constant_terms(sigma2, delta2)
    for n in range(first, last):
        c, m, e = votes[n], means[n], tendencies[n]
        a, d = precision_a[n], precision_d[n]
        g = precision_g[n]
        r1 = 0.0
        for i in range(k):
            r1 += c[i]
        present = gather(
            n,
            labels,
            hard_weight,
            memberships,
            soft_start,
            soft_row,
            soft_weight,
            profiles,
            log_profiles,
            likelihood,
            weight,
            source,
        )
        r2 = 0.0
        for j in range(present):
            r2 += weight[j]
        base = local_terms(
            c, r1, r2, m, e, a, d, g, mu, inv_sigma2, inv_delta2, structured, work[0], work[1]
        )
        for _ in range(sweeps):
            exchange(e, likelihood, weight, present, s, phi, False)
            g, base, size = natural_step(
                c, r1, s, r2, m, e, a, d, g, mu, inv_sigma2, inv_delta2, structured, base, work
            )
            if size <= tolerance:
                break
        precision_g[n] = g
        evidence = exchange(e, likelihood, weight, present, s, phi, True)
        w = weights[n]
        totals[0] += w
        totals[2] += w * (base + evidence + constant)
        add_moments(w, m, e, a, d, g, structured, moments, totals)
        add_counts(w, n, present, source, phi, memberships, soft_start, soft_row, counts)
