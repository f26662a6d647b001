"""The paper's Table 3: a k-NN of titles is refined inside groups of classes that it confuses.

First the groups are found on a development part of the early period. Then, for
each group and seed, the late titles of the group are asked: a k-NN of early
titles votes, the late titles are clustered, and every method refines.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from bc3e.ensembles import ClusterEnsemble
from bc3e.estimator import BC3E
from bc3e.experiments.confusion import confusion_groups
from bc3e.experiments.domains import FloatArray, IntArray
from bc3e.experiments.neighbours import ANALYSERS, TitleNeighbours
from bc3e.experiments.titles import Texts, Titles, titles_of
from bc3e.experiments.units import Result, Unit
from bc3e.rivals import BGCM, C3E, LWE, SoftVote

SEEDS = 10
NEIGHBOURS = 10  # chosen on the development parts, from:
NEIGHBOURS_TRIED = (5, 10, 20)
VIEW = "characters"  # what clusterings see; chosen there, too
DIMENSIONS = 100
MOST_TRAINING, MOST_TARGET, FEWEST_TARGET = 5_000, 2_000, 200
MOST_DEVELOPMENT = 20_000  # early titles that the groups are found on
TIMED = 200  # titles that are asked one by one

PAPER = {"k-NN": 76.28, "BGCM": 78.47, "LWE": 80.94, "C3E-Ideal": 87.12, "BC3E": 84.95}
"""The paper's averages over its ten groups."""

TRIED = {
    "hard vote": "k-NN votes with one label instead of shares",
    "neighbours": "the ten neighbours as ten classifiers",
    "three k-NN": "three k-NN (words; characters; three neighbours) instead of one",
    "word clusters": "clusterings of words instead of characters",
    "finer clusters": "finer clusterings: 8 clusters per class to 6 titles per cluster",
    "one label": "clusterings count as one label",
    "three labels": "clusterings count as three labels",
    "ten labels": "clusterings count as ten labels, each as one",
}
"""Other ways to use BC3E, and what the page calls them."""


# -- groups ------------------------------------------------------------------------------------


def group_units(*, seed: int, names: Sequence[str], data: str | None) -> list[Unit]:
    """One unit per data set: its groups, found on the development part."""
    return [
        Unit(f"table3/{name}/groups", find_groups, {"name": name, "seed": seed}, data) for name in names
    ]


def find_groups(name: str, seed: int, data: str | None) -> Result:
    """Large categories, with what was measured on the development part on the way."""
    titles = titles_of(name, data)
    rng = np.random.default_rng([seed, 3])
    classes, codes = np.unique(titles.early_labels, return_inverse=True)
    parts = _development(titles, rng)
    accuracy, votes = _on_development(titles, codes, parts)
    known, held_out = np.unique(codes[parts[1]]), codes[parts[1]]
    found = confusion_groups(held_out, votes[:, known])
    late = np.searchsorted(classes, titles.late_labels)
    groups = [group for group in found if np.isin(late, group).sum() >= FEWEST_TARGET]
    return {
        "classes": len(classes),
        "early": len(titles.early),
        "late": len(titles.late),
        "groups": [classes[group].tolist() for group in groups],
        "too_few": len(found) - len(groups),
        "development": accuracy,
        "views": _views(titles, codes, parts, groups, seed),
        "new_words": _new_words(titles),
        "milliseconds": _milliseconds(
            TitleNeighbours(NEIGHBOURS).fit(titles.early, codes), titles.late[:TIMED]
        ),
    }


def _on_development(
    titles: Titles, codes: IntArray, parts: tuple[IntArray, IntArray]
) -> tuple[dict[str, float], FloatArray]:
    """Accuracy for several numbers of neighbours, in percent, and the votes of the one that is used."""
    train, held_out = parts
    accuracy, votes = {}, {}
    for count in NEIGHBOURS_TRIED:
        model = TitleNeighbours(count).fit(titles.early[train], codes[train])
        votes[count] = _full(model, model.predict_proba(titles.early[held_out]), int(codes.max()) + 1)
        accuracy[str(count)] = 100.0 * float(np.mean(votes[count].argmax(axis=1) == codes[held_out]))
    return accuracy, votes[NEIGHBOURS]


