"""Classifiers trained on digits meet digits that were shifted, scaled and made noisy.

``bc3e demo`` shows it (:mod:`bc3e.cli.demo`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import rotate
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from bc3e.model.evidence import FloatArray


@dataclass(frozen=True)
class Target:
    """A drifted, unlabelled target: what is known of it, and the truth to judge by."""

    votes: dict[str, FloatArray]
    clusters: NDArray[np.int_]
    truth: NDArray[np.int_]
    source_accuracy: dict[str, float]


def drifted(images: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Tilt every image by 15 degrees and add noise: a camera that was knocked."""
    tilted = rotate(images.reshape(-1, 8, 8), 15, axes=(1, 2), reshape=False, order=1)
    noisy: FloatArray = np.clip(tilted + rng.normal(scale=1.5, size=tilted.shape), 0, 16)
    return noisy.reshape(len(images), 64)


def build(random_state: int = 0) -> Target:
    """Train on half of the digits, drift the other half, cluster it."""
    images, labels = load_digits(return_X_y=True)
    source, target, y_source, truth = train_test_split(
        images, labels, test_size=0.5, stratify=labels, random_state=random_state
    )
    train, held_out, y_train, y_held_out = train_test_split(
        source, y_source, test_size=0.25, stratify=y_source, random_state=random_state
    )
    moved = drifted(target, np.random.default_rng(random_state))
    models = {
        "random forest": RandomForestClassifier(200, random_state=random_state),
        "linear discriminant": LinearDiscriminantAnalysis(),
        "logistic regression": LogisticRegression(C=0.01, max_iter=2000),
    }
    for model in models.values():
        model.fit(train, y_train)
    clusters = np.stack(
        [
            KMeans(k, n_init=1, random_state=random_state + i).fit_predict(moved)
            for i, k in enumerate((10, 15, 20, 25, 30, 40, 50, 60))
        ],
        axis=1,
    )
    return Target(
        votes={name: model.predict_proba(moved) for name, model in models.items()},
        clusters=clusters,
        truth=truth,
        source_accuracy={name: model.score(held_out, y_held_out) for name, model in models.items()},
    )
