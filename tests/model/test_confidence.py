"""Confidences equal those of the readable tempered votes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from bc3e.model.calibration import (
    EXPONENTS,
    MANY,
    Confidence,
    confidences,
    exponent_for,
    mean_confidence,
    solve_exponent,
    tempered,
)
from bc3e.model.inference import Workers
from bc3e.model.rows import by_class


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


@pytest.mark.parametrize("concentration", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("n", [7, 9000])  # fewer and more than a block
def test_power_is_that_of_a_plain_search(n: int, concentration: float) -> None:
    rng = np.random.default_rng(n)
    votes, weights = rng.dirichlet(np.full(4, concentration), n), rng.uniform(0, 2, n)
    low, high = (mean_confidence(votes, weights, edge) for edge in EXPONENTS)
    for confidence in np.linspace(low, min(high, 0.98), 7)[1:-1]:
        expected = brentq(
            lambda power, asked=confidence: mean_confidence(votes, weights, power) - asked,
            *EXPONENTS, xtol=1e-14, rtol=1e-14,
        )  # fmt: skip
        assert exponent_for(votes, weights, confidence) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(
    ("level", "expected"), [(0.6, EXPONENTS[1]), (0.9, EXPONENTS[0]), (0.8, EXPONENTS[0])]
)
def test_a_flat_confidence_leads_to_an_edge(level: float, expected: float) -> None:
    assert solve_exponent(lambda power: level, 0.8) == expected


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.9])
def test_a_start_by_some_of_the_objects_leads_to_the_same_power(confidence: float, jobs: int) -> None:
    rng = np.random.default_rng(0)
    n = MANY + 4321
    votes, weights = rng.dirichlet(np.full(4, 0.3), n), rng.uniform(0, 2, n)
    votes[::7] = 0.0
    held = Confidence(votes.shape, lambda first, last: by_class(votes[first:last]), Workers(jobs))
    start = held.near(weights, confidence)
    assert start is not None
    expected = exponent_for(votes, weights, confidence)
    assert np.exp(start[0]) == pytest.approx(expected, rel=0.1)
    assert held.power_for(weights, confidence, start) == pytest.approx(expected, abs=1e-11)
    asked = []

    def mean_confidence_at(power: float) -> float:
        asked.append(power)
        return mean_confidence(votes, weights, power)

    solve_exponent(mean_confidence_at, confidence)
    unaided = len(asked)
    solve_exponent(mean_confidence_at, confidence, start)
    assert len(asked) - unaided < unaided


def test_few_objects_and_those_without_weight_tell_of_no_start() -> None:
    votes = np.random.default_rng(0).dirichlet(np.ones(3), MANY)
    for n, weights in ((MANY - 1, np.ones(MANY - 1)), (MANY, np.arange(MANY) % 2.0)):
        held = Confidence((n, 3), lambda first, last: by_class(votes[first:last]))
        assert held.near(weights, 0.7) is None
        assert held.power_for(weights, 0.7) == pytest.approx(exponent_for(votes[:n], weights, 0.7))


@pytest.mark.parametrize("start", [(-1.8, 0.5), (1.7, 0.01)])
def test_a_start_far_off_leads_to_the_same_power_or_edge(start: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    votes, weights = rng.dirichlet(np.full(4, 0.3), 500), np.ones(500)
    for confidence in (0.3, 0.6, 0.8):
        found = solve_exponent(lambda at: mean_confidence(votes, weights, at), confidence, start)
        assert found == pytest.approx(exponent_for(votes, weights, confidence), abs=1e-11)
