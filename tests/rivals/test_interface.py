"""Every rival takes what BC3E takes and answers as BC3E answers."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bc3e
import bc3e.rivals
from tests.generation import planted_table, random_input
from tests.rivals.methods import RIVALS, VOTES_ONLY, columns_of, rival

BCE = "BayesianClusterEnsemble"


def check_answer(model: Any, n: int, k: int) -> None:
    probabilities = np.asarray(model.probabilities_)
    assert probabilities.shape == (n, k)
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0).all()
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    winners = np.asarray(model.classes_)[probabilities.argmax(axis=1)]
    assert np.asarray(model.labels_).tolist() == winners.tolist()


@pytest.mark.parametrize("name", RIVALS)
def test_hostile_inputs_get_proper_probabilities(name: str) -> None:
    for seed in range(36):
        data = random_input(seed)
        model = rival(name, classes=data.classes)
        n = len(columns_of(data.votes)[0])
        if name == BCE and not columns_of(data.clusters):
            with pytest.raises(bc3e.InputError, match="combines clusterings only"):
                model.fit(data.votes, data.clusters, sample_weight=data.sample_weight)
            continue
        model.fit(data.votes, data.clusters, sample_weight=data.sample_weight)
        check_answer(model, n, len(data.classes))


@pytest.mark.parametrize("name", [name for name in RIVALS if name != "BGCM, plain"])
@pytest.mark.parametrize("k", [2, 3, 7, 20])
def test_numbers_of_classes(name: str, k: int) -> None:
    votes, clusters, truth = planted_table(k, n=400, k=k, vote_noise=0.3)
    model = rival(name).fit(votes, clusters)
    check_answer(model, 400, k)
    assert np.mean(model.labels_ == truth) > (0.5 if name == BCE else 0.8)


@pytest.mark.parametrize("name", RIVALS)
def test_one_object(name: str) -> None:
    model = rival(name, classes=["x", "y"]).fit([["y", "y", None]], [[7, 7]])
    check_answer(model, 1, 2)
    if name != BCE:
        assert model.labels_.tolist() == ["y"]


@pytest.mark.parametrize("name", [name for name in RIVALS if name != BCE])
def test_without_clusterings_the_votes_decide(name: str) -> None:
    votes, _, _ = planted_table(3, n=60, k=2, vote_noise=0.3)
    same = votes[:, [0, 0, 0]]  # unanimous: nothing else can be right
    for clusters in (None, np.full((60, 2), -1)):
        model = rival(name, classes=[0, 1]).fit(same, clusters)
        assert model.labels_.tolist() == same[:, 0].tolist()


@pytest.mark.parametrize("name", [name for name in RIVALS if name.split(",")[0] in ("LWE", "C3E")])
def test_smoothing_without_clusterings_is_the_soft_vote(name: str) -> None:
    rng = np.random.default_rng(0)
    votes = [rng.dirichlet(np.ones(3), size=20) for _ in range(2)]
    model = rival(name)
    if hasattr(model, "tol"):
        model.set_params(tol=1e-14)
    model.fit(votes)
    assert np.abs(model.probabilities_ - np.mean(votes, axis=0)).max() < 1e-6


@pytest.mark.parametrize("name", RIVALS)
def test_without_classifiers(name: str) -> None:
    clusters = [[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 1]]
    model = rival(name, n_classes=2)
    if name == BCE:
        model.fit(None, clusters)
        assert model.labels_[0] == model.labels_[1] != model.labels_[4] == model.labels_[5]
        assert model.classes_.tolist() == [0, 1]
    else:
        with pytest.raises(bc3e.InputError, match="votes: no classifier"):
            model.fit(None, clusters)


@pytest.mark.parametrize("name", RIVALS)
def test_pandas_in_pandas_out(name: str) -> None:
    votes, clusters, _ = planted_table(0, n=50)
    index = pd.Index([f"row {i}" for i in range(50)])
    named = np.array(["red", "green", "blue"])[votes]
    frame = pd.DataFrame(named, index=index, columns=["a", "b", "c"])
    groups = pd.DataFrame(clusters, index=index)
    model = rival(name).fit(frame, groups)
    plain = rival(name).fit(named, clusters)
    assert isinstance(model.labels_, pd.Series)
    assert model.labels_.index.equals(index)
    assert model.probabilities_.columns.tolist() == model.classes_.tolist() == ["blue", "green", "red"]
    assert np.abs(model.probabilities_.to_numpy() - plain.probabilities_).max() < 1e-12
    assert model.classifier_names_ == ("a", "b", "c")


@pytest.mark.parametrize("name", RIVALS)
def test_polars_mappings_and_missing_labels(name: str) -> None:
    votes, clusters, _ = planted_table(1, n=50, k=2)
    holes = votes.astype(float)
    holes[::7, 1] = np.nan
    frame = pl.DataFrame({f"v{i}": pl.Series(holes[:, i], nan_to_null=True) for i in range(3)})
    from_polars = rival(name).fit(frame, pl.DataFrame(clusters))
    assert isinstance(from_polars.labels_, pl.Series)
    marked = votes.copy()
    marked[::7, 1] = -1
    from_mapping = rival(name).fit(
        {"one": marked[:, 0], "two": marked[:, 1], "three": marked[:, 2]}, list(clusters.T)
    )
    assert from_polars.probabilities_.to_numpy() == pytest.approx(from_mapping.probabilities_)


@pytest.mark.parametrize("name", RIVALS)
def test_one_hot_probabilities_are_labels(name: str) -> None:
    votes, clusters, _ = planted_table(2, n=60)
    if name == BCE:
        clusters = clusters[:, :2]
    soft_votes = [np.eye(3)[column] for column in votes.T]
    hard = rival(name).fit(list(votes.T), list(clusters.T))
    soft = rival(name).fit(soft_votes, list(clusters.T))
    assert np.abs(hard.probabilities_ - soft.probabilities_).max() < 1e-6
    if name != BCE:  # its random start draws other objects
        both = rival(name).fit(soft_votes, [np.eye(6)[column] for column in clusters.T])
        assert np.abs(hard.probabilities_ - both.probabilities_).max() < 1e-6


@pytest.mark.parametrize("name", RIVALS)
def test_scikit_learn_conventions(name: str) -> None:
    model = rival(name)
    with pytest.raises(NotFittedError):
        model.labels_  # noqa: B018
    votes, clusters, _ = planted_table(0, n=30)
    labels = model.fit_predict(votes, clusters)
    again = clone(model).fit(votes, clusters)
    assert again.get_params() == model.get_params()
    assert labels.tolist() == again.labels_.tolist()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("BGCM", {"alpha": 0.0}),
        ("BGCM", {"max_iter": 0}),
        ("BGCM", {"tol": -1.0}),
        ("C3E", {"alpha": -0.1}),
        ("C3E", {"lambda_": 0.0}),
        ("C3E", {"loss": "huber"}),
        ("C3E", {"scaling": "cluster"}),
        ("LWE", {"similarity": "cosine"}),
        ("LWE", {"delta": "half"}),
        ("DawidSkene", {"smoothing": 0.0}),
        ("DawidSkene", {"evidence_weight": -1.0}),
        (BCE, {"n_init": 0}),
        (BCE, {"smoothing": float("nan")}),
        ("SoftVote", {"n_classes": 0}),
    ],
)
def test_senseless_parameters_are_refused_by_name(name: str, parameters: dict[str, Any]) -> None:
    votes, clusters, _ = planted_table(0, n=10)
    with pytest.raises(bc3e.InputError, match=next(iter(parameters))):
        rival(name, **parameters).fit(votes, clusters)


def test_the_package_exports_every_method() -> None:
    assert set(bc3e.rivals.__all__) == {type(model).__name__ for model in RIVALS.values()}
    assert set(bc3e.rivals.__all__) <= set(dir(bc3e.rivals))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        bc3e.rivals.Nothing  # noqa: B018


@pytest.mark.parametrize("name", [name for name in RIVALS if name not in VOTES_ONLY])
def test_memory_grows_with_the_objects_and_not_with_their_pairs(name: str) -> None:
    rng = np.random.default_rng(0)
    peaks = []
    for n in (8_000, 32_000):
        votes, clusters = rng.integers(5, size=(n, 3)), rng.integers(40, size=(n, 8))
        model = rival(name)
        if hasattr(model, "max_iter"):
            model.set_params(max_iter=3)
        tracemalloc.start()
        model.fit(votes, clusters)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 6 * peaks[0]
    assert peaks[1] < 2_000 * 32_000  # 2 KB an object: a row of pairs would be 250 KB
