"""The accuracy harness itself: cases are reproducible, varied, and never see the truth."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks is no installed package

from benchmarks.accuracy import cases, metrics, scores, study, summary
from benchmarks.accuracy.ensembles import NO_SIGNAL
from benchmarks.accuracy.registry import all_specs
from benchmarks.accuracy.specs import FAMILIES, NEED_FILES
from benchmarks.accuracy.tables import data_folder

SPECS = {spec.name: spec for spec in all_specs()}
CHEAP = [
    "moons/0.1",
    "moons/0.2-nuisance",
    "circles/0.1-spoilt",
    "classification/missing",
    "classification/misleading",
    "iris/6%-hard",
    "wine/20%-calibrated",
    "breast_cancer/missing",
    "blobs/random",
    "quantiles/gnb",
    "digits/tiny",
]
FROM_FILES = ["pima/5%-five", "gas/12-4", "newsgroups/wheels-tiny", "pricerunner/tiny", "arxiv/two-tiny"]
DEMANDED = {
    "hard",
    "single",
    "tiny",
    "calibrated",
    "many-class",
    "missing",
    "spoilt",
    "no-signal",
    "large",
}

need_data = pytest.mark.skipif(not data_folder().is_dir(), reason="BC3E_DATA is not there")
some_cases = pytest.mark.parametrize(
    "name", [*CHEAP, *(pytest.param(name, marks=need_data) for name in FROM_FILES)]
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BC3E_CACHE", str(tmp_path))


def assert_same(one, other):
    assert len(one.votes) == len(other.votes)
    for mine, theirs in zip(one.votes, other.votes, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.clusters, other.clusters)


@some_cases
def test_building_twice_gives_the_same(name):
    one, other = cases.build(SPECS[name]), cases.build(SPECS[name])
    assert_same(one, other)
    np.testing.assert_array_equal(one.truth, other.truth)


@some_cases
def test_the_cache_returns_what_was_built(name):
    built = cases.build(SPECS[name])
    for found in (cases.load(SPECS[name]), cases.load(SPECS[name])):  # stored, then read
        assert_same(built, found)
        np.testing.assert_array_equal(built.truth, found.truth)
        assert found.n_classes == built.n_classes


@some_cases
def test_votes_and_clusters_never_see_the_truth(name):
    data = cases.domains(SPECS[name])
    shuffled = dataclasses.replace(data, truth=np.random.default_rng(0).permutation(data.truth))
    assert_same(cases.assemble(SPECS[name], data), cases.assemble(SPECS[name], shuffled))


@some_cases
def test_shapes_and_ranges(name):
    case = cases.build(SPECS[name])
    rows = len(case.truth)
    assert 80 <= rows <= 10_000
    assert set(np.unique(case.truth)) <= set(range(case.n_classes))
    assert case.clusters.shape[0] == rows
    assert case.clusters.min() >= -1
    assert (case.clusters.min() == -1) == ("missing" in case.tags)
    assert all((column.ndim == 1) for column in case.votes) == ("hard" in case.tags)
    assert (len(case.votes) == 1) == ("single" in case.tags)
    for column in case.votes:
        if column.ndim == 1:
            assert set(np.unique(column)) <= set(range(-1, case.n_classes))
        else:
            assert column.shape == (rows, case.n_classes)
            present = ~np.isnan(column).any(axis=1)
            np.testing.assert_allclose(column[present].sum(axis=1), 1.0)
    some_vote = [(c >= 0) if c.ndim == 1 else ~np.isnan(c).any(axis=1) for c in case.votes]
    assert np.any(some_vote, axis=0).all()


def test_names_and_files_are_unique():
    specs = all_specs()
    assert len(SPECS) == len(specs)
    assert len({cases.cached_file(spec) for spec in specs}) == len(specs)


def test_a_changed_description_is_another_file():
    spec = SPECS["moons/0.1"]
    changed = dataclasses.replace(spec, options=(*spec.options[:-1], ("size", 999)))
    assert cases.cached_file(spec) != cases.cached_file(changed)


def test_families_are_split_whole():
    for spec in all_specs():
        assert spec.split == FAMILIES[spec.family]
    check = {family for family, split in FAMILIES.items() if split == "check"}
    development = set(FAMILIES) - check
    assert len(check) >= 5
    assert len(development) >= 5
    assert {spec.family for spec in all_specs()} == set(FAMILIES)


@pytest.mark.parametrize("split", ["development", "check"])
def test_each_split_has_every_kind(split):
    specs = [spec for spec in all_specs() if spec.split == split]
    assert len(specs) >= 60
    assert set().union(*(spec.tags for spec in specs)) >= DEMANDED
    assert {spec.recipe.plan for spec in specs} >= set(NO_SIGNAL)
    spoils = {spoil for spec in specs for spoil in spec.recipe.spoil.split()}
    assert spoils >= {"half-random", "constant", "copied", "random-copied", "missing-clusters"}
    assert spoils >= {"missing-votes"}
    silent = sum("no-signal" in spec.tags for spec in specs) / len(specs)
    assert 0.15 <= silent <= 0.2
    assert {len(spec.recipe.classifiers.split()) for spec in specs} >= {1, 2, 3, 5}
    assert {spec.recipe.count for spec in specs} >= {5, 10, 20}


def test_without_the_data_folder_the_rest_remains(tmp_path, monkeypatch):
    monkeypatch.setenv("BC3E_DATA", str(tmp_path / "nowhere"))
    with pytest.warns(UserWarning, match="BC3E_DATA"):
        found = cases.specs()
    assert found
    assert not {spec.family for spec in found} & NEED_FILES


def test_the_reserve_is_had_only_by_its_name(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 4)), rng.integers(3, size=300)
    np.savez(tmp_path / "made_up.npz", X=X + y[:, None], y=y, domain=np.arange(300) % 2)
    monkeypatch.delenv("BC3E_RESERVE", raising=False)
    assert cases.specs("reserve") == []
    monkeypatch.setenv("BC3E_RESERVE", str(tmp_path))
    found = cases.specs("reserve")
    assert {(spec.family, spec.split) for spec in found} == {("made_up", "reserve")}
    assert len({spec.name for spec in found}) == len(found) >= 4
    assert all(spec.split != "reserve" for spec in all_specs())
    for spec in found:
        case = cases.load(spec)
        assert case.n_classes == 3
        assert len(case.truth) <= 150


def test_metrics_on_a_case_by_hand():
    case = cases.Case(
        name="hand",
        family="moons",
        split="development",
        tags=frozenset(),
        votes=[np.array([0, 1, -1]), np.array([[0.5, 0.5], [0.2, 0.8], [np.nan, np.nan]])],
        clusters=np.zeros((3, 1), dtype=np.int64),
        truth=np.array([0, 0, 1]),
        n_classes=2,
    )
    votes = metrics.soft_vote(case)
    np.testing.assert_allclose(votes, [[0.75, 0.25], [0.1, 0.9], [0.5, 0.5]])
    assert metrics.accuracy(votes, case.truth) == pytest.approx(1 / 3)  # a tie goes to the first class
    assert metrics.log_loss(votes, case.truth) == pytest.approx(-np.log([0.75, 0.1, 0.5]).mean())
    gaps = [abs(0.75 - 1), abs(0.9 - 0), abs(0.5 - 0)]  # each in a bin of its own
    assert metrics.calibration_error(votes, case.truth) == pytest.approx(sum(gaps) / 3)
    certain = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert metrics.log_loss(certain, case.truth) == pytest.approx(-np.log(metrics.CLIP) / 3)


def test_scores_and_tables():
    wanted = [SPECS["iris/6%-hard"], SPECS["blobs/random"]]
    rows = scores.score_all(wanted, ["soft vote", "BC3E"], n_jobs=1)
    assert [row.error for row in rows] == [""] * 4
    soft = [row for row in rows if row.method == "soft vote"]
    assert all(row.gain == 0 and row.changed == 0 for row in soft)
    found = summary.summarize(soft)
    assert (found.cases, found.gain, found.worst, found.no_signal) == (2, 0, 0, 0)
    titles = [table.title for table in summary.tables(rows)]
    assert titles == ["check: methods", "check: soft vote by family", "check: BC3E by family"]


def test_a_method_that_fails_is_reported():
    def broken(case):
        raise ValueError("no")

    row = scores.score(cases.build(SPECS["iris/6%-hard"]), "broken", broken)
    assert row.error == "ValueError: no"
    assert np.isnan(row.gain)
    assert summary.summarize([row]).failed == 1


def test_every_part_that_the_study_changes_is_there() -> None:
    """Every variant of the study can be fitted: the parts that it changes are there."""
    case = cases.load(SPECS["moons/0.1"])
    for variant in study.parts().values():
        shares = variant(case).probabilities
        assert shares.shape == (len(case.truth), case.n_classes)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
