"""Privacy is measured: plain messages show up as broken, masks as good as they can be, broken masks as broken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bc3e import BC3E
from bc3e.errors import InputError
from bc3e.federation import masking, row_sums
from bc3e.federation.auditing import Audit, Finding, audit
from bc3e.federation.membership import contributions
from bc3e.federation.result import Result
from bc3e.federation.running import fit
from bc3e.federation.scoring import adjusted_rand
from bc3e.federation.sites import Site
from bc3e.federation.views import TOGETHER, nodes

RUNS = 50
COUNTED = BC3E(evidence_weight=1.0)  # every clustering counts, so every one can show


def table(seed: int, n: int, r1: int = 3, r2: int = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Votes and clusters that know the class of an object fairly well."""
    rng = np.random.default_rng([seed, 6])
    truth = rng.integers(3, size=(n, 1))
    votes = np.where(rng.random((n, r1)) < 0.6, truth, rng.integers(3, size=(n, r1)))
    clusters = np.where(rng.random((n, r2)) < 0.7, truth, rng.integers(4, size=(n, r2)))
    ids = [f"object-{i}" for i in range(n)]
    return (
        pd.DataFrame(votes, index=ids, columns=[f"vote-{i}" for i in range(r1)]),
        pd.DataFrame(clusters, index=ids, columns=[f"clustering-{i}" for i in range(r2)]),
    )


def by_column(seed: int, n: int = 60, **sizes: int) -> list[Site]:
    votes, clusters = table(seed, n, **sizes)
    return [Site(f"s{i}", votes=votes.iloc[:, i::3], clusters=clusters.iloc[:, i::3]) for i in range(3)]


def by_row(seed: int, n: int = 60) -> list[Site]:
    votes, clusters = table(seed, n)
    return [Site(f"s{i}", votes=votes.iloc[i::3], clusters=clusters.iloc[i::3]) for i in range(3)]


def by_both(seed: int, n: int = 90) -> list[Site]:
    votes, clusters = table(seed, n)
    return [
        Site(f"s{i}{j}", votes=votes.iloc[i::3, j::3], clusters=clusters.iloc[i::3, j::3])
        for i in range(3)
        for j in range(3)
    ]


def mixed(seed: int, n: int = 90) -> list[Site]:
    """Half of the objects split by column among three sites, the others by row among three more."""
    votes, clusters = table(seed, n)
    half = n // 2
    shared = [
        Site(f"s{i}", votes=votes.iloc[:half, i::3], clusters=clusters.iloc[:half, i::3])
        for i in range(3)
    ]
    alone = [
        Site(f"s{3 + i}", votes=votes.iloc[half + i :: 3], clusters=clusters.iloc[half + i :: 3])
        for i in range(3)
    ]
    return shared + alone


def run(sites: list[Site], masked: bool, model: BC3E = COUNTED) -> Result:
    return fit(sites, model=model, masked=masked, record=True)


def audited(sites: list[Site], masked: bool, model: BC3E = COUNTED) -> Audit:
    return audit(run(sites, masked, model), sites, model=model)


def role(finding: Finding) -> str:
    return (
        "site"
        if finding.node.startswith("s") and finding.node != "server"
        else finding.node.split(":")[0]
    )


def advantages(findings: Iterable[Finding]) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Success and perplexity beyond the ideal baseline, by role and attack."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for f in findings:
        found[role(f), f.attack].append((f.success - f.ideal, f.ideal_perplexity - f.perplexity))
    return found


def test_plain_column_messages_are_broken() -> None:
    for seed in range(8):
        found = audited(by_column(seed), masked=False).select(node="auxiliary-server:1")
        for f in found.select(attack="clusters").findings:
            assert f.success > 0.99
            assert f.perplexity < 1.2
            assert abs(f.chance) < 0.15
            assert not f.masked
        for f in found.select(attack="votes").findings:
            assert f.success == 1.0
            assert f.perplexity < 1.01


def test_two_clusterings_in_one_plain_sum_are_recovered() -> None:
    reached = [
        f.success
        for seed in range(4)
        for f in audited(by_column(seed, n=120, r2=6), masked=False).select(
            node="auxiliary-server:1", attack="clusters"
        ).findings
    ]  # fmt: skip
    assert np.mean(reached) > 0.8


