"""What a fitted model hands out besides labels and probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from bc3e.model.evidence import FloatArray


@dataclass(frozen=True)
class Posterior:
    """Gaussian posterior of each object's class tendency y and cluster tendency theta.

    Attributes
    ----------
    y_mean, y_var : (N, k) arrays
    theta_mean, theta_var : (N, k) arrays
    covariance : (N, k) array
        Covariance of y and theta per class; zero in the factorized family.
    """

    y_mean: FloatArray
    y_var: FloatArray
    theta_mean: FloatArray
    theta_var: FloatArray
    covariance: FloatArray


@dataclass(frozen=True)
class LearnedParameters:
    """Parameters of a fitted model.

    Attributes
    ----------
    class_mean, class_variance : (k,) arrays
    delta2 : float
    cluster_profiles : list of (k, k_m) arrays
        Probability of each cluster in each class, one array per clustering.
    """

    class_mean: FloatArray
    class_variance: FloatArray
    delta2: float
    cluster_profiles: list[FloatArray]
