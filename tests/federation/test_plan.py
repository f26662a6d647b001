"""Plans: the paper's six sites, who plays which role, and what a plan looks at."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pandas as pd
import pytest

import bc3e
from bc3e import federation
from bc3e.federation.planning import Plan

# Figure "Arbitrarily Distributed Ensemble": which row parts and column groups each site holds.
SIX = {
    "C1": ((1,), (1,)),
    "C2": ((1, 2), (2, 3)),
    "C3": ((2, 3), (1,)),
    "C4": ((3,), (2, 3)),
    "C5": ((4,), (1, 2)),
    "C6": ((4,), (3,)),
}  # fmt: skip
ROWS = {1: range(0, 5), 2: range(5, 9), 3: range(9, 15), 4: range(15, 22)}
# Supplementary table: edge 2n-1 and 2n are the two directions of a pair. Server and AS, then
# client and AS, then client and AC.
PAIRS = (
    [("server", f"AS{b}") for b in (1, 2, 3, 4)]
    + [("C1", "AS1"), ("C2", "AS1"), ("C2", "AS2"), ("C3", "AS2"),
       ("C3", "AS3"), ("C4", "AS3"), ("C5", "AS4"), ("C6", "AS4")]
    + [("C1", "AC1"), ("C3", "AC1"), ("C5", "AC1"), ("C2", "AC2"), ("C4", "AC2"), ("C5", "AC2"),
       ("C2", "AC3"), ("C4", "AC3"), ("C6", "AC3")]
)  # fmt: skip


def six_sites() -> list[federation.Site]:
    sites = []
    for name, (rows, groups) in SIX.items():
        ids = [f"person {i}" for row in rows for i in ROWS[row]]
        votes = {
            f"classifier {g}{x}": [(i * g) % 3 for i in range(len(ids))] for g in groups for x in "ab"
        }
        labels = {f"clustering {g}": [(i + g) % 4 for i in range(len(ids))] for g in groups}
        sites.append(
            federation.Site(name, pd.DataFrame(votes, index=ids), pd.DataFrame(labels, index=ids))
        )
    return sites


def in_the_papers_words(address: str) -> str:
    kind, _, rest = address.partition(":")
    return {"auxiliary-server": "AS", "auxiliary-client": "AC", "client": "", "server": "server"}[
        kind
    ] + rest


def test_the_six_sites_of_the_paper() -> None:
    plan = federation.plan(six_sites())
    assert [block.sites for block in plan.blocks] == [
        ("C1", "C2"),
        ("C2", "C3"),
        ("C3", "C4"),
        ("C5", "C6"),
    ]
    assert [block.size for block in plan.blocks] == [5, 4, 6, 7]
    assert [group.sites for group in plan.groups] == [
        ("C1", "C3", "C5"),
        ("C2", "C4", "C5"),
        ("C2", "C4", "C6"),
    ]
    assert [group.clusters for group in plan.groups] == [(f"clustering {g}",) for g in (1, 2, 3)]
    assert len([role for role in plan.hosts if role.startswith("client:")]) == 6


def test_all_42_message_edges_of_the_paper() -> None:
    plan = federation.plan(six_sites())
    expected = [edge for a, b in PAIRS for edge in ((a, b), (b, a))]
    found = [(in_the_papers_words(e.sender), in_the_papers_words(e.recipient)) for e in plan.edges]
    assert len(expected) == 42
    assert sorted(found) == sorted(expected)


def test_a_run_of_the_six_sites_uses_these_edges_and_no_others() -> None:
    model = bc3e.BC3E(evidence_weight=0.3, max_iter=2)
    result = federation.fit(six_sites(), model=model, allow_two=True)
    learning = {(e.sender, e.recipient) for e in result.ledger.select(stage="learn")}
    assert learning == {(edge.sender, edge.recipient) for edge in result.plan.edges}


def frame(columns: dict[str, list[int]], ids: list[str]) -> pd.DataFrame:
    return pd.DataFrame(columns, index=ids)


def test_labels_have_no_part_in_the_plan() -> None:
    one, two = six_sites(), six_sites()
    other = [
        federation.Site(s.name, s.votes.map(lambda v: 2 - v), s.clusters.map(lambda v: 3 - v))
        for s in two
    ]
    assert federation.plan(one) == federation.plan(other)


def test_a_role_whose_sums_come_from_one_site_is_played_by_it() -> None:
    ids = ["x", "y"]
    sites = [
        federation.Site("a", frame({"v": [0, 1]}, ids)),
        *(federation.Site(name, clusters=frame({f"c-{name}": [0, 1]}, ids)) for name in "bcd"),
        federation.Site("e", frame({"v": [0, 1]}, ["z", "w"]), frame({"c-e": [0, 1]}, ["z", "w"])),
    ]
    plan = federation.plan(sites)
    together, alone = plan.blocks
    assert together.host == "a", "the votes come from a alone, so they stay there"
    assert alone.host == "e"
    assert {group.host for group in plan.groups if group.clusters} == {"b", "c", "d", "e"}
    result = federation.fit(sites, model=bc3e.BC3E(evidence_weight=0.5))
    assert not result.ledger.select(kind="votes").entries, "no votes left their site"
    assert all(entry.masked for entry in result.ledger.select(kind="shares"))
    assert {entry.sender for entry in result.ledger.select(kind="shares")} == {
        f"client:{n}" for n in "bcd"
    }


def test_a_cell_that_two_sites_hold_is_counted_once_by_the_first_that_has_it() -> None:
    ids = [f"n{i}" for i in range(6)]
    whole = pd.DataFrame({"v": [0, 1, 0, 1, 0, 1], "u": [0, 1, 1, 1, 0, 0]}, index=ids)
    clusters = pd.DataFrame({"c": [0, 1, 0, 1, 0, 1]}, index=ids)
    gaps = whole.astype("Int64")
    gaps.loc["n2", "v"] = pd.NA
    model = bc3e.BC3E(evidence_weight=0.5, vote_weight=None, vote_calibration=None)
    central = model.fit(whole, clusters).probabilities_
    sites = [federation.Site("a", gaps, clusters), federation.Site("b", whole[["v"]], clusters)]
    result = federation.fit(sites, model=model, allow_two=True)
    assert (result.for_site("b").probabilities - central).abs().to_numpy().max() < 1e-9
    (block,) = result.plan.blocks
    assert dict(block.votes) == {"a": ("u", "v"), "b": ("v",)}
    assert dict(block.clusters) == {"a": ("c",)}
    assert {entry.kind for entry in result.ledger.select(stage="plan")} == {
        "holdings", "contest", "claims", "awards", "placement",
    }  # fmt: skip


def test_a_plan_survives_its_text_form() -> None:
    plan = federation.plan(six_sites())
    assert Plan.from_json(plan.to_json()) == plan


def test_the_description_shows_every_role(tmp_path: Path) -> None:
    plan = federation.plan(six_sites())
    described = plan.describe()
    assert "42 message edges" in str(described)
    assert "allow_two" in str(described)
    tree = ElementTree.fromstring(described.svg)
    titles = {node.text for node in tree.iter("{http://www.w3.org/2000/svg}title")}
    assert set(plan.hosts) <= titles
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}line"))) == 21
    described.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == described.svg
    assert described._repr_svg_() == described.svg


def test_names_that_look_like_markup_stay_text() -> None:
    site = federation.Site(
        "a", frame({"v": [0, 1]}, ["x", "y"]), frame({"<script>&": [0, 1]}, ["x", "y"])
    )
    svg = federation.plan([site]).describe().svg
    assert "<script>" not in svg
    ElementTree.fromstring(svg)


@pytest.mark.parametrize("name", ["", "server", "a b", "a:b", "x" * 65, "ä", 3])
def test_bad_site_names_are_refused(name: object) -> None:
    with pytest.raises(bc3e.InputError, match="name"):
        federation.Site(name)  # type: ignore[arg-type]
