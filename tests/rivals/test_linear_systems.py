"""BGCM and the squared loss of C3E reach the solution of their linear systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bc3e.rivals import BGCM, C3E
from tests.generation import planted_table, random_input
from tests.rivals.methods import dense_blocks, weights_of
from tests.rivals.test_objectives import mean_votes, similarity

KINDS = ["plain", "soft", "unanimous", "constant clusterings", "perfect clusters", "many missing"]


def solve_bgcm(data: Any, alpha: float) -> Any:
    """Gradient of the objective in all u and q set to zero, as one dense system."""
    votes, clusters = dense_blocks(data)
    shares = np.hstack([*votes, *clusters])
    weights, k = weights_of(data), len(data.classes)
    n, v = shares.shape
    edges = weights[:, None] * shares
    labelled = np.arange(v) < k * len(votes)
    system = np.block(
        [
            [np.diag(edges.sum(axis=1)), -edges],
            [-edges.T, np.diag(edges.sum(axis=0) + alpha * labelled)],
        ]
    )
    right = np.zeros((n + v, k))
    right[n:][labelled] = alpha * np.tile(np.eye(k), (len(votes), 1))
    return np.linalg.lstsq(system, right, rcond=None)[0][:n]


def solve_c3e(data: Any, alpha: float) -> Any:
    """(B + 2 alpha (D - S)) Y = B Pi with object weights."""
    votes, clusters = dense_blocks(data)
    weights = weights_of(data)
    means, voted = mean_votes(votes)
    near = similarity(clusters, len(weights)) * np.outer(weights, weights)
    own = np.diag(weights * voted)
    system = own + 2 * alpha * (np.diag(near.sum(axis=1)) - near)
    return np.linalg.lstsq(system, own @ means, rcond=None)[0]


def determined(data: Any) -> Any:
    """Objects connected to some vote; the others keep equal probabilities and no system knows them."""
    votes, clusters = dense_blocks(data)
    reached = np.sum(votes, axis=0).sum(axis=1) > 0
    for _ in range(len(reached)):
        for shares in clusters:
            reached = reached | (shares @ (shares.T @ reached) > 0)
    return reached


def inputs(kind: str) -> list[Any]:
    found = [random_input(seed, kind) for seed in range(12)]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [2.0, 1.0])
def test_bgcm(kind: str, alpha: float) -> None:
    for data in inputs(kind):
        model = BGCM(alpha=alpha, classes=data.classes, tol=1e-13)
        found = model.fit(data.votes, data.clusters).probabilities_
        known = determined(data)
        assert np.abs(found - solve_bgcm(data, alpha))[known].max(initial=0.0) < 1e-8
        assert found[~known] == pytest.approx(1 / len(data.classes))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [0.001, 0.3, 20.0])
def test_c3e_squared_loss(kind: str, alpha: float) -> None:
    for data in inputs(kind):
        model = C3E(alpha=alpha, classes=data.classes, tol=1e-13)
        found = model.fit(data.votes, data.clusters).probabilities_
        known = determined(data)
        assert np.abs(found - solve_c3e(data, alpha))[known].max(initial=0.0) < 1e-8
        assert found[~known] == pytest.approx(1 / len(data.classes))


def test_object_weights_enter_the_systems() -> None:
    rng = np.random.default_rng(0)
    for seed in range(10):
        data = random_input(seed, "soft" if seed % 2 else "plain")
        weights = rng.uniform(0.2, 5.0, size=len(weights_of(data)))
        data = type(data)(data.kind, data.votes, data.clusters, weights, data.classes)
        known = determined(data)
        for model, solution in (
            (BGCM(classes=data.classes, tol=1e-13), solve_bgcm(data, 2.0)),
            (C3E(alpha=0.5, classes=data.classes, tol=1e-13), solve_c3e(data, 0.5)),
        ):
            model.fit(data.votes, data.clusters, sample_weight=weights)
            assert np.abs(model.probabilities_ - solution)[known].max(initial=0.0) < 1e-8


def test_plain_alternation_ends_at_the_same_minimum() -> None:
    votes, clusters, _ = planted_table(0, n=60)
    fast = BGCM(tol=1e-12).fit(votes, clusters)
    plain = BGCM(tol=1e-12, accelerate=False, max_iter=200_000).fit(votes, clusters)
    assert np.abs(fast.probabilities_ - plain.probabilities_).max() < 1e-8
    assert plain.n_iter_ > 10 * fast.n_iter_
    fast_smoothing = C3E(alpha=0.1, tol=1e-12).fit(votes, clusters)
    plain_smoothing = C3E(alpha=0.1, tol=1e-12, accelerate=False, max_iter=10_000).fit(votes, clusters)
    assert np.abs(fast_smoothing.probabilities_ - plain_smoothing.probabilities_).max() < 1e-8


def test_one_alternation_is_the_printed_update() -> None:
    votes, clusters, _ = planted_table(1, n=40)
    data = random_input(0)
    data = type(data)("planted", votes, clusters, None, [0, 1, 2])
    vote_shares, cluster_shares = dense_blocks(data)
    shares = np.hstack([*vote_shares, *cluster_shares])
    labels = np.vstack([np.tile(np.eye(3), (3, 1)), np.full((shares.shape[1] - 9, 3), 1 / 3)])
    trust = np.where(np.arange(shares.shape[1]) < 9, 2.0, 0.0)[:, None]
    groups = labels
    for _ in range(4):
        objects = shares @ groups / shares.sum(axis=1, keepdims=True)
        groups = (shares.T @ objects + trust * labels) / (shares.sum(axis=0)[:, None] + trust)
    objects = shares @ groups / shares.sum(axis=1, keepdims=True)
    model = BGCM(accelerate=False, max_iter=4).fit(votes, clusters)
    assert np.abs(model.probabilities_ - objects).max() < 1e-12
