"""ConsensusClassifier: from trained classifiers and target features to refined predictions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from bc3e import BC3E, ClusterEnsemble, ConsensusClassifier, InputError
from bc3e.experiments.demo import drifted

X, Y = make_blobs(600, centers=3, n_features=4, cluster_std=2.5, random_state=0)
SOURCE, SOURCE_Y, TARGET, TARGET_Y = X[:300], Y[:300], X[300:] + 1.0, Y[300:]


def untrained() -> list[tuple[str, Any]]:
    return [
        ("tree", DecisionTreeClassifier(max_depth=5, random_state=0)),
        ("logit", LogisticRegression()),
    ]


def trained() -> list[tuple[str, Any]]:
    return [(name, model.fit(SOURCE, SOURCE_Y)) for name, model in untrained()]


@parametrize_with_checks([ConsensusClassifier(untrained(), random_state=0)])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    if "array_api" in str(check):
        return  # needs SCIPY_ARRAY_API, and would skip itself
    check(estimator)


@pytest.fixture(scope="module")
def digits() -> dict[str, Any]:
    images, labels = load_digits(return_X_y=True)
    source, target, y_source, truth = train_test_split(
        images, labels, test_size=0.5, stratify=labels, random_state=0
    )
    models = [
        ("forest", RandomForestClassifier(100, random_state=0).fit(source, y_source)),
        ("discriminant", LinearDiscriminantAnalysis().fit(source, y_source)),
        ("logit", LogisticRegression(C=0.01, max_iter=2000).fit(source, y_source)),
    ]
    moved = drifted(target, np.random.default_rng(0))
    return {
        "models": models,
        "source": source,
        "y": y_source,
        "target": target,
        "moved": moved,
        "truth": truth,
    }


def soft_vote(models: list[tuple[str, Any]], features: Any) -> Any:
    return np.mean([model.predict_proba(features) for _, model in models], axis=0).argmax(axis=1)


def test_adapting_gains_on_drifted_digits(digits: dict[str, Any]) -> None:
    model = ConsensusClassifier(digits["models"], random_state=0).adapt(digits["moved"])
    before = np.mean(soft_vote(digits["models"], digits["moved"]) == digits["truth"])
    after = np.mean(model.labels_ == digits["truth"])
    assert after > before + 0.1
    assert np.array_equal(model.predict(digits["moved"]), model.labels_)
    assert model.predict_proba(digits["moved"]) == pytest.approx(model.probabilities_, abs=1e-9)


def test_later_objects_agree_with_a_refit_on_the_union(digits: dict[str, Any]) -> None:
    order = np.random.default_rng(1).permutation(len(digits["target"]))
    now, later = digits["target"][order[:600]], digits["target"][order[600:]]
    model = ConsensusClassifier(digits["models"], random_state=0).adapt(now)
    union = ConsensusClassifier(digits["models"], random_state=0).adapt(np.vstack([now, later]))
    assert np.mean(model.predict(later) == union.labels_[600:]) >= 0.97


def test_fit_trains_clones_and_adapt_needs_no_training_data() -> None:
    given = untrained()
    model = ConsensusClassifier(given, random_state=0).fit(SOURCE, SOURCE_Y)
    assert not hasattr(given[0][1], "tree_")
    assert np.mean(model.predict(SOURCE) == SOURCE_Y) > 0.8  # the source is the first target
    model.adapt(TARGET)
    assert len(model.labels_) == len(TARGET)
    assert model.drift_.verdict.startswith("drift")


def test_frozen_classifiers_are_not_trained_again() -> None:
    frozen = [(name, FrozenEstimator(model)) for name, model in trained()]
    model = ConsensusClassifier(frozen, random_state=0).fit(TARGET[:50], TARGET_Y[:50])
    expected = soft_vote(trained(), TARGET)
    assert np.array_equal(np.mean(list(model._votes(TARGET).values()), axis=0).argmax(axis=1), expected)


class Rule:
    """A model that has nothing but predict."""

    def predict(self, X: Any) -> Any:
        return np.where(np.asarray(X)[:, 0] > 0, "high", "low")


class Scorer:
    """A model with probabilities but no class list."""

    def predict_proba(self, X: Any) -> Any:
        return np.tile([0.4, 0.6], (len(X), 1))


def test_any_object_that_predicts() -> None:
    model = ConsensusClassifier([Rule(), Rule()], random_state=0).adapt(TARGET)
    assert set(model.labels_) <= {"high", "low"}
    assert model.consensus_.classifier_names_ == ("rule 1", "rule 2")
    both = ConsensusClassifier({"a": Rule(), "b": Scorer()}, classes=["low", "high"], random_state=0)
    assert both.adapt(TARGET).probabilities_.shape == (300, 2)
    with pytest.raises(InputError, match="classes="):
        ConsensusClassifier({"b": Scorer()}).adapt(TARGET)


def test_one_classifier_and_a_classifier_that_knows_fewer_classes() -> None:
    assert len(ConsensusClassifier(trained()[0][1], random_state=0).adapt(TARGET).labels_) == 300
    few = LogisticRegression().fit(SOURCE[SOURCE_Y < 2], SOURCE_Y[SOURCE_Y < 2])
    model = ConsensusClassifier([*trained(), ("few", few)], random_state=0).adapt(TARGET)
    assert model.classes_.tolist() == [0, 1, 2]


def test_defaults_handle_holes() -> None:
    holed = SOURCE.copy()
    holed[::9, 1] = np.nan
    model = ConsensusClassifier(random_state=0).fit(holed, SOURCE_Y)
    target = TARGET.copy()
    target[::7, 2] = np.nan
    assert np.mean(model.adapt(target).labels_ == TARGET_Y) > 0.7


def test_classifiers_that_accept_nan() -> None:
    target = TARGET.copy()
    target[:, 1] = np.where(np.arange(300) % 5, target[:, 1], np.nan)
    boosting = HistGradientBoostingClassifier(max_iter=20).fit(SOURCE, SOURCE_Y)
    assert np.isfinite(
        ConsensusClassifier([boosting], random_state=0).adapt(target).probabilities_
    ).all()


@pytest.mark.parametrize("form", ["dense", "sparse", "pandas", "polars"])
def test_forms_of_features(form: str) -> None:
    names = list("abcd")
    make = {
        "dense": lambda Z: Z,
        "sparse": sparse.csr_matrix,
        "pandas": lambda Z: pd.DataFrame(Z, columns=names),
        "polars": lambda Z: pl.DataFrame(Z, schema=names),
    }[form]
    model = ConsensusClassifier(untrained(), random_state=0).fit(make(SOURCE), SOURCE_Y)
    plain = ConsensusClassifier(untrained(), random_state=0).fit(SOURCE, SOURCE_Y).adapt(TARGET)
    assert np.mean(model.adapt(make(TARGET)).labels_ == plain.labels_) > 0.99
    assert model.predict(make(TARGET[:5])).shape == (5,)


def test_texts() -> None:
    rng = np.random.default_rng(0)
    words = {0: ["sock", "wool", "shoe", "boot"], 1: ["phone", "screen", "cable", "disk"]}
    y = rng.integers(0, 2, 200)
    texts = [" ".join(rng.choice(words[label], 3)) for label in y]
    members = [
        make_pipeline(TfidfVectorizer(), MultinomialNB()),
        make_pipeline(TfidfVectorizer(), LogisticRegression()),
    ]
    model = ConsensusClassifier(members, random_state=0).fit(texts[:100], y[:100]).adapt(texts[100:])
    assert np.mean(model.labels_ == y[100:]) > 0.95
    assert model.predict(["wool sock"]).tolist() == [0]


def test_pipeline_cross_validation_and_search() -> None:
    model = ConsensusClassifier(
        untrained(), clusterings=ClusterEnsemble(n_clusterings=3), cross_fit=False, random_state=0
    )
    pipeline = make_pipeline(StandardScaler(), model)
    assert cross_val_score(pipeline, X, Y, cv=3).mean() > 0.7
    search = GridSearchCV(model, {"tree__max_depth": [1, 4]}, cv=2).fit(SOURCE, SOURCE_Y)
    assert search.best_params_["tree__max_depth"] in (1, 4)
    assert clone(model).get_params()["logit__C"] == 1.0


def test_same_seed_same_answer_whatever_the_threads() -> None:
    one = ConsensusClassifier(trained(), random_state=0).adapt(TARGET)
    two = ConsensusClassifier(trained(), random_state=0, n_jobs=2).adapt(TARGET)
    assert np.array_equal(one.probabilities_, two.probabilities_)


def test_parts_are_the_users_and_stay_untouched() -> None:
    clusterings, consensus = ClusterEnsemble(n_clusterings=3), BC3E(evidence_weight=0.2)
    model = ConsensusClassifier(trained(), clusterings=clusterings, consensus=consensus, random_state=0)
    model.adapt(TARGET)
    assert model.clusterings_.labels_.shape == (300, 3)
    assert model.consensus_.evidence_weights_.tolist() == [0.2] * 3
    assert clusterings.n_classes is None
    assert consensus.classes is None


def test_timings_and_summary() -> None:
    model = ConsensusClassifier(trained(), random_state=0).adapt(TARGET, reference=SOURCE)
    assert set(model.timings_) == {"votes", "clusterings", "consensus", "drift"}
    assert "Drift test" in str(model.summary())


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    ConsensusClassifier(trained(), random_state=0, verbose=True).adapt(TARGET)
    out, err = capsys.readouterr()
    assert out == ""
    assert "clusterings" in err
    assert "BC3E" in err


# -- streams -----------------------------------------------------------------------------------------


def batch(step: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(step)
    rows = rng.choice(len(X), 150, replace=False)
    return X[rows] + 0.4 * step, Y[rows]


def turned(step: int, size: int = 200) -> tuple[Any, Any]:
    """Three clouds on a circle, which turns by five degrees a step."""
    rng = np.random.default_rng(step)
    labels = rng.integers(0, 3, size)
    angle = 2 * np.pi * labels / 3 + np.deg2rad(5 * step)
    centres = 5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return centres + rng.normal(scale=1.2, size=(size, 2)), labels


def test_a_stream_is_followed() -> None:
    features, truth = turned(0)
    models = [
        ("logit", LogisticRegression().fit(features, truth)),
        ("bayes", GaussianNB().fit(features, truth)),
    ]
    forced = BC3E(evidence_weight=0.3)
    model = ConsensusClassifier(models, consensus=forced, forgetting=0.3, random_state=0)
    model.adapt(turned(0)[0])
    still = ConsensusClassifier(models, consensus=forced, random_state=0).adapt(turned(0)[0])
    followed, fixed = [], []
    for step in range(1, 12):
        features, truth = turned(step)
        model.partial_adapt(features)
        assert len(model.labels_) == 200
        followed.append(np.mean(model.labels_ == truth))
        fixed.append(np.mean(still.predict(features) == truth))
    assert np.mean(followed[6:]) > np.mean(fixed[6:]) + 0.03


def test_the_first_partial_adapt_is_an_adapt() -> None:
    one = ConsensusClassifier(trained(), random_state=0).partial_adapt(TARGET)
    two = ConsensusClassifier(trained(), random_state=0).adapt(TARGET)
    assert np.array_equal(one.probabilities_, two.probabilities_)


def test_forgetting_everything_or_nothing() -> None:
    answers = {}
    for forgetting in (0.0, 0.5, 1.0):
        model = ConsensusClassifier(
            trained(), consensus=BC3E(evidence_weight=0.3), forgetting=forgetting, random_state=0
        ).adapt(X)
        before = model.consensus_.parameters_.cluster_profiles[0].copy()
        model.partial_adapt(batch(3)[0])
        answers[forgetting] = float(
            np.abs(model.consensus_.parameters_.cluster_profiles[0] - before).sum()
        )
    assert answers[0.0] < answers[0.5] < answers[1.0]


def test_warm_start_carries_clusters_and_profiles_on() -> None:
    warm = ConsensusClassifier(trained(), warm_start=True, random_state=0).adapt(X)
    names, before = warm.clusterings_.names_, warm.clusterings_.predict(X)
    warm.adapt(X + 0.2)
    assert warm.clusterings_.names_ == names
    assert np.mean(warm.clusterings_.labels_ == before) > 0.8
    assert warm.consensus_.start_ == "stream"
    cold = ConsensusClassifier(trained(), random_state=0).adapt(X).adapt(X + 0.2)
    assert cold.consensus_.start_ == "votes"


def test_partial_fit_of_bc3e() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    votes = np.where(rng.random((400, 3)) < 0.8, y[:, None], 1 - y[:, None])
    clusters = np.where(rng.random((400, 2)) < 0.9, y[:, None], 1 - y[:, None])
    model = BC3E(evidence_weight=0.5, random_state=0).partial_fit(votes[:200], clusters[:200])
    model.partial_fit(votes[200:], clusters[200:], forgetting=0.2)
    assert len(model.labels_) == 200
    assert np.mean(model.labels_ == y[200:]) > 0.85
    assert all(np.diff(model.lower_bounds_) >= -1e-9)
    with pytest.raises(InputError, match="forgetting"):
        model.partial_fit(votes, clusters, forgetting=2)


# -- wrong use ---------------------------------------------------------------------------------------


def test_predict_before_adapt() -> None:
    for ask in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError, match="adapt"):
            getattr(ConsensusClassifier(trained()), ask)(TARGET)
    with pytest.raises(NotFittedError, match="adapt"):
        _ = ConsensusClassifier(trained()).labels_
    with pytest.raises(NotFittedError, match="remember"):
        ConsensusClassifier(trained()).check_drift(TARGET)


def test_other_number_of_features() -> None:
    with pytest.raises(InputError, match="2 features, but classifier 'tree' is expecting 4"):
        ConsensusClassifier(trained()).adapt(TARGET[:, :2])
    with pytest.raises(ValueError, match="X has 2 features, but ConsensusClassifier is expecting 4"):
        ConsensusClassifier(trained(), random_state=0).adapt(TARGET).predict(TARGET[:, :2])


def test_classifier_with_other_classes() -> None:
    other = LogisticRegression().fit(SOURCE, np.array(["a", "b", "c"])[SOURCE_Y])
    with pytest.raises(InputError, match=r"classifier 'other'.*'a'"):
        ConsensusClassifier([*trained(), ("other", other)]).adapt(TARGET)


def test_classifier_that_was_never_trained() -> None:
    with pytest.raises(NotFittedError):
        ConsensusClassifier(untrained()).adapt(TARGET)


def test_constant_features() -> None:
    with pytest.raises(InputError, match="every feature is constant"):
        ConsensusClassifier(trained()).adapt(np.ones((50, 4)))


@pytest.mark.parametrize(
    ("classifiers", "word"),
    [
        ([], "empty"),
        ([("a", LogisticRegression), ("b", LogisticRegression())], "instance"),
        ([("a", LogisticRegression()), ("a", GaussianNB())], "twice"),
        (["logit"], "predict"),
    ],
)
def test_classifiers_that_are_none(classifiers: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        ConsensusClassifier(classifiers).adapt(TARGET)


@pytest.mark.parametrize("parameters", [{"forgetting": 1.5}, {"level": -0.1}, {"level": "low"}])
def test_wrong_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(parameters))):
        ConsensusClassifier(trained(), **parameters).adapt(TARGET)


def test_decision_only_classifiers_vote_with_labels() -> None:
    ridge = RidgeClassifier().fit(SOURCE, SOURCE_Y)
    model = ConsensusClassifier([("ridge", ridge), *trained()], random_state=0).adapt(TARGET)
    assert np.mean(model.labels_ == TARGET_Y) > 0.6


def test_labels_and_objects_must_match() -> None:
    with pytest.raises(ValueError, match="299"):
        ConsensusClassifier(untrained()).fit(SOURCE, SOURCE_Y[:-1])
    with pytest.raises(InputError, match="299"):
        ConsensusClassifier(untrained()).fit(pd.DataFrame(SOURCE), SOURCE_Y[:-1])


# -- state -------------------------------------------------------------------------------------------


def test_other_classifiers_are_asked_after_set_params() -> None:
    model = ConsensusClassifier(trained(), random_state=0).adapt(TARGET)
    inverted = LogisticRegression().fit(SOURCE, 2 - SOURCE_Y)
    model.set_params(classifiers=[("inverted", inverted)]).adapt(TARGET)
    assert model.consensus_.classifier_names_ == ("inverted",)
    assert np.mean(model.labels_ == inverted.predict(TARGET)) > 0.9


def test_a_mistake_is_not_remembered() -> None:
    model = ConsensusClassifier(trained(), random_state=0)
    with pytest.raises(InputError, match="expecting 4"):
        model.adapt(TARGET[:, :3])
    model.adapt(TARGET)
    before = model.probabilities_.copy()
    with pytest.raises(InputError, match="texts"):
        model.predict(["some text"])
    assert np.array_equal(model.predict_proba(TARGET), before)


def test_a_model_travels_whole() -> None:
    model = ConsensusClassifier(trained(), random_state=0).fit(SOURCE, SOURCE_Y).adapt(TARGET)
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.predict_proba(TARGET), model.predict_proba(TARGET))
    assert back.check_drift(TARGET).p_value == model.check_drift(TARGET).p_value


def test_classifiers_as_a_mapping_can_be_cloned_and_set() -> None:
    model = ConsensusClassifier(dict(trained()), random_state=0)
    assert clone(model).set_params(level=0.1).level == 0.1
    assert len(model.adapt(TARGET).labels_) == 300


def test_clusterings_that_are_all_noise_say_nothing() -> None:
    noise = ClusterEnsemble([DBSCAN(eps=1e-9)])
    model = ConsensusClassifier(trained(), clusterings=noise, random_state=0).adapt(TARGET)
    assert model.drift_.agreement == {"dbscan 0": 0.0}
    assert np.array_equal(model.labels_, soft_vote(trained(), TARGET))


def test_texts_by_mistake_are_not_remembered_either() -> None:
    model = ConsensusClassifier(trained(), random_state=0)
    with pytest.raises(ValueError, match=r"."):
        model.adapt(["some", "texts"])
    assert len(model.adapt(TARGET).labels_) == 300
