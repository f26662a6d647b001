"""The paper's Table 2: few labelled objects, many to be labelled.

A trial draws which objects are labelled, trains a decision tree, a linear
discriminant and a logistic regression on them, clusters the others with k-means,
and asks every method for the labels of the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bc3e.ensembles import ClusterEnsemble
from bc3e.estimator import BC3E
from bc3e.experiments.data import load
from bc3e.experiments.domains import FloatArray, IntArray
from bc3e.experiments.units import Result, Unit
from bc3e.rivals import BGCM, C3E, MajorityVote, SoftVote

TRIALS = 20
PAPER_ITERATIONS = 10
CLASSIFIERS = ("decision tree", "linear discriminant", "logistic regression")
TRUSTING: dict[str, Any] = {
    "init": "diffusion",
    "delta2": 0.1,
    "profile_prior": None,
    "evidence_weight": 1.0,
    "max_iter": 30,
}
HARD = ("hard votes", "published, hard votes")  # ways that are given labels, not probabilities
KINDS = ("kmeans", "spherical", "subspace", "projection", "mixture", "agglomerative")


@dataclass(frozen=True)
class Setting:
    """A data set of the table.

    Attributes
    ----------
    name : str
        As :mod:`bc3e.experiments.data` knows it.
    title : str
        As the paper prints it.
    target : int
        Objects to be labelled; all others are labelled beforehand.
    paper : tuple of (mean, standard deviation)
        The paper's Ensemble, Best, BGCM, C3E and BC3E, in percent.
    """

    name: str
    title: str
    target: int
    paper: tuple[tuple[float, float], ...]


SETTINGS = (
    Setting(
        "moons",
        "Half-moon",
        784,
        ((92.53, 1.83), (93.02, 0.82), (92.16, 1.47), (99.64, 0.08), (98.23, 2.03)),
    ),
    Setting(
        "circles",
        "Circles",
        1568,
        ((60.03, 8.44), (95.74, 5.15), (78.67, 0.54), (99.61, 0.83), (97.91, 0.74)),
    ),
    Setting(
        "pima",
        "Pima",
        745,
        ((68.16, 5.05), (69.93, 3.68), (69.21, 4.83), (70.31, 4.44), (72.83, 0.49)),
    ),
    Setting(
        "heart",
        "Heart",
        251,
        ((77.77, 2.55), (79.22, 2.20), (82.78, 4.82), (82.85, 5.25), (82.53, 1.14)),
    ),
    Setting(
        "german",
        "German Numer",
        900,
        ((70.96, 1.00), (70.19, 1.52), (73.70, 1.06), (74.44, 3.44), (74.61, 1.62)),
    ),
    Setting(
        "wine",
        "Wine",
        160,
        ((79.87, 5.68), (80.37, 5.47), (75.37, 13.66), (83.62, 6.27), (82.20, 1.07)),
    ),
)

TRIED = {
    "hard votes": "hard votes, as in the paper",
    "thirty clusterings": "30 k-means clusterings instead of 10",
    "six kinds": "six kinds of clusterings instead of k-means",
    "one label": "clusterings count as one label",
    "three labels": "clusterings count as three labels",
    "ten labels": "clusterings count as ten labels, each as one",
    "diffusion": "three labels, started from diffused votes",
    "trusting": "each clustering one label, delta2 0.1, plain profiles, 30 iterations, diffused start",
    "trusting, fine": "the same with 4 to 12 clusters per class",
    "published": "as published",
    "published, hard votes": "as published, hard votes",
    "published, started": "as published, started from the votes",
}
"""Other ways to use BC3E, and what the page calls them."""


def units(*, seed: int, trials: int, names: Sequence[str], data: str | None) -> list[Unit]:
    """All trials of some data sets."""
    return [
        Unit(f"table2/{name}/{trial}", one_trial, {"name": name, "trial": trial, "seed": seed}, data)
        for name in names
        for trial in range(trials)
    ]


def one_trial(name: str, trial: int, seed: int, data: str | None) -> Result:
    """Accuracy of every method in percent, on one draw of the labelled objects."""
    setting = next(setting for setting in SETTINGS if setting.name == name)
    rng = np.random.default_rng([seed, trial, SETTINGS.index(setting)])
    X, y = load(name, data, random_state=_seed(rng))
    classes, codes = np.unique(y, return_inverse=True)
    train, target = _split(codes, setting.target, rng)
    votes = _votes(X[train], codes[train], X[target], _seed(rng))
    clusters = _clusters(X[target], len(classes), rng)
    truth = codes[target]
    models = list(_fits(votes, clusters, len(classes), _seed(rng)))
    accuracy = {name: 100.0 * float(np.mean(np.asarray(m.labels_) == truth)) for name, m in models}
    alone = [100.0 * float(np.mean(p.argmax(axis=1) == truth)) for p in votes]
    return {
        "accuracy": accuracy | dict(zip(CLASSIFIERS, alone, strict=True)) | {"Best": max(alone)},
        "labelled": len(train),
        "target": len(target),
        "evidence": float(dict(models)["default"].evidence_weights_.sum()),
        "linear_agreement": 100.0 * float(np.mean(votes[1].argmax(axis=1) == votes[2].argmax(axis=1))),
    }


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _split(codes: IntArray, size: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Labelled rows and target rows, drawn anew until two objects of each class are labelled."""
    while True:
        order = rng.permutation(len(codes))
        train = order[size:]
        if np.bincount(codes[train], minlength=codes.max() + 1).min() >= 2:
            return train, order[:size]


