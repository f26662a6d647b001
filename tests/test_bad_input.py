"""Bad input: an error that names the argument, the place and the remedy, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import bc3e
from bc3e import inquiry
from bc3e.labels import LabelTable
from bc3e.model import schedule

V = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 1]])
C = np.array([[0, 2], [1, 0], [0, 1], [1, 1]])
P = np.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0], [0.3, 0.7]])


def changed(table: np.ndarray, row: int, column: int, value: float) -> np.ndarray:
    other = table.astype(float)
    other[row, column] = value
    return other


class Odd:
    """An object that is not a label."""


Case = tuple[str, dict[str, Any], dict[str, Any], tuple[str, ...]]

# what is wrong | constructor | fit arguments | words that the message must contain
CASES: list[Case] = [
    ("clusters too short", {}, {"votes": V, "clusters": C[:3]}, ("clusters", "3 objects", "has 4")),
    ("votes of different lengths", {}, {"votes": [V[:, 0], V[:3, 1]], "clusters": C}, ("votes", "classifier_1", "3 objects")),
    ("probabilities too short", {}, {"votes": [P, P[:2]], "clusters": C}, ("votes", "classifier_1", "2 objects")),
    ("memberships too long", {}, {"votes": V, "clusters": [C[:, 0], np.vstack([P, P])]}, ("clusters", "clustering_1", "8 objects")),
    ("weights too short", {}, {"votes": V, "clusters": C, "sample_weight": [1, 1]}, ("sample_weight", "(2,)", "4 objects")),
    ("weights of two dimensions", {}, {"votes": V, "clusters": C, "sample_weight": np.ones((4, 1))}, ("sample_weight", "(4, 1)")),
    ("infinite weight", {}, {"votes": V, "clusters": C, "sample_weight": [1, np.inf, 1, 1]}, ("sample_weight", "row 1", "inf")),
    ("NaN weight", {}, {"votes": V, "clusters": C, "sample_weight": [1, 1, np.nan, 1]}, ("sample_weight", "row 2", "nan")),
    ("negative weight", {}, {"votes": V, "clusters": C, "sample_weight": [-1, 1, 1, 1]}, ("sample_weight", "row 0", "-1")),
    ("weights all zero", {}, {"votes": V, "clusters": C, "sample_weight": [0, 0, 0, 0]}, ("sample_weight", "zero")),
    ("weights of text", {}, {"votes": V, "clusters": C, "sample_weight": list("abcd")}, ("sample_weight", "not numbers")),
    ("negative probability", {}, {"votes": [changed(P, 1, 0, -0.1)], "clusters": C}, ("votes", "row 1", "negative")),
    ("probability above one", {}, {"votes": [changed(P, 2, 0, 1.7)], "clusters": C}, ("votes", "row 2", "sum to 1")),
    ("probabilities of sum 0.9", {}, {"votes": [changed(P, 3, 1, 0.6)], "clusters": C}, ("votes", "row 3", "sum to 1", "Divide")),
    ("probabilities of sum 0", {}, {"votes": [changed(changed(P, 0, 1, 0.0), 0, 0, 0.0)], "clusters": C}, ("votes", "row 0", "sum to 1")),
    ("probabilities NaN in part", {}, {"votes": [changed(P, 0, 0, np.nan)], "clusters": C}, ("votes", "row 0", "NaN in part")),
    ("infinite probability", {}, {"votes": [changed(P, 1, 1, np.inf)], "clusters": C}, ("votes", "row 1", "infinite")),
    ("text probabilities", {}, {"votes": [np.array([["a", "b"]] * 4)], "clusters": C}, ("votes", "classifier_0", "not numbers")),
    ("negative membership", {}, {"votes": V, "clusters": [changed(P, 1, 0, -0.1)]}, ("clusters", "row 1", "negative")),
    ("memberships of sum 2", {}, {"votes": V, "clusters": [2 * P]}, ("clusters", "row 0", "sum to 1")),
    ("memberships NaN in part", {}, {"votes": V, "clusters": [changed(P, 2, 1, np.nan)]}, ("clusters", "row 2", "NaN in part")),
    ("membership without columns", {}, {"votes": V, "clusters": [np.empty((4, 0))]}, ("clusters", "without columns")),
    ("unknown class", {"classes": [0, 2]}, {"votes": V, "clusters": C}, ("votes", "unknown class 1", "classes=")),
    ("unknown text class", {"classes": ["a"]}, {"votes": [["a"], ["b"]], "clusters": None}, ("votes", "unknown class 'b'")),
    ("class list of other type", {"classes": ["0", "1"]}, {"votes": V, "clusters": C}, ("votes", "unknown class 0")),
    ("class twice", {"classes": [0, 1, 1]}, {"votes": V, "clusters": C}, ("classes", "twice")),
    ("empty class list", {"classes": []}, {"votes": V, "clusters": C}, ("classes", "no class")),
    ("class list with None", {"classes": [0, 1, None]}, {"votes": V, "clusters": C}, ("classes", "missing")),
    ("class list is a string", {"classes": "ab"}, {"votes": V, "clusters": C}, ("classes", "list")),
    ("probabilities narrower than classes", {"classes": [0, 1, 2]}, {"votes": [P], "clusters": C}, ("votes", "2 probabilities", "3 classes")),
    ("probability widths differ", {}, {"votes": [P, np.full((4, 3), 1 / 3)], "clusters": C}, ("votes", "different widths", "[2, 3]")),
    ("labels and probabilities do not meet", {}, {"votes": [P, np.array(["a", "b", "c", "a"])], "clusters": C}, ("votes", "classes=")),
    ("probability table with other names", {"classes": ["a", "b"]}, {"votes": [pd.DataFrame(P, columns=["a", "z"])], "clusters": C}, ("votes", "'z'")),
    ("n_classes against classes", {"classes": [0, 1], "n_classes": 3}, {"votes": V, "clusters": C}, ("n_classes=3", "2")),
    ("n_classes against votes", {"n_classes": 5}, {"votes": V, "clusters": C}, ("n_classes=5", "2 classes")),
    ("no votes and no n_classes", {}, {"votes": None, "clusters": C}, ("votes", "n_classes=")),
    ("n_classes of zero", {"n_classes": 0}, {"votes": None, "clusters": C}, ("n_classes", "0")),
    ("n_classes of text", {"n_classes": "3"}, {"votes": None, "clusters": C}, ("n_classes", "'3'")),
    ("nothing at all", {}, {"votes": None, "clusters": None}, ("votes", "neither")),
    ("empty array", {}, {"votes": np.array([]), "clusters": None}, ("votes", "empty")),
    ("table without rows", {}, {"votes": np.empty((0, 3), dtype=int), "clusters": None}, ("votes", "empty")),
    ("every vote missing", {}, {"votes": np.full((4, 2), -1), "clusters": C}, ("votes", "-1")),
    ("every vote None", {}, {"votes": [[None], [None]], "clusters": None}, ("votes", "missing", "classes=")),
    ("class -1 read as missing", {}, {"votes": 2 * (V > 0) - 1, "clusters": C}, ("votes", "-1", "classes=")),
    ("three dimensions", {}, {"votes": np.zeros((4, 3, 2), dtype=int), "clusters": C}, ("votes", "3 dimensions", "list of (N, k)")),
    ("three dimensions in a list", {}, {"votes": [np.zeros((4, 3, 2))], "clusters": C}, ("votes", "3 dimensions", "classifier_0")),
    ("three dimensions of clusters", {}, {"votes": V, "clusters": np.zeros((4, 1, 1), dtype=int)}, ("clusters", "3 dimensions")),
    ("fractional labels", {}, {"votes": P, "clusters": C}, ("votes", "row 0", "0.2", "list of (N, k)")),
    ("fractional cluster labels", {}, {"votes": V, "clusters": C + 0.5}, ("clusters", "row 0", "0.5")),
    ("infinite label", {}, {"votes": changed(V, 1, 0, np.inf), "clusters": C}, ("votes", "row 1", "inf")),
    ("fraction among objects", {}, {"votes": np.array([[0.5], [None]], dtype=object), "clusters": None}, ("votes", "row 0", "0.5")),
    ("objects that are no labels", {}, {"votes": np.array([[Odd()], [Odd()]], dtype=object), "clusters": None}, ("votes", "row 0", "Odd")),
    ("lists inside an object array", {}, {"votes": [pd.Series([[1], [2]])], "clusters": None}, ("votes", "row 0", "list")),
    ("numbers and text in a column", {}, {"votes": np.array([[1], ["a"]], dtype=object), "clusters": None}, ("votes", "row 1", "number and text")),
    ("booleans and text in a column", {}, {"votes": np.array([["a"], [True]], dtype=object), "clusters": None}, ("votes", "mixed", "bool")),
    ("numbers here, text there", {}, {"votes": [np.array([0, 1]), np.array(["0", "1"])], "clusters": None}, ("votes", "'classifier_1'", "text")),
    ("dates", {}, {"votes": np.array(["2020-01-01"] * 4, dtype="datetime64[D]"), "clusters": C}, ("votes", "datetime64")),
    ("complex numbers", {}, {"votes": V.astype(complex), "clusters": C}, ("votes", "complex")),
    ("ragged rows", {}, {"votes": [[0, 1], [0]], "clusters": None}, ("votes", "different lengths")),
    ("a sparse matrix", {}, {"votes": sparse.csr_array(V), "clusters": C}, ("votes", "sparse", "dense")),
    ("a sparse matrix in a list", {}, {"votes": [V[:, 0], sparse.csr_array(P)], "clusters": C}, ("votes", "sparse")),
    ("a string", {}, {"votes": "votes.csv", "clusters": C}, ("votes", "str")),
    ("a number", {}, {"votes": V, "clusters": 7}, ("clusters", "int")),
    ("two columns of one name", {}, {"votes": [pd.Series([0, 1], name="t"), pd.Series([0, 1], name="t")]}, ("votes", "'t'")),
    ("different index", {}, {"votes": pd.DataFrame(V), "clusters": pd.DataFrame(C, index=[3, 2, 1, 0])}, ("clusters", "index", ".loc[votes.index]")),
    ("fraction in the fourth row", {}, {"votes": np.array([[0], [1], [0], [1.5]], dtype=object)}, ("votes", "row 3", "1.5")),
    ("pandas columns of one name", {}, {"votes": pd.DataFrame(V, columns=list("aab"))}, ("votes", "'a'", "own name")),
    ("struct column", {}, {"votes": pl.DataFrame({"a": [{"x": 1}, {"x": 2}]})}, ("votes", "'a'", "nested")),
    ("lazy frame", {}, {"votes": pl.DataFrame(V).lazy()}, ("votes", "lazy", ".collect()")),
    ("class list with NA", {"classes": [0, 1, pd.NA]}, {}, ("classes", "missing")),
    ("nested class list", {"classes": [[1], [2, 3]]}, {}, ("classes", "list of labels")),
    ("series in another order", {}, {"votes": [pd.Series([0, 1], name="a"), pd.Series([0, 1], index=[1, 0], name="b")]}, ("votes", "'b'", "index")),
    ("weights in another order", {}, {"votes": pd.DataFrame(V), "sample_weight": pd.Series([1, 1, 1, 1], index=[3, 2, 1, 0])}, ("sample_weight", "index")),
    ("numbers from one beside probabilities", {}, {"votes": [np.array([1, 2, 1, 2]), np.eye(3)[[0, 1, 0, 1]]]}, ("votes", "classes=")),
    ("unnamed beside unsorted names", {}, {"votes": [P, pd.DataFrame(P, columns=["b", "a"])]}, ("votes", "no names", "classes=")),
    ("weights beyond reason", {}, {"votes": V, "clusters": C, "sample_weight": [1e308] * 4}, ("sample_weight", "row 0", "1e+308")),
    ("class mean beyond reason", {"class_mean": 1e200}, {}, ("class_mean", "1e+200")),
    ("profile prior beyond reason", {"profile_prior": 1e308}, {}, ("profile_prior", "1e+308")),
    ("vote weight beyond reason", {"vote_weight": 1e300}, {}, ("vote_weight", "1e+300")),
    ("delta2 below its range", {"delta2": 1e-12}, {}, ("delta2", "1e-12", "1e-08")),
    ("start is a number", {"init": 5}, {}, ("init", "5")),
    ("seed is text", {"random_state": "x"}, {}, ("random_state", "'x'", "Generator")),
    ("unknown calibration", {"vote_calibration": "platt"}, {}, ("vote_calibration", "'platt'", "agreement")),
    ("unknown posterior", {"posterior": "full"}, {}, ("posterior", "'full'", "structured")),
    ("negative delta2", {"delta2": -1.0}, {}, ("delta2", "-1.0", "InverseGamma")),
    ("zero delta2", {"delta2": 0}, {}, ("delta2", "positive")),
    ("delta2 of text", {"delta2": "auto"}, {}, ("delta2", "'learn'")),
    ("delta2 per class", {"delta2": [1.0, 2.0]}, {}, ("delta2", "one number")),
    ("infinite class variance", {"class_variance": np.inf}, {}, ("class_variance", "inf")),
    ("class variances of other length", {"class_variance": [1, 1, 1]}, {}, ("class_variance", "3 values", "2 classes")),
    ("class means of other length", {"class_mean": [0, 0, 0]}, {}, ("class_mean", "3 values")),
    ("NaN class mean", {"class_mean": np.nan}, {}, ("class_mean", "nan")),
    ("evidence weights of other length", {"evidence_weight": [1, 1, 1]}, {}, ("evidence_weight", "3 weights", "2 clusterings")),
    ("zero evidence weight", {"evidence_weight": 0.0}, {}, ("evidence_weight", "0.0")),
    ("unknown evidence weight", {"evidence_weight": "all"}, {}, ("evidence_weight", "'all'", "auto")),
    ("negative vote weight", {"vote_weight": -3}, {}, ("vote_weight", "-3")),
    ("unknown profile prior", {"profile_prior": "flat"}, {}, ("profile_prior", "'flat'", "marginal")),
    ("negative profile prior", {"profile_prior": -1.0}, {}, ("profile_prior", "-1.0")),
    ("unknown start", {"init": "kmeans"}, {}, ("init", "'kmeans'", "diffusion")),
    ("no start", {"init": []}, {}, ("init", "[]")),
    ("no random start", {"n_init": 0}, {}, ("n_init", "0")),
    ("no iteration", {"max_iter": 0}, {}, ("max_iter", "0")),
    ("half an iteration", {"max_iter": 2.5}, {}, ("max_iter", "2.5")),
    ("negative tolerance", {"tol": -1e-3}, {}, ("tol", "-0.001")),
    ("no threads", {"n_jobs": 0}, {}, ("n_jobs", "0")),
    ("counts of another length", {}, {"votes": V, "clusters": C, "counts": [1, 2]}, ("counts", "(2,)")),
    ("counts that are words", {}, {"votes": V, "clusters": C, "counts": ["one"] * len(V)}, ("counts", "numbers")),
    ("a count of zero", {}, {"votes": V, "clusters": C, "counts": [1] * (len(V) - 1) + [0]}, ("counts", f"row {len(V) - 1}")),
    ("half an object", {}, {"votes": V, "clusters": C, "counts": [0.5] + [1] * (len(V) - 1)}, ("counts", "0.5")),
    ("more objects than can be counted", {}, {"votes": V, "clusters": C, "counts": [2**53] * len(V)}, ("counts", "objects in all")),
    ("callback is no function", {"callback": "print"}, {}, ("callback", "'print'")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_bad_input_is_refused_before_any_work(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    _, constructor, arguments, words = case

    def no_work(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was run on bad input")

    for module, name in (
        (LabelTable, "evidence"),
        (inquiry, "learn_shrinkage"),
        (inquiry, "agreement_rate"),
        (schedule, "e_step"),
    ):
        monkeypatch.setattr(module, name, no_work)
    arguments = arguments or {"votes": V, "clusters": C}
    with pytest.raises(bc3e.InputError) as caught:
        bc3e.BC3E(**constructor).fit(**arguments)
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert message.endswith("."), message
    assert caught.value.remedy, message


def test_there_are_at_least_sixty_cases() -> None:
    assert len({case[0] for case in CASES}) >= 60


NEW: list[tuple[str, Any, Any, tuple[str, ...]]] = [
    ("fewer classifiers", V[:, :2], C, ("votes", "2 columns", "fitted with 3")),
    ("more clusterings", V, np.hstack([C, C]), ("clusters", "4 columns", "fitted with 2")),
    ("a class of its own", V + 5, C, ("votes", "unknown class")),
    ("a cluster of its own", V, C + 7, ("clusters", "was not part of the fit", "missing")),
    ("wider memberships", V, [C[:, 0], np.full((4, 4), 0.25)], ("clusters", "4 memberships", "3")),
    ("columns of other names", pd.DataFrame(V, columns=list("xyz")), C, ("votes", "['x', 'y', 'z']")),
]


@pytest.mark.parametrize("case", NEW, ids=[case[0] for case in NEW])
def test_new_objects_must_fit_the_model(case: tuple[str, Any, Any, tuple[str, ...]]) -> None:
    _, votes, clusters, words = case
    model = bc3e.BC3E().fit(V, C)
    with pytest.raises(bc3e.InputError) as caught:
        model.predict_proba(votes, clusters)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: bc3e.InverseGamma(-1, 1),
        lambda: bc3e.InverseGamma("a", 1),
        lambda: bc3e.InverseGamma(1, np.inf),
        lambda: bc3e.Normal(0, 0),
    ],
)
def test_impossible_priors_are_refused(make: Any) -> None:
    with pytest.raises(bc3e.InputError, match="Pass"):
        make()


def test_names_in_a_mapping_must_be_those_of_the_fit() -> None:
    columns = dict(zip("abc", V.T, strict=True))
    model = bc3e.BC3E().fit(columns, C)
    with pytest.raises(bc3e.InputError, match="'d'"):
        model.predict({"b": V[:, 0], "c": V[:, 1], "d": V[:, 2]}, C)


def test_a_failed_fit_leaves_the_old_one_alone() -> None:
    model = bc3e.BC3E().fit(V, C)
    before = model.probabilities_.copy()
    with pytest.raises(bc3e.InputError):
        model.fit(V, C[:2])
    assert (model.probabilities_ == before).all()


def test_using_a_model_before_fit_says_so() -> None:
    for use in (
        lambda model: model.labels_,
        lambda model: model.posterior_,
        lambda model: model.parameters_,
        lambda model: model.summary(),
        lambda model: model.predict(V, C),
    ):
        with pytest.raises(ValueError, match="call fit"):
            use(bc3e.BC3E())
