"""Clusters that stand for what classifiers see are told from clusters that mix it."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any
from unittest import mock

import numpy as np
import pytest

import bc3e
from bc3e import selection
from bc3e.labels import LabelTable
from bc3e.objects import Objects
from bc3e.screening import Screening, _alikeness, screenings
from bc3e.selection import choose_total, unwitnessed_total


def table_of(votes: Any, clusters: Any, k: int) -> Objects:
    return Objects.of(LabelTable.read(votes, clusters, classes=range(k)))


def screening(objects: Objects, heard: Any) -> Screening | None:
    """What clusters leave, one clustering at a time."""
    return screenings(objects, heard).each


def noisy(rng: np.random.Generator, seen: Any, k: int, r1: int, right: float) -> Any:
    """Votes of classifiers that err apart from each other."""
    wrong = rng.integers(k, size=(len(seen), r1))
    return np.where(rng.random((len(seen), r1)) < right, seen[:, None], wrong)


def measured(votes: Any, clusters: Any, k: int) -> Screening:
    found = screening(table_of(votes, clusters, k), np.ones(clusters.shape[1], dtype=np.bool_))
    assert found is not None
    return found


def test_components_are_those_of_pairs_of_objects() -> None:
    """Two votes agree on one object beyond what they agree on two of its cluster."""
    rng = np.random.default_rng(0)
    votes, clusters = rng.integers(3, size=(80, 3)), rng.integers(4, size=(80, 1))
    found = measured(votes, clusters, 3)
    for column, at in ((clusters[:, 0], 0), (np.zeros(80, dtype=np.intp), 1)):
        beyond, sizes = [], []
        for a, b in combinations(range(3), 2):
            for cluster in np.unique(column):
                x, y = (np.eye(3)[votes[column == cluster, c]] for c in (a, b))
                n, same = len(x), (x * y).sum()
                beyond.append(same / n - (x.sum(axis=0) @ y.sum(axis=0) - same) / (n * (n - 1)))
                sizes.append(n)
        assert found.means[at] == pytest.approx(np.average(beyond, weights=sizes))
    twice = measured(np.repeat(votes, 2, axis=1), clusters, 3)
    assert twice.votes == 2 * found.votes == 6.0
    assert twice.means[2] == pytest.approx(found.means[2])
    assert twice.means[0] > found.means[0]  # a copy agrees with what it is a copy of
    votes[rng.random(votes.shape) < 0.3] = -1
    clusters[:10] = -1
    assert np.isfinite(measured(votes, clusters, 3).means).all()


@pytest.mark.parametrize("size", [3, 100])
def test_noise_inside_clusters_is_no_common_knowledge(size: int) -> None:
    """In clusters of any size: small ones do not look better for knowing their members."""
    rng = np.random.default_rng(1)
    clusters = np.arange(6000) // size
    classes = rng.integers(4, size=clusters.max() + 1)[clusters]
    found = measured(noisy(rng, classes, 4, 3, 0.5), clusters[:, None], 4)
    assert abs(found.means[0]) < 0.01 < 0.15 < found.means[1]
    assert found.leaves(0.1, 1.0)
    assert found.warrants(3.0, 3.0, 1.0)
    assert unwitnessed_total(found, 3.0) == 2.0


def test_clusters_that_mix_classes_leave_what_classifiers_know() -> None:
    rng = np.random.default_rng(2)
    classes = rng.integers(4, size=4000)
    found = measured(noisy(rng, classes, 4, 3, 0.8), classes[:, None] // 2, 4)
    assert not found.leaves(selection.UNEXPLAINED)
    asked: list[Any] = []

    def never(*arguments: Any) -> Any:
        asked.append(arguments)

    objects = table_of(noisy(rng, classes, 4, 3, 0.8), classes[:, None] // 2, 4)
    heard = np.ones(1, dtype=np.bool_)
    assert choose_total(objects, never, lambda _: heard, 0) == 0.0
    assert not asked


def leaving(left: float, k: int, accord: float = 10.0, worst: float = 0.0) -> Screening:
    """Worth 3 (0.6 - 0.4 left) / 3 / 0.4 left labels: more than 2."""
    means = np.array([0.4 * left, 0.4, 0.6])
    return Screening(means, np.zeros((3, 3)), 3.0, k, accord, max(left, worst))


def test_two_classes_ask_for_more_than_many() -> None:
    for k, most in ((2, 0.125), (3, 1 / 6), (4, 0.25), (5, 0.3)):
        for total in (2.0, 1.5, 1.0):  # the more they leave, the less they count
            assert unwitnessed_total(leaving(most / total - 0.001, k), 3.0) == total
        assert unwitnessed_total(leaving(most + 0.001, k), 3.0) == 0.0
    for left in (0.01, 0.0, -0.1):  # by chance it is estimated below 0
        assert unwitnessed_total(leaving(left, 1), 3.0) == 0.0


def test_two_classes_ask_that_no_classifier_is_a_stranger_to_another() -> None:
    for accord in (-5.0, 0.0, 2.9):
        assert unwitnessed_total(leaving(0.01, 2, accord), 3.0) == 0.0
        assert unwitnessed_total(leaving(0.01, 3, accord), 3.0) == 2.0
    assert unwitnessed_total(leaving(0.05, 2, worst=0.13), 3.0) == 0.0
    assert unwitnessed_total(leaving(0.05, 3, worst=0.5), 3.0) == 2.0


def test_accord_is_that_of_the_two_that_agree_least() -> None:
    rng = np.random.default_rng(10)
    classes = rng.integers(2, size=400)
    knowing = noisy(rng, classes, 2, 2, 0.6)
    clusters = classes[:, None]
    assert measured(knowing, clusters, 2).accord > 3.0
    side = rng.integers(2, size=400)  # of a line that has nothing to do with the classes, drawn twice
    lines = np.stack([side, np.where(rng.random(400) < 0.05, 1 - side, side)], axis=1)
    assert measured(lines, clusters, 2).accord > 10.0
    assert abs(measured(np.hstack([knowing, lines]), clusters, 2).accord) < 3.0
    a, b = knowing.T
    beyond = (a == b) + np.mean(a == 0) * np.mean(b == 0) + np.mean(a == 1) * np.mean(b == 1)
    beyond = beyond - np.array([np.mean(a == y) for y in b]) - np.array([np.mean(b == x) for x in a])
    found = measured(knowing, clusters, 2)
    assert found.accord == pytest.approx(beyond.mean() / (beyond.std() / np.sqrt(400)))
    assert found.worst == pytest.approx(found.means[0] / found.means[1])  # there is one pair only
    both = measured(np.hstack([knowing, noisy(rng, classes, 2, 1, 0.9)]), clusters, 2)
    assert both.worst >= both.means[0] / both.means[1]


def test_two_classifiers_that_err_alike_inside_clusters_are_found() -> None:
    rng = np.random.default_rng(14)
    classes = rng.integers(2, size=2000)
    errs = rng.random(2000) < 0.2  # the same two of the three, on the same objects
    votes = noisy(rng, classes, 2, 3, 0.7)
    votes[errs, :2] = 1 - classes[errs, None]
    found = measured(votes, classes[:, None], 2)
    assert found.worst > 0.3 > 2 * found.means[0] / found.means[1] / 3
    assert unwitnessed_total(found, 3.0) == 0.0


def test_two_lines_through_a_ring_are_not_taken_for_knowledge() -> None:
    """Two classifiers that err alike, a good one, and clusters that are right: no majority is overturned."""
    rng = np.random.default_rng(11)
    n = 1500
    arc = rng.integers(16, size=n)
    classes = (arc % 2).astype(np.intp)
    line = np.where(
        rng.random((n, 2)) < 0.2, rng.integers(2, size=(n, 2)), (arc[:, None] < 8).astype(int)
    )
    good = np.where(rng.random(n) < 0.02, 1 - classes, classes)
    sure, unsure = np.eye(2)[good], [0.1 * np.eye(2)[side] + 0.45 for side in line.T]
    clusters = np.stack([arc + 16 * rng.integers(2, size=n) for _ in range(6)], axis=1)
    model = bc3e.BC3E(random_state=0).fit([sure, *unsure], clusters)
    assert model.evidence_weights_.sum() <= selection.CAUTIOUS
    assert np.mean(model.labels_ == classes) >= np.mean(good == classes) - 0.005


def test_a_stray_vote_makes_no_third_class() -> None:
    rng = np.random.default_rng(5)
    classes = rng.integers(2, size=1000)
    votes = noisy(rng, classes, 2, 3, 0.6)
    votes[0, 0] = 2
    assert measured(votes, classes[:, None], 3).classes == 2
    assert measured(noisy(rng, rng.integers(7, size=1000), 7, 3, 0.6), classes[:, None], 9).classes == 7


@pytest.mark.parametrize("missing", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("uneven", [0.0, 0.5])
def test_clusters_that_explain_nothing_leave_all_of_it(missing: float, uneven: float) -> None:
    """With unequal weights, too, and however few objects a classifier judges."""
    rng = np.random.default_rng(6)
    n = 40_000
    classes = rng.integers(3, size=n)
    votes = noisy(rng, classes, 3, 2, 0.7)
    votes[rng.random(n) < missing, 1] = -1
    table = LabelTable.read(votes, rng.integers(n // 30, size=(n, 1)), classes=range(3))
    found = screening(Objects.of(table, np.exp(uneven * rng.normal(size=n))), np.ones(1, dtype=np.bool_))
    assert found is not None
    assert found.means[0] == pytest.approx(found.means[1], rel=0.1)


def test_few_objects_or_no_weight_tell_nothing() -> None:
    rng = np.random.default_rng(7)
    votes = np.array([[0, -1], [-1, 1]] * 60)
    votes[:20] = rng.integers(2, size=(20, 2))
    heard = np.ones(1, dtype=np.bool_)
    clusters = rng.integers(2, size=(120, 1))
    assert screening(table_of(votes, clusters, 2), heard) is None
    votes[:40] = rng.integers(2, size=(40, 2))
    assert screening(table_of(votes, clusters, 2), heard) is not None
    weights = np.ones(120)
    weights[:40] = 0.0
    assert screening(Objects.of(LabelTable.read(votes, clusters), weights), heard) is None
    model = bc3e.BC3E(random_state=0).fit(votes, clusters, sample_weight=weights)
    assert np.isfinite(model.probabilities_).all()


def test_order_of_the_clusters_does_not_matter_where_memberships_are_tied() -> None:
    rng = np.random.default_rng(8)
    classes = rng.integers(6, size=800)
    votes = noisy(rng, classes, 6, 3, 0.5)
    members = np.eye(6)[classes]
    members[::2] = (members[::2] + np.eye(6)[rng.integers(6, size=400)]) / 2
    order = rng.permutation(6)
    one, two = (table_of(votes, [given], 6) for given in (members, members[:, order]))
    heard = np.ones(1, dtype=np.bool_)
    found, again = screening(one, heard), screening(two, heard)
    assert found is not None
    assert again is not None
    assert np.allclose(found.means, again.means, atol=1e-12)


def test_little_noise_warrants_little() -> None:
    found = Screening(np.array([0.1, 0.8, 0.24]), np.zeros((3, 3)), 3.0, 10, 10.0, 0.1)
    assert found.warrants(1.39, 3.0)  # 3 (0.24 - 0.1) / 3 / 0.1 = 1.4 labels
    assert not found.warrants(1.41, 3.0)
    assert unwitnessed_total(found, 3.0) == 1.25
    uncertain = Screening(found.means, np.diag([0.01, 0.0, 0.0]), 3.0, 10, 10.0, 0.1)
    assert unwitnessed_total(uncertain, 3.0) == 0.0


def test_nothing_to_compare() -> None:
    alone = table_of(np.zeros((50, 2), dtype=int), np.arange(50)[:, None], 2)
    assert screening(alone, np.ones(1, dtype=np.bool_)) is None
    one_vote = np.array([[0, -1], [-1, 1], [1, -1], [-1, 0]] * 20)
    assert screening(table_of(one_vote, np.zeros((80, 1)), 2), np.ones(1, dtype=np.bool_)) is None
    assert (
        screening(table_of(one_vote[:, :1], np.zeros((80, 1)), 2), np.zeros(1, dtype=np.bool_)) is None
    )


def test_objects_that_are_alike_count_as_often_as_there_are() -> None:
    rng = np.random.default_rng(3)
    classes = rng.integers(3, size=500)
    votes, clusters = noisy(rng, classes, 3, 2, 0.6), classes[:, None]
    grouped = measured(votes, clusters, 3)
    soft = [np.eye(3)[column] for column in votes.T]  # soft columns are never grouped
    single = measured(soft, clusters, 3)
    assert table_of(votes, clusters, 3).table.n_objects < 500
    assert np.allclose(grouped.means, single.means)
    assert np.allclose(grouped.covariance, single.covariance)
    assert grouped.classes == single.classes == 3
    memberships = [0.6 * np.eye(3)[clusters[:, 0]] + 0.4 / 3]
    found = screening(table_of(votes, memberships, 3), np.ones(1, dtype=np.bool_))
    assert found is not None
    assert np.allclose(found.means, single.means)


def test_errors_that_most_classifiers_make_are_put_right_without_a_witness() -> None:
    """Hidden classifiers that err at random seldom side with what is right: clusters explain all the same."""
    rng = np.random.default_rng(4)
    classes = rng.integers(8, size=2000)
    votes = noisy(rng, classes, 8, 2, 0.35)
    clusters = np.stack([classes * 4 + rng.integers(4, size=2000) for _ in range(5)], axis=1)
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert model.evidence_weights_.sum() == pytest.approx(2.0)
    before = LabelTable.read(votes, None).soft_vote().argmax(axis=1)
    assert np.mean(model.labels_ == classes) > np.mean(before == classes) + 0.2


def scattered(rng: np.random.Generator, classes: Any, k: int, r2: int, strays: float) -> Any:
    """Clusterings that are right but for strays, each with its own."""
    shape = (len(classes), r2)
    anywhere = rng.integers(3 * k, size=shape)
    return np.where(
        rng.random(shape) < strays, anywhere, 3 * classes[:, None] + rng.integers(3, size=shape)
    )


@pytest.mark.parametrize(("k", "strays"), [(2, 0.3), (3, 0.4), (5, 0.3), (10, 0.4)])
def test_clusterings_that_err_apart_from_each_other_explain_together(k: int, strays: float) -> None:
    """Each of them mixes much, and none alone would be heard; together each counts one label."""
    rng = np.random.default_rng(9)
    classes = rng.integers(k, size=3000)
    votes = noisy(rng, classes, k, 3, 0.6)
    clusters = scattered(rng, classes, k, 8, strays)
    objects, heard = table_of(votes, clusters, k), np.ones(8, dtype=np.bool_)
    found = screenings(objects, heard)
    assert found.each is not None
    assert found.together is not None
    assert abs(found.alike) < selection.ALIKE
    assert found.apart(selection.ALIKE, selection.REST)
    assert not found.each.leaves(0.4)
    assert found.together.leaves(0.1)
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert model.evidence_weights_.tolist() == [1.0] * 8
    before = LabelTable.read(votes, None).soft_vote().argmax(axis=1)
    assert np.mean(model.labels_ == classes) > np.mean(before == classes) + 0.05
    copied = np.hstack([clusters, np.repeat(clusters[:, :1], 30, axis=1)])
    model = bc3e.BC3E(random_state=0).fit(votes, copied)  # one of them must not get what all are worth
    assert model.evidence_weights_.sum() <= 2.0 + 1e-9
    assert np.mean(model.labels_ == classes) > np.mean(before == classes) - 0.005


def test_no_more_labels_than_independent_clusterings_are_worth() -> None:
    much = Screening(
        np.array([0.005, 0.4, 0.6]), np.zeros((3, 3)), 3.0, 5, 10.0, 0.1
    )  # worth 119 labels
    some = Screening(np.array([0.1, 0.4, 0.6]), np.zeros((3, 3)), 3.0, 5, 10.0, 0.1)  # worth 5
    assert unwitnessed_total(much, 3.0, 8) == 8.0
    assert unwitnessed_total(some, 3.0, 8) == 4.0
    assert unwitnessed_total(much, 3.0, 2) == 2.0
    assert unwitnessed_total(much, 3.0) == 2.0


def test_clusterings_that_err_alike_are_judged_one_by_one() -> None:
    """Strays that all clusterings share are not explained by saying them together."""
    rng = np.random.default_rng(12)
    k, n = 5, 3000
    classes = rng.integers(k, size=n)
    votes = noisy(rng, classes, k, 3, 0.6)
    two = [np.where(rng.random(n) < 0.4, rng.integers(k, size=n), classes) for _ in range(2)]
    clusters = np.stack([3 * two[m % 2] + rng.integers(3, size=n) for m in range(8)], axis=1)
    found = screenings(table_of(votes, clusters, k), np.ones(8, dtype=np.bool_))
    assert found.alike > 0.2
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    assert model.evidence_weights_.sum() <= 2.0 + 1e-9
    before = LabelTable.read(votes, None).soft_vote().argmax(axis=1)
    assert np.mean(model.labels_ == classes) >= np.mean(before == classes) - 0.005


def test_how_alike_clusterings_err_is_the_correlation_of_their_errors() -> None:
    rng = np.random.default_rng(13)
    classes = rng.integers(4, size=2000)
    votes = noisy(rng, classes, 4, 3, 0.7)
    apart = scattered(rng, classes, 4, 6, 0.3)

    def alike(clusters: Any, objects: Objects | None = None) -> float:
        heard = np.ones(clusters.shape[1], dtype=np.bool_)
        return screenings(objects or table_of(votes, clusters, 4), heard).alike

    assert abs(alike(apart)) < 0.02
    assert alike(np.repeat(apart, 3, axis=1)) == alike(apart)  # copies are one
    nearly = np.repeat(apart, 2, axis=1)
    nearly[:40] = rng.permuted(nearly[:40], axis=0)
    assert alike(nearly) == pytest.approx(1 / 11, abs=0.02)  # of eleven others one is nearly a copy
    assert alike(apart[:, :2]) == 1.0  # there is no third one to tell who strays
    missing = np.where(rng.random(apart.shape) < 0.3, -1, apart)
    assert abs(alike(missing)) < 0.03
    weights = rng.uniform(0.5, 2.0, size=2000)
    weighed = Objects.of(LabelTable.read(votes, apart, classes=range(4)), weights)
    assert abs(alike(apart, weighed)) < 0.03


def test_errors_that_all_clusterings_share_are_no_independence() -> None:
    """To clusterings that are nearly copies of each other their common errors look right."""
    rng = np.random.default_rng(15)
    k, n = 5, 3000
    classes = rng.integers(k, size=n)
    votes = noisy(rng, classes, k, 3, 0.6)
    one = np.where(rng.random(n) < 0.1, rng.integers(k, size=n), classes)
    clusters = np.repeat(one[:, None], 8, axis=1)
    for m in range(8):
        clusters[15 * m : 15 * (m + 1), m] = rng.integers(k, size=15)
    found = screenings(table_of(votes, clusters, k), np.ones(8, dtype=np.bool_))
    assert found.alike < selection.ALIKE
    assert not found.apart(selection.ALIKE, selection.REST)


def test_what_nobody_saw_is_not_explained() -> None:
    """Two classifiers that err alike, but meet only where no cluster is."""
    rng = np.random.default_rng(16)
    n = 3000
    classes = rng.integers(2, size=n)
    votes, clusters = noisy(rng, classes, 2, 3, 0.6), classes[:, None].copy()
    errs, outside = rng.random(n) < 0.25, rng.random(n) < 0.5
    votes[errs, :2] = 1 - classes[errs, None]
    clusters[outside] = -1
    first = rng.random(n) < 0.5
    votes[~outside & first, 0] = -1
    votes[~outside & ~first, 1] = -1
    assert measured(votes, clusters, 2).worst == np.inf


@pytest.mark.parametrize("gone", ["nothing", "at random", "of one class", "mostly"])
def test_alikeness_by_hand(gone: str) -> None:
    """Over the clusterings that each object has, however unevenly they are missing."""
    rng = np.random.default_rng(17)
    n, k, r = 600, 3, 6
    classes = rng.integers(k, size=n)
    votes, clusters = noisy(rng, classes, k, 3, 0.7), scattered(rng, classes, k, r, 0.3)
    if gone == "at random":
        clusters[rng.random((n, r)) < 0.3] = -1
    elif gone == "of one class":
        clusters[classes == 0, :3] = -1
    elif gone == "mostly":
        clusters[rng.random(n) < 0.8, 3:] = -1
    objects = table_of(votes, clusters, k)
    seen: list[Any] = []

    def noted(chosen: Any, joint: Any, ballots: Any) -> float:
        seen.append((chosen, joint, ballots.weights))
        return _alikeness(chosen, joint, ballots)

    with mock.patch("bc3e.screening._alikeness", noted):
        found = screenings(objects, np.ones(r, dtype=np.bool_)).alike
    ((chosen, joint, weights),) = seen
    compared = ((chosen >= 0).sum(axis=0) > 1) & (joint >= 0)
    chosen, joint, weights = chosen[:, compared], joint[compared], weights[compared]
    shares = np.zeros((r, k, k))
    for m, t in product(range(r), range(k)):
        here = (joint == t) & (chosen[m] >= 0)
        shares[m, t] = [weights[here & (chosen[m] == i)].sum() for i in range(k)]
        shares[m, t] /= max(weights[here].sum(), 1e-300)
    above = below = 0.0
    for i, t in enumerate(joint):
        given = np.flatnonzero(chosen[:, i] >= 0)
        pairs = list(combinations(given, 2))
        same = [(chosen[a, i] == chosen[b, i]) - shares[a, t] @ shares[b, t] for a, b in pairs]
        above += weights[i] * float(np.mean(same))
        below += weights[i] * float(np.mean([1.0 - shares[a, t] @ shares[a, t] for a in given]))
    assert found == pytest.approx(above / below)
    assert abs(found) < 0.15


def test_neither_the_order_of_classes_nor_the_scale_of_weights_matters() -> None:
    rng = np.random.default_rng(18)
    for _ in range(40):
        k, n = int(rng.integers(2, 5)), 60
        classes = rng.integers(k, size=n)
        votes, clusters = noisy(rng, classes, k, 3, 0.6), scattered(rng, classes, k, 4, 0.3)
        heard = np.ones(4, dtype=np.bool_)
        once = screenings(table_of(votes, clusters, k), heard)
        renamed = screenings(table_of(k - 1 - votes, clusters, k), heard)
        light = Objects.of(LabelTable.read(votes, clusters, classes=range(k)), np.full(n, 1e-9))
        for other in (renamed, screenings(light, heard)):
            assert other.alike == pytest.approx(once.alike)
            assert once.each is not None
            assert other.each is not None
            assert other.each.means == pytest.approx(once.each.means)
            assert other.each.covariance == pytest.approx(once.each.covariance)
            assert other.each.accord == pytest.approx(once.each.accord)
            assert other.each.worst == pytest.approx(once.each.worst)
