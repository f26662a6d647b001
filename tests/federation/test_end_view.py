"""What is left in the end tells as much as the whole run: attacks on last totals and on answers."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from bc3e import BC3E, federation
from bc3e.federation.answer_reading import Powers, answers_of, behind, vote_totals
from bc3e.federation.auditing import Audit, audit
from bc3e.federation.one_total import taken_apart
from bc3e.federation.privacy import few_clusterings
from bc3e.federation.scoring import adjusted_rand, codes
from bc3e.federation.sites import Site
from bc3e.federation.views import nodes, view
from bc3e.model.parameters import Parameters
from bc3e.selection import CAUTIOUS

COUNTED = BC3E(evidence_weight=1.0)
RUNS = 5  # benchmarks/privacy.py makes 50


def table(seed: int, n: int, r2: int = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng([seed, 2026])
    truth = rng.integers(3, size=(n, 1))
    votes = np.where(rng.random((n, 3)) < 0.6, truth, rng.integers(3, size=(n, 3)))
    clusters = np.where(rng.random((n, r2)) < 0.7, truth, rng.integers(4, size=(n, r2)))
    return (
        pd.DataFrame(votes, columns=[f"vote-{i}" for i in range(3)]),
        pd.DataFrame(clusters, columns=[f"clustering-{i}" for i in range(r2)]),
    )


def by_column(seed: int, n: int = 120, r2: int = 3) -> list[Site]:
    votes, clusters = table(seed, n, r2)
    return [Site(f"s{i}", votes=votes.iloc[:, i::3], clusters=clusters.iloc[:, i::3]) for i in range(3)]


def totals(seed: int, n: int = 120, clusterings: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, tendencies that all differ, and summed evidence."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    drawn = rng.integers(4, size=(n, clusterings))
    labels = np.where(rng.random(drawn.shape) < 0.7, truth[:, None], drawn)
    tendency = rng.normal(size=(n, 3)) + np.eye(3)[truth]
    profiles = 0.8 * rng.dirichlet(np.ones(3), size=(clusterings, 4)) + 0.05
    profiles[:, range(3), range(3)] += 0.5
    told = sum(softmax(tendency + np.log(profiles[m][labels[:, m]]), axis=1) for m in range(clusterings))
    return labels, tendency, np.asarray(told)


def test_one_total_per_object_gives_every_clustering() -> None:
    for seed in range(3):
        labels, tendency, told = totals(seed)
        found = taken_apart(tendency, told, 3, 1.0)
        assert found is not None
        assert found.explained > 0.95
        for truth in labels.T:
            assert max(adjusted_rand(codes(truth), part) for part in found.partitions) > 0.95


def test_nothing_is_explained_where_there_is_nothing_to_find() -> None:
    _, tendency, told = totals(0)
    rng = np.random.default_rng(5)
    noisy = told + rng.normal(scale=0.01, size=told.shape)
    assert taken_apart(tendency, noisy, 3, 1.0, starts=5) is None
    assert taken_apart(tendency, 3 * rng.dirichlet(np.ones(3), size=120), 3, 1.0, starts=5) is None
    assert taken_apart(tendency, np.zeros_like(told), 3, 1.0, starts=5) is None
    assert taken_apart(tendency, told, 9, 1.0) is None, "too many combinations to try"


GUARDED = pytest.mark.parametrize("guarded", [False, True])


@GUARDED
def test_answers_can_be_read_backwards(guarded: bool) -> None:
    """Votes, tendencies and evidence behind an answer are those that the auxiliary server had."""
    sites = by_column(0, 400 if guarded else 120)
    result = federation.fit(sites, model=BC3E() if guarded else COUNTED, record=True)
    assert result.evidence_weight == pytest.approx(CAUTIOUS / 3 if guarded else 1.0)
    node = next(node for node in nodes(result.plan) if node.name == "auxiliary-server:1")
    shown = view(node, result.plan.blocks[0], result.plan, node.transcript(result.transcript))
    parameters = Parameters(result.class_mean, result.class_variance, result.delta2, np.empty((0, 3)))
    powers = Powers(result.vote_exponent, result.answer_exponent, 3.0, True, guarded)
    assert shown.answer is not None
    assert shown.votes is not None
    found = behind(shown.answer, 3, 3.0 * result.evidence_weight, parameters, powers)
    assert found is not None
    last = shown.steps[-1]
    assert last.shares is not None
    assert found.read.mean() > 0.6
    assert np.allclose(found.given, shown.votes.total[found.read], atol=1e-9)
    assert np.allclose(found.tendency, last.tendency[found.read], atol=1e-8)
    assert np.allclose(found.totals, last.shares.total[found.read], atol=1e-8)
    assert behind(shown.answer, 3, 3.0, parameters, Powers(1.0, 1.0, 3.0, calibrated=False)) is None


@GUARDED
def test_answers_run_forwards_are_the_estimators(guarded: bool) -> None:
    votes, clusters = table(1, 400)
    result = federation.fit(by_column(1, 400), model=BC3E() if guarded else COUNTED, record=True)
    profiles = [
        np.log(m.arrays["profiles"])
        for site in ("s0", "s1", "s2")
        for m in [
            [m for m in result.transcript if m.kind == "profiles" and m.recipient == f"client:{site}"][
                -1
            ]
        ]
    ]
    counts = np.stack([(votes.to_numpy() == i).sum(axis=1) for i in range(3)], axis=1).astype(float)
    evidence = [profiles[m][clusters.to_numpy()[:, m]] for m in range(3)]
    parameters = Parameters(result.class_mean, result.class_variance, result.delta2, np.empty((0, 3)))
    powers = Powers(result.vote_exponent, result.answer_exponent, 3.0, True, guarded)
    weight = result.evidence_weight
    shares = counts.mean(axis=0) / 3
    told = answers_of(counts, evidence, 3 * weight, weight, parameters, powers, shares)
    assert np.allclose(told, result.for_site("s0").values, atol=1e-9)
    assert len(vote_totals(3, 3)) == 10
    assert vote_totals(60, 6).size == 0


@pytest.fixture(scope="module")
def audits() -> list[Audit]:
    found = []
    for seed in range(RUNS):
        sites = by_column(seed)
        result = federation.fit(sites, model=COUNTED, record=True)
        found.append(audit(result, sites, model=COUNTED, effort=120))
    return found


def test_masked_no_node_does_better_than_with_what_is_left_in_the_end(audits: list[Audit]) -> None:
    gains: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in audits:
        for f in one.findings:
            gains["site" if f.node.startswith("s") else f.node, f.attack].append(f.success - f.answer)
    assert len(gains) == 6
    for key, values in gains.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert np.mean(values) <= 2 * error + 1e-9, (key, np.mean(values), error)


def test_the_end_itself_shows_the_clusterings(audits: list[Audit]) -> None:
    """Which is why the gap is closed: from above. Nobody may read it as protection."""
    for role in ("s0", "auxiliary-server:1"):
        reached = [f.answer for one in audits for f in one.select(node=role, attack="clusters").findings]
        assert np.mean(reached) > 0.9


def test_without_effort_the_answer_baseline_is_lower() -> None:
    sites = by_column(0)
    result = federation.fit(sites, model=COUNTED, record=True)
    found = audit(result, sites, model=COUNTED).select(node="s0", attack="clusters")
    assert max(f.answer for f in found.findings) < 0.5


def test_missing_own_labels_and_other_settings_leave_the_attack_out() -> None:
    votes, clusters = table(0, 60)
    clusters.iloc[:5, 0] = -1
    sites = [Site(f"s{i}", votes=votes.iloc[:, i::3], clusters=clusters.iloc[:, i::3]) for i in range(3)]
    for model in (COUNTED, BC3E(evidence_weight=1.0, vote_calibration=None)):
        result = federation.fit(sites, model=model, record=True)
        assert audit(result, sites, model=model, effort=1).findings


def test_few_clusterings_are_named_before_the_run(caplog: pytest.LogCaptureFixture) -> None:
    few, many = by_column(0, 30), by_column(0, 30, r2=6)
    assert len(few_clusterings(federation.plan(few))) == 1
    assert "told apart" in str(federation.plan(few).describe())
    assert few_clusterings(federation.plan(many)) == []
    federation.fit(few, model=COUNTED)
    assert "auxiliary-server:1: the 3 clusterings of its 30 objects" in caplog.text
    caplog.clear()
    federation.fit(few, model=COUNTED, noise=federation.Noise(clusters=0.5))
    federation.fit(many, model=COUNTED)
    assert "told apart" not in caplog.text


def test_the_server_is_not_told_the_order_of_the_rows() -> None:
    """Hashes of ids arrive sorted: sites that list the same objects in any order say the same."""
    votes, clusters = table(0, 30)
    votes.index = clusters.index = pd.Index([f"object-{i}" for i in range(30)])
    sent = []
    for order in (np.arange(30), np.random.default_rng(0).permutation(30)):
        sites = [
            Site(f"s{i}", votes=votes.iloc[order, [i]], clusters=clusters.iloc[order, [i]])
            for i in range(3)
        ]
        result = federation.fit(sites, model=COUNTED, record=True, id_key=b"k" * 32)
        ids = [m.arrays["ids"] for m in result.transcript if m.kind == "holdings"]
        for told in ids:
            listed = [row.tobytes() for row in told]
            assert listed == sorted(listed)
        sent.append(result.for_site("s0").probabilities.sort_index())
    assert np.allclose(sent[0], sent[1], atol=1e-9)
