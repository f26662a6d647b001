"""Iterative rivals improve the objective that their docstring states, on any input."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, rel_entr

from tests.generation import random_input
from tests.rivals.methods import FALLING, ITERATIVE, dense_blocks, rival, weights_of

SEEDS = range(240)


def fitted(name: str, seed: int) -> Any:
    """The rival on one of the random inputs; None if it needs clusterings and there are none."""
    data = random_input(seed)
    model = rival(name, classes=data.classes)
    if name.startswith("Bayesian"):
        model.set_params(n_init=1)
        if not dense_blocks(data)[1]:
            return None
    return model.fit(data.votes, data.clusters, sample_weight=data.sample_weight)


@pytest.mark.parametrize("name", ITERATIVE)
def test_the_objective_never_gets_worse(name: str) -> None:
    checked = 0
    for seed in SEEDS:
        model = fitted(name, seed)
        if model is None:
            continue
        path = model.objectives_ if name in FALLING else -model.objectives_
        assert np.isfinite(path).all(), seed
        scale = max(1.0, np.abs(path).max())
        assert np.diff(path).max(initial=-np.inf) <= 1e-10 * scale, seed
        assert model.n_iter_ == len(path) - 1
        checked += model.n_iter_ > 0
    assert checked > 100  # most inputs do need iterations


@pytest.mark.parametrize("name", ITERATIVE)
def test_iterations_stop_where_asked(name: str) -> None:
    data = random_input(12, "plain")
    model = rival(name, classes=data.classes, max_iter=1).fit(data.votes, data.clusters)
    assert model.n_iter_ == 1
    assert not model.converged_


def by_definition_bgcm(model: Any, data: Any) -> float:
    votes, clusters = dense_blocks(data)
    groups, weights = model.group_probabilities_, weights_of(data)
    total = 0.0
    for shares, values in zip([*votes, *clusters], groups, strict=True):
        for n, j in product(*map(range, shares.shape)):
            gap = model.probabilities_[n] - values[j]
            total += weights[n] * shares[n, j] * float(gap @ gap)
    for values in groups[: len(votes)]:
        total += model.alpha * float(np.sum((values - np.eye(len(values))) ** 2))
    return total


def similarity(clusters: list[Any], n: int) -> Any:
    total = np.zeros((n, n))
    for shares in clusters:
        total += shares @ shares.T
    return total / max(len(clusters), 1)


def mean_votes(votes: list[Any]) -> tuple[Any, Any]:
    total = np.sum(votes, axis=0)
    voted = total.sum(axis=1) > 0
    k = total.shape[1]
    return np.where(
        voted[:, None], total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300), 1 / k
    ), voted


def by_definition_c3e(model: Any, data: Any) -> float:
    votes, clusters = dense_blocks(data)
    weights, answers = weights_of(data), model.probabilities_
    means, voted = mean_votes(votes)
    near = similarity(clusters, len(weights)) * np.outer(weights, weights)
    gaps = ((answers[:, None] - answers[None]) ** 2).sum(axis=2)
    own = 0.5 * float(np.sum(weights * voted * ((answers - means) ** 2).sum(axis=1)))
    return own + 0.5 * model.alpha * float(np.sum(near * gaps))


def by_definition_dawid_skene(model: Any, data: Any) -> float:
    votes, clusters = dense_blocks(data)
    trust = min(1.0, 3 / max(len(clusters), 1)) if model.evidence_weight == "auto" else 1.0
    powers = [1.0] * len(votes) + [trust] * len(clusters)
    likelihood = np.tile(model.class_shares_, (len(votes[0]), 1))
    prior = np.log(model.class_shares_).sum()
    for shares, confusion, power in zip([*votes, *clusters], model.confusions_, powers, strict=True):
        assert confusion.sum(axis=1) == pytest.approx(1.0)
        prior += power * np.log(confusion).sum()
        likelihood *= np.prod(confusion[None] ** (power * shares[:, None, :]), axis=2)
    return float(weights_of(data) @ np.log(likelihood.sum(axis=1)) + model.smoothing * prior)


DEFINITIONS = {
    "BGCM": by_definition_bgcm,
    "C3E": by_definition_c3e,
    "DawidSkene": by_definition_dawid_skene,
    "DawidSkene, auto": by_definition_dawid_skene,
}


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("kind", ["plain", "soft", "many missing", "wild weights", "perfect clusters"])
def test_the_last_objective_is_the_stated_one(name: str, kind: str) -> None:
    for seed in range(8):
        data = random_input(seed, kind)
        model = rival(name, classes=data.classes)
        model.fit(data.votes, data.clusters, sample_weight=data.sample_weight)
        expected = DEFINITIONS[name](model, data)
        # The objective of a quadratic is a small difference of large sums.
        slack = 1e-9 * max(1.0, abs(expected), float(weights_of(data).sum()))
        assert model.objectives_[-1] == pytest.approx(expected, rel=1e-9, abs=slack)


def test_kl_form_follows_its_definition_on_all_pairs() -> None:
    """The same alternation written with the N x N similarities."""
    for seed in range(20):
        data = random_input(seed, "soft" if seed % 2 else "many missing")
        votes, clusters = dense_blocks(data)
        means, voted = mean_votes(votes)
        near = 0.1 * similarity(clusters, len(means))
        tie, degrees = 0.7, near.sum(axis=1, keepdims=True)
        left = right = np.full_like(means, 1 / means.shape[1])
        path = []
        for _ in range(6):
            path.append(
                voted @ rel_entr(means, right).sum(axis=1)
                + np.sum(near * rel_entr(left[:, None], right[None]).sum(axis=2))
                + tie * rel_entr(left, right).sum()
            )
            right = (voted[:, None] * means + near @ left + tie * left) / (
                voted[:, None] + degrees + tie
            )
            left = np.exp((near @ np.log(right) + tie * np.log(right)) / (degrees + tie))
            left /= left.sum(axis=1, keepdims=True)
        model = rival("C3E, KL", classes=data.classes, lambda_=tie, tol=0.0, max_iter=6)
        model.fit(data.votes, data.clusters)
        count = min(len(path), len(model.objectives_))
        assert model.objectives_[:count] == pytest.approx(np.array(path)[:count], rel=1e-9, abs=1e-9)
        if model.n_iter_ == 6:
            assert np.abs(model.probabilities_ - (left + right) / 2).max() < 1e-10


def exact_log_likelihood(model: Any, data: Any) -> float:
    """Sum over all assignments of clusterings to consensus clusters; hard labels only."""
    _, clusters = dense_blocks(data)
    a = model.concentration_
    total = 0.0
    for n, weight in enumerate(weights_of(data)):
        there = [m for m, shares in enumerate(clusters) if shares[n].any()]
        terms = []
        for picks in product(range(len(a)), repeat=len(there)):
            counts = np.bincount(picks, minlength=len(a)) if picks else np.zeros(len(a))
            log_prior = gammaln(a.sum()) - gammaln(a.sum() + len(there))
            log_prior += np.sum(gammaln(a + counts) - gammaln(a))
            terms.append(
                log_prior
                + sum(
                    np.log(model.profiles_[m][i] @ clusters[m][n])
                    for m, i in zip(there, picks, strict=True)
                )
            )
        total += weight * np.logaddexp.reduce(terms)
    return float(total)


def test_bayesian_cluster_ensemble_bounds_the_likelihood() -> None:
    gaps = []
    for seed in range(12):
        data = random_input(seed, "many missing" if seed % 2 else "plain")
        if not dense_blocks(data)[1]:
            continue
        model = rival("BayesianClusterEnsemble", classes=data.classes, tol=1e-9, max_iter=300)
        model.fit(data.votes, data.clusters)
        prior = model.smoothing * sum(np.log(profile).sum() for profile in model.profiles_)
        exact = exact_log_likelihood(model, data)
        bound = model.objectives_[-1] - prior
        assert bound <= exact + 1e-9 * max(1.0, abs(exact))
        gaps.append((exact - bound) / len(model.labels_))
    assert 0.0 < np.median(gaps) < 0.5  # a bound, and one worth having
