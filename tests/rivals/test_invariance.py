"""Rivals do not depend on how the table happens to be written down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bc3e.labels import LabelTable
from tests.generation import planted_table, random_input
from tests.rivals.methods import RIVALS, columns_of, rival

SEEDS = range(24)
# A random start may found its classes on exchangeable objects: those inputs prove nothing.
RANDOM = "BayesianClusterEnsemble"


def inputs(name: str) -> list[Any]:
    if name == RANDOM:
        tables = [planted_table(seed, n=80) for seed in range(6)]
        kind = type(random_input(0))
        return [kind("planted", votes, clusters, None, [0, 1, 2]) for votes, clusters, _ in tables]
    return [random_input(seed) for seed in SEEDS]


def fit(name: str, data: Any, votes: Any, clusters: Any, weights: Any = None) -> Any:
    return rival(name, classes=data.classes).fit(votes, clusters, sample_weight=weights)


def renumbered(column: Any, rng: np.random.Generator) -> Any:
    if column.ndim == 2:
        return column[:, rng.permutation(column.shape[1])]
    return np.where(column >= 0, rng.permutation(1000)[column], -1)


@pytest.mark.parametrize("name", RIVALS)
def test_rows_columns_and_cluster_numbers_do_not_matter(name: str) -> None:
    rng = np.random.default_rng(0)
    for data in inputs(name):
        votes, clusters = columns_of(data.votes), columns_of(data.clusters)
        base = fit(name, data, votes, clusters, data.sample_weight)
        order = rng.permutation(len(votes[0]))
        other = fit(
            name,
            data,
            [votes[i][order] for i in rng.permutation(len(votes))],
            [renumbered(clusters[i], rng)[order] for i in rng.permutation(len(clusters))],
            None if data.sample_weight is None else data.sample_weight[order],
        )
        assert np.abs(other.probabilities_ - base.probabilities_[order]).max() < 1e-7


@pytest.mark.parametrize("name", RIVALS)
def test_class_order_does_not_matter(name: str) -> None:
    for data in inputs(name):
        base = fit(name, data, data.votes, data.clusters, data.sample_weight)
        if any(column.ndim == 2 for column in columns_of(data.votes)):
            continue
        other = rival(name, classes=data.classes[::-1])
        other.fit(data.votes, data.clusters, sample_weight=data.sample_weight)
        assert np.abs(other.probabilities_[:, ::-1] - base.probabilities_).max() < 1e-7


@pytest.mark.parametrize("name", RIVALS)
def test_grouping_changes_no_result(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = inputs(name)
    grouped = [fit(name, one, one.votes, one.clusters, one.sample_weight) for one in cases]
    monkeypatch.setattr(LabelTable, "patterns", lambda self: (None, None))
    for data, before in zip(cases, grouped, strict=True):
        single = fit(name, data, data.votes, data.clusters, data.sample_weight)
        assert np.abs(before.probabilities_ - single.probabilities_).max() < 1e-7


@pytest.mark.parametrize("name", RIVALS)
def test_a_whole_weight_is_that_many_copies(name: str) -> None:
    rng = np.random.default_rng(1)
    for data in inputs(name):
        votes, clusters = columns_of(data.votes), columns_of(data.clusters)
        weights = rng.integers(1, 4, size=len(votes[0]))
        copies = np.repeat(np.arange(len(weights)), weights)
        weighted = fit(name, data, votes, clusters, weights)
        copied = fit(name, data, [v[copies] for v in votes], [c[copies] for c in clusters])
        assert np.abs(weighted.probabilities_[copies] - copied.probabilities_).max() < 1e-7


@pytest.mark.parametrize("name", RIVALS)
def test_an_object_of_weight_zero_changes_no_other(name: str) -> None:
    for data in inputs(name):
        votes, clusters = columns_of(data.votes), columns_of(data.clusters)
        if len(votes[0]) < 3:
            continue
        kept = np.arange(len(votes[0])) > 0
        rest = [column[kept] for column in clusters]
        model = rival(name, classes=data.classes)
        if name == RANDOM:
            continue  # the start sees the object's labels
        alone = model.fit([column[kept] for column in votes], rest).probabilities_
        both = fit(name, data, votes, clusters, kept.astype(float)).probabilities_
        # A label that only this object has is one more cell for Dawid-Skene to smooth.
        slack = 1e-2 if name.startswith("DawidSkene") else 1e-7
        assert np.abs(both[kept] - alone).max() < slack


def test_inputs_include_what_they_should() -> None:
    kinds = {random_input(seed).kind for seed in SEEDS}
    assert {"soft", "many missing", "wild weights", "all clusters missing"} <= kinds
