"""Confidences equal those of the readable tempered votes."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e.model.calibration import confidences, mean_confidence, tempered


@pytest.mark.parametrize("exponent", [0.15, 0.7, 1.0, 3.0, 6.0])
def test_mean_confidence_equals_tempered_votes(exponent: float) -> None:
    rng = np.random.default_rng(0)
    votes = 3.0 * rng.dirichlet(np.full(4, 0.3), 500)
    votes[::50] = 0.0
    votes[1::50] = [3.0, 0.0, 0.0, 0.0]
    weights = rng.uniform(0, 2, 500)
    voted = votes.any(axis=1)
    each = tempered(votes, exponent).max(axis=1) / np.where(voted, votes.sum(axis=1), 1.0)
    expected = weights @ each / weights[voted].sum()
    assert mean_confidence(votes, weights, exponent) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(confidences(votes, exponent), np.stack([each, voted], axis=1), rtol=1e-12)