@pytest.mark.parametrize(("split", "n"), [(by_column, 36), (by_row, 36), (mixed, 60)])
def test_masked_messages_give_no_node_more_than_its_ideal_baseline(
    split: Callable[..., list[Site]], n: int
) -> None:
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for seed in range(RUNS):
        # One number per run, role and attack: the columns of a run are not independent.
        for key, values in advantages(audited(split(seed, n), masked=True).findings).items():
            found[key].append(tuple(np.mean(values, axis=0)))
    assert found
    for key, values in found.items():
        assert len(values) == RUNS, key
        mean = np.mean(values, axis=0)
        error = np.std(values, axis=0, ddof=1) / np.sqrt(RUNS)
        assert np.all(mean <= 2 * error + 1e-9), (key, mean, error)


def test_with_the_default_settings_too() -> None:
    for seed in range(5):
        for f in audited(by_column(seed), masked=True, model=BC3E()).findings:
            assert f.success <= f.ideal + 1e-9
            assert f.perplexity >= f.ideal_perplexity - 1e-9


def _no_masks(secret: bytes, context: bytes, shape: tuple[int, ...]) -> Any:
    return np.zeros(shape, dtype=np.uint64)


def _same_mask_for_every_sum(secret: bytes, context: bytes, shape: tuple[int, ...]) -> Any:
    return SOUND(secret, b"", shape)


SOUND = masking._keystream


