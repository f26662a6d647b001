"""Parameters of the model, the rules by which they are learned, and their priors.

Variances live in [1e-8, 1e8]. Without a prior, maximum likelihood sends them to
0 or to infinity on perfectly ordinary inputs (unanimous votes, for one); the
interval keeps every quantity finite, and because each update is the constrained
optimum the bound still never falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bc3e.errors import InputError
from bc3e.model.evidence import FloatArray, Layout

VARIANCE_RANGE = (1e-8, 1e8)
PROFILE_FLOOR = 1e-300


def _is_finite(*values: object) -> bool:
    return all(isinstance(value, int | float | np.number) and np.isfinite(value) for value in values)


@dataclass(frozen=True)
class InverseGamma:
    """Prior of a variance v with density proportional to v^-(shape+1) exp(-scale/v)."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        if not (_is_finite(self.shape, self.scale) and self.shape > 0 and self.scale > 0):
            raise InputError(
                "InverseGamma",
                f"shape {self.shape!r} and scale {self.scale!r}",
                "Pass two positive, finite numbers.",
            )


@dataclass(frozen=True)
class Normal:
    """Prior of the class mean: each coordinate Normal(mean, variance)."""

    mean: float
    variance: float

    def __post_init__(self) -> None:
        if not (_is_finite(self.mean, self.variance) and self.variance > 0):
            raise InputError(
                "Normal",
                f"mean {self.mean!r} and variance {self.variance!r}",
                "Pass a finite mean and a positive, finite variance.",
            )


@dataclass(frozen=True)
class Parameters:
    """What all objects share.

    Attributes
    ----------
    class_mean : (k,)
        mu, the mean class tendency.
    class_variance : (k,)
        sigma^2, its variance per class.
    delta2 : float
        How far the clusterings may stray from the classifiers.
    profiles : (n_rows, k)
        Stacked cluster profiles: ``profiles[offset_m + j, i]`` is beta_m[i, j],
        the probability of cluster j of clustering m in class i.
    """

    class_mean: FloatArray
    class_variance: FloatArray
    delta2: float
    profiles: FloatArray


@dataclass(frozen=True)
class MeanRule:
    """Class mean: precision 0 learns it, inf keeps it at `mean`, else a normal prior."""

    mean: FloatArray
    precision: float

    def update(self, first: FloatArray, total: float, variance: FloatArray) -> FloatArray:
        if np.isinf(self.precision):
            return self.mean
        if self.precision == 0.0:
            return first / total
        gain = total / variance
        return (first / variance + self.precision * self.mean) / (gain + self.precision)

    def log_prior(self, mean: FloatArray) -> float:
        if np.isinf(self.precision) or self.precision == 0.0:
            return 0.0
        return float(-0.5 * self.precision * np.sum((mean - self.mean) ** 2))


@dataclass(frozen=True)
class VarianceRule:
    """A variance: given (`fixed`), or learned with an inverse gamma prior.

    No prior is the improper limit shape = -1, scale = 0, which turns the
    update below into the plain maximum-likelihood one.
    """

    fixed: FloatArray | None
    shape: float = -1.0
    scale: float = 0.0

    def update(self, squares: FloatArray, total: float) -> FloatArray:
        if self.fixed is not None:
            return self.fixed
        mode = (squares + 2.0 * self.scale) / (total + 2.0 * (self.shape + 1.0))
        return np.clip(mode, *VARIANCE_RANGE)

    def log_prior(self, variance: FloatArray) -> float:
        if self.fixed is not None:
            return 0.0
        density = -(self.shape + 1.0) * np.log(variance) - self.scale / variance
        return float(np.sum(density))


@dataclass(frozen=True)
class Rules:
    """How each parameter is obtained.

    ``profile_counts`` (n_rows, k) are Dirichlet pseudo-counts of the cluster
    profiles in units of objects; like the labels of their clustering they are
    multiplied by its evidence weight.
    """

    class_mean: MeanRule
    class_variance: VarianceRule
    delta2: VarianceRule
    profile_counts: FloatArray

    def log_prior(self, parameters: Parameters, row_weights: FloatArray) -> float:
        """Log prior of the parameters, up to a constant."""
        profiles = self.profile_counts * np.log(parameters.profiles)
        return (
            self.class_mean.log_prior(parameters.class_mean)
            + self.class_variance.log_prior(parameters.class_variance)
            + self.delta2.log_prior(np.array([parameters.delta2]))
            + float(np.sum(row_weights[:, None] * profiles))
        )


def normalize_profiles(counts: FloatArray, layout: Layout) -> FloatArray:
    """Turn stacked counts (n_rows, k) into profiles: each class sums to 1 per clustering.

    A class without any count gets the uniform profile. Values are floored at
    1e-300 so that a logarithm never meets zero.
    """
    total = layout.totals(counts)
    empty = total <= 0.0
    profiles: FloatArray = counts / layout.per_row(np.where(empty, 1.0, total))
    if empty.any():
        uniform = 1.0 / layout.per_row(np.array(layout.n_clusters, dtype=np.float64))
        profiles = np.where(layout.per_row(empty), uniform[:, None], profiles)
    np.maximum(profiles, PROFILE_FLOOR, out=profiles)
    return profiles
