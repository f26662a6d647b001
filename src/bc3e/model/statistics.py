"""Sufficient statistics: sums over objects, and the M-step that needs nothing else.

Because they are sums they add up over blocks of rows, over workers and over
sites. :func:`m_step` is the only M-step of the project.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bc3e.model.evidence import FloatArray, Layout
from bc3e.model.parameters import Parameters, Rules, normalize_profiles


@dataclass(frozen=True)
class Statistics:
    """What the M-step needs to know of the objects.

    Attributes
    ----------
    weight : float
        W, the sum of the object weights.
    first : (k,)
        S1 = sum m.
    second : (k,)
        S2 = sum (V11 + m^2).
    gap : float
        D = sum over objects and classes of V11 + V22 - 2 V12 + (e - m)^2.
    counts : (n_rows, k)
        B: expected number of objects of each class in each cluster.
    bound : float
        Sum of the objects' parts of the lower bound.
    """

    weight: float
    first: FloatArray
    second: FloatArray
    gap: float
    counts: FloatArray
    bound: float

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.weight + other.weight,
            self.first + other.first,
            self.second + other.second,
            self.gap + other.gap,
            self.counts + other.counts,
            self.bound + other.bound,
        )


def m_step(statistics: Statistics, parameters: Parameters, rules: Rules, layout: Layout) -> Parameters:
    """Parameters that maximise the bound for the given statistics.

    The class mean is updated first and the class variance given it; with a
    prior on the mean each is the optimum given the other, otherwise both are
    the joint optimum.
    """
    total, k = statistics.weight, len(statistics.first)
    mean = rules.class_mean.update(statistics.first, total, parameters.class_variance)
    squares = statistics.second - 2.0 * mean * statistics.first + total * mean**2
    variance = rules.class_variance.update(np.maximum(squares, 0.0), total)
    delta2 = rules.delta2.update(np.array([statistics.gap]), total * k)
    profiles = profile_step(statistics.counts, rules.profile_counts, layout)
    return Parameters(mean, variance, float(delta2[0]), profiles)


def profile_step(counts: FloatArray, prior: FloatArray, layout: Layout) -> FloatArray:
    """The profiles' part of the M-step: counts B plus the prior's, scaled to sum to 1."""
    return normalize_profiles(counts + prior, layout)
