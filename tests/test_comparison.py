"""bc3e.compare: its table, its intervals, and methods that fail."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bc3e
from bc3e.comparison import METHODS
from bc3e.intervals import paired_interval
from bc3e.rivals import BGCM, C3E, SoftVote
from tests.generation import planted_table


@pytest.fixture(scope="module")
def table() -> Any:
    votes, clusters, truth = planted_table(0, n=500, vote_noise=0.55)
    return bc3e.compare(votes, clusters, truth, n_bootstrap=200)


def test_all_methods_and_both_references_are_there(table: Any) -> None:
    names = [score.method for score in table.scores]
    assert names == [*METHODS, "C3E-Ideal", "best single classifier"]
    assert [score.uses_truth for score in table.scores] == [False] * len(METHODS) + [True, True]
    assert not any(score.failed for score in table.scores)
    for score in table.scores[:-1]:
        assert score.seconds > 0
        assert score.peak_megabytes > 0


def test_figures_are_those_of_the_methods(table: Any) -> None:
    votes, clusters, truth = planted_table(0, n=500, vote_noise=0.55)
    soft, model = SoftVote().fit(votes), BGCM().fit(votes, clusters)
    score = table["BGCM"]
    assert score.accuracy == pytest.approx(np.mean(model.labels_ == truth))
    assert score.gain == pytest.approx(score.accuracy - np.mean(soft.labels_ == truth))
    assert score.gain_low <= score.gain <= score.gain_high
    assert score.agreement == pytest.approx(np.mean(model.labels_ == soft.labels_))
    entropy = -np.sum(model.probabilities_ * np.log(model.probabilities_), axis=1).mean()
    assert score.mean_entropy == pytest.approx(entropy)
    singles = [np.mean(column == truth) for column in votes.T]
    assert table["best single classifier"].accuracy == pytest.approx(max(singles))
    assert table["best single classifier"].note == f"classifier_{int(np.argmax(singles))}"
    assert table["C3E-Ideal"].accuracy >= table["SoftVote"].accuracy
    assert (table["SoftVote"].gain, table["SoftVote"].gain_low) == (0.0, 0.0)
    with pytest.raises(KeyError):
        table["nobody"]


def test_it_prints_and_serialises(table: Any) -> None:
    text = str(table)
    for name in METHODS:
        assert name in text
    assert "500 objects, 3 classes, 3 classifiers, 4 clusterings, 500 true labels" in text
    assert f"{table['BGCM'].accuracy:.2%}" in text
    assert "chosen with the true labels" in text
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "<table>" in table._repr_html_()
    frame = pd.DataFrame(table.records()).set_index("method")
    assert frame.loc["LWE", "accuracy"] == table["LWE"].accuracy
    assert json.loads(json.dumps(table.to_dict()))["scores"][0]["method"] == "MajorityVote"


def test_without_truth_it_shows_agreement() -> None:
    votes, clusters, _ = planted_table(1, n=100)
    found = bc3e.compare(votes, clusters, methods=["SoftVote", "DawidSkene"])
    assert [score.method for score in found.scores] == ["SoftVote", "DawidSkene"]
    assert found["SoftVote"].agreement == 1.0
    assert found["DawidSkene"].accuracy is None
    assert found.n_known is None
    assert "like soft vote" in str(found)
    assert "accuracy" not in str(found)


class Broken(SoftVote):
    """Fails on every input."""

    def _consensus(self, table: Any, weights: Any) -> Any:
        raise RuntimeError("no luck today")


def test_a_failing_method_stops_nobody() -> None:
    votes, _, truth = planted_table(2, n=80)
    found = bc3e.compare(votes, None, truth, methods={"broken": Broken(), "soft": SoftVote()})
    assert found["broken"].failed
    assert "no luck today" in found["broken"].note
    assert "no luck today" in str(found)
    assert found["soft"].accuracy is not None
    without = bc3e.compare(votes, None, methods=["BayesianClusterEnsemble", "MajorityVote"])
    assert without["BayesianClusterEnsemble"].failed
    assert "clusterings only" in without["BayesianClusterEnsemble"].note
    assert not without["MajorityVote"].failed


def test_a_mapping_of_estimators_is_cloned() -> None:
    votes, clusters, truth = planted_table(3, n=120)
    mine = C3E(alpha=1.0)
    found = bc3e.compare(votes, clusters, truth, methods={"mine": mine, "theirs": C3E()})
    assert [score.method for score in found.scores][:2] == ["mine", "theirs"]
    assert found["mine"].accuracy != found["theirs"].accuracy
    assert not mine.__sklearn_is_fitted__()
    with pytest.raises(bc3e.InputTypeError, match="methods"):
        bc3e.compare(votes, clusters, methods={"soft": "SoftVote"})
    with pytest.raises(bc3e.InputError, match="unknown method 'C4E'"):
        bc3e.compare(votes, clusters, methods=["C4E"])


def test_weights_missing_truth_and_foreign_labels() -> None:
    votes, clusters, truth = planted_table(4, n=200)
    known: Any = truth.astype(object)
    known[:50] = None
    known[50:60] = 9  # a class that nobody votes for
    weights = np.random.default_rng(0).integers(0, 4, size=200)
    found = bc3e.compare(votes, clusters, known, methods=["SoftVote"], sample_weight=weights)
    right = SoftVote().fit(votes).labels_ == truth
    right[50:60] = False
    assert found["SoftVote"].accuracy == pytest.approx(np.average(right[50:], weights=weights[50:]))
    assert found.n_known == 150


def test_data_frames_with_text_labels() -> None:
    votes, clusters, truth = planted_table(5, n=150)
    names = np.array(["shirt", "shoe", "watch"])
    index = pd.Index(range(1000, 1150))
    frame = pd.DataFrame(names[votes], index=index)
    plain = bc3e.compare(votes, clusters, truth, methods=["BC3E", "LWE"])
    named = bc3e.compare(
        frame,
        pd.DataFrame(clusters, index=index),
        pd.Series(names[truth], index=index),
        methods=["BC3E", "LWE"],
    )
    for name in ("BC3E", "LWE", "C3E-Ideal", "best single classifier"):
        assert named[name].accuracy == pytest.approx(plain[name].accuracy)


def test_soft_votes_with_a_class_list_and_missing_rows() -> None:
    rng = np.random.default_rng(0)
    votes = [rng.dirichlet(np.ones(3), size=60) for _ in range(2)]
    votes[0][:5] = np.nan
    truth = np.array(["x", "y", "z"])[votes[1].argmax(axis=1)]
    found = bc3e.compare(
        votes, rng.integers(4, size=(60, 2)), truth, methods=["SoftVote"], classes=["x", "y", "z"]
    )
    assert found["best single classifier"].accuracy == 1.0
    assert found["best single classifier"].note == "classifier_1"


def test_paired_interval_is_that_of_resampled_objects() -> None:
    rng = np.random.default_rng(0)
    difference = rng.choice([-1.0, 0.0, 1.0], size=400, p=[0.1, 0.7, 0.2])
    weights = rng.integers(1, 4, size=400).astype(float)
    low, high = paired_interval(difference, weights, 4000, np.random.RandomState(0))
    means = []
    for _ in range(4000):
        rows = rng.integers(400, size=400)
        means.append(np.average(difference[rows], weights=weights[rows]))
    expected = np.quantile(means, [0.025, 0.975])
    assert [low, high] == pytest.approx(expected.tolist(), abs=0.006)
    assert low < np.average(difference, weights=weights) < high


def test_the_interval_covers_the_true_difference() -> None:
    """Nominally 95%; 300 sets of 200 objects."""
    rng = np.random.default_rng(1)
    covered = 0
    for i in range(300):
        difference = rng.choice([-1.0, 0.0, 1.0], size=200, p=[0.10, 0.75, 0.15])
        low, high = paired_interval(difference, np.ones(200), 200, np.random.RandomState(i))
        covered += low <= 0.05 <= high
    assert 0.90 <= covered / 300 <= 0.98


def test_the_seed_fixes_the_table() -> None:
    votes, clusters, truth = planted_table(6, n=150)
    names = ["BayesianClusterEnsemble", "BC3E"]
    one, two = (bc3e.compare(votes, clusters, truth, methods=names, random_state=7) for _ in range(2))
    for name in names:
        assert (one[name].accuracy, one[name].gain_low) == (two[name].accuracy, two[name].gain_low)


def test_tracing_that_was_on_stays_on() -> None:
    votes, clusters, _ = planted_table(7, n=50)
    tracemalloc.start()
    try:
        found = bc3e.compare(votes, clusters, methods=["SoftVote"])
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    assert found["SoftVote"].peak_megabytes > 0


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_senseless_bootstrap(count: Any) -> None:
    with pytest.raises(bc3e.InputError, match="n_bootstrap"):
        bc3e.compare([[0], [1]], None, n_bootstrap=count)
