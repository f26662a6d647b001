"""Does a sample choose the weight that the whole table would choose? ``python -m benchmarks.choice_sample``.

Thirty generated tables of 60,000 objects (2 to 7 classes, few training objects, a shift, three or four
classifiers, hard or soft, six clusterings of subspaces); no label is looked at. Takes some minutes.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import bc3e
from bc3e import selection

TABLES, OBJECTS, TRAINED = 30, 60_000, 400
SAMPLES = (20_000, 10_000, 5_000)


def table(seed: int) -> tuple[Any, np.ndarray]:
    """Votes and clusters of one generated table."""
    rng = np.random.default_rng(seed)
    k, width = int(rng.integers(2, 8)), int(rng.integers(6, 25))
    informative = max(4, width // 2)
    apart = int(rng.integers(1, 3)) if 2**informative >= 3 * k else 1
    x, y = make_classification(
        OBJECTS + TRAINED, n_features=width, n_informative=informative, n_classes=k,
        n_clusters_per_class=apart, class_sep=float(rng.uniform(0.5, 1.8)), flip_y=0.02, random_state=seed,
    )  # fmt: skip
    known = slice(0, int(rng.choice([60, 150, TRAINED])))
    later = x[TRAINED:] + rng.normal(size=width) * float(rng.uniform(0, 0.8))
    classifiers = [
        LogisticRegression(max_iter=300),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=6, random_state=0),
        KNeighborsClassifier(5),
    ][: int(rng.integers(3, 5))]
    hard = rng.random() < 0.5
    votes: list[np.ndarray] = []
    for classifier in classifiers:
        classifier.fit(x[known], y[known])
        if hard:
            votes.append(classifier.predict(later))
        else:
            votes.append(np.zeros((OBJECTS, k)))
            votes[-1][:, classifier.classes_] = classifier.predict_proba(later)
    clusters = [
        MiniBatchKMeans(int(rng.integers(k, 6 * k)), n_init=1, random_state=seed).fit_predict(
            later[:, rng.permutation(width)[: max(3, width * 2 // 3)]]
        )
        for seed in range(6)
    ]
    return np.stack(votes, axis=1) if hard else votes, np.stack(clusters, axis=1)


def chosen(votes: Any, clusters: np.ndarray, sample: int) -> float:
    """Evidence of all clusterings together, in labels, that a sample of that size chooses."""
    with mock.patch.object(selection, "SAMPLE", sample):
        return round(float(bc3e.BC3E(random_state=1).fit(votes, clusters).evidence_weights_.sum()), 3)


def main() -> None:
    warnings.simplefilter("ignore")
    whole, same = Counter[float](), Counter[int]()
    for seed in range(TABLES):
        votes, clusters = table(seed)
        wanted = chosen(votes, clusters, OBJECTS)
        whole[wanted] += 1
        found = {sample: chosen(votes, clusters, sample) for sample in SAMPLES}
        same.update(sample for sample, total in found.items() if total == wanted)
        print(f"table {seed}: whole {wanted}, {found}", flush=True)
    print(f"{TABLES} tables; the whole tables choose {dict(whole)}")
    for sample in SAMPLES:
        print(f"  {sample:6,} objects choose the same on {same[sample]}")


if __name__ == "__main__":
    main()
