"""Quadratic objectives on the graph between objects and groups, and their minimum.

BGCM and the squared loss of C3E are the same kind of problem. Objects n have
values u_n, groups j (classes of a classifier, clusters of a clustering) have
values q_j, one number per class each, and the objective is

    sum_nj w_n a_nj c_j ||u_n - q_j||^2  +  sum_n w_n f_n ||u_n - p_n||^2  +  sum_j g_j ||q_j - y_j||^2

with a_nj the membership of n in j. For given q the best u is a weighted mean,
and the other way round: alternating the two never raises the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from bc3e.model.evidence import FloatArray
from bc3e.rivals.base import Trace

SMALLEST_STEP = 1e-15  # what rounding alone may do


@dataclass(frozen=True)
class Bipartite:
    """One problem of this kind.

    Attributes
    ----------
    members : (P, V) sparse array
        a, the memberships of the patterns in the groups.
    weights : (P,) array
        w, how many objects a pattern stands for.
    pulls : (V,) array
        c, the weight of the edges to each group.
    object_trust, object_prior : (P,) and (P, k) arrays
        f and p: how strongly an object is drawn to which values of its own.
    group_trust, group_prior : (V,) and (V, k) arrays
        g and y: the same for the groups.
    """

    members: sparse.csr_array
    weights: FloatArray
    pulls: FloatArray
    object_trust: FloatArray
    object_prior: FloatArray
    group_trust: FloatArray
    group_prior: FloatArray

    @cached_property
    def object_mass(self) -> FloatArray:
        """Everything that draws on each object, (P, 1)."""
        mass: FloatArray = self.members @ self.pulls + self.object_trust
        return mass[:, None]

    @cached_property
    def group_mass(self) -> FloatArray:
        """Everything that draws on each group, (V, 1)."""
        mass: FloatArray = self.pulls * (self.members.T @ self.weights) + self.group_trust
        return mass[:, None]

    def objects(self, groups: FloatArray) -> FloatArray:
        """The best u for these q; equal values where nothing draws on an object."""
        drawn = self.members @ (self.pulls[:, None] * groups)
        drawn += self.object_trust[:, None] * self.object_prior
        return _divide(drawn, self.object_mass, 1.0 / drawn.shape[1])

    def groups(self, objects: FloatArray) -> FloatArray:
        """The best q for these u; equal values where nothing draws on a group."""
        drawn = self.pulls[:, None] * (self.members.T @ (self.weights[:, None] * objects))
        drawn += self.group_trust[:, None] * self.group_prior
        return _divide(drawn, self.group_mass, 1.0 / drawn.shape[1])

    def object_shift(self, shift: FloatArray) -> FloatArray:
        """How u changes if q changes by `shift`."""
        return _divide(self.members @ (self.pulls[:, None] * shift), self.object_mass, 0.0)

    def group_shift(self, shift: FloatArray) -> FloatArray:
        """How q changes if u changes by `shift`."""
        drawn = self.pulls[:, None] * (self.members.T @ (self.weights[:, None] * shift))
        return _divide(drawn, self.group_mass, 0.0)

    def value(self, objects: FloatArray, groups: FloatArray) -> float:
        """The objective at q and the best u for it, without visiting the edges."""
        own = self.weights * self.object_trust
        return float(
            np.sum((self.group_mass - self.group_trust[:, None]) * groups**2)
            + np.sum(self.group_trust[:, None] * (groups - self.group_prior) ** 2)
            + own @ np.sum(self.object_prior**2, axis=1)
            - self.weights @ (self.object_mass[:, 0] * np.sum(objects**2, axis=1))
        )


@dataclass(frozen=True)
class Minimum:
    """Where the iteration ended."""

    objects: FloatArray
    groups: FloatArray
    trace: Trace


def minimise(
    problem: Bipartite, start: FloatArray, *, max_iter: int, tol: float, accelerate: bool
) -> Minimum:
    """Alternate between objects and groups from group values `start`.

    Plain alternation forgets what all groups have in common at a rate of only
    (trust / group size) per step. With `accelerate` each step is made conjugate
    to the earlier ones and gets its best length: conjugate gradients with the
    alternation as preconditioner. One step costs the same, the objective still
    falls with every one, and the minimum is the same.

    Stops when an alternation would change no group value by more than `tol`
    times the spread of the object values.
    """
    mass = problem.group_mass
    groups = start.copy()
    objects = problem.objects(groups)
    step = problem.groups(objects) - groups
    direction, strength = step, np.sum(mass * step**2, axis=0)
    objectives = [problem.value(objects, groups)]
    converged = _settled(step, objects, tol)
    while not converged and len(objectives) <= max_iter:
        shift = problem.object_shift(direction)
        change = direction - problem.group_shift(shift)
        if accelerate:
            curvature = np.sum(mass * direction * change, axis=0)
            length = np.divide(strength, curvature, out=np.zeros_like(strength), where=curvature > 0)
        else:
            length = np.ones_like(strength)
        groups += length * direction
        objects += length * shift
        step = step - length * change
        objectives.append(problem.value(objects, groups))
        converged = _settled(step, objects, tol)
        earlier, strength = strength, np.sum(mass * step**2, axis=0)
        memory = np.divide(strength, earlier, out=np.zeros_like(strength), where=earlier > 0)
        direction = step + memory * direction if accelerate else step
    return Minimum(objects, groups, Trace(objectives, converged))


def as_probabilities(values: FloatArray) -> FloatArray:
    """Remove what rounding left below zero, and scale the rows to sum to 1."""
    shares = np.maximum(values, 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _settled(step: FloatArray, objects: FloatArray, tol: float) -> bool:
    if step.size == 0:
        return True
    spread = float(np.max(objects.max(axis=0) - objects.min(axis=0)))
    return float(np.abs(step).max()) <= max(tol * spread, SMALLEST_STEP)


def _divide(values: FloatArray, mass: FloatArray, empty: float) -> FloatArray:
    """Divide the rows in place; those without mass become `empty`."""
    alone = mass[:, 0] <= 0
    values /= np.where(mass > 0, mass, 1.0)
    values[alone] = empty
    return values
