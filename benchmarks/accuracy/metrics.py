"""What a consensus is worth: accuracy, gain over the soft vote, calibration."""

from __future__ import annotations

import numpy as np

from bc3e.experiments.domains import FloatArray, IntArray
from benchmarks.accuracy.cases import Case

CLIP = 1e-6
"""Log-loss never counts a probability as smaller: one certain error would drown all else."""

BINS = 15


def soft_vote(case: Case) -> FloatArray:
    """Mean of the votes present, a hard vote as one for its class; uniform without votes."""
    total = np.zeros((len(case.truth), case.n_classes))
    present = np.zeros((len(case.truth), 1))
    for column in case.votes:
        if column.ndim == 1:
            voted = column >= 0
            total[voted, column[voted]] += 1.0
        else:
            voted = ~np.isnan(column).any(axis=1)
            total[voted] += column[voted]
        present[voted] += 1.0
    uniform = np.full_like(total, 1.0 / case.n_classes)
    return np.where(present > 0, total / np.maximum(present, 1.0), uniform)


def labels(probabilities: FloatArray) -> IntArray:
    """The most probable class, of equals the first.

    Rounded first, so that sums of the same votes in another order stay equal.
    """
    return np.argmax(np.round(probabilities, 12), axis=1).astype(np.int64)


def accuracy(probabilities: FloatArray, truth: IntArray) -> float:
    return float(np.mean(labels(probabilities) == truth))


def log_loss(probabilities: FloatArray, truth: IntArray) -> float:
    """Mean of -log p(true class), p at least `CLIP`."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(truth)), truth], CLIP)).mean())


def calibration_error(probabilities: FloatArray, truth: IntArray) -> float:
    """Expected calibration error of the top label over `BINS` bins of equal width."""
    confidence = probabilities.max(axis=1)
    right = labels(probabilities) == truth
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    gap = np.bincount(bins, weights=confidence - right, minlength=BINS)
    return float(np.abs(gap).sum() / len(truth))
