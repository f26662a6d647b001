"""Forms in which sites hand over labels, and what they are told if something is wrong."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bc3e
from bc3e import federation
from bc3e.federation.kinds import KINDS, WAYS
from bc3e.federation.masking import MaskingError
from bc3e.federation.messages import decode, encode
from bc3e.federation.sites import SiteData

IDS = [f"id{i}" for i in range(10)]
VOTES = {"svm": [0, 1] * 5, "tree": [0, 1, 1, 1, 0, 0, 0, 1, 0, 1]}
CLUSTERS = {"k": ["x", "y"] * 5}
MODEL = bc3e.BC3E(evidence_weight=0.5)


def rest() -> list[federation.Site]:
    more = [f"other{i}" for i in range(10)]
    third = [f"third{i}" for i in range(10)]
    return [
        federation.Site("b", pd.DataFrame(VOTES, index=more), pd.DataFrame(CLUSTERS, index=more)),
        federation.Site("c", pd.DataFrame(VOTES, index=third), pd.DataFrame(CLUSTERS, index=third)),
    ]


FORMS: dict[str, Any] = {
    "pandas": lambda: federation.Site("a", pd.DataFrame(VOTES, index=IDS), pd.DataFrame(CLUSTERS, index=IDS)),
    "pandas with ids": lambda: federation.Site("a", pd.DataFrame(VOTES), pd.DataFrame(CLUSTERS), ids=IDS),
    "pandas id column": lambda: federation.Site(
        "a", pd.DataFrame({"id": IDS, **VOTES}), pd.DataFrame({"id": IDS, **CLUSTERS}), ids="id"
    ),
    "polars": lambda: federation.Site("a", pl.DataFrame(VOTES), pl.DataFrame(CLUSTERS), ids=IDS),
    "polars id column": lambda: federation.Site(
        "a", pl.DataFrame({"id": IDS, **VOTES}), pl.DataFrame({"id": IDS, **CLUSTERS}), ids="id"
    ),
    "pyarrow": lambda: federation.Site("a", pa.table(VOTES), pa.table(CLUSTERS), ids=IDS),
    "mapping": lambda: federation.Site(
        "a", {n: np.array(v) for n, v in VOTES.items()}, {"k": np.array(CLUSTERS["k"])}, ids=IDS
    ),
    "soft": lambda: federation.Site(
        "a", {n: np.eye(2)[v] for n, v in VOTES.items()}, pd.DataFrame(CLUSTERS), ids=IDS
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_gives_the_same_answer(form: str) -> None:
    expected = federation.fit([FORMS["pandas"](), *rest()], model=MODEL).for_site("a")
    found = federation.fit([FORMS[form](), *rest()], model=MODEL).for_site("a")
    assert np.abs(found.values - expected.values).max() < 1e-12
    assert found.ids == IDS
    assert np.array_equal(np.asarray(found.labels), np.asarray(expected.labels))
    assert np.allclose(np.asarray(found.probabilities), expected.values)


def test_answers_come_in_the_library_of_the_site() -> None:
    result = federation.fit([FORMS["polars id column"](), *rest()], model=MODEL)
    assert isinstance(result.for_site("a").probabilities, pl.DataFrame)
    frame = result.for_site("b").probabilities
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == [f"other{i}" for i in range(10)]


def test_whole_numbers_are_good_ids() -> None:
    sites = [federation.Site(n, pd.DataFrame(VOTES), pd.DataFrame(CLUSTERS)) for n in "ab"]
    plan = federation.plan(sites)
    assert [block.sites for block in plan.blocks] == [("a", "b")]


FRAME = pd.DataFrame(VOTES, index=IDS)
BAD: dict[str, tuple[Any, str]] = {
    "no sites": (lambda: federation.fit([]), "no site"),
    "not sites": (lambda: federation.fit([FRAME]), "federation.Site"),  # type: ignore[list-item]
    "one name twice": (lambda: federation.fit([federation.Site("a", FRAME)] * 2), "two sites"),
    "no ids": (lambda: federation.fit([federation.Site("a", pl.DataFrame(VOTES))]), "object ids"),
    "an id twice": (lambda: federation.fit([federation.Site("a", FRAME, ids=["x"] * 10)]), "row 1"),
    "too few ids": (lambda: federation.fit([federation.Site("a", FRAME, ids=["x", "y"])]), "2 ids"),
    "ids of a strange type": (
        lambda: federation.fit([federation.Site("a", FRAME, ids=[0.5 + i for i in range(10)])]), "float"),
    "no such id column": (
        lambda: federation.fit([federation.Site("a", FRAME, ids="name")]), "no column 'name'"),
    "ids that differ": (
        lambda: federation.fit([federation.Site(
            "a", FRAME.assign(id=IDS), pd.DataFrame({"k": [0] * 10, "id": IDS[::-1]}), ids="id")]),
        "another order"),
    "columns without names": (
        lambda: federation.fit([federation.Site("a", np.zeros((10, 2), dtype=int), ids=IDS)]), "names"),
    "no votes": (lambda: federation.fit([federation.Site("a", clusters=FRAME)]), "votes"),
    "a random start": (
        lambda: federation.fit([federation.Site("a", FRAME)], model=bc3e.BC3E(init="random")), "init"),
    "a callback": (
        lambda: federation.fit([federation.Site("a", FRAME)], model=bc3e.BC3E(callback=print)), "callback"),
    "a weight per clustering": (
        lambda: federation.fit(
            [federation.Site("a", FRAME)], model=bc3e.BC3E(evidence_weight=[0.1, 0.2])), "evidence_weight"),
    "a negative total": (
        lambda: federation.fit([federation.Site("a", FRAME)], total_evidence=-1.0), "total_evidence"),
    "recording processes": (
        lambda: federation.fit([federation.Site("a", FRAME)], processes=True, record=True), "record"),
    "an unknown class": (
        lambda: federation.fit([federation.Site("a", FRAME)], model=bc3e.BC3E(classes=[0, 2])), "unknown class"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case: str) -> None:
    run, words = BAD[case]
    with pytest.raises(bc3e.InputError, match=words):
        run()


def test_sites_agree_on_the_classes_that_any_of_them_names() -> None:
    one = federation.Site("a", pd.DataFrame({"v": ["x", "y", "x"]}, index=[1, 2, 3]))
    two = federation.Site("b", pd.DataFrame({"v": ["z", "y", "z"]}, index=[4, 5, 6]))
    result = federation.fit([one, two], model=MODEL)
    assert result.classes == ["x", "y", "z"]
    assert result.for_site("a").probabilities.columns.tolist() == ["x", "y", "z"]


def test_numbers_too_large_to_mask_are_refused() -> None:
    sites = [
        federation.Site("a", pd.DataFrame(VOTES, index=IDS), pd.DataFrame(CLUSTERS, index=IDS)),
        *rest(),
    ]
    model = bc3e.BC3E(evidence_weight=0.5, class_mean=1e9, class_variance=1e8)
    with pytest.raises(MaskingError, match="too large"):
        federation.fit(sites, model=model)


def test_the_file_of_a_site_gives_its_labels_back() -> None:
    table = FORMS["soft"]().table(np.array([0, 1]))
    data = SiteData.of(FORMS["soft"](), table, b"k" * 32, "run")
    again = SiteData.from_bytes(data.to_bytes())
    assert again.name == data.name
    assert again.ids.tobytes() == data.ids.tobytes()
    for kind in ("votes", "clusters", "cluster_names"):
        before, after = getattr(data, kind), getattr(again, kind)
        assert list(before) == list(after)
        assert all(np.array_equal(before[name], after[name]) for name in before)
    assert b"id1" not in data.to_bytes()


def test_importing_the_library_needs_no_cryptography() -> None:
    code = (
        "import sys, bc3e, bc3e.estimator\n"
        "import bc3e.federation\n"
        "assert not {'cryptography', 'msgpack'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def forged(data: bytes, **changes: Any) -> bytes:
    """A message with other contents that is otherwise in order."""
    return encode(replace(decode(data, KINDS), **changes))


def test_a_refused_message_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    from bc3e.federation import memory

    deliver = memory.MemoryTransport._deliver_one
    refused = 0

    def with_rubbish(self: memory.MemoryTransport) -> None:
        nonlocal refused
        recipient, data = self.queue[0]
        host = self.home[recipient]
        message = decode(data, KINDS)
        rubbish = [b"", data[:-1], data + b"x", bytes(len(data))]
        rubbish += [forged(data, run="f" * 32), forged(data, sequence=message.sequence + 1)]
        rubbish += [forged(data, recipient="server:2"), forged(data, sender="client:nobody")]
        for bad in rubbish:
            assert host.receive(bad, recipient) == []
            refused += 1
        deliver(self)
        assert host.receive(data, recipient) == [], "a replay"

    sites = [
        federation.Site("a", pd.DataFrame(VOTES, index=IDS), pd.DataFrame(CLUSTERS, index=IDS)),
        *rest(),
    ]
    expected = federation.fit(sites, model=MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory.MemoryTransport, "_deliver_one", with_rubbish)
        found = federation.fit(sites, model=MODEL)
    assert refused > 100
    for reason in ("checksum", "too short", "another run", "out of order", "unknown", "seen before"):
        assert reason in caplog.text
    for name in "abc":
        assert found.for_site(name).values.tobytes() == expected.for_site(name).values.tobytes()


def test_roles_refuse_what_their_peers_may_not_send() -> None:
    """In order, from a known peer, and wrong all the same: kind, mask or shape."""
    from bc3e.federation import memory

    deliver = memory.MemoryTransport._deliver_one
    refused: dict[str, int] = {}

    def with_mistakes(self: memory.MemoryTransport) -> None:
        recipient, data = self.queue[0]
        role = self.home[recipient].roles[recipient]
        message = decode(data, KINDS)
        assert role.fault(message) is None
        odd = {n: np.concatenate([a, a]) for n, a in message.arrays.items()}
        mistakes = [
            replace(message, masked=not message.masked),
            replace(message, kind="parameters" if message.kind != "parameters" else "shares"),
        ]
        if message.kind not in ("report", "codes"):
            mistakes.append(replace(message, arrays=odd))
        for mistake in mistakes:
            reason = role.fault(mistake)
            assert reason is not None, message.kind
            refused[reason] = refused.get(reason, 0) + 1
        deliver(self)

    sites = [
        federation.Site("a", pd.DataFrame(VOTES, index=IDS), pd.DataFrame(CLUSTERS, index=IDS)),
        *rest(),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory.MemoryTransport, "_deliver_one", with_mistakes)
        federation.fit(sites)
    assert len(refused) == 4, refused


def test_every_kind_has_its_ways() -> None:
    assert set(WAYS) == set(KINDS)
