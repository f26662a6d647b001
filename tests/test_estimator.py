"""What a user of BC3E sees: forms of input, results, persistence, progress."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, adjusted_rand_score

import bc3e
from bc3e.labels import LabelTable
from tests.generation import HOSTILE, planted_table, random_input


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any, Any]:
    return planted_table(0)


def test_clusterings_that_know_the_class_raise_accuracy(table: Any) -> None:
    votes, clusters, truth = table
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    majority = bc3e.BC3E().fit(votes)
    assert accuracy_score(truth, model.labels_) >= accuracy_score(truth, majority.labels_) + 0.1
    assert model.trust_ > 0.05
    assert (model.clusterer_trust_ > 0).all()
    assert model.delta2_ == model.parameters_.delta2


def test_random_clusterings_leave_the_votes_alone(table: Any) -> None:
    votes, clusters, _ = table
    shuffled = np.random.default_rng(0).permuted(clusters, axis=0)
    model, majority = bc3e.BC3E().fit(votes, shuffled), bc3e.BC3E().fit(votes)
    decided = np.array([len(set(row)) < 3 for row in votes])  # three votes for three classes tie
    assert (model.labels_ == majority.labels_)[decided].all()
    assert np.abs(model.probabilities_ - majority.probabilities_).max() < 0.05
    assert model.trust_ < 0.01


FORMS = {
    "integers": lambda votes: votes,
    "lists of rows": lambda votes: votes.tolist(),
    "floats": lambda votes: votes.astype(float),
    "unsigned": lambda votes: votes.astype(np.uint8),
    "columns": lambda votes: list(votes.T),
    "mapping": lambda votes: {f"classifier_{i}": column for i, column in enumerate(votes.T)},
    "one-hot": lambda votes: [np.eye(3)[column] for column in votes.T],
    "one-hot float32": lambda votes: [np.eye(3, dtype=np.float32)[column] for column in votes.T],
    "mix": lambda votes: [votes[:, 0], np.eye(3)[votes[:, 1]], votes[:, 2]],
    "pandas": lambda votes: pd.DataFrame(votes).add_prefix("classifier_"),
    "pandas nullable": lambda votes: pd.DataFrame(votes).add_prefix("c").astype("Int64"),
    "polars": lambda votes: pl.DataFrame(votes),
    "pyarrow": lambda votes: pa.table({f"c{i}": column for i, column in enumerate(votes.T)}),
    "objects": lambda votes: votes.astype(object),
    "masked": lambda votes: np.ma.masked_array(votes, mask=np.zeros_like(votes, dtype=bool)),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_votes_gives_the_same_answer(form: str, table: Any) -> None:
    votes, clusters, _ = table
    expected = bc3e.BC3E(max_iter=3).fit(votes, clusters).probabilities_
    model = bc3e.BC3E(max_iter=3).fit(FORMS[form](votes), clusters)
    assert np.abs(np.asarray(model.probabilities_) - expected).max() <= 1e-10


def test_every_form_of_clusters_gives_the_same_answer(table: Any) -> None:
    votes, clusters, _ = table
    expected = bc3e.BC3E(max_iter=3).fit(votes, clusters).probabilities_
    names = np.array(["red", "blue", "green", "black", "white", "grey"])
    for form in (
        clusters.astype(float),
        clusters * 1000 - 77,
        names[clusters],
        pl.DataFrame(clusters),
        [np.eye(6)[column] for column in clusters.T],
        [clusters[:, 0], np.eye(6, dtype=np.float32)[clusters[:, 1]], *clusters.T[2:]],
    ):
        model = bc3e.BC3E(max_iter=3).fit(votes, form)
        assert np.abs(np.asarray(model.probabilities_) - expected).max() <= 1e-10


GAPS = {
    "minus one": lambda votes, gap: np.where(gap, -1, votes),
    "NaN": lambda votes, gap: np.where(gap, np.nan, votes),
    "None": lambda votes, gap: np.where(gap, None, votes.astype(object)),
    "pandas NA": lambda votes, gap: pd.DataFrame(votes).astype("Int64").mask(gap),
    "pandas text": lambda votes, gap: pd.DataFrame(np.array(["a", "b", "c"])[votes]).mask(gap),
    "categorical": lambda votes, gap: pd.DataFrame(np.array(["a", "b", "c"])[votes]).mask(gap).astype("category"),
    "polars null": lambda votes, gap: pl.DataFrame(np.where(gap, -1, votes)).with_columns(pl.all().replace(-1, None)),
    "polars NaN": lambda votes, gap: pl.DataFrame(np.where(gap, np.nan, votes)),
    "masked": lambda votes, gap: np.ma.masked_array(votes, mask=gap),
    "NaN rows": lambda votes, gap: [np.where(g[:, None], np.nan, np.eye(3)[v]) for v, g in zip(votes.T, gap.T, strict=True)],
}  # fmt: skip


@pytest.mark.parametrize("form", GAPS)
def test_every_form_of_a_gap_is_missing(form: str, table: Any) -> None:
    votes, clusters, _ = table
    gap = np.random.default_rng(1).random(votes.shape) < 0.3
    expected = bc3e.BC3E(max_iter=3).fit(np.where(gap, -1, votes), clusters)
    found = bc3e.BC3E(max_iter=3).fit(GAPS[form](votes, gap), clusters)
    assert len(found.classes_) == 3
    assert np.abs(np.asarray(found.probabilities_) - expected.probabilities_).max() <= 1e-10


def test_labels_come_back_in_the_users_own_type() -> None:
    clusters = [[0], [1], [0]]
    for column, kind in (
        ([True, False, True], np.bool_),
        (["x", "y", "x"], str),
        ([7, 3, 7], np.integer),
    ):
        model = bc3e.BC3E().fit([[value] for value in column], clusters)
        assert isinstance(model.labels_[0], kind)
        assert model.labels_.tolist() == column


def test_class_minus_one_can_be_asked_for() -> None:
    model = bc3e.BC3E(classes=[-1, 1]).fit([[-1, -1], [1, 1]])
    assert model.labels_.tolist() == [-1, 1]


def test_a_class_nobody_voted_for_is_legal_and_order_is_kept() -> None:
    model = bc3e.BC3E(classes=["z", "unseen", "a"]).fit([["a", "a"], ["z", "z"]], [[0], [1]])
    assert model.classes_.tolist() == ["z", "unseen", "a"]
    assert model.labels_.tolist() == ["a", "z"]
    assert model.probabilities_.shape == (2, 3)


def test_index_and_column_names_come_back() -> None:
    votes = pd.DataFrame({"tree": ["a", "b"], "logit": ["a", None]}, index=["p1", "p2"])
    clusters = pd.DataFrame({"k5": [0, 1]}, index=["p1", "p2"])
    model = bc3e.BC3E().fit(votes, clusters)
    assert model.probabilities_.index.tolist() == ["p1", "p2"]
    assert model.probabilities_.columns.tolist() == ["a", "b"]
    assert model.labels_.to_dict() == {"p1": "a", "p2": "b"}
    assert model.classifier_names_ == ("tree", "logit")
    assert model.clusterer_names_ == ("k5",)
    later = model.predict_proba(votes[["logit", "tree"]].set_axis(["q1", "q2"]), clusters.to_numpy())
    assert later.index.tolist() == ["q1", "q2"]
    assert np.allclose(later, model.probabilities_)
    assert isinstance(bc3e.BC3E().fit(pl.from_pandas(votes), None).probabilities_, pl.DataFrame)
    assert isinstance(bc3e.BC3E().fit(pa.table({"t": [0, 1]}), None).probabilities_, pa.Table)


def test_probability_tables_name_their_classes() -> None:
    one = pd.DataFrame({"cat": [0.9, 0.2], "dog": [0.1, 0.8]})
    two = one[["dog", "cat"]]  # other order, same meaning
    model = bc3e.BC3E().fit([one, two])
    assert model.classes_.tolist() == ["cat", "dog"]
    assert model.labels_.tolist() == ["cat", "dog"]


@pytest.mark.parametrize("k", [2, 3, 20, 100])
def test_any_number_of_classes(k: int) -> None:
    votes, clusters, truth = planted_table(k, n=40 * k, k=k)
    model = bc3e.BC3E().fit(votes, clusters)
    assert model.probabilities_.shape == (40 * k, k)
    assert accuracy_score(truth, model.labels_) >= accuracy_score(truth, bc3e.BC3E().fit(votes).labels_)


def test_sparse_tables_of_every_kind() -> None:
    assert bc3e.BC3E().fit([[1, 0]]).labels_.tolist() == [0]  # one object, a tie
    assert bc3e.BC3E().fit(["a", "b", "a"]).labels_.tolist() == ["a", "b", "a"]  # one vote each
    model = bc3e.BC3E().fit([["a"], [None], ["b"], [None]], [[0], [0], [1], [None]])
    assert model.labels_.tolist()[:3] == ["a", "a", "b"]  # the company decides for the second
    assert np.allclose(model.probabilities_[3], 0.5, atol=0.1)  # nothing known of the fourth
    assert bc3e.BC3E().fit([[0], [1]], np.empty((2, 0))).trust_ == 0.0


def test_without_votes_it_is_a_cluster_ensemble() -> None:
    _, clusters, truth = planted_table(5, k=3, r2=8)
    model = bc3e.BC3E(n_classes=3, random_state=0).fit(None, clusters)
    assert adjusted_rand_score(truth, model.labels_) > 0.8
    assert model.trust_ == 1.0
    assert model.start_.startswith("random")


def test_as_published_is_the_paper_and_can_be_overridden() -> None:
    model = bc3e.BC3E.as_published(max_iter=7)
    assert model.posterior == "factorized"
    assert model.delta2 == model.class_mean == model.class_variance == "learn"
    assert model.profile_prior is None
    assert model.vote_weight is None
    assert model.evidence_weight == 1.0
    assert model.max_iter == 7


@pytest.mark.parametrize("seed", range(2 * len(HOSTILE)))
@pytest.mark.parametrize("make", [bc3e.BC3E, bc3e.BC3E.as_published])
def test_prediction_of_the_same_input_is_the_fit(make: Any, seed: int) -> None:
    data = random_input(seed)
    model = make(classes=data.classes, max_iter=5).fit(data.votes, data.clusters)
    assert np.array_equal(model.predict_proba(data.votes, data.clusters), model.probabilities_)
    assert np.array_equal(model.predict(data.votes, data.clusters), model.labels_)


def test_prediction_does_not_refit(table: Any) -> None:
    votes, clusters, truth = table
    model = bc3e.BC3E().fit(votes[:300], clusters[:300])
    before = pickle.dumps(model)
    later = model.predict(votes[300:], clusters[300:])
    assert pickle.dumps(model) == before
    assert accuracy_score(truth[300:], later) > accuracy_score(
        truth[300:], bc3e.BC3E().fit_predict(votes[300:])
    )


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, lambda rows: pa.table(pd.DataFrame(rows).add_prefix("c"))]
)
def test_models_of_data_frames_are_pickled_without_rows(frame: Any, table: Any) -> None:
    votes, clusters, _ = table
    model = bc3e.BC3E().fit(frame(votes), frame(clusters))
    again = pickle.loads(pickle.dumps(model))
    assert type(again.probabilities_) is type(model.probabilities_)
    assert np.array_equal(np.asarray(again.probabilities_), np.asarray(model.probabilities_))
    assert all(len(column) == 0 for column in model._shell.votes)


def test_what_was_fitted_does_not_change_afterwards(table: Any) -> None:
    votes, clusters, _ = table
    weights = np.full(4, 0.5)
    soft = [np.eye(3)[column] * 0.7 + 0.1 for column in votes.T]
    model = bc3e.BC3E(evidence_weight=weights).fit(soft, clusters)
    before = model.predict_proba(soft, clusters)
    weights[:] = 9.0
    model.probabilities_[:] = 0.0
    model.posterior_.y_mean[:] = 0.0
    model.set_params(posterior="factorized", vote_weight=1.0)
    assert np.array_equal(model.predict_proba(soft, clusters), before)
    assert np.array_equal(model.probabilities_, before)
    assert model.posterior_.covariance.any()


def test_names_of_membership_columns_are_followed(table: Any) -> None:
    votes, clusters, _ = table
    tables = [pd.DataFrame(np.eye(6)[column], columns=list("abcdef")) for column in clusters.T]
    model = bc3e.BC3E().fit(votes, tables)
    turned = [one[list("fedcba")] for one in tables]
    assert np.array_equal(model.predict_proba(votes, turned), model.probabilities_)


def test_lists_of_arrow_arrays_are_columns(table: Any) -> None:
    votes, clusters, _ = table
    arrays = [pa.array(column) for column in votes.T]
    assert np.array_equal(
        bc3e.BC3E().fit(arrays, clusters).probabilities_, bc3e.BC3E().fit(votes, clusters).probabilities_
    )


def test_a_lone_series_keeps_its_index() -> None:
    model = bc3e.BC3E().fit(pd.Series(["a", "b"], index=["p", "q"]))
    assert model.labels_.to_dict() == {"p": "a", "q": "b"}


def test_hash_ids_may_name_clusters() -> None:
    huge = np.array([[2**63 + 5], [2**63 + 5], [7], [7]], dtype=np.uint64)
    model = bc3e.BC3E().fit([[0], [0], [1], [1]], huge)
    assert [profile.shape for profile in model.parameters_.cluster_profiles] == [(2, 2)]


def test_a_long_list_of_rows_is_read_fast() -> None:
    rows = np.random.default_rng(0).integers(3, size=(50_000, 3)).tolist()
    begin = time.perf_counter()
    LabelTable.read(rows, None)
    assert time.perf_counter() - begin < 2.0


def test_numpy_generators_are_seeds_too(table: Any) -> None:
    _, clusters, _ = table
    model = bc3e.BC3E(n_classes=3, random_state=np.random.default_rng(0)).fit(None, clusters)
    assert model.labels_.shape == (400,)


def test_every_vote_missing_with_n_classes_is_a_cluster_ensemble(table: Any) -> None:
    _, clusters, truth = table
    silent = np.full((400, 2), None)
    model = bc3e.BC3E(n_classes=3, random_state=0).fit(silent, clusters)
    assert adjusted_rand_score(truth, model.labels_) > 0.5
    assert "no votes" not in str(model.summary())


def test_pickle_clone_and_parameters(table: Any) -> None:
    votes, clusters, _ = table
    model = bc3e.BC3E(delta2=bc3e.InverseGamma(2.0, 1.0), max_iter=4).fit(votes, clusters)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.probabilities_, model.probabilities_)
    assert np.array_equal(again.predict_proba(votes, clusters), model.probabilities_)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(ValueError, match="call fit"):
        fresh.labels_  # noqa: B018
    assert np.array_equal(fresh.fit(votes, clusters).probabilities_, model.probabilities_)


def test_posterior_and_parameters_have_their_shapes(table: Any) -> None:
    votes, clusters, _ = table
    model = bc3e.BC3E().fit(votes, clusters)
    posterior, parameters = model.posterior_, model.parameters_
    for part in vars(posterior).values():
        assert part.shape == (400, 3)
    assert (posterior.y_var > 0).all()
    assert (posterior.theta_var > 0).all()
    assert (posterior.covariance**2 < posterior.y_var * posterior.theta_var).all()
    plain = bc3e.BC3E(vote_calibration=None).fit(votes, clusters)
    tendency = np.exp(plain.posterior_.y_mean)
    assert np.allclose(tendency / tendency.sum(axis=1, keepdims=True), plain.probabilities_)
    assert (posterior.y_mean.argmax(axis=1) == model.probabilities_.argmax(axis=1)).all()
    assert [profile.shape for profile in parameters.cluster_profiles] == [(3, 6)] * 4
    for profile in parameters.cluster_profiles:
        assert np.allclose(profile.sum(axis=1), 1.0)
    flat = bc3e.BC3E(posterior="factorized").fit(votes, clusters).posterior_
    assert not flat.covariance.any()


def test_priors_pull_what_is_learned(table: Any) -> None:
    votes, clusters, _ = table
    free = bc3e.BC3E(delta2="learn", max_iter=30).fit(votes, clusters).delta2_
    held = bc3e.BC3E(delta2=bc3e.InverseGamma(1e6, 5e6), max_iter=30).fit(votes, clusters).delta2_
    assert abs(held - 5.0) < 0.1 < abs(free - 5.0)
    pulled = bc3e.BC3E(class_mean=bc3e.Normal(0.0, 1e-8)).fit(votes, clusters)
    assert np.abs(pulled.parameters_.class_mean).max() < 1e-3
    given = bc3e.BC3E(class_mean=[1.0, 0.0, -1.0], class_variance=[0.5, 1.0, 2.0]).fit(votes, clusters)
    assert given.parameters_.class_mean.tolist() == [1.0, 0.0, -1.0]
    assert given.parameters_.class_variance.tolist() == [0.5, 1.0, 2.0]


def test_evidence_weights_turn_a_clustering_down(table: Any) -> None:
    votes, clusters, _ = table
    model = bc3e.BC3E(evidence_weight=[1.0, 1.0, 1.0, 1e-6]).fit(votes, clusters)
    without = bc3e.BC3E(evidence_weight=[1.0, 1.0, 1.0]).fit(votes, clusters[:, :3])
    assert model.clusterer_trust_[3] < 1e-4
    assert np.abs(model.probabilities_ - without.probabilities_).max() < 1e-3


def test_the_best_start_is_kept_by_its_bound(table: Any) -> None:
    votes, clusters, _ = table
    options: dict[str, Any] = {"max_iter": 40, "delta2": 0.1, "profile_prior": None, "random_state": 0}
    each = {
        start: bc3e.BC3E(init=start, n_init=1, **options).fit(votes, clusters)
        for start in ("votes", "diffusion", "random")
    }
    every = bc3e.BC3E(init=["votes", "diffusion", "random"], n_init=1, **options).fit(votes, clusters)
    highest = max(model.lower_bound_ for model in each.values())
    assert every.lower_bound_ == pytest.approx(highest, rel=1e-6)
    assert every.start_.split()[0] in each


def test_callback_sees_each_iteration_and_can_stop(table: Any) -> None:
    votes, clusters, _ = table
    seen: list[bc3e.Progress] = []

    def watch(progress: bc3e.Progress) -> bool:
        seen.append(progress)
        return progress.iteration == 3

    model = bc3e.BC3E(callback=watch, tol=0.0, max_iter=9, init=["votes", "diffusion"]).fit(
        votes, clusters
    )
    assert [step.iteration for step in seen] == [1, 2, 3]
    assert [step.lower_bound for step in seen] == model.lower_bounds_.tolist()
    assert model.n_iter_ == 3
    assert not model.converged_


def test_convergence_is_told(table: Any) -> None:
    votes, clusters, _ = table
    model = bc3e.BC3E(max_iter=500, tol=1e-5).fit(votes, clusters)
    assert model.converged_
    assert model.n_iter_ == len(model.lower_bounds_) < 500


def test_progress_goes_to_stderr(table: Any, capsys: pytest.CaptureFixture[str]) -> None:
    votes, clusters, _ = table
    bc3e.BC3E(verbose=True).fit(votes, clusters)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "delta2" in shown.err
    assert "bound" in shown.err
    bc3e.BC3E().fit(votes, clusters)
    assert capsys.readouterr().err == ""


def test_summary_reads_well_and_escapes(table: Any) -> None:
    votes, clusters, _ = table
    names = np.array(["<b>x</b>", "y [z]", "plain"])
    model = bc3e.BC3E().fit(names[votes], clusters)
    text, page = str(model.summary()), model.summary()._repr_html_()
    assert "trust in the clusterings" in text
    assert "y [z]" in text
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x" not in page
    assert model._repr_mimebundle_()["text/plain"] == text
    assert "sk-" in bc3e.BC3E()._repr_mimebundle_()["text/html"]  # not fitted: scikit-learn's view


def test_moons_need_the_diffused_start() -> None:
    """Votes alone start the EM in the wrong valley on half-moons; diffusion does not."""
    from sklearn.cluster import KMeans
    from sklearn.datasets import make_moons
    from sklearn.linear_model import LogisticRegression

    x, truth = make_moons(600, noise=0.05, random_state=0)
    chosen = np.r_[np.flatnonzero(truth == 0)[:8], np.flatnonzero(truth == 1)[:8]]
    votes = [LogisticRegression().fit(x[chosen], truth[chosen]).predict_proba(x)]
    clusters = np.stack(
        [KMeans(k, n_init=2, random_state=k).fit_predict(x) for k in (8, 10, 12, 14, 16, 18, 20)], axis=1
    )
    options: dict[str, Any] = {
        "delta2": 0.1,
        "profile_prior": None,
        "evidence_weight": 1.0,
        "max_iter": 30,
    }
    plain = bc3e.BC3E(init="votes", **options).fit(votes, clusters)
    diffused = bc3e.BC3E(init="diffusion", **options).fit(votes, clusters)
    assert accuracy_score(truth, diffused.labels_) >= 0.97
    assert accuracy_score(truth, diffused.labels_) > accuracy_score(truth, plain.labels_)
