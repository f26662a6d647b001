"""Attack that needs one total per object: profiles that explain all totals at once.

A total is s = sum_m w softmax(e + log b_m), where b_m is one of few profiles of clustering m. Who
knows e and s of many objects, whatever the tendencies are, has k - 1 equations for each object and few
unknown profiles. They are found as the means of a mixture: every combination of labels is a component,
responsibilities are soft and get harder as the noise that is granted shrinks, and profiles move by
Gauss-Newton. The totals are free of noise, so a right answer proves itself: what it explains, it
explains to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bc3e.model.evidence import FloatArray

NOISE, COOLING, COLDEST = 0.3, 0.9, 1e-6  # granted noise: at first, per step, at last
ROUGH_STEPS, FINE_STEPS = 50, 30
LONGEST = 1.0  # step of a log profile
INLIERS = 0.3  # share of the objects whose misfit sets the scale of the fine steps


class MixtureFit:
    """Log profiles of several clusterings, fitted to totals.

    Parameters
    ----------
    tendency, totals : (n, k)
    sizes : sequence of int
        Profiles to look for in each clustering.
    weight : float
        What each label counts.
    """

    def __init__(
        self, tendency: FloatArray, totals: FloatArray, sizes: Sequence[int], weight: float
    ) -> None:
        self.tendency, self.totals, self.weight = tendency, totals, weight
        self.n, self.k = tendency.shape
        self.combinations = np.array(list(product(*(range(size) for size in sizes))))
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])
        self.size = int(self.offsets[-1])
        self.rows = self.combinations + self.offsets[:-1]
        self._chosen = np.zeros((len(self.rows), self.size))
        np.put_along_axis(self._chosen, self.rows, 1.0, axis=1)
        pairs = self._chosen[:, :, None] * self._chosen[:, None, :]
        self._pairs = pairs.reshape(len(self.rows), -1)

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Random log profiles that lean to one class each, as clusters of classified objects do."""
        profiles: FloatArray = rng.normal(size=(self.size, self.k)) * rng.choice([0.3, 1.0])
        for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            for j in range(min(int(last - first), self.k)):
                profiles[first + j, j] += 1.0
        return profiles

    def run(self, profiles: FloatArray) -> FloatArray:
        """Rough steps, then fine ones."""
        noise = NOISE
        for _ in range(ROUGH_STEPS):
            parts, off, misfit = self.misfits(profiles)
            told = -misfit / (2.0 * noise**2)
            shares = softmax(told, axis=1)
            profiles = self._moved(profiles, parts, off, shares, 1e-6)
            left = float(np.sqrt((shares * misfit).sum() / self.n))
            noise = max(noise * (0.6 if left < 0.3 * noise else COOLING), COLDEST)
        for _ in range(FINE_STEPS):
            # Weights that leave outliers alone: what fits already decides.
            parts, off, misfit = self.misfits(profiles)
            least = misfit.min(axis=1)
            weights = np.zeros_like(misfit)
            scale = max(float(np.quantile(least, INLIERS)), 1e-24)
            weights[np.arange(self.n), misfit.argmin(axis=1)] = 1.0 / (least + scale)
            profiles = self._moved(profiles, parts, off, weights, 1e-9)
        return profiles

    def misfits(self, profiles: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Evidence of each profile (n, size, k), and what each combination leaves of the totals."""
        parts = softmax(self.tendency[:, None, :] + profiles[None], axis=2)
        off: FloatArray = self.totals[:, None, :] - self.weight * sum(
            parts[:, row] for row in self.rows.T
        )
        return parts, off, np.einsum("nci,nci->nc", off, off)

    def _moved(
        self, profiles: FloatArray, parts: FloatArray, off: FloatArray, shares: FloatArray, ridge: float
    ) -> FloatArray:
        """Profiles after a Gauss-Newton step; the last class of each stays, as only ratios count."""
        free = self.k - 1
        slope = -parts[..., :free, None] * parts[..., None, :]
        i = np.arange(free)
        slope[..., i, i] += parts[..., :free]
        slope *= self.weight  # (n, size, free, k)
        flat = slope.reshape(self.n, self.size * free, self.k)
        products = (flat @ flat.transpose(0, 2, 1)).reshape(self.n, self.size, free, self.size, free)
        together = (shares @ self._pairs).reshape(self.n, self.size, 1, self.size, 1)
        normal = (products * together).sum(axis=0).reshape(self.size * free, -1)
        pull = np.einsum("nci,ca->nai", shares[:, :, None] * off, self._chosen, optimize=True)
        right = np.einsum("nai,napi->ap", pull, slope, optimize=True).ravel()
        normal[np.diag_indices(len(normal))] += ridge * np.trace(normal) / len(normal) + 1e-300
        step = np.linalg.solve(normal, right).reshape(self.size, free)
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
        moved = profiles.copy()
        moved[:, :free] += step
        return moved

    def exact(
        self, profiles: FloatArray, tolerance: float
    ) -> tuple[list[FloatArray], NDArray[np.bool_]]:
        """Profiles of each clustering that some exactly explained object needs, and these objects."""
        _, _, misfit = self.misfits(profiles)
        good = np.sqrt(misfit.min(axis=1)) < tolerance
        used = self.rows[misfit.argmin(axis=1)[good]]
        return [profiles[np.unique(column)] for column in used.T], good
