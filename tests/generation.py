"""Random inputs for the tests, hostile ones included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

HOSTILE = (
    "plain",
    "one class only",
    "unanimous",
    "constant clusterings",
    "all clusters missing",
    "all votes missing",
    "wild weights",
    "one object",
    "many classes",
    "soft",
    "perfect clusters",
    "many missing",
)


@dataclass(frozen=True)
class Input:
    """Arguments of a fit, and the name of the oddity in them."""

    kind: str
    votes: Any
    clusters: Any
    sample_weight: NDArray[np.float64] | None
    classes: list[int]


def random_input(seed: int, kind: str | None = None) -> Input:
    """A small random table; every oddity comes up in turn."""
    rng = np.random.default_rng([seed, 20130502])
    kind = kind or HOSTILE[seed % len(HOSTILE)]
    n = 1 if kind == "one object" else int(rng.integers(1, 25))
    k = 50 if kind == "many classes" else int(rng.integers(2, 6))
    r1, r2 = int(rng.integers(1, 5)), int(rng.integers(0, 5))
    truth = rng.integers(k, size=n)
    votes = _noisy(rng, truth, k, r1, float(rng.random()))
    clusters = np.stack(
        [_clustering(rng, truth, int(rng.integers(1, 8))) for _ in range(r2)], axis=1
    ) if r2 else np.empty((n, 0), dtype=int)  # fmt: skip
    weights = None
    if kind == "one class only":
        votes[:] = 0
    elif kind == "unanimous":
        votes[:] = truth[:, None]
    elif kind == "constant clusterings":
        clusters[:] = 3
    elif kind == "all clusters missing":
        clusters[:] = -1
    elif kind == "all votes missing":
        votes[:] = -1
    elif kind == "wild weights":
        weights = 10.0 ** rng.uniform(-6, 6, size=n)
    elif kind == "perfect clusters":
        clusters[:] = truth[:, None]
    elif kind == "many missing":
        votes[rng.random(votes.shape) < 0.6] = -1
        clusters[rng.random(clusters.shape) < 0.6] = -1
    if kind == "soft":
        return Input(kind, *_softened(rng, votes, clusters, k), weights, list(range(k)))
    return Input(kind, votes, clusters, weights, list(range(k)))


def _noisy(rng: np.random.Generator, truth: Any, k: int, columns: int, noise: float) -> Any:
    drawn = rng.integers(k, size=(len(truth), columns))
    return np.where(rng.random(drawn.shape) < noise, drawn, truth[:, None])


def _clustering(rng: np.random.Generator, truth: Any, size: int) -> Any:
    return np.where(
        rng.random(len(truth)) < rng.random(), truth % size, rng.integers(size, size=len(truth))
    )


def _softened(
    rng: np.random.Generator, votes: Any, clusters: Any, k: int
) -> tuple[list[Any], list[Any]]:
    """Probabilities for half of the columns, some rows missing, zeros and ones among them."""

    def soft(width: int) -> Any:
        rows = rng.dirichlet(np.full(width, rng.choice([0.02, 0.3, 3.0])), size=len(votes))
        rows[rng.random(len(rows)) < 0.2] = np.eye(width)[rng.integers(width)]
        rows[rng.random(len(rows)) < 0.1] = np.nan
        return rows

    mixed_votes = [soft(k) if rng.random() < 0.5 else column for column in votes.T]
    mixed_clusters = [
        soft(int(rng.integers(1, 6))) if rng.random() < 0.5 else column for column in clusters.T
    ]
    return mixed_votes, mixed_clusters


def planted_table(
    seed: int, n: int = 400, k: int = 3, r1: int = 3, r2: int = 4, vote_noise: float = 0.4
) -> tuple[Any, Any, Any]:
    """Votes, clusters and truth where the clusterings know the class fairly well."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    votes = _noisy(rng, truth, k, r1, vote_noise)
    clusters = np.stack(
        [
            np.where(
                rng.random(n) < 0.8, truth * 2 + rng.integers(2, size=n), rng.integers(2 * k, size=n)
            )
            for _ in range(r2)
        ],
        axis=1,
    )
    return votes, clusters, truth
