"""ClusterEnsemble and the view of the features that it clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, Birch, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bc3e import ClusterEnsemble, InputError
from bc3e.ensembles import KINDS, LARGE, spread_of_clusters
from bc3e.features import FeatureView

X, Y = make_blobs(400, centers=4, n_features=5, cluster_std=0.7, random_state=0)

ONE_LABEL_EACH = "predict gives one label per clustering, (N, r2), not one per object"


def expected_failures(estimator: Any) -> dict[str, str]:
    return {
        "check_estimator_sparse_array": ONE_LABEL_EACH,
        "check_estimator_sparse_matrix": ONE_LABEL_EACH,
    }


@parametrize_with_checks(
    [ClusterEnsemble(n_clusterings=3, random_state=0)],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    if "array_api" in str(check):
        return  # needs SCIPY_ARRAY_API, and would skip itself
    check(estimator)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_finds_the_blobs_and_places_new_objects(kind: str) -> None:
    made = ClusterEnsemble(kind, n_clusterings=2, n_clusters=4, random_state=0).fit(X)
    assert made.labels_.shape == (400, 2)
    assert max(adjusted_rand_score(Y, column) for column in made.labels_.T) > 0.6
    again = made.predict(X)
    for then, now in zip(made.labels_.T, again.T, strict=True):
        assert np.mean(then == now) > 0.99
    assert np.array_equal(made.predict(X[:7]), again[:7])


@pytest.mark.parametrize(
    "clusterer", [KMeans(4, n_init=1), Birch(n_clusters=4), AgglomerativeClustering(4), DBSCAN(eps=0.6)]
)
def test_clusterers_of_the_user(clusterer: Any) -> None:
    made = ClusterEnsemble([clusterer], random_state=0).fit(X)
    assert made.labels_.shape == (400, 1)
    assert np.array_equal(made.predict(X), made.labels_)
    assert made.names_[0].startswith(type(clusterer).__name__.lower())


def test_noise_is_a_missing_label() -> None:
    far = np.vstack([X, [[90.0] * 5]])
    made = ClusterEnsemble([DBSCAN(eps=0.5)], view=StandardScaler()).fit(far)
    assert made.labels_[-1, 0] == -1
    assert made.predict([[91.0] * 5])[0, 0] == -1


def test_names_share_and_clusterers_add() -> None:
    made = ClusterEnsemble(
        ["kmeans", "subspace", DBSCAN()], n_clusterings=4, n_classes=4, random_state=0
    )
    made.fit(X)
    assert [name.split()[0] for name in made.names_] == [
        "kmeans",
        "subspace",
        "kmeans",
        "subspace",
        "dbscan",
    ]
    assert len(set(made.names_)) == 5


def test_same_seed_same_clusters_whatever_the_threads() -> None:
    one = ClusterEnsemble(random_state=3).fit_predict(X)
    two = ClusterEnsemble(random_state=3, n_jobs=2).fit_predict(X)
    other = ClusterEnsemble(random_state=4).fit_predict(X)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("n_objects", "n_classes", "count", "first", "last"),
    [
        (10_000, 5, 10, 5, 60),
        (100, 5, 10, 5, 10),
        (30, 10, 5, 3, 3),
        (8, 3, 4, 2, 2),
        (1_000, 50, 3, 50, 100),
    ],
)
def test_spread_of_clusters(n_objects: int, n_classes: int, count: int, first: int, last: int) -> None:
    sizes = spread_of_clusters(n_objects, n_classes, count)
    assert (sizes[0], sizes[-1], len(sizes)) == (first, last, count)
    assert sizes == sorted(sizes)


def test_a_large_target_goes_to_mini_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    import bc3e.ensembles as module

    original = module.MiniBatchKMeans
    monkeypatch.setattr(
        module, "MiniBatchKMeans", lambda *a, **k: made.append("mini") or original(*a, **k)
    )
    big = np.random.default_rng(0).normal(size=(LARGE + 1, 2))
    ClusterEnsemble(n_clusterings=1, n_clusters=3, random_state=0).fit(big)
    assert made == ["mini"]
    ClusterEnsemble(n_clusterings=1, n_clusters=3, random_state=0).fit(big[:1000])
    assert made == ["mini"]


def test_clusters_follow_a_stream_and_keep_their_numbers() -> None:
    made = ClusterEnsemble(n_clusterings=1, n_clusters=4, random_state=0).fit(X)
    before = made.labels_[:, 0].copy()
    for step in range(1, 25):
        now = made.follow(X + 0.5 * step, passes=3, forgetting=0.5)[:, 0]
    assert adjusted_rand_score(before, now) > 0.95
    assert np.mean(before == now) > 0.95
    fixed = ClusterEnsemble(n_clusterings=1, n_clusters=4, random_state=0).fit(X).predict(X + 12.0)[:, 0]
    assert np.mean(before == fixed) < 0.9  # without following, a move of this size mixes clusters up


def test_set_output() -> None:
    made = ClusterEnsemble(n_clusterings=2, n_classes=4, random_state=0).set_output(transform="pandas")
    table = made.fit(X).transform(X)
    assert list(table.columns) == list(made.get_feature_names_out())
    assert table.shape == (400, 2)


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    ClusterEnsemble(n_clusterings=2, random_state=0, verbose=True).fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert "clusterings" in err


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"clusterers": "kmeanz"}, "kmeans"),
        ({"clusterers": []}, "empty"),
        ({"clusterers": [3]}, "clusterers"),
        ({"n_clusterings": 0}, "n_clusterings"),
        ({"n_clusters": [3, 4]}, "n_clusters"),
        ({"n_clusters": 2.5}, "n_clusters"),
        ({"n_classes": -1}, "n_classes"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        ClusterEnsemble(**parameters).fit(X)


def test_predict_before_fit_and_other_width() -> None:
    with pytest.raises(NotFittedError, match="fit"):
        ClusterEnsemble().predict(X)
    with pytest.raises(InputError, match=r"X has 3 features, but ClusterEnsemble is expecting 5"):
        ClusterEnsemble(n_clusterings=1, random_state=0).fit(X).predict(X[:, :3])


# -- the view ----------------------------------------------------------------------------------------


def mixed_frame(n: int = 60) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    return {
        "size": [None if i % 7 == 0 else float(i % 5) for i in range(n)],
        "count": rng.integers(0, 1000, n).tolist(),
        "colour": [("red", "blue", None)[i % 3] for i in range(n)],
        "flag": [bool(i % 2) for i in range(n)],
    }


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_data_frames_with_holes_and_categories(library: Any) -> None:
    frame = library(mixed_frame())
    view = FeatureView().fit(frame)
    matrix = view.transform(frame)
    assert matrix.shape == (60, 5)  # size, count, two colours, flag
    assert np.isfinite(matrix).all()
    assert matrix.std(axis=0) == pytest.approx(np.ones(5))
    turned = frame[["flag", "colour", "count", "size"]]
    assert np.array_equal(view.transform(turned), matrix)


def test_pandas_types() -> None:
    frame = pd.DataFrame(
        {
            "int": pd.array([1, None, 3, 4], dtype="Int64"),
            "category": pd.Categorical(["a", "b", "a", None]),
            "text": pd.array(["x", "y", None, "x"], dtype="string"),
        }
    )
    assert FeatureView().fit_transform(frame).shape == (4, 5)


def test_pixels_keep_one_scale_and_other_columns_do_not() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.uniform(0, 16, (100, 20))
    pixels[:, 0] = (rng.random(100) < 0.02) * 1.0  # a margin, nearly empty
    spread = FeatureView().fit_transform(pixels).std(axis=0)
    assert spread[0] < 0.1
    units = rng.normal(size=(100, 3)) * [1.0, 50.0, 1e4]
    assert FeatureView().fit_transform(units).std(axis=0) == pytest.approx(np.ones(3))
    assert FeatureView(scale=False).fit_transform(units).std(axis=0)[0] < 1e-3


def test_many_columns_become_few() -> None:
    rng = np.random.default_rng(0)
    assert FeatureView().fit_transform(rng.normal(size=(200, 90))).shape == (200, 50)
    assert FeatureView(max_dimensions=None).fit_transform(rng.normal(size=(200, 90))).shape == (200, 90)


def test_sparse_rows_get_unit_length() -> None:
    matrix = sparse.random(300, 500, density=0.05, random_state=0, format="csr")
    view = FeatureView()
    seen = view.fit_transform(matrix)
    assert seen.shape == (300, 50)
    assert np.linalg.norm(seen, axis=1) == pytest.approx(np.ones(300))
    assert view.transform(matrix[:5]) == pytest.approx(seen[:5], abs=1e-8)


def test_texts() -> None:
    texts = ["red wool socks", "blue wool socks", "laptop bag", "leather laptop bag"] * 10
    made = ClusterEnsemble(n_clusterings=2, n_clusters=2, random_state=0).fit(texts)
    assert np.array_equal(made.labels_[:4, 0], made.labels_[4:8, 0])
    assert made.predict(["wool socks"])[0, 0] == made.labels_[0, 0]


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (np.ones((20, 3)), "every feature is constant"),
        (np.array([[1.0, np.inf], [2.0, 1.0]]), "infinite"),
        (np.empty((0, 3)), "0 sample"),
        (np.ones(5), "2D array"),
        (np.ones((2, 2, 2)), "3 dimensions"),
        (np.array([["a", "b"], ["c", "d"]], dtype=object), "not numbers"),
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "column 'when'"),
        (pd.DataFrame({"title": [f"text {i}" for i in range(40)]}), "column 'title'"),
        (pd.DataFrame({"x": [1.0, np.inf, 2.0]}), "row 1, column 'x'"),
        (sparse.csr_matrix((5, 100)), "differs from zero"),
    ],
)
def test_features_that_cannot_be_clustered(bad: Any, word: str) -> None:
    with pytest.raises(InputError, match=word):
        ClusterEnsemble(n_clusterings=1).fit(bad)


def test_frame_columns_must_be_there_later() -> None:
    frame = pd.DataFrame(mixed_frame())
    view = FeatureView().fit(frame)
    with pytest.raises(InputError, match="'colour'"):
        view.transform(frame.drop(columns="colour"))
    with pytest.raises(InputError, match="data frame"):
        view.transform(np.ones((3, 4)))
    assert np.isfinite(view.transform(frame.assign(colour="green", count=np.nan))).all()
