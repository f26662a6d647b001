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


def kmeans_alone(X: np.ndarray) -> None:
    """The k-means runs that ``adapt`` makes, and nothing else."""
    for i, k in enumerate(ensembles.spread_of_clusters(len(X), 5, ensembles.CLUSTERINGS)):
        MiniBatchKMeans(k, n_init=1, batch_size=ensembles.BATCH, random_state=i).fit(X)


def timed(action: object) -> tuple[float, float]:
    """Wall and CPU seconds of an action."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(repeats: int = 3) -> None:
    """Median ratios of ``adapt`` to its k-means runs, side by side, and the split of the last one."""
    X, y, target = data()
    classifiers = trained(X, y)
    space = FeatureView().fit_transform(target)
    ConsensusClassifier(classifiers, random_state=0).adapt(target[:3000])  # compile
    ratios = []
    for _ in range(repeats):
        model = ConsensusClassifier(classifiers, random_state=0)
        whole, alone = timed(lambda m=model: m.adapt(target)), timed(lambda: kmeans_alone(space))
        ratios.append([a / b for a, b in zip(whole, alone, strict=True)])
        print("  ".join(f"{part} {seconds:.1f} s" for part, seconds in model.timings_.items()))
        print(
            f"adapt {whole[0]:.1f} s ({whole[1]:.1f} s CPU), k-means {alone[0]:.1f} s ({alone[1]:.1f} s CPU)"
        )
    wall, cpu = np.median(ratios, axis=0)
    print(f"adapt / k-means alone: {wall:.2f} by the clock, {cpu:.2f} in CPU time")


if __name__ == "__main__":
    measure()
