"""The E-step and the bound in plain NumPy, to be read and to be tested against.

Equation by equation, all objects at once, with explicit 2 x 2 matrices. The
compiled kernels must agree with this module to 1e-10. The M-step is NumPy
already: :func:`bc3e.model.statistics.m_step`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, label_weights
from bc3e.model.parameters import Parameters
from bc3e.model.statistics import Statistics

HALVINGS = 40
DAMPING, UNSEEN, SEEN, ROOM, LOST = 0.85, 0.2, 1e-24, 0.9, 0.9


@dataclass(frozen=True)
class Gaussian:
    """q(y_i, theta_i) of every object and class: means (P, k), precisions (P, k, 2, 2)."""

    m: FloatArray
    e: FloatArray
    precision: FloatArray

    @property
    def covariance(self) -> FloatArray:
        inverse: FloatArray = np.linalg.inv(self.precision).astype(np.float64, copy=False)
        return inverse

    @classmethod
    def of(cls, state: State, structured: bool) -> Gaussian:
        """The posterior that a kernel state stands for."""
        g = state.g[:, None]
        off = np.broadcast_to(-g if structured else 0.0 * g, state.a.shape)
        rows = [np.stack([state.a + g, off], axis=-1), np.stack([off, state.d + g], axis=-1)]
        return cls(state.mean.copy(), state.tendency.copy(), np.stack(rows, axis=-2))


@dataclass(frozen=True)
class Last:
    """What every object remembers of its last sweep: e and s (P, k), and how far s followed e (P,)."""

    e: FloatArray
    s: FloatArray
    followed: FloatArray

    @classmethod
    def none(cls, q: Gaussian) -> Last:
        """Before the first sweep."""
        return cls(q.e, np.zeros_like(q.e), np.full(len(q.e), UNSEEN))

    def learned(self, e: FloatArray, s: FloatArray) -> FloatArray:
        """The share of its slope, were all phi alike, by which s followed the last move of e, (P,)."""
        weight, move = self.s.sum(axis=1), e - self.e
        middle = (self.s * move).sum(axis=1) / np.where(weight > 0, weight, 1.0)
        beyond = move - middle[:, None]
        if_alike = (self.s * beyond**2).sum(axis=1)
        known = if_alike > SEEN * weight
        share = ((s - self.s) * beyond).sum(axis=1) / np.where(known, if_alike, 1.0)
        return np.where(known, share.clip(0.0, 1.0), self.followed)


def cluster_log_likelihoods(
    evidence: Evidence, parameters: Parameters
) -> list[tuple[float, FloatArray, FloatArray]]:
    """Per clustering: its weight w_m, who has a label, and log beta_m[:, label] (P, k).

    Memberships w_mj take the place of a label as sum_j w_mj log beta_m[:, j].
    """
    log_profiles = np.log(parameters.profiles)
    found = []
    for m, present, given in evidence.assignments():
        first, last = evidence.layout.offsets[m], evidence.layout.offsets[m + 1]
        value = given @ log_profiles[first:last] if given.ndim == 2 else log_profiles[given]
        value = np.where(present[:, None], value, 0.0)
        found.append((float(evidence.evidence_weights[m]), present.astype(np.float64), value))
    return found


def object_bounds(evidence: Evidence, parameters: Parameters, q: Gaussian) -> FloatArray:
    """L_n of every object, with phi, kappa and xi at their optimum."""
    sigma2, delta2 = parameters.class_variance, parameters.delta2
    c, r1 = evidence.votes, evidence.votes.sum(axis=1)
    v = q.covariance
    v11, v22, v12 = v[..., 0, 0], v[..., 1, 1], v[..., 0, 1]
    spread = v11 + v22 - 2.0 * v12
    per_class = (
        c * q.m
        - 0.5 * (np.log(sigma2) + (v11 + (q.m - parameters.class_mean) ** 2) / sigma2)
        - 0.5 * (np.log(delta2) + (spread + (q.e - q.m) ** 2) / delta2)
        + 1.0
        + 0.5 * np.linalg.slogdet(v)[1]
    )
    votes = -r1 * logsumexp(q.m + v11 / 2, axis=1)
    clusters = np.zeros(len(c))
    for w, present, value in cluster_log_likelihoods(evidence, parameters):
        told = logsumexp(q.e + value, axis=1) - logsumexp(q.e + v22 / 2, axis=1)
        clusters += w * present * told
    total: FloatArray = per_class.sum(axis=1) + votes + clusters
    return total


def exchange(evidence: Evidence, parameters: Parameters, e: FloatArray) -> FloatArray:
    """The cluster evidence s = sum_m w_m phi_m of every object, (P, k)."""
    s = np.zeros_like(e)
    for w, present, value in cluster_log_likelihoods(evidence, parameters):
        s += w * present[:, None] * softmax(e + value, axis=1)
    return s


def surrogate(evidence: Evidence, parameters: Parameters, q: Gaussian, s: FloatArray) -> FloatArray:
    """L_n with phi held fixed: sum_i s_i e_i in place of the log-sum over profiles."""
    told = np.zeros(len(s))
    for w, present, value in cluster_log_likelihoods(evidence, parameters):
        told += w * present * logsumexp(q.e + value, axis=1)
    total: FloatArray = object_bounds(evidence, parameters, q) - told + np.sum(s * q.e, axis=1)
    return total


def gradient_and_curvature(
    evidence: Evidence, parameters: Parameters, q: Gaussian, s: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gradient (P, k, 2), blocks H (P, k, 2, 2) and minus the Hessian (P, 2k, 2k) in (m, e).

    The blocks are the optimal precisions; the Hessian of the surrogate in the
    means is the blocks less R1 p p' and R2 t t'.
    """
    sigma2, delta2, mu = parameters.class_variance, parameters.delta2, parameters.class_mean
    r1 = evidence.votes.sum(axis=1, keepdims=True)
    r2 = label_weights(evidence)[:, None]
    v = q.covariance
    p, t = softmax(q.m + v[..., 0, 0] / 2, axis=1), softmax(q.e + v[..., 1, 1] / 2, axis=1)
    g1 = evidence.votes - r1 * p - (q.m - mu) / sigma2 - (q.m - q.e) / delta2
    g2 = s - r2 * t - (q.e - q.m) / delta2
    h = np.empty((*q.m.shape, 2, 2))
    h[..., 0, 0] = 1.0 / sigma2 + 1.0 / delta2 + r1 * p
    h[..., 1, 1] = 1.0 / delta2 + r2 * t
    h[..., 0, 1] = h[..., 1, 0] = -1.0 / delta2
    k = q.m.shape[1]
    hessian = np.zeros((len(q.m), 2, k, 2, k))
    each = np.arange(k)
    for a in range(2):
        for b in range(2):
            hessian[:, a, each, b, each] = h[..., a, b]
    hessian[:, 0, :, 0, :] -= r1[..., None] * p[:, :, None] * p[:, None, :]
    hessian[:, 1, :, 1, :] -= r2[..., None] * t[:, :, None] * t[:, None, :]
    return np.stack([g1, g2], axis=-1), h, hessian.reshape(len(q.m), 2 * k, 2 * k)


