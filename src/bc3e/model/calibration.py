"""Votes made as confident as they are likely to be right.

Mean probabilities of several classifiers are too timid where the classifiers
agree and too bold where drift makes them wrong together with confidence. How
often two classifiers agree is, without any label, a fair estimate of how often
they are right (for calibrated ensembles it is exact: Jiang et al., "Assessing
generalization of SGD via disagreement", ICLR 2022). Votes are therefore raised
to the power that makes their mean confidence equal to the agreement rate.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from bc3e.model.evidence import FloatArray

EXPONENTS = (0.15, 6.0)
CERTAIN = 0.98  # the highest accuracy that agreement may stand for
FLOOR = 1e-3  # added to every share: a vote of zero is not a proof


def tempered(votes: FloatArray, exponent: float) -> FloatArray:
    """Rows raised to a power and scaled back to their sums; rows without votes stay empty."""
    if exponent == 1.0:
        return votes
    total = votes.sum(axis=1, keepdims=True)
    powers: FloatArray = votes / np.where(total > 0, total, 1.0)  # in place from here: N x k is large
    powers += FLOOR
    np.log(powers, out=powers)
    powers *= exponent
    powers -= powers.max(axis=1, keepdims=True)
    np.exp(powers, out=powers)
    powers *= total / powers.sum(axis=1, keepdims=True)
    return powers


def mean_confidence(votes: FloatArray, weights: FloatArray) -> float:
    """Mean share of the strongest class, over the objects that have votes."""
    total = votes.sum(axis=1)
    voted = (total > 0) & (weights > 0)
    if not voted.any():
        return 1.0 / int(votes.shape[1])
    top: FloatArray = votes.max(axis=1)[voted] / total[voted]
    return float(np.average(top, weights=weights[voted]))


def exponent_for(votes: FloatArray, weights: FloatArray, confidence: float) -> float:
    """The power at which the mean confidence of the votes is `confidence`."""
    voted = votes.sum(axis=1) > 0
    rows, weights = votes[voted], weights[voted]
    if len(rows) == 0 or weights.sum() <= 0:
        return 1.0
    shares = rows / rows.sum(axis=1, keepdims=True)

    def excess(exponent: float) -> float:
        return mean_confidence(tempered(shares, exponent), weights) - min(confidence, CERTAIN)

    low, high = EXPONENTS
    if excess(low) >= 0:
        return low
    if excess(high) <= 0:
        return high
    return float(brentq(excess, low, high, xtol=1e-12, rtol=1e-12))
