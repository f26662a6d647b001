"""95% intervals of shares and of paired differences."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from bc3e.model.evidence import FloatArray

Z = 1.959963984540054  # 97.5% point of the normal distribution


def wilson(right: float, total: float) -> tuple[float, float]:
    """Wilson's interval of a share; (0, 1) if nothing was counted.

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    if total <= 0:
        return 0.0, 1.0
    share, z2 = right / total, Z * Z / total
    middle = (share + z2 / 2) / (1 + z2)
    half = Z * math.sqrt(share * (1 - share) / total + z2 / (4 * total)) / (1 + z2)
    return max(0.0, middle - half), min(1.0, middle + half)


def student_interval(values: FloatArray) -> tuple[float, float]:
    """Student's 95% interval of a mean; of paired differences, one per trial.

    Of fewer than two values nothing can be said: (-inf, inf).

    >>> low, high = student_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    count = len(values)
    if count < 2:
        return -math.inf, math.inf
    middle, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(count)
    half = float(stdtrit(count - 1, 0.975)) * error
    return middle - half, middle + half


def paired_interval(
    difference: FloatArray, weights: FloatArray, n_bootstrap: int, rng: np.random.RandomState
) -> tuple[float, float]:
    """95% percentile interval of a weighted mean difference, resampling objects."""
    kinds, counts = np.unique(np.stack([difference, weights]), axis=1, return_counts=True)
    return interval_of_kinds(kinds[0], kinds[1], counts, n_bootstrap, rng)


def interval_of_kinds(
    difference: FloatArray,
    weights: FloatArray,
    counts: NDArray[np.integer],
    n_bootstrap: int,
    rng: np.random.RandomState,
) -> tuple[float, float]:
    """The same for objects of a few kinds, each with a difference, a weight and a count.

    Objects with equal difference and weight are interchangeable, so a resample is
    a multinomial draw of how often each kind occurs: no object is visited.
    """
    means = np.empty(n_bootstrap)
    shares = counts / counts.sum()
    for i in range(n_bootstrap):
        drawn = rng.multinomial(counts.sum(), shares) * weights
        total = drawn.sum()
        means[i] = drawn @ difference / total if total > 0 else 0.0
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