def coupled_step(
    evidence: Evidence, parameters: Parameters, q: Gaussian, s: FloatArray, followed: FloatArray,
    structured: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """Newton's step for means and precisions together: of m, of e, and of the precisions.

    p and t are moved by means and V, V by the precisions, and s by e: the share `followed` (P,) of what
    it would be, were all phi alike. The unknowns beside the means are how far a and d go beyond the
    targets that p and t have now.
    """
    g, h, hessian = gradient_and_curvature(evidence, parameters, q, s)
    (count, k), eye = q.m.shape, np.eye(q.m.shape[1])
    v = q.covariance
    r1, r2 = evidence.votes.sum(axis=1)[:, None, None], label_weights(evidence)[:, None, None]
    p, t = softmax(q.m + v[..., 0, 0] / 2, axis=1), softmax(q.e + v[..., 1, 1] / 2, axis=1)
    moved = [r1 * (p[:, :, None] * eye - p[:, :, None] * p[:, None]),
             r2 * (t[:, :, None] * eye - t[:, :, None] * t[:, None])]  # fmt: skip
    room = ROOM / (parameters.delta2 + parameters.class_variance.max()) if structured else 0.0
    slope = np.minimum(followed[:, None] * s, room)
    total = np.maximum(slope.sum(axis=1), np.finfo(np.float64).tiny)[:, None, None]
    following = slope[:, :, None] * eye - slope[:, :, None] * slope[:, None] / total
    system = np.zeros((count, 4, k, 4, k))
    system[:, :2, :, :2] = hessian.reshape(count, 2, k, 2, k)
    system[:, 1, :, 1] -= following
    for of in range(2):
        system[:, 2 + of, :, of] = -moved[of]
        for by in range(2):
            slope = moved[of] * (-0.5 * v[..., of, by] ** 2)[:, None]
            system[:, of, :, 2 + by] = slope
            system[:, 2 + of, :, 2 + by] = (eye if of == by else 0.0) - slope
    missing = (h if structured else h * np.eye(2)) - q.precision
    gained = -0.5 * (v @ missing @ v)[..., [0, 1], [0, 1]]  # by V/2, from precisions at their targets
    follows = np.stack([(moved[of] @ gained[..., of, None])[..., 0] for of in range(2)], axis=1)
    wanted = np.concatenate([g.transpose(0, 2, 1) - follows, follows], axis=1)
    found = np.linalg.solve(system.reshape(count, 4 * k, 4 * k), wanted.reshape(count, 4 * k, 1))
    m, e, a, d = found.reshape(count, 4, k).transpose(1, 0, 2)
    floor = -LOST * np.stack([r1[:, 0] * p, r2[:, 0] * t], axis=-1)
    step = missing.copy()
    step[..., [0, 1], [0, 1]] += np.maximum(np.stack([a, d], axis=-1), floor)
    return m, e, step


def sweep(
    evidence: Evidence, parameters: Parameters, q: Gaussian, structured: bool, last: Last | None = None
) -> tuple[Gaussian, Last]:
    """One safeguarded step of every object: coupled, or where that falls the plain one.

    `last` is what the sweep before this one has returned; none if this is the first of an E-step.
    """
    s = exchange(evidence, parameters, q.e)
    followed = (last or Last.none(q)).learned(q.e, s)
    g, h, hessian = gradient_and_curvature(evidence, parameters, q, s)
    before = surrogate(evidence, parameters, q, s)
    r1, r2 = evidence.votes.sum(axis=1), label_weights(evidence)
    slack = 1e-13 * (np.abs(before) + r1 + r2 + q.m.shape[1])
    target = h if structured else h * np.eye(2)

    step_m, step_e, step = coupled_step(evidence, parameters, q, s, followed, structured)
    result = Gaussian(q.m + step_m, q.e + step_e, q.precision + step)
    waiting = ~(surrogate(evidence, parameters, result, s) >= before - slack)
    result = _either(waiting, q, result)

    stacked = np.concatenate([g[..., 0], g[..., 1]], axis=1)
    step_m, step_e = np.split(np.linalg.solve(hessian, stacked[..., None])[..., 0], 2, axis=1)
    tau = 1.0
    for _ in range(HALVINGS):
        if not waiting.any():
            break
        trial = Gaussian(
            q.m + tau * step_m,
            q.e + tau * step_e,
            q.precision + tau * DAMPING * (target - q.precision),
        )
        good = waiting & (surrogate(evidence, parameters, trial, s) >= before - slack)
        result = _either(good, trial, result)
        waiting &= ~good
        tau *= 0.5
    return result, Last(q.e, s, followed)


def _either(which: NDArray[np.bool_], one: Gaussian, other: Gaussian) -> Gaussian:
    """`one` for some objects, the `other` for the rest."""
    return Gaussian(
        np.where(which[:, None], one.m, other.m),
        np.where(which[:, None], one.e, other.e),
        np.where(which[:, None, None, None], one.precision, other.precision),
    )


def statistics(evidence: Evidence, parameters: Parameters, q: Gaussian) -> Statistics:
    """Sums over objects that the M-step needs, phi at its optimum."""
    w = evidence.weights[:, None]
    v = q.covariance
    spread = v[..., 0, 0] + v[..., 1, 1] - 2.0 * v[..., 0, 1]
    layout = evidence.layout
    counts = np.zeros((layout.n_rows, evidence.n_classes))
    likelihoods = cluster_log_likelihoods(evidence, parameters)
    for (m, present, given), (_, _, value) in zip(evidence.assignments(), likelihoods, strict=True):
        phi = w * present[:, None] * softmax(q.e + value, axis=1)
        first, last = layout.offsets[m], layout.offsets[m + 1]
        if given.ndim == 2:
            counts[first:last] += given.T @ phi
        else:
            np.add.at(counts, given[present], phi[present])
    return Statistics(
        weight=float(w.sum()),
        first=(w * q.m).sum(axis=0),
        second=(w * (v[..., 0, 0] + q.m**2)).sum(axis=0),
        gap=float((w * (spread + (q.e - q.m) ** 2)).sum()),
        counts=counts,
        bound=float(evidence.weights @ object_bounds(evidence, parameters, q)),
    )
