"""The Bayesian cluster ensemble finds planted clusters and names them by the votes."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e.rivals import BayesianClusterEnsemble
from bc3e.rivals import bayesian_cluster_ensemble as home
from tests.generation import planted_table


def test_planted_clusters_are_found_and_named() -> None:
    votes, clusters, truth = planted_table(0, n=600, r2=6, vote_noise=0.7)
    model = BayesianClusterEnsemble(random_state=0).fit(votes, clusters)
    assert np.mean(model.labels_ == truth) > 0.95
    for profile in model.profiles_:
        assert profile.sum(axis=1) == pytest.approx(1.0)
        # Cluster 2i and 2i + 1 were planted for class i.
        assert profile.reshape(3, 3, 2).sum(axis=2).argmax(axis=1).tolist() == [0, 1, 2]


def test_votes_only_name_the_clusters() -> None:
    votes, clusters, _ = planted_table(1, n=300)
    one = BayesianClusterEnsemble(random_state=0, classes=[0, 1, 2]).fit(votes, clusters)
    two = BayesianClusterEnsemble(random_state=0, classes=[0, 1, 2]).fit((votes + 1) % 3, clusters)
    assert np.abs(two.probabilities_[:, [1, 2, 0]] - one.probabilities_).max() < 1e-9
    assert two.objectives_ == pytest.approx(one.objectives_)


def test_missing_labels_and_soft_votes_do_not_hurt() -> None:
    votes, clusters, truth = planted_table(2, n=600, r2=8)
    clusters[np.random.default_rng(0).random(clusters.shape) < 0.3] = -1
    soft = [np.eye(3)[column] * 0.7 + 0.1 for column in votes.T]
    model = BayesianClusterEnsemble(random_state=0).fit(soft, clusters)
    assert np.mean(model.labels_ == truth) > 0.9


def test_a_large_set_is_started_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, clusters, truth = planted_table(3, n=3000, r2=6)
    whole = BayesianClusterEnsemble(random_state=0).fit(votes, clusters)
    monkeypatch.setattr(home, "START_PATTERNS", 500)
    sampled = BayesianClusterEnsemble(random_state=0).fit(votes, clusters)
    assert np.mean(sampled.labels_ == truth) > 0.95
    assert sampled.objectives_[-1] == pytest.approx(whole.objectives_[-1], rel=0.01)
    assert (np.diff(sampled.objectives_) > 0).all()


def test_dirichlet_fit_is_a_maximum() -> None:
    rng = np.random.default_rng(0)
    for true in (np.array([0.1, 0.4, 2.0]), np.array([5.0, 1.0]), np.full(8, 0.3)):
        logs = np.log(np.maximum(rng.dirichlet(true, size=20_000), 1e-300)).mean(axis=0)
        found = home._fit_dirichlet(np.ones(len(true)), logs)
        assert found == pytest.approx(true, rel=0.05)
        slope = home.digamma(found.sum()) - home.digamma(found) + logs
        assert np.abs(slope).max() < 1e-4
