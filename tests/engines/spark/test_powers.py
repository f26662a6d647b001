"""The power that calibrates votes, from many questions at a time: that of the step-by-step search."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e.engines.spark.inquiry import solved
from bc3e.model.calibration import EXPONENTS, confidence_sums, exponent_for


@pytest.mark.parametrize("k", [2, 3, 10, 40])
@pytest.mark.parametrize("kind", ["hard", "soft", "sure"])
def test_the_same_power(k: int, kind: str) -> None:
    rng = np.random.default_rng(k)
    spread = {"hard": 1.0, "soft": 0.5, "sure": 0.02}[kind]
    votes = rng.dirichlet(np.full(k, spread), size=800)
    if kind == "hard":
        votes = (
            np.array([np.bincount(rng.integers(k, size=3) // 2, minlength=k) for _ in range(800)]) * 1.0
        )
    weights = rng.integers(1, 9, size=800) * 1.0
    asked = []

    def sums_at(powers: np.ndarray) -> np.ndarray:
        asked.append(len(powers))
        return np.array([confidence_sums(votes, weights, power) for power in powers])

    for confidence in (0.05, 0.3, 0.5, 0.7, 0.9, 0.97):
        power = solved(sums_at, k, confidence)
        assert power == pytest.approx(exponent_for(votes, weights, confidence), abs=1e-10)
    assert len(asked) <= 12


def test_no_votes_and_the_ends_of_the_range() -> None:
    nothing, ones = np.zeros((5, 3)), np.ones(5)
    assert (
        solved(lambda powers: np.array([confidence_sums(nothing, ones, p) for p in powers]), 3, 0.5)
        == 1.0
    )
    votes = np.full((5, 3), 1.0)
    sums = lambda powers: np.array([confidence_sums(votes, ones, p) for p in powers])  # noqa: E731
    assert solved(sums, 3, 0.2) == EXPONENTS[0]
    assert solved(sums, 3, 0.9) == EXPONENTS[1]
