"""The default leaves votes alone where clusterings say nothing, and gains where they know."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

import bc3e
from bc3e import selection
from bc3e.agreement import (
    LEAST_WEIGHT,
    agreement_rate,
    classifier_weights,
    independent_witnesses,
    kept_labels,
    kept_shares,
    leading_class,
    outvoted,
    times_chosen,
    usual_confidence,
    winners,
)
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.calibration import CERTAIN, EXPONENTS, GIVEN, blended, exponent_for, tempered
from bc3e.model.evidence import Evidence, Layout
from bc3e.model.inference import State
from bc3e.model.rows import first_largest
from bc3e.model.schedule import alternate
from bc3e.model.trust import decided_share
from bc3e.objects import Objects
from bc3e.selection import (
    profiles_of_errors,
    shared_weights,
    significant,
    support,
    surprised,
    witnessed_total,
)
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
    assert not model.evidence_weights_.any()
    assert (model.classifier_weights_ == 1.0).all()
    assert model.trust_ == 0.0


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("r1", [3, 6])
def test_clusterings_that_know_are_heard(k: int, r1: int) -> None:
    hard, clusters, truth = planted_table(k + r1, n=1500, k=k, r1=r1, r2=5, vote_noise=0.6)
    votes = [0.6 * np.eye(k)[column] + 0.4 / k for column in hard.T]
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    soft = LabelTable.read(votes, None).soft_vote().argmax(axis=1)
    assert np.mean(model.labels_ == truth) >= np.mean(soft == truth) + 0.03
    assert (model.evidence_weights_ > 0).all()
    assert 0.02 < model.trust_ < 0.5
    assert model.trust_ == pytest.approx(np.mean(model.labels_ != soft), abs=0.02)


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
    assert model.evidence_weights_.sum() == pytest.approx(selection.CAUTIOUS)
    assert model.vote_exponent_ == 1.0
    assert model.classifier_weights_.tolist() == [1.0]


def sure_of(table: Any, confidence: float, k: int) -> list[Any]:
    """Soft votes for the classes of a table of hard ones, as sure of each as asked for."""
    rest = (1.0 - confidence) / (k - 1)
    return [np.where(np.eye(k)[column] > 0, confidence, rest) for column in table.T]


UNEVEN = np.array([0.6, 0.2, 0.1, 0.04, 0.02, 0.02, 0.01, 0.01])


def opinions(rng: np.random.Generator, truth: Any, right: float) -> Any:
    """Three classifiers that see the class of an object at some share, and else guess by frequency."""
    guesses = rng.choice(truth, (len(truth), 3))
    return np.where(rng.random((len(truth), 3)) < right, truth[:, None], guesses)


def test_votes_of_the_unsure_and_votes_for_rare_classes_make_profiles_of_errors() -> None:
    """Less than half sure, or unequal classes; unless they agree far less often than they are sure."""
    rng = np.random.default_rng(0)
    uneven, even = rng.choice(8, 2000, p=UNEVEN), rng.integers(8, size=2000)

    def errors(
        truth: Any, confidence: float, k: int = 8, weights: Any = None, right: float = 0.6
    ) -> bool:
        votes = sure_of(opinions(rng, truth, right), confidence, k)
        objects = Objects.of(LabelTable.read(votes, None), weights)
        return not surprised(objects) and profiles_of_errors(objects)

    assert errors(even, 0.49)
    assert not errors(even, 0.51)
    assert errors(uneven, 0.51)
    assert errors(uneven, 0.95, right=0.8)
    assert not errors(uneven, 0.95, right=0.3)  # drift has surprised them
    assert not errors(even, 0.45, right=0.2)
    assert not errors(even, 0.51, k=20)  # nobody chooses the others
    rare = np.where(uneven > 0, 1.0, 0.0)
    assert not errors(np.where(uneven > 0, 1 + even % 7, 0), 0.51, weights=rare)  # who weighs nothing
    hard = Objects.of(LabelTable.read(opinions(rng, uneven, 0.3), None))
    assert profiles_of_errors(hard)
    assert not surprised(hard)
    assert not profiles_of_errors(Objects.of(LabelTable.read(opinions(rng, even, 0.3), None)))
    two = LabelTable.read(sure_of((uneven > 2).astype(int)[:, None], 0.6, 2), None)
    assert not profiles_of_errors(Objects.of(two))


def test_hard_votes_are_the_same_as_labels_and_as_shares() -> None:
    rng = np.random.default_rng(0)
    truth = rng.choice(8, 2000, p=UNEVEN)
    table = opinions(rng, truth, 0.3)
    shares = sure_of(table, 1.0, 8)
    soft = sure_of(table, 0.9, 8)
    for votes in (shares, [*shares[:2], table[:, 2]], table):
        read = LabelTable.read(votes, None, classes=range(8))
        assert usual_confidence(read, np.ones(2000)) is None
        assert profiles_of_errors(Objects.of(read))
        assert not surprised(Objects.of(read))  # nobody tells that drift has surprised him
    for votes in ([soft[0], *shares[1:]], [soft[0], shares[1], table[:, 2]]):
        read = LabelTable.read(votes, None, classes=range(8))
        assert usual_confidence(read, np.ones(2000)) == 1.0
        assert surprised(Objects.of(read))


@pytest.mark.parametrize(
    ("shares", "confidence", "right", "more"),
    [
        (UNEVEN, 0.9, 0.6, False),
        (UNEVEN, 0.98, 0.3, True),  # drift has surprised them
        (np.full(8, 0.125), 0.7, 0.6, True),
        (np.full(8, 0.125), 0.45, 0.6, False),
        (np.full(8, 0.125), 0.45, 0.3, True),
    ],
)
def test_profiles_of_errors_get_no_more_than_what_is_nearly_open(
    shares: Any, confidence: float, right: float, more: bool
) -> None:
    rng = np.random.default_rng(1)
    truth = rng.choice(8, 3000, p=shares)
    table = opinions(rng, truth, right)
    clusters = np.stack([truth * 3 + rng.integers(3, size=3000) for _ in range(4)], axis=1)
    model = bc3e.BC3E(random_state=0).fit(sure_of(table, confidence, 8), clusters)
    total = float(model.evidence_weights_.sum())
    assert total >= 2.0 if more else total == pytest.approx(selection.CAUTIOUS / table.shape[1])


def test_of_two_that_disagree_the_better_one_is_not_outvoted_by_clusters() -> None:
    """A bad classifier beside a good one looks like two that drift has surprised."""
    rng = np.random.default_rng(0)
    truth = rng.choice(5, 2000, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    good = np.where((truth == 0) | (rng.random(2000) < 0.5), truth, 0)
    bad = np.where(truth == 0, 3, rng.integers(5, size=2000))  # takes a whole class for another
    votes = [np.eye(5)[good], *sure_of(bad[:, None], 0.99, 5)]
    seen = np.where(rng.random(2000) < 0.3, rng.integers(5, size=2000), truth)
    clusters = np.stack([seen * 3 + rng.integers(3, size=2000) for _ in range(4)], axis=1)
    assert surprised(Objects.of(LabelTable.read(votes, None)))
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert model.evidence_weights_.sum() == 0.0
    assert np.mean(np.asarray(model.labels_) == truth) > 0.8
    trusting = bc3e.BC3E(random_state=0, evidence_weight=0.25).fit(votes, clusters)  # one label in all
    assert np.mean(np.asarray(trusting.labels_) == truth) < 0.4  # what trust would have cost
    for stray in (0, 5):  # who hardly votes is no third one
        idle = np.full((2000, 5), np.nan)
        idle[:stray] = np.eye(5)[good[:stray]]
        model = bc3e.BC3E(random_state=0).fit([*votes, idle], clusters)
        assert np.mean(np.asarray(model.labels_) == truth) > 0.8
    third = np.where(rng.random(2000) < 0.9, good, rng.integers(5, size=2000))  # tells who is right
    for weight in ("auto", 0.25):
        model = bc3e.BC3E(random_state=0, evidence_weight=weight)
        model.fit([*votes, np.eye(5)[third]], clusters)
        assert np.mean(np.asarray(model.labels_) == truth) > 0.75


def test_usual_confidence_is_that_of_the_middle_one() -> None:
    sure, unsure = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.6, 0.4], [np.nan, np.nan]])
    soft = LabelTable.read([sure, unsure], None)
    assert usual_confidence(soft, np.ones(2)) == pytest.approx((0.85 + 0.6) / 2)
    assert usual_confidence(soft, np.array([3.0, 1.0])) == pytest.approx((0.875 + 0.6) / 2)
    assert usual_confidence(soft, np.array([0.0, 1.0])) == pytest.approx(0.8)
    mixed = LabelTable.read([sure, unsure, np.array([0, 1])], None)
    assert usual_confidence(mixed, np.ones(2)) == pytest.approx(0.85)  # a hard vote is sure
    assert usual_confidence(LabelTable.read(np.array([[0, 1], [1, 1]]), None), np.ones(2)) is None


@pytest.mark.parametrize("r1", [2, 3])
def test_objects_without_a_vote_are_not_left_alone(r1: int) -> None:
    """Clusters that mix classes count nothing, but for those who have nothing else."""
    rng = np.random.default_rng(0)
    truth = rng.integers(8, size=2000)
    votes = np.where(rng.random((2000, r1)) < 0.05, rng.integers(8, size=(2000, r1)), truth[:, None])
    mixed = np.stack([truth // 4, truth // 4], axis=1)
    assert bc3e.BC3E(random_state=0).fit(votes, mixed).evidence_weights_.sum() == 0.0
    votes[::2] = -1
    model = bc3e.BC3E(classes=range(8), random_state=0).fit(votes, mixed)
    assert model.evidence_weights_.sum() == pytest.approx(selection.CAUTIOUS / r1)
    assert np.mean(model.labels_[::2] // 4 == truth[::2] // 4) > 0.95


@pytest.mark.parametrize("scale", [1e-3, 1e4])
@pytest.mark.parametrize("given", ["auto", 0.3])
def test_the_scale_of_weights_means_nothing(scale: float, given: Any) -> None:
    votes, clusters, _ = planted_table(1, n=600, k=4)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 600)
    one = bc3e.BC3E(evidence_weight=given, random_state=0).fit(votes, clusters, sample_weight=weights)
    other = bc3e.BC3E(evidence_weight=given, random_state=0)
    other.fit(votes, clusters, sample_weight=scale * weights)
    assert np.abs(one.probabilities_ - other.probabilities_).max() < 1e-9
    assert np.array_equal(one.profile_strengths_, other.profile_strengths_)
    for model, factor in ((one, 1.0), (other, scale)):
        model.partial_fit(votes, clusters, sample_weight=factor * weights)
    assert np.abs(one.probabilities_ - other.probabilities_).max() < 1e-9


def test_clusterings_without_a_witness_still_settle_what_is_nearly_open() -> None:
    """A single classifier: nobody supports anything, and little is changed."""
    votes, clusters, truth = planted_table(7, n=1000, r1=1, k=2, vote_noise=0.3)
    soft = np.where(votes == 1, 0.52, 0.48)
    column = np.stack([1.0 - soft[:, 0], soft[:, 0]], axis=1)
    sure = votes[:, 0] != truth
    column[~sure] = np.eye(2)[truth[~sure]]
    model = bc3e.BC3E(random_state=0).fit([column], clusters)
    assert model.evidence_weights_.sum() == pytest.approx(selection.CAUTIOUS)
    assert np.mean(model.labels_ == truth) > np.mean(column.argmax(axis=1) == truth) + 0.05
    assert (model.labels_ == truth)[~sure].all()


def test_the_choice_on_a_sample_is_that_on_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, clusters, _ = planted_table(6, n=4000, vote_noise=0.6)
    whole = bc3e.BC3E(random_state=0).fit(votes, clusters)
    monkeypatch.setattr(selection, "SAMPLE", 800)
    sampled = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert np.array_equal(sampled.evidence_weights_, whole.evidence_weights_)
    assert np.array_equal(sampled.probabilities_, whole.probabilities_)


def moved_to(label: int) -> Any:
    """A refinement that moves the first forty of a hundred objects."""

    def refine(others: Objects, total: float) -> Any:
        return np.where(places(others) < 40, label, others.table.soft_vote().argmax(axis=1))

    return refine


def hundred(votes: Any) -> Objects:
    """A hundred objects, each in a cluster of its own: none is like another."""
    return Objects.of(LabelTable.read(np.array(votes), np.arange(100)[:, None], classes=[0, 1]))


def places(objects: Objects) -> Any:
    """Where in the hundred each one stands."""
    return objects.table.clusters[0].codes  # type: ignore[union-attr]


def test_one_label_is_allowed_if_hidden_classifiers_side_with_what_two_change() -> None:
    """Each of three classifiers in turn is alone with class 1, and a refinement sees that without it."""
    turns = np.eye(3, dtype=np.int64)[np.arange(60) % 3]
    objects = hundred(np.concatenate([turns, np.zeros((40, 3), np.int64)]))

    def from_place(first: int, asked: list[float]) -> Any:
        """Moves what the others agree on, from a place in the table on."""

        def refine(others: Objects, total: float) -> Any:
            asked.append(total)
            agreed = np.all([column.codes == 0 for column in others.table.votes], axis=0)  # type: ignore[union-attr]
            return (agreed & (places(others) >= first) & (places(others) < first + 60)).astype(np.intp)

        return refine

    asked: list[float] = []
    assert witnessed_total(objects, from_place(0, asked)) == 1.0
    assert asked == [2.0, 2.0, 2.0]
    # The last forty are of class 0 to all: whoever is hidden contradicts, and the last is not asked.
    asked.clear()
    assert witnessed_total(objects, from_place(40, asked)) == 0.0
    assert asked == [2.0, 2.0]


def test_the_last_witness_is_asked_if_the_others_lead_where_it_counts() -> None:
    """Elsewhere they may be behind: the last one can make up for that."""
    rng = np.random.default_rng(0)
    objects = Objects.of(
        LabelTable.read(rng.integers(2, size=(200, 3)), np.arange(200)[:, None], classes=[0, 1])
    )
    told = {0: sides((0, 0, 5, 40))[0], 1: sides((20, 1, 5, 5))[0], 2: sides((60, 1, 90, 5))[0]}
    witnesses = selection.Witnesses(objects, lambda others, total: np.empty(0, np.intp))
    places = {hidden: place for place, hidden in enumerate(witnesses.hidden)}
    with mock.patch.object(witnesses, "_sides_of", lambda hidden: told[places[hidden]]):
        found = witnesses.sides()
    assert np.array_equal(found, np.array([told[place] for place in range(3)]))
    behind = {0: sides((0, 2, 50, 0))[0], 1: sides((1, 0, 50, 0))[0]}
    with mock.patch.object(witnesses, "_sides_of", lambda hidden: behind[places[hidden]]):
        assert not witnesses.sides()[2].any()


def test_breaking_ties_is_no_reason_to_overturn_majorities() -> None:
    """Hidden in turn, each of three leaves two that contradict each other, or agree."""
    objects = hundred([[0, 1, 1]] * 40 + [[0, 0, 0]] * 60)
    # without the first nothing changes; without another, 0 against 1 is a tie that 1 wins
    assert witnessed_total(objects, moved_to(1)) == 0.0


def sides(*witnesses: tuple[float, float, float, float]) -> Any:
    """Per witness: new and old where a majority is overturned, new and old elsewhere."""
    return np.array([[[a, c], [b, d]] for a, b, c, d in witnesses])


def test_support_needs_a_lead_where_majorities_are_overturned() -> None:
    clear = sides((30, 10, 0, 0), (30, 10, 0, 0))
    assert support(clear) == pytest.approx(40 - 8 - 9)
    easy = sides((30, 10, 250, 0), (30, 10, 250, 0))
    assert support(easy) == support(clear)  # the easy changes do not carry
    assert support(sides((30, 10, 0, 250), (30, 10, 0, 250))) < 0  # but refute
    assert support(sides((0, 0, 250, 0), (0, 0, 250, 0))) < 0
    assert support(np.zeros((2, 2, 2))) < 0
    assert support(sides((27, 23, 0, 0), (27, 23, 0, 0))) < 0


def test_support_does_not_hang_on_one_witness() -> None:
    lone = (300, 5, 40, 40)
    assert support(sides(lone, (0, 3, 20, 20), (0, 0, 0, 0))) < 0
    assert support(sides(lone, (1, 1, 20, 20))) < 0
    assert support(sides(lone, (2, 1, 20, 20))) > 0
    assert support(sides(lone, (0, 0, 20, 20))) < 0  # who says nothing is no second witness


def test_two_witnesses_that_say_the_same_do_not_outshout_three() -> None:
    alike, against = (210, 1, 60, 1), (5, 20, 10, 20)
    assert support(sides(alike, alike, against)) > 0
    assert support(sides(alike, alike, against, against)) < 0
    assert support(sides(alike, alike, against, against, against)) < 0
    assert support(sides(alike, alike, against, against, (2, 1, 0, 0))) > 0


def test_a_label_is_kept_unless_as_many_classifiers_choose_the_other() -> None:
    counts = np.array([[2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    votes = np.array([[1.6, 1.4], [1.1, 0.9], [1.6, 1.4], [0.6, 0.4], [0.0, 0.0]])
    after = np.ones(5, dtype=np.intp)
    assert outvoted(counts, leading_class(votes), after).tolist() == [True, False, False, True, False]
    # not to the side of the many either; one vote asks nobody; rounding in sums over sites is no vote
    assert kept_labels(counts + 1e-7, votes, after).tolist() == [True, False, True, False, False]
    assert not kept_labels(counts, votes, np.zeros(5, dtype=np.intp)).any()


def open_questions(seed: int) -> tuple[list[Any], Any, Any]:
    """Four classifiers that are nearly undecided on a third of the objects, and good clusterings."""
    hard, clusters, truth = planted_table(seed, n=900, k=2, r1=4, r2=4, vote_noise=0.5)
    votes = [np.where(column == 1, 0.502, 0.497) for column in hard.T]
    votes = [np.where(np.arange(900) % 3 == 0, soft, truth) for soft in votes]
    return [np.stack([1.0 - soft, soft], axis=1) for soft in votes], clusters, truth


def test_without_witnesses_labels_move_only_where_as_many_choose_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    votes, clusters, _ = open_questions(0)
    monkeypatch.setattr(selection, "support", lambda sides: -1.0)
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert model.evidence_weights_.sum() == pytest.approx(selection.CAUTIOUS / len(votes))
    table = LabelTable.read(votes, None)
    counts, before = times_chosen(table), table.soft_vote().argmax(axis=1)
    rows = np.arange(len(before))
    assert (counts[rows, model.labels_] == counts[rows, before]).all()
    assert (model.labels_ != before).any()
    free = bc3e.BC3E(evidence_weight=selection.CAUTIOUS / len(votes) / 4).fit(votes, clusters)
    moved = counts[rows, free.labels_] != counts[rows, before]
    assert (counts[rows, free.labels_] < counts[rows, before]).any()
    assert (model.labels_[moved] == before[moved]).all()
    leads = model.probabilities_[moved].max(axis=1) - 0.5
    assert (leads <= table.soft_vote()[moved].max(axis=1) - 0.5).all()  # doubted, as far as it goes
    assert model.trust_ == pytest.approx(np.mean(model.labels_ != before), abs=1e-9)
    assert np.abs(model.predict_proba(votes, clusters) - model.probabilities_).max() < 1e-6


def test_classifiers_are_weighed_only_with_witnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, clusters, _ = planted_table(9, n=600, r1=4)
    votes[:, 3] = np.random.default_rng(0).integers(3, size=600)
    assert bc3e.BC3E(random_state=0).fit(votes, clusters).classifier_weights_[3] < 0.3
    monkeypatch.setattr(selection, "support", lambda sides: -1.0)
    assert (bc3e.BC3E(random_state=0).fit(votes, clusters).classifier_weights_ == 1.0).all()


def test_a_choice_costs_at_most_seven_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def counting(*given: Any, **more: Any) -> Any:
        fits.append(more["max_iter"])
        return alternate(*given, **more)

    monkeypatch.setattr("bc3e.inquiry.alternate", counting)
    votes, clusters, _ = planted_table(2, n=300, r1=9)
    monkeypatch.setattr(selection, "unwitnessed_total", lambda *_: 0.0)
    bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert 1 < len(fits) <= 7


def test_more_clusterings_must_be_more_significant() -> None:
    assert significant(1) == pytest.approx(2.326, abs=1e-3)
    assert significant(1) < significant(10) < significant(1000) < 5.0


def test_heard_clusterings_share_the_evidence() -> None:
    heard = np.array([True, False, True])
    assert shared_weights(1.0, heard).tolist() == [0.5, 0.0, 0.5]
    assert shared_weights(3.0, heard).tolist() == [1.0, 0.0, 1.0]
    assert shared_weights(3.0, ~heard & heard).tolist() == [0.0, 0.0, 0.0]


def test_a_coin_flip_counts_less_than_those_who_agree() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=2000)
    good = [np.where(rng.random(2000) < 0.2, rng.integers(3, size=2000), truth) for _ in range(3)]
    votes = np.stack([*good, rng.integers(3, size=2000)], axis=1)
    found = classifier_weights(LabelTable.read(votes, None), None)
    assert found.max() == 1.0
    assert found[:3].min() > 0.9
    assert LEAST_WEIGHT <= found[3] < 0.1


def test_classifier_weights_know_their_limits() -> None:
    two = LabelTable.read(np.array([[0, 1], [1, 1]]), None)
    assert classifier_weights(two, None).tolist() == [1.0, 1.0]  # who is the better one?
    mute = LabelTable.read(np.array([[0, 0, -1], [1, 1, -1], [0, 1, -1]]), None)
    assert np.isfinite(classifier_weights(mute, None)).all()
    votes = np.array([[0, 0, 1], [1, 1, 1], [0, 1, 0], [0, 0, 0]])
    copies = np.array([3, 1, 2, 1])
    weighted = classifier_weights(LabelTable.read(votes, None), copies.astype(float))
    copied = classifier_weights(LabelTable.read(np.repeat(votes, copies, axis=0), None), None)
    assert np.allclose(weighted, copied)


def test_classifier_weights_in_blocks_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, _, _ = planted_table(8, n=500, r1=4)
    table = LabelTable.read(votes, None)
    whole = classifier_weights(table, None)
    monkeypatch.setattr("bc3e.agreement.BLOCK", 77)
    assert np.allclose(classifier_weights(table, None), whole)


def test_new_objects_are_answered_with_the_weights_of_the_fit() -> None:
    votes, clusters, _ = planted_table(9, n=600, r1=4)
    votes[:, 3] = np.random.default_rng(0).integers(3, size=600)
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert model.classifier_weights_[3] < 0.3
    assert np.abs(model.predict_proba(votes, clusters) - model.probabilities_).max() < 1e-6


def test_leading_class_is_the_first_of_nearly_equals() -> None:
    assert leading_class(np.array([[0.5 - 1e-15, 0.5], [0.4, 0.6]])).tolist() == [0, 1]


@pytest.mark.parametrize("k", [1, 2, 5, 32, 33, 300])
def test_leading_class_is_the_argmax_of_rounded_shares(k: int) -> None:
    shares = np.random.default_rng(k).integers(4, size=(200, k)) / 3.0
    assert (leading_class(shares) == np.argmax(np.round(shares, 9), axis=1)).all()
    assert (first_largest(shares.T) == np.argmax(shares, axis=1)).all()


def test_the_answer_keeps_the_refined_label_in_front() -> None:
    rng = np.random.default_rng(0)
    votes = 3.0 * rng.dirichlet(np.ones(4), size=500)
    refined = rng.dirichlet(np.ones(4), size=500)
    votes[0] = 0.0
    labels = refined.argmax(axis=1)
    answer = blended(votes, refined, labels)
    assert (answer.argmax(axis=1) == labels).all()
    assert np.allclose(answer.sum(axis=1), 1.0)
    assert (answer[0] == refined[0]).all()
    agree = votes.argmax(axis=1) == labels
    agree[0] = False
    mean = GIVEN * votes / 3.0 + (1.0 - GIVEN) * refined
    assert np.allclose(answer[agree], mean[agree])


def test_the_shrinkage_is_learned_only_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, clusters, _ = planted_table(0, n=100)
    monkeypatch.setattr("bc3e.inquiry.learn_shrinkage", lambda *_: pytest.fail("not needed"))
    model = bc3e.BC3E(profile_prior=2.0, evidence_weight=0.2).fit(votes, clusters)
    assert (model.profile_strengths_ == 2.0).all()


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
    assert independent_witnesses(np.hstack([alike, lone]), np.ones(500))[-3:] == [4, 5, 6]


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


def test_a_kept_label_stays_in_front_of_a_tie() -> None:
    """Three classifiers whose votes add up alike but for rounding."""
    votes = np.array([[0.2, 0.8], [0.6, 0.4], [0.7, 0.3]]).sum(axis=0, keepdims=True)
    votes[0, 1] = np.nextafter(votes[0, 0], 2.0)
    shares = kept_shares(votes)
    assert shares.argmax(axis=1).tolist() == [0]
    assert shares.sum() == pytest.approx(1.0, abs=1e-15)


def test_a_tie_that_nobody_broke_was_not_decided() -> None:
    layout = Layout((1,), (False,))
    evidence = Evidence(
        ballots=np.array([[1.5, 1.5], [3.0, 0.0]]),
        labels=np.array([[-1], [0]], dtype=np.int32),
        memberships=(),
        weights=np.ones(2),
        evidence_weights=np.ones(1),
        layout=layout,
    )
    flat = np.ones((2, 2))
    state = State(np.array([[0.0, 0.0], [1.0, -1.0]]), flat, flat, flat, np.ones(2))
    assert decided_share(evidence, state) == 0.0
    broken = State(np.array([[1.0, 0.0], [1.0, -1.0]]), flat, flat, flat, np.ones(2))
    assert decided_share(evidence, broken) == 0.25