def _development(titles: Titles, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Three quarters of the early titles to learn from, one to find confusions on, by whole items."""
    items = rng.permutation(np.unique(titles.early_items))
    held_out = np.isin(titles.early_items, items[: len(items) // 4])
    order = rng.permutation(len(held_out))[:MOST_DEVELOPMENT]
    return order[~held_out[order]], order[held_out[order]]


def _views(
    titles: Titles, codes: IntArray, parts: tuple[IntArray, IntArray], groups: Sequence[Any], seed: int
) -> dict[str, float]:
    """Mean gain of BC3E over k-NN on the development part, for each view of the clusterings."""
    gains: dict[str, list[float]] = {view: [] for view in ANALYSERS}
    for group in groups:
        train, asked = (part[np.isin(codes[part], group)] for part in parts)
        model = TitleNeighbours(NEIGHBOURS).fit(titles.early[train], codes[train])
        votes, truth = model.predict_proba(titles.early[asked]), codes[asked]
        before = float(np.mean(model.classes_[votes.argmax(axis=1)] == truth))
        for view, found in gains.items():
            clusters = clusterings(titles.early[asked], len(group), seed, view)
            labels = BC3E(classes=model.classes_.tolist()).fit([votes], clusters).labels_
            found.append(100.0 * (float(np.mean(np.asarray(labels) == truth)) - before))
    return {view: float(np.mean(found)) if found else 0.0 for view, found in gains.items()}


def _new_words(titles: Titles) -> float:
    """Share of the late titles' words, in percent, that no early title has."""
    early, late = (
        {w for title in part for w in title.lower().split()} for part in (titles.early, titles.late)
    )
    return 100.0 * len(late - early) / max(len(late), 1)


def _milliseconds(model: TitleNeighbours, titles: Texts) -> float:
    """Median time to classify one title."""
    taken = []
    for title in titles:
        begin = time.perf_counter()
        model.predict([title])
        taken.append(time.perf_counter() - begin)
    return 1e3 * float(np.median(taken))


def clusterings(titles: Texts, k: int, seed: int, view: str = VIEW, n_clusters: Any = None) -> IntArray:
    """Ten k-means clusterings of titles, seen as directions of their weighted words or characters."""
    rare = 2 if len(titles) > 20 else 1
    words = TfidfVectorizer(sublinear_tf=True, min_df=rare, max_features=20_000, **ANALYSERS[view])
    width = min(DIMENSIONS, len(titles) - 1, words.fit_transform(titles).shape[1] - 1)
    pipeline = make_pipeline(words, TruncatedSVD(width, random_state=0), Normalizer())
    found = ClusterEnsemble(
        "kmeans", n_classes=k, n_clusters=n_clusters, view=pipeline, random_state=seed
    )
    return np.asarray(found.fit_predict(titles), dtype=np.int64)


# -- refinement --------------------------------------------------------------------------------


def units(*, seed: int, groups: dict[str, list[list[str]]], seeds: int, data: str | None) -> list[Unit]:
    """Every group with every seed."""
    return [
        Unit(
            f"table3/{name}/{number}/{draw}",
            refine_group,
            {"name": name, "group": group, "draw": draw, "seed": seed},
            data,
        )
        for name, found in groups.items()
        for number, group in enumerate(found)
        for draw in range(seeds)
    ]


def refine_group(name: str, group: list[str], draw: int, seed: int, data: str | None) -> Result:
    """Accuracy of every method in percent; half of the early titles vote, drawn by the seed."""
    titles, rng = titles_of(name, data), np.random.default_rng([seed, 4, draw])
    early = rng.permutation(np.flatnonzero(np.isin(titles.early_labels, group)))
    early = early[: min(len(early) // 2, MOST_TRAINING)]
    late = rng.permutation(np.flatnonzero(np.isin(titles.late_labels, group)))[:MOST_TARGET]
    source, labels = titles.early[early], np.searchsorted(group, titles.early_labels[early])
    target, truth = titles.late[late], np.searchsorted(group, titles.late_labels[late])
    accuracy = {
        method: 100.0 * float(np.mean(np.asarray(found) == truth))
        for method, found in _answers(
            source, labels, target, truth, len(group), int(rng.integers(2**31 - 1))
        )
    }
    return {"accuracy": accuracy, "early": len(early), "late": len(late)}


def _answers(
    source: Texts, labels: IntArray, target: Texts, truth: IntArray, k: int, seed: int
) -> Iterator[tuple[str, Any]]:
    """Labels of each method; the ways that were tried come last. Only C3E-Ideal sees the truth."""
    classes = list(range(k))
    model = TitleNeighbours(NEIGHBOURS).fit(source, labels)
    nearest = model.nearest(target)
    votes = [_full(model, model.shares(*nearest), k)]
    clusters = clusterings(target, k, seed)
    weight = 1.0 / clusters.shape[1]

    def refined(said: Any, grouped: IntArray = clusters, **changes: Any) -> Any:
        return BC3E(classes=classes, random_state=seed, **changes).fit(said, grouped).labels_

    yield "k-NN", SoftVote(classes=classes).fit(votes, clusters).labels_
    yield "BGCM", BGCM(classes=classes, alpha=1.0).fit(votes, clusters).labels_
    yield "LWE", LWE(classes=classes).fit(votes, clusters).labels_
    yield "C3E", C3E(classes=classes).fit(votes, clusters).labels_
    yield "C3E-Ideal", C3E.ideal(votes, clusters, truth, classes=classes).labels_
    yield "published", BC3E.as_published(classes=classes, random_state=seed).fit(votes, clusters).labels_
    yield "BC3E", refined(votes)
    yield "hard vote", refined([votes[0].argmax(axis=1)])
    yield "neighbours", refined(_one_by_one(model, *nearest))
    others = (TitleNeighbours(NEIGHBOURS, "characters"), TitleNeighbours(3))
    three = [other.fit(source, labels) for other in others]
    yield "three k-NN", refined([*votes, *(_full(m, m.predict_proba(target), k) for m in three)])
    yield "word clusters", refined(votes, clusterings(target, k, seed, "words"))
    yield "finer clusters", refined(votes, clusterings(target, k, seed, VIEW, _fine(len(target), k)))
    for name, labels_in_all in (("one label", 1), ("three labels", 3), ("ten labels", 10)):
        yield name, refined(votes, evidence_weight=labels_in_all * weight)


def _full(model: TitleNeighbours, shares: FloatArray, k: int) -> FloatArray:
    """Shares of all classes; one that was not drawn for training has none."""
    full = np.zeros((len(shares), k))
    full[:, model.classes_] = shares
    return full


def _one_by_one(model: TitleNeighbours, numbers: IntArray, similarities: FloatArray) -> Any:
    """Each neighbour as a classifier of its own; one that shares no word does not vote."""
    said = model.classes_[numbers].astype(object)
    said[similarities <= 0] = None
    return said


def _fine(rows: int, k: int) -> list[int]:
    return [round(count) for count in np.geomspace(8 * k, max(8 * k, rows // 6), 10)]
