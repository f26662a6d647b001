"""The step of a posterior: few sweeps, and an ascent from anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from bc3e.labels import LabelTable
from bc3e.model import reference
from bc3e.model.evidence import Evidence
from bc3e.model.inference import State, Workers, cold_state, e_step
from bc3e.model.parameters import Parameters, normalize_profiles
from bc3e.model.starts import cluster_counts, vote_responsibilities
from tests.generation import planted_table
from tests.model.test_reference import random_problem, random_state

ONE = Workers(1)


def usual_problem(total: float, k: int) -> tuple[Evidence, Parameters]:
    votes, clusters, _ = planted_table(3, n=200, k=k, r2=6)
    table = LabelTable.read(votes, clusters)
    evidence = table.evidence(evidence_weights=np.full(6, total / 6), vote_weight=3.0)
    counts = cluster_counts(evidence, vote_responsibilities(evidence.votes))
    profiles = normalize_profiles(counts + 1.0, evidence.layout)
    return evidence, Parameters(np.zeros(k), np.ones(k), 1.0, profiles)


def sweeps_needed(evidence: Evidence, parameters: Parameters) -> int:
    q, last = reference.Gaussian.of(cold_state(evidence, parameters), True), None
    for count in range(1, 100):
        after, last = reference.sweep(evidence, parameters, q, True, last)
        if np.abs(after.m - q.m).max() <= 1e-9:
            return count
        q = after
    return 100


@pytest.mark.parametrize("total", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("k", [2, 5, 12])
def test_the_coupled_step_saves_a_quarter_of_the_sweeps_or_more(
    total: float, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence, parameters = usual_problem(total, k)
    coupled = sweeps_needed(evidence, parameters)
    nothing = np.nan  # no step: the plain one is taken
    monkeypatch.setattr(reference, "coupled_step", lambda *given: (nothing, nothing, nothing))
    with np.errstate(invalid="ignore"):
        plain = sweeps_needed(evidence, parameters)
    assert coupled <= 0.75 * plain < 75


@pytest.mark.parametrize("total", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("k", [2, 5, 12])
def test_the_slope_that_was_seen_saves_sweeps_against_a_guess(
    total: float, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence, parameters = usual_problem(total, k)
    seen = sweeps_needed(evidence, parameters)
    monkeypatch.setattr(reference.Last, "learned", lambda last, e, s: last.followed)
    assert seen < sweeps_needed(evidence, parameters)


def test_one_clustering_is_followed_wholly_and_two_that_disagree_less() -> None:
    rng = np.random.default_rng(0)
    likelihoods = np.log(rng.dirichlet(np.full(4, 0.5), size=(2, 30)))
    e, move = rng.normal(size=(30, 4)), 1e-6 * rng.normal(size=(30, 4))
    for count in (1, 2):

        def shares(at: np.ndarray, count: int = count) -> np.ndarray:
            return np.asarray(sum(softmax(at + told, axis=1) for told in likelihoods[:count]))

        last = reference.Last(e, shares(e), np.full(30, 0.2))
        followed = last.learned(e + move, shares(e + move))
        assert ((followed >= 0.0) & (followed <= 1.0)).all()
        if count == 1:
            np.testing.assert_allclose(followed, 1.0, atol=1e-4)
        else:
            assert followed.max() < 1.0
    assert np.array_equal(last.learned(e, shares(e)), last.followed)  # no move tells nothing


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_every_sweep_raises_the_bound_of_every_object(seed: int, structured: bool) -> None:
    evidence, parameters = random_problem(seed)
    state: State = random_state(evidence, seed)
    last = reference.object_bounds(evidence, parameters, reference.Gaussian.of(state, structured))
    for _ in range(12):
        e_step(evidence, parameters, state, structured=structured, sweeps=1, workers=ONE)
        assert (state.a > 0).all()
        assert (state.d >= 0).all()
        q = reference.Gaussian.of(state, structured)
        bounds = reference.object_bounds(evidence, parameters, q)
        assert (bounds >= last - 1e-9 * (1.0 + np.abs(last))).all()
        last = bounds


def test_more_clusters_than_fit_in_sixteen_bits() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(2, size=(70_000, 3))
    clusters = np.stack([rng.permutation(70_000) // 2, votes[:, 0]], axis=1)
    table = LabelTable.read(votes, clusters)
    evidence = table.evidence(evidence_weights=np.ones(2), vote_weight=3.0)
    few = LabelTable.read(votes, votes[:, :1]).evidence(evidence_weights=np.ones(1))
    assert evidence.labels.dtype == np.int32
    assert few.labels.dtype == np.int16
    assert evidence.labels.max() == 35_001
    rows = np.arange(50)
    profiles = normalize_profiles(np.ones((35_002, 2)), evidence.layout)
    parameters = Parameters(np.zeros(2), np.ones(2), 1.0, profiles)
    some = evidence.take(rows)
    state = cold_state(some, parameters)
    q, last = reference.Gaussian.of(state, True), None
    for _ in range(3):
        q, last = reference.sweep(some, parameters, q, True, last)
    e_step(some, parameters, state, structured=True, sweeps=3, workers=ONE)
    np.testing.assert_allclose(state.mean, q.m, atol=1e-10)
