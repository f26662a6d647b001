"""How much of ``adapt`` is not k-means? 100,000 objects with 50 features, five classes.

python benchmarks/adapt_speed.py          # prints the split, and the ratio to the k-means runs alone
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from bc3e import ConsensusClassifier, ensembles
from bc3e.features import FeatureView


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_classification(
        102_000, n_features=50, n_informative=20, n_classes=5, class_sep=1.5, random_state=0
    )
    return X[:2000], y[:2000], X[2000:] + 0.3


def trained(X: np.ndarray, y: np.ndarray) -> list[tuple[str, object]]:
    return [
        ("tree", DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y)),
        ("logit", LogisticRegression(max_iter=300).fit(X, y)),
        ("bayes", GaussianNB().fit(X, y)),
    ]


def kmeans_alone(X: np.ndarray) -> float:
    """Seconds of the k-means runs that ``adapt`` makes, and of nothing else."""
    space = FeatureView().fit_transform(X)
    begin = time.perf_counter()
    for i, k in enumerate(ensembles.spread_of_clusters(len(X), 5, ensembles.CLUSTERINGS)):
        MiniBatchKMeans(k, n_init=1, batch_size=ensembles.BATCH, random_state=i).fit(space)
    return time.perf_counter() - begin


def measure(repeats: int = 3) -> tuple[float, dict[str, float]]:
    """Median ratio of ``adapt`` to its k-means runs, side by side, and the split of the last one."""
    X, y, target = data()
    classifiers = trained(X, y)
    ConsensusClassifier(classifiers, random_state=0).adapt(target[:3000])  # compile
    ratios = []
    for _ in range(repeats):
        model = ConsensusClassifier(classifiers, random_state=0)
        begin = time.perf_counter()
        model.adapt(target)
        whole = time.perf_counter() - begin
        ratios.append(whole / kmeans_alone(target))
    return float(np.median(ratios)), {**model.timings_, "whole": whole}


if __name__ == "__main__":
    ratio, split = measure()
    print(f"adapt / k-means alone: {ratio:.2f}")
    print("  ".join(f"{part} {seconds:.2f} s" for part, seconds in split.items()))
