"""C3E: its scaling, its limits, and the label-tuned reference."""

from __future__ import annotations

import numpy as np
import pytest

import bc3e
from bc3e.rivals import C3E, SoftVote
from tests.generation import planted_table


def test_without_weight_the_clusterings_say_nothing() -> None:
    votes, clusters, _ = planted_table(0)
    soft = SoftVote().fit(votes)
    for loss in ("squared", "kl"):
        model = C3E(alpha=0.0, loss=loss, tol=1e-14).fit(votes, clusters)
        assert np.abs(model.probabilities_ - soft.probabilities_).max() < 1e-6


def test_with_all_weight_a_cluster_speaks_with_one_voice() -> None:
    votes, clusters, _ = planted_table(0)
    for loss in ("squared", "kl"):
        model = C3E(alpha=100.0, loss=loss, max_iter=5000).fit(votes, clusters[:, :1])
        for cluster in np.unique(clusters[:, 0]):
            inside = model.probabilities_[clusters[:, 0] == cluster]
            assert np.ptp(inside, axis=0).max() < 1e-3


def test_alpha_per_object_does_not_grow_with_the_data() -> None:
    votes, clusters, _ = planted_table(0)
    twice, both = np.tile(votes, (2, 1)), np.tile(clusters, (2, 1))
    settings = {"alpha": 0.5, "scaling": "object", "tol": 1e-12}
    one, two = C3E(**settings).fit(votes, clusters), C3E(**settings).fit(twice, both)
    assert np.abs(two.probabilities_[: len(votes)] - one.probabilities_).max() < 1e-9
    per_pair = C3E(alpha=0.001).fit(twice, both).probabilities_[: len(votes)]
    assert np.abs(per_pair - C3E(alpha=0.001).fit(votes, clusters).probabilities_).max() > 1e-3


def test_alpha_per_object_is_shared_among_the_similar_ones() -> None:
    votes, clusters, _ = planted_table(1, n=200)
    clusters[::5, 0] = -1
    together = [column[:, None] == column[None] for column in clusters.T]
    together[0] &= (clusters[:, 0] >= 0)[:, None]
    mean_degree = np.mean(together, axis=0).sum(axis=1).mean()
    per_object = C3E(alpha=0.5, scaling="object", tol=1e-12).fit(votes, clusters)
    per_pair = C3E(alpha=0.5 / mean_degree, tol=1e-12).fit(votes, clusters)
    assert np.abs(per_object.probabilities_ - per_pair.probabilities_).max() < 1e-10


def test_ideal_takes_the_best_of_the_grid() -> None:
    votes, clusters, truth = planted_table(5, vote_noise=0.6)
    grid = {"alpha": [0.0, 1e-4, 1e-2, 1.0], "loss": ["squared", "kl"]}
    reached = [
        np.mean(C3E(alpha=alpha, loss=loss).fit(votes, clusters).labels_ == truth)
        for alpha in grid["alpha"]
        for loss in grid["loss"]
    ]
    model = C3E.ideal(votes, clusters, truth, grid=grid)
    assert model.ideal_accuracy_ == pytest.approx(max(reached))
    assert np.mean(model.labels_ == truth) == pytest.approx(max(reached))
    assert set(model.ideal_parameters_) == {"alpha", "loss"}
    assert C3E.ideal(votes, clusters, truth).ideal_accuracy_ >= max(reached) - 0.02


def test_ideal_leaves_unknown_truth_out_and_weighs_the_rest() -> None:
    votes, clusters, truth = planted_table(6, vote_noise=0.6)
    known = truth.astype(object)
    known[200:] = None
    weights = np.random.default_rng(0).integers(0, 3, size=len(truth))
    model = C3E.ideal(votes, clusters, known, sample_weight=weights, grid={"alpha": [0.01]})
    right = (model.labels_ == truth)[:200]
    assert model.ideal_accuracy_ == pytest.approx(np.average(right, weights=weights[:200]))
    foreign = np.array(["unknown"] * 400)
    assert C3E.ideal(votes, clusters, foreign, grid={"alpha": [0.01]}).ideal_accuracy_ == 0.0
    with pytest.raises(bc3e.InputError, match="grid"):
        C3E.ideal(votes, clusters, truth, grid={"alpha": []})
    with pytest.raises(bc3e.InputError, match="truth: 10 labels"):
        C3E.ideal(votes, clusters, truth[:10])
