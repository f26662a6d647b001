"""Kernel against readable reference, reference against calculus and Monte Carlo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from bc3e.labels import LabelTable
from bc3e.model import reference
from bc3e.model.evidence import Evidence
from bc3e.model.inference import State, Workers, cold_state, e_step
from bc3e.model.parameters import MeanRule, Parameters, Rules, VarianceRule, normalize_profiles
from bc3e.model.schedule import infer
from bc3e.model.statistics import Statistics, m_step
from bc3e.objects import Objects
from tests.generation import HOSTILE, random_input

ONE = Workers(1)


def random_problem(seed: int) -> tuple[Evidence, Parameters]:
    data = random_input(seed)
    rng = np.random.default_rng(seed)
    table = LabelTable.read(data.votes, data.clusters, classes=data.classes)
    objects = Objects.of(table, data.sample_weight)
    evidence = objects.table.evidence(
        evidence_weights=rng.uniform(0.2, 2.0, len(table.clusters)), weights=objects.weights
    )
    k = evidence.n_classes
    counts = rng.gamma(0.7, size=(evidence.layout.n_rows, k)) + 1e-6
    return evidence, Parameters(
        class_mean=rng.normal(size=k),
        class_variance=rng.uniform(0.2, 4.0, k),
        delta2=float(10.0 ** rng.uniform(-3, 2)),
        profiles=normalize_profiles(counts, evidence.layout),
    )


def random_state(evidence: Evidence, seed: int) -> State:
    rng = np.random.default_rng(seed)
    shape = evidence.votes.shape
    return State(
        rng.normal(size=shape),
        rng.normal(size=shape),
        rng.uniform(0.3, 3.0, shape),
        rng.uniform(0.3, 3.0, shape),
        rng.uniform(0.3, 3.0, shape[0]),
    )


def largest_difference(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    return float((np.abs(one - two) / (1.0 + np.abs(two))).max(initial=0.0))


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("seed", range(10 * len(HOSTILE)))
def test_kernel_equals_reference(seed: int, structured: bool) -> None:
    evidence, parameters = random_problem(seed)
    state = random_state(evidence, seed)
    q, last = reference.Gaussian.of(state, structured), None
    for _ in range(3):
        q, last = reference.sweep(evidence, parameters, q, structured, last)
    expected = reference.statistics(evidence, parameters, q)
    found = e_step(evidence, parameters, state, structured=structured, sweeps=3, workers=ONE)
    result = reference.Gaussian.of(state, structured)
    assert largest_difference(result.m, q.m) <= 1e-10
    assert largest_difference(result.e, q.e) <= 1e-10
    assert largest_difference(result.covariance, q.covariance) <= 1e-10
    for name in vars(expected):
        one, two = np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))
        assert largest_difference(one, two) <= 1e-10, name


@pytest.mark.parametrize("seed", range(24))
def test_gradient_agrees_with_finite_differences(seed: int) -> None:
    evidence, parameters = random_problem(seed)
    q = reference.Gaussian.of(random_state(evidence, seed), True)
    s = reference.exchange(evidence, parameters, q.e)
    gradient, _, _ = reference.gradient_and_curvature(evidence, parameters, q, s)
    h = 1e-6
    for i in range(evidence.n_classes):
        shift = np.zeros_like(q.m)
        shift[:, i] = h
        for axis, (up, down) in enumerate(
            [
                (replace(q, m=q.m + shift), replace(q, m=q.m - shift)),
                (replace(q, e=q.e + shift), replace(q, e=q.e - shift)),
            ]
        ):
            slope = (
                reference.surrogate(evidence, parameters, up, s)
                - reference.surrogate(evidence, parameters, down, s)
            ) / (2 * h)
            scale = 1.0 + np.abs(gradient[:, i, axis]) + 1.0 / parameters.delta2
            assert (np.abs(slope - gradient[:, i, axis]) / scale).max() <= 1e-6
            # At phi's optimum the surrogate touches the bound: same slope.
            slope = (
                reference.object_bounds(evidence, parameters, up)
                - reference.object_bounds(evidence, parameters, down)
            ) / (2 * h)
            assert (np.abs(slope - gradient[:, i, axis]) / scale).max() <= 1e-6


@pytest.mark.parametrize("seed", range(24))
def test_covariance_gradient_is_half_of_precision_minus_curvature(seed: int) -> None:
    evidence, parameters = random_problem(seed)
    q = reference.Gaussian.of(random_state(evidence, seed), True)
    s = reference.exchange(evidence, parameters, q.e)
    _, curvature, _ = reference.gradient_and_curvature(evidence, parameters, q, s)
    v, h = q.covariance, 1e-7
    for a, b in ((0, 0), (1, 1), (0, 1)):
        bump = np.zeros_like(v)
        bump[:, 0, a, b] = bump[:, 0, b, a] = h
        up = replace(q, precision=np.linalg.inv(v + bump))
        down = replace(q, precision=np.linalg.inv(v - bump))
        slope = (
            reference.surrogate(evidence, parameters, up, s)
            - reference.surrogate(evidence, parameters, down, s)
        ) / (2 * h)
        gap = 0.5 * (q.precision - curvature)[:, 0]
        expected = gap[:, a, b] if a == b else 2.0 * gap[:, a, b]
        scale = 1.0 + np.abs(expected) + 1.0 / parameters.delta2
        assert (np.abs(slope - expected) / scale).max() <= 1e-5


def monte_carlo(
    evidence: Evidence, parameters: Parameters, draws: int, seed: int
) -> tuple[float, float]:
    """Log-likelihood of the first object and its standard error, by sampling y and theta."""
    rng = np.random.default_rng(seed)
    k = evidence.n_classes
    y = parameters.class_mean + np.sqrt(parameters.class_variance) * rng.normal(size=(draws, k))
    theta = y + np.sqrt(parameters.delta2) * rng.normal(size=(draws, k))
    value = log_softmax(y, axis=1) @ evidence.votes[0]
    log_shares = log_softmax(theta, axis=1)
    for w, present, likelihood in reference.cluster_log_likelihoods(evidence, parameters):
        value += w * present[0] * logsumexp(log_shares + likelihood[0], axis=1)
    log_mean = float(logsumexp(value) - np.log(draws))
    spread = np.exp(value - value.max())
    return log_mean, float(spread.std() / spread.mean() / np.sqrt(draws))


def typical_problem(seed: int) -> tuple[Evidence, Parameters]:
    rng = np.random.default_rng(seed)
    k, r2 = 4, 5
    votes, clusters = rng.integers(k, size=(6, 3)), rng.integers(6, size=(6, r2))
    table = LabelTable.read(votes, clusters, classes=list(range(k)))
    evidence = table.evidence(evidence_weights=np.ones(r2))
    counts = rng.gamma(0.5, size=(evidence.layout.n_rows, k)) + 1e-3
    profiles = normalize_profiles(counts, evidence.layout)
    return evidence, Parameters(rng.normal(size=k), rng.uniform(0.5, 2.0, k), 0.5, profiles)


@pytest.mark.parametrize("seed", range(6))
def test_bound_is_below_the_likelihood_and_structured_is_tighter(seed: int) -> None:
    evidence, parameters = typical_problem(seed)
    bounds = {}
    for structured in (True, False):
        state, _ = infer(evidence, parameters, structured=structured, workers=ONE)
        q = reference.Gaussian.of(state, structured)
        bounds[structured] = reference.object_bounds(evidence, parameters, q)
    assert (bounds[True] >= bounds[False] + 1e-3).all()
    truth, error = monte_carlo(evidence, parameters, draws=200_000, seed=seed)
    assert bounds[True][0] <= truth + 4 * error
    assert truth - bounds[True][0] < truth - bounds[False][0]


@pytest.mark.parametrize("seed", range(3 * len(HOSTILE)))
def test_structured_bound_is_never_below_the_factorized_one(seed: int) -> None:
    evidence, parameters = random_problem(seed)
    bounds = {
        structured: infer(evidence, parameters, structured=structured, workers=ONE)[1]
        for structured in (True, False)
    }
    assert bounds[True] >= bounds[False] - 1e-9 * abs(bounds[False])


@pytest.mark.parametrize("seed", range(24))
def test_m_step_is_the_optimum(seed: int) -> None:
    """No small change of any parameter raises the bound at the same statistics."""
    evidence, parameters = random_problem(seed)
    state = cold_state(evidence, parameters)
    statistics = e_step(evidence, parameters, state, structured=True, sweeps=4, workers=ONE)
    k, rows = evidence.n_classes, evidence.layout.n_rows
    rng = np.random.default_rng(seed)
    rules = Rules(
        MeanRule(rng.normal(size=k), 0.0),
        VarianceRule(None, 2.0, 1.0),
        VarianceRule(None, 1.5, 0.3),
        rng.uniform(0.1, 2.0, (rows, k)),
    )
    best = m_step(statistics, parameters, rules, evidence.layout)
    peak = expected_bound(statistics, best, rules, evidence)
    for _ in range(20):
        size = 10.0 ** rng.uniform(-4, -1)
        noisy = best.profiles * np.exp(size * rng.normal(size=(rows, k)))
        other = Parameters(
            best.class_mean + size * rng.normal(size=k),
            best.class_variance * np.exp(size * rng.normal(size=k)),
            best.delta2 * float(np.exp(size * rng.normal())),
            normalize_profiles(noisy, evidence.layout),
        )
        assert expected_bound(statistics, other, rules, evidence) <= peak + 1e-9 * abs(peak)


def expected_bound(
    statistics: Statistics, parameters: Parameters, rules: Rules, evidence: Evidence
) -> float:
    """The part of the bound that depends on the parameters, from the statistics alone."""
    k, total = evidence.n_classes, statistics.weight
    mean, variance = parameters.class_mean, parameters.class_variance
    squares = statistics.second - 2 * mean * statistics.first + total * mean**2
    rows = evidence.layout.per_row(evidence.evidence_weights)[:, None]
    return float(
        -0.5 * np.sum(total * np.log(variance) + squares / variance)
        - 0.5 * (total * k * np.log(parameters.delta2) + statistics.gap / parameters.delta2)
        + np.sum(rows * statistics.counts * np.log(parameters.profiles))
        + rules.log_prior(parameters, rows[:, 0])
    )


@pytest.mark.parametrize("seed", range(24))
def test_hessian_agrees_with_finite_differences(seed: int) -> None:
    evidence, parameters = random_problem(seed)
    q = reference.Gaussian.of(random_state(evidence, seed), True)
    s = reference.exchange(evidence, parameters, q.e)
    _, _, hessian = reference.gradient_and_curvature(evidence, parameters, q, s)
    k, h = evidence.n_classes, 1e-6
    for i in range(min(k, 4)):
        shift = np.zeros_like(q.m)
        shift[:, i] = h
        for axis, (up, down) in enumerate(
            [
                (replace(q, m=q.m + shift), replace(q, m=q.m - shift)),
                (replace(q, e=q.e + shift), replace(q, e=q.e - shift)),
            ]
        ):
            above, _, _ = reference.gradient_and_curvature(evidence, parameters, up, s)
            below, _, _ = reference.gradient_and_curvature(evidence, parameters, down, s)
            slope = -(above - below) / (2 * h)
            found = hessian[:, axis * k + i].reshape(-1, 2, k).transpose(0, 2, 1)
            assert (np.abs(slope - found) / (1.0 + np.abs(found))).max() <= 1e-6
