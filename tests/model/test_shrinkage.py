"""What profiles predict is the same for objects one by one and put together by votes and cluster."""

from __future__ import annotations

import numpy as np
import pytest

from bc3e.labels import LabelTable
from bc3e.model.inference import Workers
from bc3e.model.shrinkage import STRENGTHS, learn_shrinkage, marginal_frequencies, prediction_gains
from bc3e.model.starts import cluster_counts, vote_responsibilities
from tests.generation import planted_table


def test_cells_of_votes_and_clusters_are_as_good_as_objects() -> None:
    votes, clusters, _ = planted_table(2, n=3000, k=3, r2=5)
    clusters[::7, 2] = -1
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=3000)
    table = LabelTable.read(votes, clusters)
    evidence = table.evidence(evidence_weights=np.ones(5), weights=weights)
    shares = vote_responsibilities(evidence.votes)
    counts = cluster_counts(evidence, shares)
    assert evidence.vote_groups is not None
    single = learn_shrinkage(evidence.apart(), shares, counts, 1.25, Workers(1))
    by_ballot = vote_responsibilities(evidence.ballots)
    together = learn_shrinkage(evidence, by_ballot, counts, 1.25, Workers(1))
    assert np.array_equal(together.strengths, single.strengths)
    assert together.significance == pytest.approx(single.significance, rel=1e-9)
    assert (single.significance > 3).any()


def test_gains_are_what_the_formula_says() -> None:
    votes, clusters, _ = planted_table(5, n=40, k=2, r2=1)
    evidence = LabelTable.read(votes, clusters).evidence(evidence_weights=np.ones(1))
    shares = vote_responsibilities(evidence.votes)
    counts = cluster_counts(evidence, shares)
    frequency = marginal_frequencies(counts, evidence.layout)
    gains = prediction_gains(evidence, shares, counts, 1.0, Workers(1))[0, 0]
    for s, gain in zip(STRENGTHS, gains, strict=True):
        told = 0.0
        for n, at in enumerate(evidence.labels[:, 0]):
            own = shares[n]
            inside = (counts[at] - own + s * frequency[at]) / (counts.sum(axis=0) - own + s)
            told += float(own @ np.log(inside / frequency[at]))
        assert gain == pytest.approx(told, rel=1e-9)


def test_ballots_are_all_votes() -> None:
    votes, clusters, _ = planted_table(1, n=200)
    table = LabelTable.read(votes, clusters)
    evidence = table.evidence(evidence_weights=np.ones(len(table.clusters)), vote_weight=3.0)
    assert len(evidence.ballots) < 200
    assert evidence.ballot_weights().sum() == 200
    assert np.array_equal(evidence.apart().ballots, evidence.votes)
    assert np.array_equal(evidence.votes, 3.0 * table.votes_per_class() / len(table.votes))
