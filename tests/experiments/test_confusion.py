"""Groups of confused classes, and the k-NN that confuses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

from bc3e.errors import InputError
from bc3e.experiments import confusion_groups
from bc3e.experiments.neighbours import TitleNeighbours
from bc3e.experiments.titles import titles_of


def confused(arrows: dict[tuple[int, int], int], classes: int, each: int = 100) -> tuple[Any, Any]:
    """Truth and predictions with the given numbers of mistakes."""
    truth = np.repeat(np.arange(classes), each)
    predicted = truth.copy()
    at = np.arange(classes) * each
    for (i, j), count in arrows.items():
        predicted[at[i] : at[i] + count] = j
        at[i] += count
    return truth, predicted


def cycle(nodes: list[int], weight: int) -> dict[tuple[int, int], int]:
    return dict.fromkeys(zip(nodes, nodes[1:] + nodes[:1], strict=True), weight)


def test_parts_are_found_and_the_most_confused_comes_first() -> None:
    arrows = cycle([0, 1, 2, 3], 10) | cycle([4, 5, 6, 7, 8], 20) | {(0, 8): 5, (4, 1): 5}
    assert confusion_groups(*confused(arrows, 10)) == [[4, 5, 6, 7, 8], [0, 1, 2, 3]]


def test_one_way_confusion_makes_no_group() -> None:
    chain = {(i, i + 1): 10 for i in range(7)}
    assert confusion_groups(*confused(chain, 8)) == []


def test_sizes_are_kept() -> None:
    ring = cycle(list(range(12)), 10)
    assert confusion_groups(*confused(ring, 12)) == []  # twelve at once are too many
    with_pairs = ring | {(i + 1, i): 5 for i in range(11)}
    groups = confusion_groups(*confused(with_pairs, 12))
    assert groups
    assert all(4 <= len(group) <= 10 for group in groups)
    assert confusion_groups(*confused(ring, 12), largest=12) == [list(range(12))]
    assert confusion_groups(*confused(cycle([0, 1, 2], 10), 4)) == []
    assert confusion_groups(*confused(cycle([0, 1, 2], 10), 4), smallest=3) == [[0, 1, 2]]


def test_groups_do_not_depend_on_the_order_of_objects_or_on_names() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(20, size=(2, 3000))
    predicted = np.where(rng.random(3000) < 0.6, truth, predicted)
    groups = confusion_groups(truth, predicted)
    order = rng.permutation(3000)
    assert confusion_groups(truth[order], predicted[order]) == groups
    named = np.array([f"class {i:02}" for i in range(20)])
    assert confusion_groups(named[truth], named[predicted]) == [[named[i] for i in g] for g in groups]
    inside = [i for group in groups for i in group]
    assert len(inside) == len(set(inside))


def test_probabilities_are_a_finer_graph() -> None:
    truth = np.repeat(np.arange(4), 5)
    shares = np.full((20, 4), 0.1)
    shares[np.arange(20), truth] = 0.7
    assert confusion_groups(truth, shares.argmax(axis=1)) == []
    assert confusion_groups(truth, shares) == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([], []), "truth"),
        (([[1]], [1]), "truth"),
        (([1, 2], [1]), "predicted"),
        (([1, 2], np.ones((2, 3))), "3 columns for the 2 classes"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        confusion_groups(*arguments)


@pytest.mark.parametrize("sizes", [{"smallest": 1}, {"smallest": 5, "largest": 4}, {"largest": 2.5}])
def test_impossible_sizes_are_refused(sizes: Any) -> None:
    with pytest.raises(InputError, match=r"smallest|largest"):
        confusion_groups([1, 2], [2, 1], **sizes)


def test_neighbours_are_those_of_brute_force() -> None:
    titles = titles_of("generated", None)
    model = TitleNeighbours(5).fit(titles.early, titles.early_labels)
    numbers, similarities = model.nearest(titles.late[:120])
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit(titles.early)
    near = NearestNeighbors(n_neighbors=5, metric="cosine", algorithm="brute")
    near.fit(words.transform(titles.early))
    distance, _ = near.kneighbors(words.transform(titles.late[:120]))
    np.testing.assert_allclose(1 - distance, similarities, atol=1e-9)
    votes = model.predict_proba(titles.late[:120])
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    first = np.array(
        [np.bincount(row, s, 8).argmax() for row, s in zip(numbers, similarities, strict=True)]
    )
    assert (model.predict(titles.late[:120]) == model.classes_[first]).mean() > 0.99  # ties apart


def test_a_title_of_unknown_words_gets_the_class_shares() -> None:
    model = TitleNeighbours(2).fit(["red shoe", "blue shoe", "tie"], ["a", "a", "b"])
    np.testing.assert_allclose(model.predict_proba(["xyzzy"]), [[2 / 3, 1 / 3]])
    with pytest.raises(InputError, match="features: 'sounds'"):
        TitleNeighbours(2, "sounds").fit(["a"], [0])