def _votes(train: FloatArray, labels: IntArray, target: FloatArray, seed: int) -> list[FloatArray]:
    scale = StandardScaler().fit(train)
    models = (
        DecisionTreeClassifier(criterion="entropy", random_state=seed),
        LinearDiscriminantAnalysis(),
        LogisticRegression(max_iter=1000),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sixteen objects some features are collinear
        seen, asked = scale.transform(train), scale.transform(target)
        return [model.fit(seen, labels).predict_proba(asked) for model in models]


def _clusters(target: FloatArray, k: int, rng: np.random.Generator) -> dict[str, IntArray]:
    """The ensemble of the table, and those that were tried besides."""
    fine = np.geomspace(4 * k, 12 * k, 10).round().astype(int).tolist()
    plans: dict[str, dict[str, Any]] = {
        "kmeans": {},
        "thirty": {"n_clusterings": 30},
        "kinds": {"clusterers": list(KINDS), "n_clusterings": 12},
        "fine": {"n_clusters": fine},
    }
    return {
        name: ClusterEnsemble(n_classes=k, random_state=_seed(rng), **plan).fit(target).labels_
        for name, plan in plans.items()
    }


def _fits(
    votes: list[FloatArray], clusters: dict[str, Any], k: int, seed: int
) -> Iterator[tuple[str, Any]]:
    """Each method, fitted; the ways that were tried come last."""
    usual, classes = clusters["kmeans"], list(range(k))
    hard = [p.argmax(axis=1) for p in votes]

    def default(**changes: Any) -> BC3E:
        return BC3E(classes=classes, random_state=seed, **changes)

    def published(**changes: Any) -> BC3E:
        shared = {"classes": classes, "max_iter": PAPER_ITERATIONS, "random_state": seed}
        return BC3E.as_published(**shared | {"init": "random"} | changes)

    weight = 1.0 / usual.shape[1]
    three = {"evidence_weight": 3 * weight}
    for name, model, said, grouped in (
        ("Ensemble", SoftVote(classes=classes), votes, usual),
        ("Majority", MajorityVote(classes=classes), hard, usual),
        ("BGCM", BGCM(classes=classes), votes, usual),
        ("C3E", C3E(classes=classes), votes, usual),
        ("published", published(), votes, usual),
        ("default", default(), votes, usual),
        ("hard votes", default(), hard, usual),
        ("thirty clusterings", default(), votes, clusters["thirty"]),
        ("six kinds", default(), votes, clusters["kinds"]),
        ("one label", default(evidence_weight=weight), votes, usual),
        ("three labels", default(**three), votes, usual),
        ("ten labels", default(evidence_weight=1.0), votes, usual),
        ("diffusion", default(init="diffusion", **three), votes, usual),
        ("trusting", default(**TRUSTING), votes, usual),
        ("trusting, fine", default(**TRUSTING), votes, clusters["fine"]),
        ("published, hard votes", published(), hard, usual),
        ("published, started", published(init="votes"), votes, usual),
    ):
        yield name, model.fit(said, grouped)
