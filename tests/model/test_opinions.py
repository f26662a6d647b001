"""The second opinion of a guarded answer: what clusters say alone, and labels that stay in front."""

from __future__ import annotations

import numpy as np
import pytest

import bc3e
from bc3e import selection
from bc3e.agreement import class_votes, leading_class
from bc3e.labels import LabelTable
from bc3e.model.calibration import ALONE, GIVEN, pooled, second_opinion, softmax
from tests.generation import planted_table


def guarded(monkeypatch: pytest.MonkeyPatch) -> bc3e.BC3E:
    """A model that finds no witness."""
    monkeypatch.setattr(selection, "support", lambda sides: -1.0)
    return bc3e.BC3E(random_state=0)


@pytest.mark.parametrize("posterior", ["structured", "factorized"])
def test_clusters_alone_are_read_from_the_posterior(
    posterior: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clustering: Bayes' rule with its learned profile, and no trace of the object's own votes."""
    votes, clusters, _ = planted_table(4, n=400, r2=1)
    clusters[:20] = -1
    model = guarded(monkeypatch).set_params(posterior=posterior).fit(votes, clusters)
    assert model.evidence_weights_[0] == selection.CAUTIOUS / votes.shape[1]
    frequencies = np.bincount(votes.ravel(), minlength=3) / votes.size
    state, rows = model._state, model._answer.inverse
    refined = softmax(state.mean)
    monkeypatch.setattr("bc3e.model.calibration.FLOOR", 1e-12)
    found = second_opinion(refined, state, frequencies)[rows]
    profile = model.parameters_.cluster_profiles[0]
    alone = frequencies * profile[:, clusters[:, 0]].T ** ALONE
    alone /= alone.sum(axis=1, keepdims=True)
    labelled = clusters[:, 0] >= 0
    assert np.allclose(found[labelled], ((refined[rows] + alone) / 2)[labelled], atol=1e-6)
    assert np.array_equal(found[~labelled], refined[rows][~labelled])
    part = second_opinion(refined[10:20], state, frequencies, slice(10, 20))
    assert np.array_equal(part, second_opinion(refined, state, frequencies)[10:20])


def test_a_pooled_answer_has_the_winner_in_front() -> None:
    rng = np.random.default_rng(0)
    votes = 3.0 * rng.dirichlet(np.ones(4), size=800)
    votes[:50] = 0.0
    second, leading = rng.dirichlet(np.ones(4), size=(2, 800))
    winners = leading.argmax(axis=1)
    answer = pooled(votes, second, leading, winners)
    assert (answer.argmax(axis=1) == winners).all()
    assert np.allclose(answer.sum(axis=1), 1.0)
    plain = np.where(votes.any(axis=1)[:, None], GIVEN * votes / 3.0 + (1 - GIVEN) * second, second)
    leads = np.diff(np.sort(plain, axis=1))[:, -1] > 1e-5
    there = leads & (plain.argmax(axis=1) == winners)
    assert there[:50].any()
    assert there[50:].any()
    assert np.allclose(answer[there], plain[there], atol=1e-12)


def test_a_tie_stays_with_its_first_class() -> None:
    votes, second = np.array([[1.0, 1.0]]), np.array([[0.4, 0.6]])
    answer = pooled(votes, second, np.array([[0.5, 0.5]]), np.array([0]))
    assert leading_class(answer).tolist() == [0]
    assert np.argmax(answer) == 0


def test_guarded_answers_beat_the_soft_vote_in_log_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        hard, clusters, truth = planted_table(seed, n=900, vote_noise=0.5)
        rng = np.random.default_rng(seed)
        votes = [0.7 * np.eye(3)[column] + 0.3 * rng.dirichlet(np.ones(3), 900) for column in hard.T]
        model = guarded(monkeypatch).fit(votes, clusters)
        rows, before = np.arange(900), np.mean(votes, axis=0)
        after = np.asarray(model.probabilities_)
        assert np.log(after[rows, truth]).mean() > np.log(before[rows, truth]).mean()
        assert np.abs(model.predict_proba(votes, clusters) - after).max() < 1e-12
        goes_on = model.partial_fit([vote[:100] for vote in votes], clusters[:100])
        again = goes_on.predict_proba([vote[:100] for vote in votes], clusters[:100])
        assert np.abs(again - goes_on.probabilities_).max() < 1e-12


def test_votes_per_class_are_sums_over_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = np.array([[0, 0, 1], [1, 1, 1], [-1, -1, -1], [0, -1, -1]])
    copies = np.array([3.0, 1.0, 5.0, 2.0])
    expected = np.array([3 * 2 / 3 + 2.0, 3 / 3 + 1.0])
    assert np.allclose(class_votes(LabelTable.read(votes, None), copies), expected)
    monkeypatch.setattr("bc3e.agreement.BLOCK", 3)
    assert np.allclose(class_votes(LabelTable.read(votes, None), copies), expected)
    whole = class_votes(LabelTable.read(votes, None), None)
    assert np.allclose(whole, [2 / 3 + 1.0, 1 / 3 + 1.0])
