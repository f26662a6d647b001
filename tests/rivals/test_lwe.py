"""LWE against the same rule written with sets of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bc3e.rivals import LWE
from tests.generation import planted_table


def by_definition(votes: Any, clusters: Any, k: int, similarity: str, delta: float) -> Any:
    n = len(votes)
    answers = np.zeros((n, k))
    for clustering in clusters.T:
        near, own = np.zeros((n, votes.shape[1])), np.zeros((n, k))
        for i in range(n):
            here = {m for m in range(n) if clustering[m] == clustering[i]}
            for column in range(votes.shape[1]):
                if votes[i, column] < 0:
                    continue
                alike = {m for m in range(n) if votes[m, column] == votes[i, column]}
                both, either = len(alike & here), len(alike | here)
                size = len(alike) + len(here)
                near[i, column] = both / either if similarity == "jaccard" else 2 * both / size
                own[i, votes[i, column]] += near[i, column]
            own[i] = own[i] / own[i].sum() if own[i].any() else 1 / k
        voters = (votes >= 0).sum(axis=1)
        sure = np.array([v > 0 and s.sum() / v >= delta for v, s in zip(voters, near, strict=True)])
        for i in range(n):
            if sure[i]:
                answers[i] += own[i]
                continue
            here = [m for m in range(n) if clustering[m] == clustering[i]]
            trusted = [m for m in here if sure[m]] or [m for m in here if voters[m] > 0]
            answers[i] += np.mean([own[m] for m in trusted], axis=0) if trusted else np.full(k, 1 / k)
    return answers / clusters.shape[1]


@pytest.mark.parametrize("similarity", ["dice", "jaccard"])
@pytest.mark.parametrize("delta", [0.0, 0.3, 0.5, 0.9])
def test_contingency_tables_are_neighbourhoods(similarity: str, delta: float) -> None:
    rng = np.random.default_rng(0)
    for seed in range(4):
        votes, clusters, _ = planted_table(seed, n=40)
        votes[rng.random(votes.shape) < 0.2] = -1
        model = LWE(similarity=similarity, delta=delta, classes=[0, 1, 2]).fit(votes, clusters)
        expected = by_definition(votes, clusters, 3, similarity, delta)
        assert np.abs(model.probabilities_ - expected).max() < 1e-12


def test_similarity_is_one_for_equal_neighbourhoods_and_the_threshold_is_a_share() -> None:
    votes = np.array([[0], [0], [1], [1]])
    same = LWE(delta=1.0).fit(votes, votes)
    assert same.adjusted_share_.tolist() == [0.0]
    # Class {0, 1, 2}, clusters {0, 1} and {2, 3}: object 0 has Dice 2 * 2 / (3 + 2).
    votes, clusters = np.array([[0], [0], [0], [1]]), np.array([[5], [5], [6], [6]])
    assert LWE(delta=0.79).fit(votes, clusters).adjusted_share_.tolist() == [0.5]
    assert LWE(delta=0.81).fit(votes, clusters).adjusted_share_.tolist() == [1.0]


def test_a_classifier_that_fits_the_clusters_wins_where_it_does() -> None:
    """Classifier 0 is right in cluster 0 and blind in cluster 1, classifier 1 the other way round."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 100)
    first, second = truth.copy(), truth.copy()
    first[200:] = rng.integers(3, size=100)
    second[:200] = rng.integers(3, size=200)
    votes = np.stack([first, second], axis=1)
    model = LWE(delta=0.0).fit(votes, truth[:, None])
    assert np.mean(model.labels_ == truth) > 0.99


def test_memberships_count_in_part() -> None:
    votes = np.array([[0], [0], [1], [1], [1]])
    hard = LWE().fit(votes, [np.array([0, 0, 1, 1, 0])])
    nearly = np.eye(2)[[0, 0, 1, 1, 0]] * 0.998 + 0.001
    soft = LWE().fit(votes, [nearly])
    assert np.abs(hard.probabilities_ - soft.probabilities_).max() < 0.01
