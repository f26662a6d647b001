"""Point clouds from scikit-learn's generators, the target optionally turned or moved."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import datasets

from bc3e.experiments.domains import Domains, FloatArray, split_labelled


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _turned(X: FloatArray, degrees: float) -> FloatArray:
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    centre = X.mean(axis=0)
    return np.asarray((X - centre) @ turn.T + centre)


def moons(
    rng: np.random.Generator, *, noise: float, count: int, size: int, degrees: float = 0.0
) -> Domains:
    """Two interleaved half circles."""
    X, y = datasets.make_moons(size + count, noise=noise, random_state=_seed(rng))
    found = split_labelled(X, y, rng, count=count, size=size)
    return Domains(found.train, found.train_labels, _turned(found.target, degrees), found.truth)


def circles(
    rng: np.random.Generator, *, noise: float, count: int, size: int, factor: float = 0.5
) -> Domains:
    """A circle in a circle: linear classifiers know nothing."""
    X, y = datasets.make_circles(size + count, noise=noise, factor=factor, random_state=_seed(rng))
    return split_labelled(X, y, rng, count=count, size=size)


def blobs(
    rng: np.random.Generator,
    *,
    spread: float,
    classes: int,
    count: int,
    size: int,
    per_class: int = 1,
    features: int = 2,
    move: float = 0.0,
) -> Domains:
    """Gaussian blobs, several per class if asked; `move` shifts each target blob at random."""
    X, blob = datasets.make_blobs(
        size + count,
        n_features=features,
        centers=classes * per_class,
        cluster_std=spread,
        random_state=_seed(rng),
    )
    y = blob % classes
    rows = np.arange(len(X))[:, None]  # travels through the split as features to find the blob again
    found = split_labelled(rows, y, rng, count=count, size=size)
    steps = move * rng.standard_normal((classes * per_class, features))
    train, target = found.train[:, 0], found.target[:, 0]
    return Domains(X[train], found.train_labels, X[target] + steps[blob[target]], found.truth)


def quantiles(
    rng: np.random.Generator, *, features: int, classes: int, count: int, size: int
) -> Domains:
    """Concentric shells of one Gaussian: no gap between the classes for a clustering to find."""
    X, y = datasets.make_gaussian_quantiles(
        n_samples=size + count, n_features=features, n_classes=classes, random_state=_seed(rng)
    )
    return split_labelled(X, y, rng, count=count, size=size)


def classification(
    rng: np.random.Generator,
    *,
    count: int,
    size: int,
    classes: int = 2,
    separation: float = 1.0,
    informative: int = 5,
    noise_features: int = 5,
    per_class: int = 2,
    flip: float = 0.05,
    move: float = 0.0,
    weights: tuple[float, ...] | None = None,
) -> Domains:
    """Hypercube clusters of `make_classification`; `move` translates the whole target."""
    options: dict[str, Any] = {"weights": None if weights is None else list(weights)}
    X, y = datasets.make_classification(
        size + count + classes * 3,
        n_features=informative + noise_features,
        n_informative=informative,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=per_class,
        class_sep=separation,
        flip_y=flip,
        random_state=_seed(rng),
        **options,
    )
    found = split_labelled(X, y, rng, count=count, size=size)
    step = move * rng.standard_normal(X.shape[1])
    return Domains(found.train, found.train_labels, found.target + step, found.truth)
