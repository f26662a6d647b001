"""Refined shares, a block of objects at a time: what the answer is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.agreement import leading_by_class
from bc3e.model.calibration import Confidence, log_ratios, powered, softmax_by_class
from bc3e.model.evidence import FloatArray
from bc3e.model.inference import Workers


class RefinedShares:
    """Shares softmax(E[y]) of all objects at some power, and their labels.

    Nothing is kept of them until a power is looked for. From then on their logs are, in the place
    where the answer will lie: no second table of that size is needed.

    Parameters
    ----------
    means : (P, k) array
        E[y] of each object.
    """

    def __init__(self, means: FloatArray) -> None:
        self.means = means
        self.held: Confidence | None = None
        self.labels = np.empty(0, dtype=np.min_scalar_type(means.shape[1]))

    def power_for(self, weights: FloatArray, confidence: float, workers: Workers) -> float:
        """The power at which the mean confidence of the shares is `confidence`."""
        self.labels = np.empty(len(self.means), dtype=self.labels.dtype)

        def noted(first: int, last: int) -> FloatArray:
            shares, self.labels[first:last] = self._plain(first, last)
            return shares

        held = self.held = Confidence(self.means.shape, noted, workers)
        return held.power_for(weights, confidence, held.near(weights, confidence))

    def room(self) -> FloatArray:
        """Where the answer goes, (P, k): a block that is written there cannot be asked for any more."""
        return np.empty(self.means.shape) if self.held is None else self.held.logs

    def block(self, first: int, last: int, power: float) -> tuple[FloatArray, NDArray[np.intp]]:
        """Shares of some objects at a power, a row for each class, and their labels.

        Blocks are those of :meth:`bc3e.model.inference.Workers.blocks`.
        """
        if self.held is not None and power != 1.0:
            labels = self.labels[first:last].astype(np.intp)
            return powered(self.held.block(first, last), power), labels
        shares, labels = self._plain(first, last)
        return shares if power == 1.0 else powered(log_ratios(shares)[0], power), labels

    def _plain(self, first: int, last: int) -> tuple[FloatArray, NDArray[np.intp]]:
        shares = softmax_by_class(self.means[first:last])
        return shares, leading_by_class(shares)
