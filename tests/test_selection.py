"""The default leaves votes alone where clusterings say nothing, and gains where they know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bc3e
from bc3e import selection
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.calibration import CERTAIN, EXPONENTS, exponent_for, tempered
from bc3e.selection import agreement_rate, choose_total, independent_witnesses, winners
from tests.generation import planted_table


def shuffled(clusters: Any, seed: int) -> Any:
    return np.random.default_rng(seed).permuted(clusters, axis=0)


@pytest.mark.parametrize("seed", range(20))
def test_random_clusterings_leave_every_label_alone(seed: int) -> None:
    """Ties included: a classifier ensemble of hard votes has many."""
    votes, clusters, _ = planted_table(seed, n=300, k=4, r1=3, r2=6)
    model = bc3e.BC3E(classes=range(4), random_state=0).fit(votes, shuffled(clusters, seed))
    table = LabelTable.read(votes, None, classes=range(4))
    assert np.mean(model.labels_ == table.soft_vote().argmax(axis=1)) >= 0.997
    assert model.trust_ < 0.1


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("r1", [3, 6])
def test_clusterings_that_know_are_heard(k: int, r1: int) -> None:
    hard, clusters, truth = planted_table(k + r1, n=1500, k=k, r1=r1, r2=5, vote_noise=0.6)
    votes = [0.6 * np.eye(k)[column] + 0.4 / k for column in hard.T]
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    soft = LabelTable.read(votes, None).soft_vote().argmax(axis=1)
    assert np.mean(model.labels_ == truth) >= np.mean(soft == truth) + 0.03
    assert (model.evidence_weights_ > 0).all()
    assert model.trust_ > 0.02


def test_one_bad_clustering_among_good_ones_is_ignored() -> None:
    votes, clusters, _ = planted_table(3, n=1000)
    clusters[:, 2] = shuffled(clusters[:, [2]], 0)[:, 0]
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert model.evidence_weights_[2] == 0.0
    assert model.clusterer_trust_[2] == 0.0
    assert (model.evidence_weights_[[0, 1, 3]] > 0).all()


def test_a_copied_clustering_adds_nothing() -> None:
    votes, clusters, _ = planted_table(4, n=1000)
    once = bc3e.BC3E(random_state=0).fit(votes, clusters)
    copied = bc3e.BC3E(random_state=0).fit(votes, np.repeat(clusters, 5, axis=1))
    assert copied.evidence_weights_.sum() == pytest.approx(once.evidence_weights_.sum())
    assert np.abs(copied.probabilities_ - once.probabilities_).max() < 1e-8


def test_a_single_classifier_is_refined_with_caution() -> None:
    votes, clusters, _ = planted_table(5, n=1000)
    model = bc3e.BC3E(random_state=0).fit(votes[:, [0]], clusters)
    assert model.evidence_weights_.sum() == pytest.approx(selection.UNADVISED)
    assert model.vote_exponent_ == 1.0


def test_the_choice_on_a_sample_is_that_on_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, clusters, _ = planted_table(6, n=4000, vote_noise=0.6)
    whole = bc3e.BC3E(random_state=0).fit(votes, clusters)
    monkeypatch.setattr(selection, "SAMPLE", 800)
    sampled = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert np.array_equal(sampled.evidence_weights_, whole.evidence_weights_)
    assert np.array_equal(sampled.probabilities_, whole.probabilities_)


def test_the_total_that_hidden_classifiers_side_with_is_chosen() -> None:
    """Five classifiers, of which the last three say class 1 about the first forty objects."""
    table = LabelTable.read(np.array([[0, 0, 1, 1, 1]] * 40 + [[0, 0, 0, 0, 0]] * 60), None)

    def moved_to(label: int, total: float) -> Any:
        def refine(others: LabelTable, weights: Any, asked: float) -> Any:
            old = others.soft_vote().argmax(axis=1)
            return old, np.where(np.arange(100) < 40, label, old) if asked == total else old

        return refine

    assert choose_total(table, None, moved_to(1, 1.0), seed=0) == 1.0
    assert choose_total(table, None, moved_to(1, 3.0), seed=0) == 3.0
    # All to class 0 is what only a minority of the hidden classifiers says.
    silent = LabelTable.read(np.array([[0, 1, 1, 1, 1]] * 40 + [[0, 0, 0, 0, 0]] * 60), None)
    assert choose_total(silent, None, moved_to(0, 1.0), seed=0) == 0.0


def test_agreement_rate_counts_pairs_that_both_voted() -> None:
    table = LabelTable.read(np.array([[0, 0, -1], [0, 1, 1], [1, 1, 1]]), None)
    assert agreement_rate(table, None) == pytest.approx((1 + 1 + 3) / 7)
    assert agreement_rate(table, np.array([0.0, 0.0, 2.0])) == 1.0
    assert agreement_rate(LabelTable.read(np.array([[0], [1]]), None), None) is None


def test_winners_of_probabilities_and_labels() -> None:
    soft = np.array([[0.2, 0.8], [np.nan, np.nan], [0.6, 0.4]])
    table = LabelTable.read([soft, np.array([0, 1, -1])], None)
    assert winners(table).tolist() == [[1, 0], [-1, 1], [0, -1]]


def test_the_most_independent_witnesses_are_asked() -> None:
    rng = np.random.default_rng(0)
    common = rng.integers(3, size=500)
    alike = np.stack([common] * 4, axis=1)
    lone = rng.integers(3, size=(500, 3))
    assert independent_witnesses(np.hstack([alike, lone]))[-3:] == [4, 5, 6]


@pytest.mark.parametrize("confidence", [0.45, 0.6, 0.8])
def test_tempered_votes_are_as_confident_as_asked(confidence: float) -> None:
    rng = np.random.default_rng(0)
    votes = 3.0 * rng.dirichlet(np.ones(4), size=200)
    weights = rng.uniform(0.5, 2.0, 200)
    exponent = exponent_for(votes, weights, confidence)
    changed = tempered(votes, exponent)
    assert np.average(soft_vote(changed).max(axis=1), weights=weights) == pytest.approx(confidence)
    assert np.allclose(changed.sum(axis=1), 3.0)
    assert (np.argsort(changed, axis=1) == np.argsort(votes, axis=1)).all()


def test_tempering_has_its_limits() -> None:
    votes = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert exponent_for(votes, np.ones(3), 0.5) == EXPONENTS[0]
    assert exponent_for(np.full((3, 2), 0.5), np.ones(3), 0.9) == EXPONENTS[1]
    assert exponent_for(np.zeros((2, 2)), np.ones(2), 0.9) == 1.0
    assert not tempered(votes, 2.0)[2].any()
    sure = exponent_for(np.array([[0.7, 0.3]]), np.ones(1), 1.0)
    assert tempered(np.array([[0.7, 0.3]]), sure).max() == pytest.approx(CERTAIN, abs=1e-6)
