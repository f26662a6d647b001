"""exp and log of the lanes against NumPy's, and objects that do not mind their company."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e.model.compiled import kernel
from bc3e.model.inference import Workers, cold_state, e_step
from bc3e.model.lanes import LANES, LOWEST, exp, log
from tests.model.test_reference import random_problem

ULP = np.finfo(np.float64).eps


@kernel
def exponentials(values, result):
    for n in range(values.shape[0]):
        result[n] = exp(values[n])


@kernel
def logarithms(values, result):
    for n in range(values.shape[0]):
        result[n] = log(values[n])


@pytest.mark.parametrize("reach", [1e-8, 1.0, 40.0, 700.0])
def test_exp_is_right_to_two_units_in_the_last_place(reach: float) -> None:
    values = np.random.default_rng(0).uniform(-reach, reach, 20_000)
    result = np.empty_like(values)
    exponentials(values, result)
    assert np.abs(result / np.exp(values) - 1.0).max() <= 2 * ULP


def test_exp_of_very_low_numbers_is_next_to_nothing() -> None:
    values = np.array([LOWEST, -800.0, -1e6, -1e300, -np.inf])
    result = np.empty_like(values)
    exponentials(values, result)
    assert (result == result[0]).all()
    assert 0.0 < result[0] < 1e-307


@pytest.mark.parametrize("reach", [1e-8, 1e-3, 1.0, 40.0, 300.0])
def test_log_is_right_to_two_units_in_the_last_place(reach: float) -> None:
    values = 10.0 ** np.random.default_rng(0).uniform(-reach, reach, 20_000)
    values = np.append(values, [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), np.sqrt(0.5)])
    result = np.empty_like(values)
    logarithms(values, result)
    expected = np.log(values)
    assert result[-4] == 0.0  # log 1
    assert (np.abs(result - expected) <= 2 * ULP * np.abs(expected)).all()


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_an_object_does_not_mind_its_company(seed: int, structured: bool) -> None:
    """Each object swept in company and alone: the same bytes."""
    evidence, parameters = random_problem(seed)
    together = cold_state(evidence, parameters)
    e_step(
        evidence, parameters, together, structured=structured, sweeps=9, workers=Workers(1), settled=1e-6
    )
    for n in range(min(evidence.n_patterns, LANES + 3)):
        one = evidence.take(slice(n, n + 1))
        alone = cold_state(one, parameters)
        e_step(one, parameters, alone, structured=structured, sweeps=9, workers=Workers(1), settled=1e-6)
        for name in ("mean", "tendency", "a", "d", "g"):
            assert (getattr(alone, name)[0] == getattr(together, name)[n]).all(), name
