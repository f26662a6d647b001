"""Attacks on labels: what partitions of the objects can be read off the numbers that a node saw.

Ways to do so from cluster evidence s = sum_m w_m softmax(e + log beta_m[:, label]) and the
tendencies e that the node holds:

- :func:`by_profile`: evidence of one clustering, divided by exp(e), is the profile of the object's
  cluster up to a factor; equal profiles are equal labels.
- :func:`by_known_profiles`: with the profiles known, try every combination of labels and keep
  the one that gives s.
- :func:`by_sweeps`: a total over clusterings, seen at several tendencies of the *same* object, is a
  system of equations for its parts. Slow, and therefore not part of the audit; `benchmarks/privacy.py`
  shows how far it gets.

:mod:`bc3e.federation.additive` has another, which needs nothing but totals. Attacks on many objects
return codes of groups, one per object, or nothing if they do not apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.optimize import least_squares
from scipy.special import softmax

from bc3e.federation.scoring import Labels, codes
from bc3e.model.evidence import FloatArray

EXACT = 1e-6  # two values of a noiseless computation, masked or not, differ by less if they are equal
MAX_COMBINATIONS = 20_000
PERFECT = 1e-24  # cost of a fit that only rounding keeps from zero


def equal_values(values: FloatArray, tolerance: float = EXACT) -> Labels:
    """Groups of numbers that lie closer together than the tolerance."""
    order = np.argsort(values, kind="stable")
    groups = np.empty(len(values), dtype=np.intp)
    groups[order] = np.concatenate([[0], np.cumsum(np.diff(values[order]) > tolerance)])
    return groups


def equal_rows(rows: FloatArray, tolerance: float = EXACT) -> Labels:
    """Groups of equal rows: two random projections tell rows apart as well as all columns do."""
    directions = np.random.default_rng(0).normal(size=(rows.shape[1], 2))
    seen = rows @ directions
    found = np.stack([equal_values(seen[:, i], tolerance) for i in range(2)], axis=1)
    return codes(found[:, 0] * (len(rows) + 1) + found[:, 1])


def by_profile(evidence: FloatArray, tendency: FloatArray) -> Labels:
    """Groups of objects whose evidence stands for the same profile."""
    with np.errstate(divide="ignore"):
        told = np.log(np.maximum(evidence, 1e-300)) - tendency
    weight = softmax(tendency, axis=1)
    profile = np.exp(told - told.max(axis=1, keepdims=True))
    # A class that the tendency rules out tells nothing of the profile but rounding.
    profile = np.where(weight > 1e-5, profile, 0.0)
    return equal_rows(profile, 1e-4)


def by_known_profiles(
    evidence: FloatArray, tendency: FloatArray, profiles: Sequence[FloatArray], weights: Sequence[float]
) -> list[Labels]:
    """Labels of each clustering whose summed evidence comes closest to what was seen.

    Parameters
    ----------
    evidence, tendency : (n, k)
    profiles : one (k_m, k) per clustering
    weights : one per clustering
    """
    choices = [range(len(profile)) for profile in profiles]
    if np.prod([len(choice) for choice in choices]) > MAX_COMBINATIONS:
        return []
    parts = [
        weight * softmax(tendency[:, None, :] + np.log(np.maximum(profile, 1e-300)), axis=2)
        for profile, weight in zip(profiles, weights, strict=True)
    ]
    best = np.full(len(evidence), np.inf)
    chosen = np.zeros((len(evidence), len(profiles)), dtype=np.intp)
    for labels in product(*choices):
        total = sum(part[:, label] for part, label in zip(parts, labels, strict=True))
        off = np.abs(evidence - total).sum(axis=1)
        better = off < best
        best[better], chosen[better] = off[better], labels
    return list(chosen.T)


def by_sweeps(
    evidence: FloatArray, tendency: FloatArray, clusterings: int, starts: int = 12, seed: int = 0
) -> FloatArray:
    """Evidence of each clustering where the tendency is 0, from totals of one object over sweeps.

    Parameters
    ----------
    evidence : (sweeps, k)
        Totals, divided by the evidence weight.
    tendency : (sweeps, k)
    clusterings : int
        How many clusterings the total runs over.
    starts : int
        Random starts of the least-squares search; it ends early if one fits exactly.

    Returns
    -------
    (clusterings, k) array
        In lexicographic order: the total does not say whose is whose.
    """
    rng = np.random.default_rng(seed)
    k = evidence.shape[1]

    def parts(free: FloatArray) -> FloatArray:
        return np.column_stack([free.reshape(clusterings, k - 1), np.zeros(clusterings)])

    def misfit(free: FloatArray) -> FloatArray:
        shares = softmax(tendency[:, None, :] + parts(free)[None], axis=2).sum(axis=1)
        off: FloatArray = (shares - evidence)[:, : k - 1].ravel()
        return off

    best = None
    for _ in range(starts):
        begin = rng.normal(size=clusterings * (k - 1))
        found = least_squares(misfit, begin, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=300)
        if best is None or found.cost < best.cost:
            best = found
        if best.cost < PERFECT:
            break
    assert best is not None
    atoms: FloatArray = softmax(parts(best.x), axis=1)
    return atoms[np.lexsort(atoms.T)]
