"""The documented formula and the ledger agree, message for message and byte for byte."""

from __future__ import annotations

from collections import Counter

import pytest

import bc3e
from bc3e import federation
from bc3e.federation.ledger import Entry
from bc3e.federation.traffic import Traffic, iteration_traffic
from bc3e.labels import LabelTable
from tests.federation.tables import SPLITS, random_table, split
from tests.federation.test_plan import six_sites
from tests.federation.test_privacy import column_sites, row_sites


def sweeps_of(result: federation.Result, iteration: int) -> dict[int, int]:
    """Sweeps that each block took, by its number; blocks without remote labels took some unseen."""
    found = {block.number: 0 for block in result.plan.blocks}
    for entry in result.ledger.select(kind="shares", iteration=iteration):
        number = int(entry.recipient.rpartition(":")[2])
        found[number] = max(found[number], entry.sweep)
    return found


def check(
    sites: list[federation.Site], model: bc3e.BC3E, clusters: dict[str, int], masked: bool
) -> None:
    result = federation.fit(sites, model=model, masked=masked, allow_two=True)
    k = len(result.classes)
    for iteration in range(1, result.n_iter + 1):
        entries = result.ledger.select(iteration=iteration, stage="learn")
        expected = iteration_traffic(result.plan, k, clusters, sweeps_of(result, iteration))
        assert Traffic(len(entries), entries.numbers) == expected


@pytest.mark.parametrize("masked", [False, True])
def test_the_ledger_agrees_with_the_formula_on_random_splits(masked: bool) -> None:
    for seed in range(20):
        table = random_table(seed, n=12)
        sites = split(table, SPLITS[seed % len(SPLITS)], seed)
        model = bc3e.BC3E(classes=table.classes, evidence_weight=0.5, max_iter=3)
        layout = LabelTable.read(table.votes, table.clusters, classes=table.classes).layout
        clusters = dict(zip(table.clusters, layout.n_clusters, strict=True))
        check(sites, model, clusters, masked)


def test_the_closed_forms_of_the_three_ways_to_split() -> None:
    model = bc3e.BC3E(evidence_weight=0.5, max_iter=2, tol=0.0)
    d, n, k, q = 3, 8, 2, 5
    column = iteration_traffic(
        federation.plan(column_sites("abc", n)), k, {f"c-{s}": 3 for s in "abc"}, q
    )
    assert column == Traffic(
        2 + d * (2 * q + 2), 8 * (4 * k + 9 + d * ((2 * q + 1) * n * k + 2 * q + 3))
    )
    rows, r2 = 3, 1
    row = iteration_traffic(federation.plan(row_sites("abc")), k, {"c": rows}, q)
    assert row == Traffic(4 * d, 8 * d * (4 * k + 9 + 2 * rows * k + r2 + 1) + d * r2)
    check(column_sites("abc", n), model, {f"c-{s}": 3 for s in "abc"}, True)
    six = {f"clustering {g}": 4 for g in (1, 2, 3)}
    plan = federation.plan(six_sites())
    assert iteration_traffic(plan, 3, six, 5).messages == 4 * 2 + 8 * 12 + 9 * 2
    check(six_sites(), model, six, True)


def test_headers_are_as_long_as_documented() -> None:
    result = federation.fit(six_sites(), model=bc3e.BC3E(evidence_weight=0.5), allow_two=True)
    overheads = [e.bytes - e.numbers for e in result.ledger.select(stage="learn")]
    assert min(overheads) >= 200
    assert max(overheads) <= 300


def test_the_ledger_can_be_read_in_many_ways() -> None:
    result = federation.fit(column_sites("abc"), model=bc3e.BC3E(evidence_weight=0.5))
    ledger = result.ledger
    assert isinstance(next(iter(ledger)), Entry)
    assert len(ledger) == len(ledger.columns()["kind"]) > 0
    assert ledger.bytes == sum(ledger.columns()["bytes"]) > ledger.numbers > 0
    assert len(ledger.select(kind="votes", masked=True)) == 3
    counts = Counter(ledger.columns()["kind"])
    told: Counter[str] = Counter()
    for row in ledger.summary().sections[0].rows:
        told[row[0]] += int(row[3].replace(",", ""))
    assert told == counts
    assert "votes" in str(ledger)
    assert "<table>" in ledger._repr_html_()
    shapes = {entry.shape for entry in ledger.select(kind="shares")}
    assert shapes == {"shares 8x2"}
