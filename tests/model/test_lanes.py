"""exp and log of the lanes against NumPy's, and objects that do not mind their company."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e.labels import LabelTable
from bc3e.model.calibration import softmax, tempered
from bc3e.model.compiled import kernel
from bc3e.model.inference import State, Workers, cold_state, e_step
from bc3e.model.lanes import LANES, LOWEST, exp, log
from bc3e.model.parameters import Parameters, normalize_profiles
from bc3e.model.vectors import get, put
from tests.generation import HOSTILE
from tests.model.test_reference import random_problem

ULP = np.finfo(np.float64).eps


@kernel
def exponentials(values, result):
    for n in range(0, values.shape[0], LANES):
        put(result, n, exp(get(values, n)))


@kernel
def logarithms(values, result):
    for n in range(0, values.shape[0], LANES):
        put(result, n, log(get(values, n)))


def of_all(function, values):
    """`function` of values, filled up to whole lanes."""
    given = np.concatenate([values, np.ones(-len(values) % LANES)])
    result = np.empty_like(given)
    function(given, result)
    return result[: len(values)]


@pytest.mark.parametrize("reach", [1e-8, 1.0, 40.0, 700.0])
def test_exp_is_right_to_two_units_in_the_last_place(reach: float) -> None:
    values = np.random.default_rng(0).uniform(-reach, reach, 20_000)
    result = of_all(exponentials, values)
    assert np.abs(result / np.exp(values) - 1.0).max() <= 2 * ULP


def test_exp_of_very_low_numbers_is_next_to_nothing() -> None:
    values = np.array([LOWEST, -800.0, -1e6, -1e300, -np.inf])
    result = of_all(exponentials, values)
    assert (result == result[0]).all()
    assert 0.0 < result[0] < 1e-307


@pytest.mark.parametrize("reach", [1e-8, 1e-3, 1.0, 40.0, 300.0])
def test_log_is_right_to_two_units_in_the_last_place(reach: float) -> None:
    values = 10.0 ** np.random.default_rng(0).uniform(-reach, reach, 20_000)
    values = np.append(values, [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), np.sqrt(0.5)])
    result = of_all(logarithms, values)
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


def test_an_object_does_not_mind_that_another_one_lacks_a_label() -> None:
    """Ten equal weights add up to something else in another order."""
    rng = np.random.default_rng(0)
    votes, clusters = rng.integers(2, size=(60, 3)), rng.integers(4, size=(60, 10))
    lacking = np.vstack([clusters, clusters[:1]])
    lacking[-1, 3] = -1
    states = []
    for given_votes, given in ((votes, clusters), (np.vstack([votes, votes[:1]]), lacking)):
        table = LabelTable.read(given_votes, given)
        evidence = table.evidence(evidence_weights=np.full(10, 0.025), vote_weight=3.0)
        profiles = normalize_profiles(np.ones((evidence.layout.n_rows, 2)), evidence.layout)
        states.append(cold_state(evidence, Parameters(np.zeros(2), np.ones(2), 1.0, profiles)))
    assert (states[0].d == states[1].d[:-1]).all()


@pytest.mark.parametrize("k", [2, 5, 8, 9, 20, 40])
def test_a_row_alone_has_the_shares_that_it_has_in_company(k: int) -> None:
    values = np.random.default_rng(0).normal(size=(300, k))
    votes = np.abs(values)
    for many in (softmax, lambda rows: tempered(rows, 1.7)):
        alone = np.concatenate([many(row[None]) for row in (values if many is softmax else votes)])
        assert (alone == many(values if many is softmax else votes)).all()


@pytest.mark.parametrize("kind", ["plain", "soft", "many missing"])
def test_fresh_posteriors_begin_in_the_cold_state(kind: str) -> None:
    evidence, parameters = random_problem(HOSTILE.index(kind) + len(HOSTILE))
    for grouped in (evidence, evidence.apart()):
        state = State.room(grouped.n_patterns, grouped.n_classes)
        e_step(grouped, parameters, state, structured=True, sweeps=0, workers=Workers(1), fresh=True)
        cold = cold_state(grouped, parameters)
        for name in ("mean", "tendency", "a", "d", "g"):
            assert np.array_equal(getattr(state, name), getattr(cold, name)), name