@pytest.mark.parametrize("broken", [_no_masks, _same_mask_for_every_sum])
def test_broken_masks_show_up(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit finds leaks where there are some: masks left out, and one mask for all tags."""
    monkeypatch.setattr(masking, "_keystream", broken)
    gained = []
    for seed in range(5):
        found = audited(by_column(seed), masked=True).select(
            node="auxiliary-server:1", attack="clusters"
        )
        assert all(f.masked for f in found.findings)
        assert all(f.success > 0.99 for f in found.findings)
        gained += [f.ideal_perplexity - f.perplexity for f in found.findings]
    assert np.mean(gained) > 0.05


def test_masks_that_cancel_early_show_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """If two of three sites mask only between themselves, the third stands in the open."""
    honest = masking.Masker.mask

    def mask(self: masking.Masker, values: Any, tag: Any, members: Any, *, bits: int = 30) -> Any:
        if self.site == "s2":
            return masking._to_ring(np.asarray(values), 3, tag.kind, bits)
        monkeypatch.setattr(masking, "_keystream", _no_masks_with(self, "s2"))
        return honest(self, values, tag, members, bits=bits)

    def _no_masks_with(masker: masking.Masker, site: str) -> Any:
        def stream(secret: bytes, context: bytes, shape: tuple[int, ...]) -> Any:
            if secret == masker._secrets[site]:
                return np.zeros(shape, dtype=np.uint64)
            return SOUND(secret, context, shape)

        return stream

    monkeypatch.setattr(masking.Masker, "mask", mask)
    found = audited(by_column(0), masked=True).select(node="auxiliary-server:1", attack="votes")
    by_site = {f.site: f for f in found.findings}
    assert by_site["s2"].success == 1.0
    assert by_site["s2"].ideal < 1.0
    assert by_site["s0"].success < 1.0


def test_totals_alone_show_clusterings_to_whoever_holds_them() -> None:
    """What no mask can hide: the ideal baseline itself is far from chance, and the answer below it."""
    found = [
        f
        for seed in range(6)
        for f in audited(by_column(seed, n=120), masked=True).select(
            node="auxiliary-server:1", attack="clusters"
        ).findings
    ]  # fmt: skip
    ideal, answer, chance = (
        np.mean([getattr(f, name) for f in found]) for name in ("ideal", "answer", "chance")
    )
    assert ideal > 0.7 > 0.6 > answer > chance + 0.05


def test_together_the_roles_without_labels_know_profiles_and_posteriors() -> None:
    """In an arbitrary split one party for all roles can read labels off totals: say so."""
    found = audited(by_both(0), masked=True).select(node=TOGETHER, attack="clusters")
    apart = audited(by_both(0), masked=True).select(attack="clusters")
    assert np.mean([f.success for f in found.findings]) > 0.95
    assert np.mean([f.success for f in apart.findings if role(f) == "auxiliary-server"]) < 0.95


def test_each_site_is_attacked_by_all_others_and_never_by_itself() -> None:
    found = audited(by_column(0), masked=True).findings
    for attack in ("clusters", "votes"):
        pairs = {(f.node, f.site) for f in found if f.attack == attack}
        assert {("s0", "s1"), ("s0", "s2"), ("s1", "s0"), ("auxiliary-server:1", "s0")} <= pairs
        assert not any(node == site for node, site in pairs)


def test_a_block_of_one_site_is_open_to_nobody_else() -> None:
    found = audited(by_row(0), masked=True).findings
    assert {f.attack for f in found} == {"membership"}
    assert {f.node for f in found} == {TOGETHER}


def test_the_membership_attack_reads_the_sums_that_were_sent() -> None:
    """What the attack believes each object adds is what the site's messages add up to."""
    for masked in (False, True):
        sites = by_row(3)
        result = run(sites, masked)
        together = next(node for node in nodes(result.plan) if node.name == TOGETHER)
        seen = together.transcript(result.transcript)
        tables = {site.name: site.table(np.array(result.classes)) for site in sites}
        evidence, parameters = row_sums._candidates(result.plan, seen, tables, COUNTED)
        series = row_sums._series(result.plan, seen)
        assert len(series) == len(parameters) == result.n_iter
        each = contributions(evidence, parameters)
        for at, sums in enumerate(series):
            told = np.concatenate([found.total.ravel() for found in sums])
            assert np.allclose(each[:, at].sum(axis=0), told, atol=1e-6)
            assert all(found.masked == masked for found in sums)
        own = row_sums._own_sums("s1", series)
        if masked:
            assert own is None
        else:
            assert own is not None
            assert np.allclose(each[20:40].sum(axis=0), own, atol=1e-6)


def test_membership_shows_in_plain_sums_of_few_objects() -> None:
    plain, ideal = [], []
    for seed in range(15):
        for f in audited(by_row(seed), masked=False).findings:
            plain.append(f.success)
            ideal.append(f.ideal)
    error = np.std(plain, ddof=1) / np.sqrt(len(plain))
    assert np.mean(plain) > 0.5 + 3 * error
    assert np.mean(plain) > np.mean(ideal) + 0.05
    assert abs(np.mean(ideal) - 0.5) < 0.1


def test_results_print_without_labels_and_ids() -> None:
    found = audited(by_column(0), masked=True)
    shown = str(found)
    assert "auxiliary-server:1" in shown
    assert "object-" not in shown
    assert "<table>" in found._repr_html_()
    assert {"node", "attack", "ideal", "answer", "chance"} <= set(found.records()[0])
    assert len(found.worst()) == len({(f.node, f.attack) for f in found.findings})


def test_bad_input_is_refused() -> None:
    sites = by_column(0, n=20)
    with pytest.raises(InputError, match="record=True"):
        audit(fit(sites), sites)
    result = run(sites, True)
    with pytest.raises(InputError, match="other sites"):
        audit(result, sites[:2])
    with pytest.raises(InputError, match="other objects"):
        audit(result, by_row(0, n=24))


def test_missing_labels_are_left_out() -> None:
    votes, clusters = table(0, 60)
    votes.iloc[:10, 0] = -1
    clusters.iloc[5:20, 0] = -1
    sites = [Site(f"s{i}", votes=votes.iloc[:, i::3], clusters=clusters.iloc[:, i::3]) for i in range(3)]
    found = audited(sites, masked=False).select(node="auxiliary-server:1", site="s0")
    assert {f.attack: f.n_objects for f in found.findings} == {"clusters": 45, "votes": 50}


def test_adjusted_rand_is_scikit_learns() -> None:
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(0)
    for _ in range(20):
        one, other = rng.integers(4, size=50), rng.integers(1, 6, size=50)
        assert adjusted_rand(one, other) == pytest.approx(adjusted_rand_score(one, other), abs=1e-12)
    same = np.zeros(5, dtype=int)
    assert adjusted_rand(same, same) == 1.0
