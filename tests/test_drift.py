"""The drift verdict: its level, its power, new classes, and what the report tells."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.accuracy.tables import data_folder
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bc3e import BC3E, ClusterEnsemble, ConsensusClassifier, InputError
from bc3e.drift import DRIFT, NEW_CLASS, NO_DRIFT, REMEMBERED, Scores, SourceSummary, judge
from bc3e.two_sample import two_sample_test
from benchmarks import drift as benchmark

# -- the test ----------------------------------------------------------------------------------------


def test_false_alarms_keep_the_level() -> None:
    """400 targets from the training distribution: at most 5% alarms, and not a dead test."""
    rate = benchmark.false_alarms(400)
    assert 0.02 <= rate <= 0.05


def test_drifted_targets_are_found() -> None:
    if not data_folder().is_dir():
        cases = [("generated", *_moved(seed)) for seed in range(5)]
    else:
        cases = [
            (name, data.train, data.train_labels, data.target, members)
            for name, data, members in benchmark.drifted_cases()
        ]
    missed = []
    for name, train, labels, target, members in cases:
        model = ConsensusClassifier(members, clusterings=benchmark.FEW, consensus=benchmark.PLAIN)
        if model.fit(train, labels).check_drift(target).verdict == NO_DRIFT:
            missed.append(name)
    assert missed == []


def _moved(seed: int) -> tuple[Any, Any, Any, Any]:
    X, y, target = benchmark.generated(seed)
    return X, y, target + 1.0, benchmark.small_ensemble(2)


def test_a_class_never_seen_in_training_is_named() -> None:
    """Each digit in turn is missing in training and a tenth of the target."""
    images, labels = load_digits(return_X_y=True)
    source, target, y, truth = train_test_split(
        images, labels, test_size=0.5, stratify=labels, random_state=0
    )
    named = []
    for removed in range(10):
        model = ConsensusClassifier(
            benchmark.table_ensemble(), consensus=benchmark.PLAIN, random_state=0
        )
        model.fit(source[y != removed], y[y != removed]).adapt(target)
        named.append(any(np.mean(truth[c.rows] == removed) > 0.5 for c in model.drift_.candidates))
    assert np.mean(named) >= 0.8


def test_shuffling_within_groups_keeps_the_level() -> None:
    """Groups with different scores and unequal shares of the two samples are no drift."""
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        groups = (rng.random(150) < 0.7).astype(int), (rng.random(150) < 0.3).astype(int)
        scores = [{"x": rng.normal(size=150) + 2 * group} for group in groups]
        alarms += two_sample_test(*scores, rng, groups=groups, permutations=199).p_value <= 0.05
    assert alarms <= 16


def test_constant_scores_say_nothing() -> None:
    same = {"x": np.ones(20)}
    assert two_sample_test(same, same, np.random.default_rng(0)).p_value == 1.0


def test_the_verdict_does_not_hang_on_the_seed() -> None:
    rng = np.random.default_rng(0)
    votes = [rng.dirichlet(np.ones(3), 300)]
    summary = SourceSummary.learn(votes, [0, 1, 2], ["a"])
    moved = Scores.of([rng.dirichlet([3.0, 1.0, 1.0], 300)])
    assert {judge(summary, moved, random_state=seed).verdict for seed in range(10)} == {DRIFT}


# -- the summary -------------------------------------------------------------------------------------


def two_class(seed: int, shift: float = 0.0, n: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + 1.5 * y[:, None] + shift, np.array(["no", "yes"])[y]


def members() -> list[tuple[str, Any]]:
    X, y = two_class(0)
    return [("logit", LogisticRegression().fit(X, y)), ("bayes", GaussianNB().fit(X, y))]


def test_summary_is_small_and_comes_back(tmp_path: Path) -> None:
    model = ConsensusClassifier(members(), random_state=0).remember(*two_class(1, n=5000))
    summary = model.source_summary_
    assert len(summary.scores.predicted) == REMEMBERED
    assert summary.n_objects == 5000
    summary.save(tmp_path / "summary.json")
    assert (tmp_path / "summary.json").stat().st_size < 500_000
    back = SourceSummary.load(tmp_path / "summary.json")
    fresh = ConsensusClassifier(members(), source_summary=back, random_state=0).adapt(two_class(2)[0])
    same = ConsensusClassifier(members(), random_state=0).adapt(
        two_class(2)[0], reference=two_class(1, n=5000)[0]
    )
    assert fresh.drift_.p_value == pytest.approx(same.drift_.p_value, abs=0.02)
    assert fresh.drift_.class_shares["source"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("content", ["", "{}", '{"format": "other"}', "[1, 2]"])
def test_a_file_that_is_no_summary(tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(InputError, match="save"):
        SourceSummary.load(tmp_path / "bad.json")


def test_summary_of_other_classifiers_is_refused() -> None:
    X, y = two_class(0)
    fitted = ConsensusClassifier(members(), random_state=0).fit(X, y)
    with pytest.raises(InputError, match="remember"):
        ConsensusClassifier(members(), source_summary=fitted.source_summary_).adapt(X)
    summary = ConsensusClassifier(members(), random_state=0).remember(X).source_summary_
    with pytest.raises(InputError, match="logit"):
        ConsensusClassifier(members()[:1], source_summary=summary).adapt(X)


def test_labels_of_the_reference_must_be_known() -> None:
    with pytest.raises(InputError, match="'maybe'"):
        ConsensusClassifier(members()).remember(two_class(1, n=3)[0], ["yes", "no", "maybe"])


# -- the report --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adapted() -> ConsensusClassifier:
    X, y = two_class(0)
    model = ConsensusClassifier(
        [("logit", LogisticRegression()), ("bayes", GaussianNB())],
        clusterings=ClusterEnsemble(n_clusterings=4),
        consensus=BC3E(evidence_weight=0.4),
        random_state=0,
    )
    return model.fit(X, y).adapt(two_class(3, shift=1.0)[0])


def test_report_counts_add_up(adapted: ConsensusClassifier) -> None:
    report = adapted.drift_
    assert report.verdict in (DRIFT, NEW_CLASS)
    assert report.movement.sum() == report.n_objects == 400
    assert len(report.changed) == 400 - np.trace(report.movement)
    assert len(report.changed) > 0
    for shares in report.class_shares.values():
        assert shares.sum() == pytest.approx(1.0)
    before = np.mean(list(adapted._votes(two_class(3, shift=1.0)[0]).values()), axis=0).argmax(axis=1)
    assert report.class_shares["before"] == pytest.approx(np.bincount(before, minlength=2) / 400)
    after = (adapted.labels_ == "yes").mean()
    assert report.class_shares["after"][1] == pytest.approx(after)
    assert set(report.disagreement) == {"source", "target"}
    assert list(report.agreement) == adapted.clusterings_.names_
    assert report.trust == adapted.consensus_.trust_


def test_changes_name_the_clusterings_that_asked_for_them(adapted: ConsensusClassifier) -> None:
    profiles = adapted.consensus_.parameters_.cluster_profiles
    changes = adapted.drift_.changes(limit=None)
    assert len(changes) == len(adapted.drift_.changed)
    assert all(a.confidence >= b.confidence for a, b in pairwise(changes))
    for change in changes[:20]:
        assert adapted.labels_[change.row] == change.after != change.before
        old, new = (list(adapted.classes_).index(label) for label in (change.before, change.after))
        rows = adapted._profile_rows()[change.row]
        expected = [
            name
            for name, profile, j in zip(adapted.clusterings_.names_, profiles, rows, strict=True)
            if profile[new, j] > profile[old, j]
        ]
        assert change.sided == expected
    assert any(change.sided for change in changes)


def test_report_prints_and_travels(adapted: ConsensusClassifier) -> None:
    report = adapted.drift_
    assert json.loads(json.dumps(report.to_dict()))["verdict"] == report.verdict
    text = str(report)
    assert "Drift (p = " in text
    assert "Class shares" in text
    assert "<table>" in report._repr_html_()
    assert repr(report).startswith("<DriftReport: Drift")


def test_without_a_source_there_is_no_verdict() -> None:
    model = ConsensusClassifier(members(), random_state=0).adapt(two_class(1)[0])
    assert model.drift_.verdict == "unknown"
    assert model.drift_.p_value is None
    assert "no verdict" in model.drift_.sentence()
    X, y = two_class(0)
    trained = ConsensusClassifier(members(), cross_fit=False, random_state=0).fit(X, y).adapt(X)
    assert trained.drift_.verdict == "unknown"


def test_a_move_of_features_that_no_vote_shows() -> None:
    """The classifiers use the first column only; the second one moves."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    X = np.stack([rng.normal(size=500) + 6 * y, rng.normal(size=500)], axis=1)
    model = ConsensusClassifier([LogisticRegression(C=100)], random_state=0).fit(X[:250], y[:250])
    assert model.check_drift(X[250:]).verdict == NO_DRIFT
    moved = model.check_drift(X[250:] + np.array([0.0, 2.0]))
    assert moved.verdict == DRIFT
    assert moved.by_score["features 2"] < 0.01


