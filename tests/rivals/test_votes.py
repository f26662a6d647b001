"""Majority and soft vote."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e.rivals import MajorityVote, SoftVote


def test_majority_counts_labels_and_soft_vote_probabilities() -> None:
    sure = np.array([[0.9, 0.1, 0.0], [0.2, 0.4, 0.4]])
    torn = np.array([[0.1, 0.5, 0.4], [0.1, 0.3, 0.6]])
    other = np.array([[0.0, 0.6, 0.4], [0.5, 0.2, 0.3]])
    majority = MajorityVote().fit([sure, torn, other])
    assert majority.probabilities_ == pytest.approx(np.array([[1, 2, 0], [1, 1, 1]]) / 3)
    assert majority.labels_.tolist() == [1, 0]
    soft = SoftVote().fit([sure, torn, other])
    assert soft.probabilities_ == pytest.approx((sure + torn + other) / 3)
    assert soft.labels_.tolist() == [1, 2]


def test_missing_votes_are_left_out_and_silence_is_undecided() -> None:
    votes = [["a", None, "b"], [None, None, "b"], [None, None, None]]
    for method in (MajorityVote(), SoftVote()):
        found = method.fit(votes, [[0], [0], [0]]).probabilities_
        assert found.tolist() == [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]


def test_clusterings_are_ignored() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(4, size=(100, 3))
    for method in (MajorityVote, SoftVote):
        alone = method().fit(votes)
        beside = method().fit(votes, rng.integers(9, size=(100, 5)))
        assert alone.probabilities_.tolist() == beside.probabilities_.tolist()
