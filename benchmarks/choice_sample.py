"""Does a sample choose the weight that the whole table would choose? ``python -m benchmarks.choice_sample``.

Sixty generated tables of 60,000 objects (2 to 7 classes, few training objects, a shift, three or four
classifiers, hard or soft, six clusterings of subspaces). The choice sees no label; what it gains in accuracy
over the soft vote is printed beside. Takes some ten minutes.
"""

from __future__ import annotations

import warnings
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
from bc3e.rivals import SoftVote

TABLES, OBJECTS, TRAINED = 60, 60_000, 400
SAMPLES = (OBJECTS, 20_000, 10_000, 5_000, 2_500)


def table(seed: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Votes, clusters and true classes of one generated table."""
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
    return np.stack(votes, axis=1) if hard else votes, np.stack(clusters, axis=1), y[TRAINED:]


def fitted(votes: Any, clusters: np.ndarray, sample: int) -> bc3e.BC3E:
    """The fit of a table whose weight a sample of that size has chosen."""
    with mock.patch.object(selection, "SAMPLE", sample):
        return bc3e.BC3E(random_state=1).fit(votes, clusters)


def main() -> None:
    warnings.simplefilter("ignore")
    totals, gains = np.empty((TABLES, len(SAMPLES))), np.empty((TABLES, len(SAMPLES)))
    for seed in range(TABLES):
        votes, clusters, truth = table(seed)
        before = np.mean(SoftVote().fit(votes, clusters).labels_ == truth)
        for at, sample in enumerate(SAMPLES):
            model = fitted(votes, clusters, sample)
            totals[seed, at] = round(float(model.evidence_weights_.sum()), 3)
            gains[seed, at] = 100.0 * (np.mean(model.labels_ == truth) - before)
        print(
            f"table {seed}: {totals[seed].tolist()} labels, {gains[seed].round(2).tolist()}", flush=True
        )
    print("objects that choose, as the whole table; gain over the soft vote: mean, worst")
    for sample, total, gain in zip(SAMPLES, totals.T, gains.T, strict=True):
        same = int((total == totals[:, 0]).sum())
        print(f"  {sample:6,}  {same} of {TABLES}  {gain.mean():+.2f}  {gain.min():+.2f}")


if __name__ == "__main__":
    main()
