"""Any split of a table gives the fit in one place: 200 random tables, after every number of iterations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bc3e
from bc3e import federation
from bc3e.federation.planning import Plan
from bc3e.labels import LabelTable
from bc3e.learning import Learner
from bc3e.selection import CAUTIOUS
from tests.federation.tables import SPLITS, counted, difference, model_for, random_table, split
from tests.generation import planted_table

TABLES, BATCHES, ITERATIONS = 200, 20, 3


def check(sites: list[federation.Site], model: bc3e.BC3E, central: bc3e.BC3E, masked: bool) -> Plan:
    close = 1e-6 if masked else 1e-9
    found = federation.fit(
        sites, model=model, masked=masked, allow_two=True, classifier_weights=counted(central)
    )
    assert difference(found, central) <= close
    assert found.n_iter == central.n_iter_
    assert np.abs(found.lower_bounds - central.lower_bounds_).max() <= close
    assert abs(found.lower_bound - central.lower_bound_) <= close
    falls = found.lower_bounds[:-1] - found.lower_bounds[1:]
    noise = 1e-12 * (1.0 + np.abs(found.lower_bounds[0])) + (1e-7 if masked else 0.0)
    assert falls.max(initial=-np.inf) <= noise
    return found.plan


@pytest.mark.parametrize("batch", range(BATCHES))
def test_any_split_gives_the_central_fit(batch: int) -> None:
    for seed in range(batch * TABLES // BATCHES, (batch + 1) * TABLES // BATCHES):
        table = random_table(seed)
        sites = split(table, SPLITS[seed % len(SPLITS)], seed)
        for max_iter in range(1, ITERATIONS + 1):
            model = model_for(seed, table, max_iter)
            central = model_for(seed, table, max_iter).fit(table.votes, table.clusters)
            check(sites, model, central, masked=False)
            if max_iter == 1 + seed % ITERATIONS:
                check(sites, model, central, masked=True)


def test_the_random_splits_are_of_every_kind() -> None:
    seen: dict[str, set[str]] = {}
    for seed in range(40):
        how = SPLITS[seed % len(SPLITS)]
        plan = federation.plan(split(random_table(seed), how, seed))
        traits = seen.setdefault(how, set())
        traits.add("own rows" if any(block.private for block in plan.blocks) else "no own rows")
        traits.add("shared rows" if any(len(b.sites) > 1 for b in plan.blocks) else "no shared rows")
        traits.add("shared columns" if any(len(g.sites) > 1 for g in plan.groups) else "own columns")
    assert seen["one"] == {"own rows", "no shared rows", "own columns"}
    assert seen["row"] == {"own rows", "no shared rows", "shared columns"}
    assert seen["column"] == {"no own rows", "shared rows", "own columns"} | (
        seen["column"] & {"own rows", "no shared rows"}  # all columns may fall to one site
    )
    for how in ("arbitrary", "overlapping"):
        assert {"shared rows", "shared columns"} <= seen[how]


def planted_frames(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    votes, clusters, _ = planted_table(seed)
    ids = [f"id-{i}" for i in range(len(votes))]
    return (
        pd.DataFrame(votes, index=ids).add_prefix("classifier_"),
        pd.DataFrame(clusters, index=ids).add_prefix("clustering_"),
    )


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("how", ["row", "column"])
def test_the_default_settings_hold_across_sites(
    how: str, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes, clusters = planted_frames(3)
    central = bc3e.BC3E()
    monkeypatch.setattr(Learner, "_advised_total", lambda *_: 1.0)  # a number that the sites give
    answer = central._consensus(LabelTable.read(votes, clusters), None)
    expected = pd.DataFrame(answer.expand(answer.probabilities), index=votes.index)
    assert (central.evidence_weights_ > 0).any()
    if how == "row":
        third = len(votes) // 3
        edges = (slice(0, third), slice(third, 2 * third), slice(2 * third, None))
        sites = [
            federation.Site(name, votes.iloc[rows], clusters.iloc[rows])
            for name, rows in zip("abc", edges, strict=True)
        ]
    else:
        sites = [
            federation.Site(name, votes.iloc[:, i : i + 1], clusters.iloc[:, i::3])
            for i, name in enumerate("abc")
        ]
    weights = dict(zip(votes.columns, central.classifier_weights_, strict=True))
    assert len(set(weights.values())) > 1
    found = federation.fit(sites, masked=masked, total_evidence=1.0, classifier_weights=weights)
    for site in found.sites.values():
        assert np.abs(site.values - expected.loc[site.ids].to_numpy()).max() <= (
            1e-6 if masked else 1e-9
        )
    assert found.vote_exponent == pytest.approx(central.vote_exponent_, abs=1e-8)
    assert found.answer_exponent == pytest.approx(central.answer_exponent_, abs=1e-7)
    assert found.evidence_weight == pytest.approx(central.evidence_weights_.max(), abs=1e-12)
    assert np.abs(found.lower_bounds - central.lower_bounds_).max() <= 1e-6


def undecided(seed: int) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Three classifiers that hardly prefer a class on a third of the objects, and good clusterings."""
    hard, clusters, truth = planted_table(seed, n=600, k=2, r1=3, r2=4, vote_noise=0.5)
    ids = [f"id-{i}" for i in range(len(truth))]
    votes = {}
    for i, column in enumerate(hard.T):
        soft = np.where(np.arange(len(truth)) % 3 == 0, np.where(column == 1, 0.502, 0.498), truth)
        votes[f"classifier_{i}"] = pd.DataFrame({"a": 1.0 - soft, "b": soft}, index=ids)
    return votes, pd.DataFrame(clusters, index=ids).add_prefix("clustering_")


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("how", ["row", "column"])
def test_sites_move_no_label_against_a_majority_either(
    how: str, masked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes, clusters = undecided(0)
    central = bc3e.BC3E(classes=["a", "b"])
    monkeypatch.setattr(Learner, "_advised_total", lambda *_: CAUTIOUS)  # a number that the sites give
    answer = central._consensus(LabelTable.read(votes, clusters, classes=["a", "b"]), None)
    expected = pd.DataFrame(answer.expand(answer.probabilities), index=clusters.index)
    free = bc3e.BC3E(classes=["a", "b"], evidence_weight=CAUTIOUS / 4).fit(votes, clusters)
    assert (free.probabilities_.to_numpy().argmax(axis=1) != expected.to_numpy().argmax(axis=1)).any()
    sites = []
    for i, name in enumerate("abc"):
        rows = clusters.index[200 * i : 200 * (i + 1)] if how == "row" else clusters.index
        wanted = list(votes) if how == "row" else [f"classifier_{i}"]
        columns = list(clusters) if how == "row" else list(clusters)[i::3]
        said = {column: votes[column].loc[rows] for column in wanted}
        sites.append(federation.Site(name, said, clusters.loc[rows, columns]))
    for _ in range(2):  # the second time from the last checkpoint
        found = federation.fit(
            sites, model=bc3e.BC3E(classes=["a", "b"]), masked=masked, checkpoint=tmp_path
        )
        for site in found.sites.values():
            gap = np.abs(site.values - expected.loc[site.ids].to_numpy()).max()
            assert gap <= (1e-6 if masked else 1e-9)


def test_results_do_not_depend_on_the_order_in_which_messages_arrive() -> None:
    """Sites of one stage may work at the same time: nothing waits for a particular one of them."""
    from bc3e.federation import running

    table = random_table(13)
    sites = split(table, "arbitrary", 13)
    model = model_for(13, table, 2)
    plain = federation.fit(sites, model=model, allow_two=True)
    original = running.run_in_memory
    for seed in range(5):
        rng = np.random.default_rng(seed)

        def shuffled(*args: object, rng: np.random.Generator = rng, **more: object) -> object:
            return original(*args, choose=lambda n: int(rng.integers(n)), **more)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(running, "run_in_memory", shuffled)
            other = federation.fit(sites, model=model, allow_two=True)
        for name in plain.sites:
            assert plain.for_site(name).values.tobytes() == other.for_site(name).values.tobytes()
        assert plain.lower_bounds.tobytes() == other.lower_bounds.tobytes()


def test_the_id_key_does_not_change_a_byte() -> None:
    table = random_table(21)
    sites = split(table, "overlapping", 21)
    model = model_for(21, table, 3)
    runs = [federation.fit(sites, model=model, masked=False, id_key=bytes([i]) * 32) for i in range(3)]
    for name in runs[0].sites:
        assert len({run.for_site(name).values.tobytes() for run in runs}) == 1
    assert len({run.lower_bounds.tobytes() for run in runs}) == 1
