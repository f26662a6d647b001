"""Which sums are formed, how, and what the ledger says about them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import bc3e
from bc3e import federation
from bc3e.federation.kinds import KINDS, MEANINGS
from tests.federation.tables import random_table, split

MODEL = bc3e.BC3E(evidence_weight=0.5, max_iter=2)


def column_sites(names: str, n: int = 8) -> list[federation.Site]:
    rng = np.random.default_rng(0)
    ids = [f"person-{i}" for i in range(n)]
    return [
        federation.Site(
            name,
            pd.DataFrame({f"v-{name}": rng.integers(2, size=n)}, index=ids),
            pd.DataFrame({f"c-{name}": rng.integers(3, size=n)}, index=ids),
        )
        for name in names
    ]


def row_sites(names: str, each: int = 6) -> list[federation.Site]:
    rng = np.random.default_rng(0)
    sites = []
    for at, name in enumerate(names):
        ids = [f"person-{at}-{i}" for i in range(each)]
        votes = pd.DataFrame({"v": rng.integers(2, size=each)}, index=ids)
        sites.append(
            federation.Site(name, votes, pd.DataFrame({"c": rng.integers(3, size=each)}, index=ids))
        )
    return sites


@pytest.mark.parametrize("sites", [column_sites("ab"), row_sites("ab")], ids=["column", "row"])
def test_a_sum_over_two_sites_needs_consent(sites: list[federation.Site]) -> None:
    with pytest.raises(bc3e.InputError, match="allow_two=True") as caught:
        federation.fit(sites, model=MODEL)
    assert "'a' and 'b'" in str(caught.value)
    result = federation.fit(sites, model=MODEL, allow_two=True)
    kinds = ("votes", "shares") if len(result.plan.blocks) == 1 else ("counts",)
    for kind in kinds:
        entries = result.ledger.select(kind=kind)
        assert len(entries)
        assert all(entry.masked and "each learns the other's part" in entry.reveals for entry in entries)


@pytest.mark.parametrize("sites", [column_sites("abc"), row_sites("abc")], ids=["column", "row"])
def test_every_sum_over_three_sites_is_masked(sites: list[federation.Site]) -> None:
    result = federation.fit(sites, model=MODEL)
    assert any(entry.masked for entry in result.ledger)
    for entry in result.ledger:
        maskable = any(spec.maskable for spec in KINDS[entry.kind].arrays.values())
        from_site = entry.sender.startswith("client:") or not entry.sender.startswith("auxiliary-client")
        block = next((b for b in result.plan.blocks if b.address == entry.sender), None)
        if maskable and from_site and entry.sender != "server":
            own = block is not None and not block.private  # the auxiliary server of a shared block
            assert entry.masked != own, entry
    assert "other's part" not in str(result.ledger)


def test_what_a_site_holds_alone_never_leaves_it() -> None:
    sent = {entry.kind for entry in federation.fit(row_sites("abc"), model=MODEL).ledger}
    assert not sent & {
        "votes",
        "shares",
        "tendency",
        "responsibilities",
        "presence",
        "answer",
        "evidence",
    }
    sent = {entry.kind for entry in federation.fit(column_sites("abc"), model=MODEL).ledger}
    assert not sent & {
        "counts",
        "profiles",
        "start_counts",
        "start_totals",
        "gains",
        "clusters",
        "codes",
    }


def test_one_site_sends_nothing_but_sums_over_its_objects() -> None:
    (site,) = split(random_table(5), "one", 5)
    result = federation.fit([site], model=MODEL)
    assert {entry.kind for entry in result.ledger if entry.sender != "server"} <= {"holdings", "report"}


def test_a_sum_that_only_one_site_adds_to_is_not_formed() -> None:
    """With clusterings that count as nothing, three sites in a sum hide no more than those that count."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    ids = [f"p{i}" for i in range(300)]
    votes = {n: np.where(rng.random(300) < 0.2, 1 - truth, truth) for n in "abc"}
    labels = {"a": truth, "b": rng.integers(3, size=300), "c": rng.integers(3, size=300)}
    sites = [
        federation.Site(
            n,
            pd.DataFrame({f"v-{n}": votes[n]}, index=ids),
            pd.DataFrame({f"c-{n}": labels[n]}, index=ids),
        )
        for n in "abc"
    ]
    with pytest.raises(bc3e.InputError, match=re.escape("only those of 1 site(s)")):
        federation.fit(sites)
    federation.fit(sites, allow_two=True)


def test_every_kind_has_a_meaning() -> None:
    assert set(KINDS) == set(MEANINGS)
    for name, kind in KINDS.items():
        maskable = any(spec.maskable for spec in kind.arrays.values())
        assert bool(MEANINGS[name].masked) == maskable, name


def test_ids_and_labels_cross_no_border_in_the_clear() -> None:
    rng = np.random.default_rng(1)
    ids = [f"patient-{i}" for i in range(12)]
    sites = [
        federation.Site(
            name,
            pd.DataFrame({"v": rng.choice(["healthy", "ill"], size=12)}, index=ids),
            pd.DataFrame({"c": rng.choice(["wardA", "wardB"], size=12)}, index=ids),
        )
        for name in "abc"
    ]
    result = federation.fit(sites, model=MODEL, record=True, allow_two=True)
    for message in result.transcript:
        raw = b"".join(array.tobytes() for array in message.arrays.values())
        raw += "".join(message.text.values()).encode()
        for secret in (b"patient", b"healthy", b"ill", b"ward"):
            assert secret not in raw, message.kind


def test_each_site_gets_its_own_objects_only() -> None:
    table = random_table(9)
    sites = split(table, "arbitrary", 9)
    result = federation.fit(
        sites, model=bc3e.BC3E(classes=table.classes, evidence_weight=0.5), allow_two=True
    )
    for site in sites:
        found = result.for_site(site.name)
        assert found.ids == site.object_ids
        assert found.probabilities.index.tolist() == site.object_ids
        assert np.allclose(found.probabilities.sum(axis=1), 1.0)
    with pytest.raises(bc3e.InputError, match="no site"):
        result.for_site("nobody")
