"""Dawid-Skene: agreement with crowd-kit, and what it learns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bc3e.rivals import DawidSkene


@pytest.mark.filterwarnings("ignore")  # crowd-kit's own, on import and with recent pandas
def test_labels_agree_with_crowd_kit() -> None:
    from crowdkit.aggregation import DawidSkene as Reference

    rng = np.random.default_rng(0)
    n, k, r1 = 10_000, 4, 5
    truth = rng.choice(k, size=n, p=[0.4, 0.3, 0.2, 0.1])
    votes = np.empty((n, r1), dtype=int)
    for column in votes.T:
        confusion = rng.dirichlet(np.ones(k), size=k) * 0.5 + 0.5 * np.eye(k)
        column[:] = (rng.random((n, 1)) > np.cumsum(confusion[truth], axis=1)).sum(axis=1)
    votes[rng.random(votes.shape) < 0.15] = -1
    votes[(votes < 0).all(axis=1), 0] = 0  # crowd-kit has no row for an object without labels
    tasks, workers = np.nonzero(votes >= 0)
    answers = pd.DataFrame({"task": tasks, "worker": workers, "label": votes[tasks, workers]})
    reference = Reference(n_iter=100, tol=1e-5).fit_predict(answers).sort_index()
    model = DawidSkene(classes=range(k)).fit(votes)
    assert np.mean(model.labels_ == reference.to_numpy()) >= 0.999
    assert np.mean(model.labels_ == truth) > 0.75


def test_confusions_and_shares_are_found() -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    truth = rng.choice(2, size=n, p=[0.7, 0.3])
    wrong = np.array([[0.05, 0.3], [0.2, 0.1], [0.15, 0.15]])  # P(vote wrong | class) per classifier
    votes = np.stack([np.where(rng.random(n) < w[truth], 1 - truth, truth) for w in wrong], axis=1)
    model = DawidSkene(max_iter=2000, tol=1e-9).fit(votes)
    assert model.class_shares_ == pytest.approx([0.7, 0.3], abs=0.02)
    for confusion, (zero, one) in zip(model.confusions_, wrong, strict=True):
        assert confusion == pytest.approx(np.array([[1 - zero, zero], [one, 1 - one]]), abs=0.03)


def test_evidence_weight_tempers_the_clusterings() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=2000)
    votes = np.where(rng.random((2000, 3)) < 0.25, 1 - truth[:, None], truth[:, None])
    copies = np.repeat(rng.integers(4, size=(2000, 1)), 20, axis=1)  # one random clustering, 20 times
    alone = DawidSkene().fit(votes).labels_
    fully = np.mean(DawidSkene().fit(votes, copies).labels_ == truth)
    tempered = DawidSkene(evidence_weight=0.0).fit(votes, copies)
    assert tempered.labels_.tolist() == alone.tolist()
    little = np.mean(DawidSkene(evidence_weight=0.02).fit(votes, copies).labels_ == truth)
    assert little > 0.8
    assert little > fully + 0.1  # counted fully, twenty copies of noise take over
