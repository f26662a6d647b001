"""Attacks on numbers of known origin: they must succeed where they should, and not where they cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from bc3e.errors import InputError
from bc3e.federation.additive import additive_parts
from bc3e.federation.guesses import shares_behind
from bc3e.federation.membership import contributions, likelihood_ratios
from bc3e.federation.preview import exposure
from bc3e.federation.recovery import (
    by_known_profiles,
    by_profile,
    by_sweeps,
    equal_rows,
    equal_values,
)
from bc3e.federation.scoring import (
    clustering_score,
    codes,
    leave_one_out,
    membership_score,
    perplexity,
    vote_score,
)
from bc3e.federation.sites import Site
from bc3e.model.evidence import Evidence, Layout
from bc3e.model.parameters import Parameters
from bc3e.model.split import PosteriorHolder


@dataclass(frozen=True)
class World:
    """Clusterings that know the class fairly well, their profiles, and tendencies of the objects."""

    labels: np.ndarray
    profiles: list[np.ndarray]
    tendency: np.ndarray

    def shares(self, tendency: np.ndarray) -> np.ndarray:
        """Evidence of each clustering, (clusterings, n, k)."""
        return np.stack(
            [
                softmax(tendency + np.log(profile[labels]), axis=1)
                for profile, labels in zip(self.profiles, self.labels.T, strict=True)
            ]
        )


def world(seed: int, n: int = 150, clusterings: int = 3, clusters: int = 4, k: int = 3) -> World:
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    drawn = rng.integers(clusters, size=(n, clusterings))
    labels = np.where(rng.random(drawn.shape) < 0.6, truth[:, None] % clusters, drawn)
    profiles = [rng.dirichlet(np.ones(k), size=clusters) for _ in range(clusterings)]
    return World(labels, profiles, rng.normal(size=(n, k)))


def ari(parts: list[Any], truth: np.ndarray) -> float:
    return clustering_score(parts, codes(truth)).success


def test_evidence_of_one_clustering_gives_it_away_in_fifty_of_fifty_runs() -> None:
    for seed in range(50):
        one = world(seed, n=60, clusterings=1)
        found = by_profile(one.shares(one.tendency)[0], one.tendency)
        assert ari([found], one.labels[:, 0]) == 1.0


def test_two_summed_clusterings_with_known_profiles_are_both_found() -> None:
    for seed in range(20):
        two = world(seed, n=60, clusterings=2)
        weights = [0.7, 1.3]
        total = np.tensordot(weights, two.shares(two.tendency), axes=1)
        found = by_known_profiles(total, two.tendency, two.profiles, weights)
        assert [ari([part], truth) for part, truth in zip(found, two.labels.T, strict=True)] == [
            1.0,
            1.0,
        ]


def test_too_many_combinations_are_not_tried() -> None:
    profile = np.full((40, 2), 0.5)
    assert by_known_profiles(np.ones((2, 2)), np.zeros((2, 2)), [profile] * 3, [1.0] * 3) == []


def test_a_total_over_three_clusterings_is_taken_apart_without_any_profile() -> None:
    """Masked or not, a total of the first sweep is a sum of few atoms."""
    reached = []
    for seed in range(20):
        three = world(seed)
        total = three.shares(np.zeros((150, 3))).sum(axis=0)
        parts = additive_parts(total + np.random.default_rng(seed).normal(scale=1e-9, size=total.shape))
        reached += [ari(parts, truth) for truth in three.labels.T]
    assert np.mean(reached) > 0.9


def test_one_object_seen_in_several_sweeps_is_taken_apart_by_itself() -> None:
    one = world(0, n=1, clusterings=3)
    path = np.random.default_rng(0).normal(size=(8, 3))
    totals = np.array([one.shares(tendency[None])[:, 0].sum(axis=0) for tendency in path])
    atoms = one.shares(np.zeros((1, 3)))[:, 0]
    assert np.allclose(by_sweeps(totals, path, 3), atoms[np.lexsort(atoms.T)], atol=1e-5)


def test_the_additive_attack_finds_nothing_in_noise() -> None:
    rng = np.random.default_rng(0)
    assert additive_parts(rng.normal(size=(100, 3))) == []
    assert additive_parts(rng.normal(size=(5000, 3))) == []  # too many distinct totals to try
    assert additive_parts(np.ones((100, 3))) == []
    noise = additive_parts(
        world(1).shares(np.zeros((150, 3))).sum(axis=0) + rng.normal(scale=0.1, size=(150, 3))
    )
    assert ari(noise, world(1).labels[:, 0]) < 0.2


def test_equal_values_and_rows() -> None:
    assert equal_values(np.array([2.0, 1.0, 1.0 + 1e-9, 2.5])).tolist() == [1, 0, 0, 2]
    groups = equal_rows(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0 + 1e-9]]))
    assert groups[0] == groups[2] != groups[1]


def test_perplexity_is_one_if_all_is_known_and_k_if_nothing_is() -> None:
    truth = np.arange(400) % 4
    assert perplexity(np.eye(4)[truth], truth) == 1.0
    assert perplexity(np.full((400, 4), 0.25), truth) == pytest.approx(4.0)
    assert perplexity(leave_one_out(truth, truth), truth) == pytest.approx(1.0, abs=0.01)
    nothing = np.zeros(400, dtype=int)
    assert perplexity(leave_one_out(nothing, truth), truth) == pytest.approx(4.0, abs=0.05)


def test_groups_of_one_object_earn_nothing() -> None:
    truth = np.random.default_rng(0).integers(4, size=400)
    alone = perplexity(leave_one_out(np.arange(400), truth), truth)
    assert alone == pytest.approx(
        perplexity(leave_one_out(np.zeros(400, dtype=int), truth), truth), abs=1e-3
    )


def test_random_groups_earn_nothing_worth_mentioning() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=500)
    score = clustering_score([rng.integers(5, size=500) for _ in range(10)], truth)
    assert score.success < 0.03
    assert score.perplexity > 2.9


def test_votes_are_known_where_totals_are_unanimous() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(3, size=(300, 3))
    totals = np.stack([np.bincount(row, minlength=3) for row in votes]).astype(float)
    seen = vote_score([(equal_rows(totals), totals / 3)], votes[:, 0])
    known = vote_score([(votes[:, 0], None)], votes[:, 0])
    nothing = vote_score([], votes[:, 0])
    assert known.success == 1.0
    assert known.perplexity < 1.02
    assert nothing.success < 0.45
    assert nothing.perplexity > 2.9
    assert nothing.success < seen.success < 0.8
    assert 1.3 < seen.perplexity < 2.5


def _population(seed: int, n: int) -> tuple[Evidence, list[Parameters]]:
    many = world(seed, n=n)
    layout = Layout((4, 4, 4), (False,) * 3)
    rng = np.random.default_rng(seed)
    votes = np.eye(3)[many.tendency.argmax(axis=1)] + np.eye(3)[rng.integers(3, size=n)]
    stacked = (many.labels + layout.offsets[:-1]).astype(np.int32)
    evidence = Evidence(votes, stacked, (), np.ones(n), np.ones(3), layout)
    profiles = [np.concatenate([p / p.sum(axis=0) for p in many.profiles])] * 2
    return evidence, [Parameters(np.zeros(3), np.ones(3), 1.0, profile) for profile in profiles]


def test_contributions_add_up_to_the_statistics() -> None:
    from bc3e.model.inference import Workers, cold_state, e_step
    from bc3e.model.schedule import PASSING, SWEEPS

    evidence, parameters = _population(0, 30)
    each = contributions(evidence, parameters)
    state = cold_state(evidence, parameters[0])
    for iteration, current in enumerate(parameters):
        whole = e_step(
            evidence, current, state, structured=True, sweeps=SWEEPS, workers=Workers(), settled=PASSING
        )
        told = np.concatenate([whole.first, whole.second, [whole.gap], whole.counts.ravel()])
        assert np.allclose(each[:, iteration].sum(axis=0), told, rtol=1e-12, atol=1e-12)


def test_members_of_a_small_sum_are_told_from_others_and_of_a_large_one_less() -> None:
    areas: dict[int, list[float]] = {5: [], 50: []}
    for seed in range(10):
        each = contributions(*_population(seed, 200)).reshape(200, -1)
        member = np.zeros(200, dtype=bool)
        for size, found in areas.items():
            member[:] = False
            member[:size] = True
            ratio = likelihood_ratios(each[member].sum(axis=0), size, each[:120], each[120:])
            found.append(membership_score(ratio, member[:120]).success)
    assert np.mean(areas[5]) > 0.8
    assert 0.5 < np.mean(areas[50]) < np.mean(areas[5]) - 0.1


def test_a_sum_without_the_candidates_tells_nothing_of_them() -> None:
    areas = []
    for seed in range(20):
        each = contributions(*_population(seed, 200)).reshape(200, -1)
        ratio = likelihood_ratios(each[100:110].sum(axis=0), 10, each[:60], each[120:])
        areas.append(membership_score(ratio, np.arange(60) % 2 == 0).success)
    assert abs(np.mean(areas) - 0.5) < 3 * np.std(areas, ddof=1) / np.sqrt(len(areas)) + 1e-9


# ---- What a site sees before it joins


def _site(n: int = 300, seed: int = 0) -> Site:
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    votes = pd.DataFrame({"svm": np.where(rng.random(n) < 0.7, truth, rng.integers(3, size=n))})
    clusters = pd.DataFrame({"kmeans": np.where(rng.random(n) < 0.7, truth, rng.integers(4, size=n))})
    return Site("bank-a", votes=votes, clusters=clusters)


def test_exposure_grows_with_agreement_and_falls_with_cover() -> None:
    close = exposure(_site(), agreement=0.95)["svm"]
    loose = exposure(_site(), agreement=0.4)["svm"]
    covered = exposure(_site(), agreement=0.4, other_votes=12)["svm"]
    assert close.unanimous is not None
    assert loose.unanimous is not None
    assert covered.unanimous is not None
    assert close.unanimous > 0.8 > 0.3 > loose.unanimous > covered.unanimous
    assert 1.0 <= close.perplexity < loose.perplexity < covered.perplexity < covered.chance


def test_exposure_of_votes_matches_its_formula() -> None:
    """Two classes, one other vote: unanimous with probability a."""
    site = Site("a", votes=pd.DataFrame({"svm": [0, 1] * 1000}))
    found = exposure(site, other_votes=1, agreement=0.7)["svm"]
    assert found.unanimous == pytest.approx(0.7, abs=0.04)
    # If not unanimous (0.3), the total is (1, 1) and says nothing: 2^0.3 on average.
    assert found.perplexity == pytest.approx(2**0.3, abs=0.05)
    assert found.chance == pytest.approx(2.0)


def test_without_other_votes_everything_shows() -> None:
    found = exposure(_site(), other_votes=0)["svm"]
    assert found.unanimous == 1.0
    assert found.revealed == 1.0
    assert found.perplexity == 1.0


def test_exposure_of_clusters_falls_with_cover() -> None:
    alone = exposure(_site(), other_clusterings=0)["kmeans"]
    few = exposure(_site(), other_clusterings=2, agreement=0.6)["kmeans"]
    many = exposure(_site(), other_clusterings=12, agreement=0.6)["kmeans"]
    assert alone.recovered is not None
    assert few.recovered is not None
    assert many.recovered is not None
    assert few.recovered > 0.5 > 0.3 > many.recovered
    assert few.perplexity < many.perplexity <= many.chance


def test_exposure_prints_one_row_per_column_and_no_label() -> None:
    shown = str(exposure(_site()))
    assert "svm" in shown
    assert "kmeans" in shown
    assert "<table>" in exposure(_site())._repr_html_()
    with pytest.raises(KeyError):
        exposure(_site())["nobody"]


def test_exposure_takes_missing_and_soft_labels() -> None:
    rng = np.random.default_rng(0)
    soft = rng.dirichlet(np.ones(3), size=100)
    ids = list(range(100))
    site = Site("a", votes={"soft": soft, "hard": np.where(rng.random(100) < 0.3, -1, 2)}, ids=ids)
    found = exposure(site, classes=[0, 1, 2])
    assert found["soft"].perplexity <= found["soft"].chance + 0.1
    assert np.isfinite(found["hard"].perplexity)


@pytest.mark.parametrize(
    "wrong", [{"agreement": 1.0}, {"agreement": 0}, {"other_votes": -1}, {"other_clusterings": 1.5}]
)
def test_exposure_refuses_nonsense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        exposure(_site(), **wrong)


def test_shares_are_read_from_the_tendencies_of_one_sweep() -> None:
    """A site that sees only how tendencies move knows the summed shares as well as the server does."""
    rng = np.random.default_rng(4)
    n, k, counted = 80, 3, 3.0
    votes = 3.0 * rng.dirichlet(np.ones(k), n)
    shares = counted * rng.dirichlet(np.full(k, 2.0), n)
    parameters = Parameters(np.zeros(k), np.ones(k), 1.0, np.full((4, k), 0.25))
    holder = PosteriorHolder(votes, np.full(n, counted), structured=True)
    holder.begin(parameters)
    holder.start_sweeps()
    holder.step(shares, parameters, 0.0)
    found = shares_behind(votes, counted, parameters, holder.state.tendency)
    np.testing.assert_allclose(found, shares, atol=1e-8)