def test_everything_unsure_is_drift_but_no_new_class() -> None:
    rng = np.random.default_rng(0)
    summary = SourceSummary.learn([rng.dirichlet([9.0, 0.5, 0.5], 500)], [0, 1, 2], ["a"])
    scores = Scores.of([rng.dirichlet([3.0, 3.0, 3.0], 500)])
    clusters = rng.integers(0, 6, (500, 3))
    assert judge(summary, scores, clusters).verdict == DRIFT


def test_frames_with_columns_that_cannot_be_clustered_still_give_a_verdict() -> None:
    X, y = two_class(0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    only = [("logit", _Columns(LogisticRegression()).fit(frame, y))]
    model = ConsensusClassifier(only, clusterings=ClusterEnsemble(view=_Pick()), random_state=0)
    target = frame.assign(note=[f"note {i}" for i in range(len(frame))])
    model.adapt(target + {"a": 1, "b": 1, "c": 1, "note": ""}, reference=target)
    assert model.drift_.verdict == DRIFT


class _Columns:
    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> _Columns:
        self.model.fit(X[["a", "b", "c"]], y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(X[["a", "b", "c"]])


class _Pick:
    """A view of the user's own: three columns of a frame."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.transform(X)

    def transform(self, X: Any) -> Any:
        return X[["a", "b", "c"]].to_numpy()


def test_the_summary_keeps_no_feature_as_it_was() -> None:
    X, y = two_class(1)
    summary = ConsensusClassifier(members(), random_state=0).remember(X, y).source_summary_
    assert np.unique(summary.scores.features).size <= 33
    assert not np.isin(summary.scores.features, X).any()
    assert np.isin(np.round(X, 6), np.round(summary.sketch.edges, 6)).mean() < 0.2


@pytest.mark.parametrize("broken", ["stuck", "missing", "wide"])
def test_a_broken_column_that_no_vote_shows(broken: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    X = np.stack([rng.normal(size=800) + 6 * y, rng.normal(size=800)], axis=1)
    only_first = make_pipeline(FunctionTransformer(first_column), LogisticRegression())
    model = ConsensusClassifier([only_first], random_state=0).fit(X[:400], y[:400])
    target = X[400:].copy()
    target[:, 1] = {"stuck": 0.0, "missing": np.nan, "wide": 6 * target[:, 1]}[broken]
    assert model.check_drift(target).verdict == DRIFT


def first_column(X: Any) -> Any:
    return X[:, :1]


def test_a_small_level_is_not_dead() -> None:
    X, y = two_class(0)
    model = ConsensusClassifier(members(), level=0.001, random_state=0).fit(X, y)
    assert model.check_drift(X + 50.0).verdict == DRIFT


def test_more_of_a_difficult_class_is_no_new_class() -> None:
    """The source is unsure about class 2; the target has more of it, and nothing else is new."""
    rng = np.random.default_rng(0)

    def votes(labels: Any) -> Any:
        sure = np.where(labels[:, None] == np.arange(3), 30.0, 0.5)
        return rng.gamma(np.where(labels[:, None] == 2, [1.0, 1.0, 2.5], sure))

    def shares(labels: Any) -> Any:
        drawn = votes(labels)
        return drawn / drawn.sum(axis=1, keepdims=True)

    source = rng.choice(3, 1000, p=[0.45, 0.45, 0.1])
    target = rng.choice(3, 1000, p=[0.3, 0.3, 0.4])
    summary = SourceSummary.learn([shares(source)], [0, 1, 2], ["a"])
    verdict = judge(summary, Scores.of([shares(target)]), target[:, None])
    assert verdict.verdict == DRIFT
