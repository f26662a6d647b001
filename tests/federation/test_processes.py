"""Processes and crashes: the same bytes, whatever is killed and when."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bc3e
from bc3e import federation
from bc3e.federation import processes
from bc3e.federation.processes import RunInterrupted
from tests.federation.test_privacy import column_sites, row_sites

MODEL = bc3e.BC3E(
    class_variance=0.2, evidence_weight=0.1, profile_prior=1.0, max_iter=2, vote_calibration=None
)
BATCHES = 8
# "1": every boundary of every run instead of every third of the long one; "5": every process at each
# of them instead of one after the other.
THOROUGH = int(os.environ.get("BC3E_KILLS", "0"))


def fingerprint(result: federation.Result) -> bytes:
    """Everything that a run gives back, as bytes."""
    parts = [site.values.tobytes() for _, site in sorted(result.sites.items())]
    parts += [
        result.lower_bounds.tobytes(),
        result.class_mean.tobytes(),
        result.class_variance.tobytes(),
    ]
    scalars = [result.lower_bound, result.delta2, result.vote_exponent, result.answer_exponent]
    return b"".join([*parts, np.array(scalars).tobytes()])


def mixed_sites() -> list[federation.Site]:
    """Three sites that share some rows and one column, and have rows and columns of their own."""
    rng = np.random.default_rng(4)
    sites = []
    for at, name in enumerate("abc"):
        ids = ["x", "y", "z", f"own-{name}"]
        votes = pd.DataFrame({f"v-{name}": rng.integers(2, size=4)}, index=ids)
        own = [None if i != f"own-{name}" else at % 2 for i in ids]
        clusters = pd.DataFrame({f"c-{name}": rng.integers(2, size=4), "shared": own}, index=ids)
        sites.append(federation.Site(name, votes, clusters))
    return sites


SITES = {
    "row": lambda: row_sites("abc", 3),
    "column": lambda: column_sites("abc", 4),
    "mixed": mixed_sites,
}


@pytest.mark.parametrize("how", SITES)
@pytest.mark.parametrize("masked", [False, True])
def test_processes_and_one_process_give_the_same_bytes(how: str, masked: bool) -> None:
    sites = SITES[how]()
    here = federation.fit(sites, model=MODEL, masked=masked, allow_two=True)
    there = federation.fit(sites, model=MODEL, masked=masked, allow_two=True, processes=True)
    assert fingerprint(here) == fingerprint(there)
    assert list(here.ledger) == list(there.ledger)


class Killer:
    """Ends one process with SIGKILL after so many delivered messages."""

    def __init__(self, after: int, victim: str) -> None:
        self.after, self.victim, self.struck = after, victim, False

    def __call__(self, delivered: int, children: Mapping[str, int]) -> None:
        if delivered == self.after:
            os.kill(children[self.victim], signal.SIGKILL)
            self.struck = True


def interrupted_run(sites: Any, folder: Path, killer: Killer, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Run with a kill, start again, and return the fingerprint."""
    with monkeypatch.context() as patch:
        patch.setattr(processes, "watch", killer)
        try:
            result = federation.fit(
                sites, model=MODEL, allow_two=True, processes=True, checkpoint=folder
            )
        except RunInterrupted:
            result = None
    assert killer.struck
    if result is None:
        result = federation.fit(sites, model=MODEL, allow_two=True, processes=True, checkpoint=folder)
        assert {entry.attempt for entry in result.ledger.select(stage="answer")} >= {1}
    return fingerprint(result)


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("how", ["row", "column"])
def test_a_process_killed_at_any_message_leaves_the_same_bytes(
    how: str, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = SITES[how]()
    unbroken = federation.fit(sites, model=MODEL, allow_two=True, processes=True)
    boundaries = sum(entry.stage != "plan" for entry in unbroken.ledger)
    victims = sorted({host if host != "server" else role for role, host in unbroken.plan.hosts.items()})
    assert boundaries > 60
    assert len(victims) == 5
    stride = 1 if THOROUGH or how == "row" else 3
    # Steps of 8 or 24 and 5 victims: within one batch everybody has a turn.
    for after in range(1 + batch * stride, boundaries + 1, BATCHES * stride):
        for victim in victims if THOROUGH == 5 else [victims[after % len(victims)]]:
            folder = tmp_path / f"{after}-{victim.replace(':', '-')}"
            found = interrupted_run(sites, folder, Killer(after, victim), monkeypatch)
            assert found == fingerprint(unbroken), (how, after, victim)


def test_several_crashes_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sites = mixed_sites()
    unbroken = federation.fit(sites, model=MODEL, allow_two=True)
    crashes = 0
    for after, victim in ((110, "a"), (60, "server"), (40, "auxiliary-server:2"), (50, "c")):
        with monkeypatch.context() as patch:
            patch.setattr(processes, "watch", Killer(after, victim))
            with pytest.raises(RunInterrupted, match=victim):
                federation.fit(sites, model=MODEL, allow_two=True, processes=True, checkpoint=tmp_path)
            crashes += 1
    # What processes began, one process can end: states do not know who carried the messages.
    result = federation.fit(sites, model=MODEL, allow_two=True, checkpoint=tmp_path)
    assert fingerprint(result) == fingerprint(unbroken)
    assert {entry.attempt for entry in result.ledger} == set(range(crashes + 1))
    tags = [
        (e.attempt, e.iteration, e.sweep, e.kind, e.sender, e.recipient)
        for e in result.ledger
        if e.masked
    ]
    assert len(tags) == len(set(tags)), "no tag has masked two messages"


def test_states_are_whole_private_and_no_more_than_three(tmp_path: Path) -> None:
    model = bc3e.BC3E(evidence_weight=0.5, max_iter=5, tol=0.0)
    federation.fit(row_sites("abc"), model=model, checkpoint=tmp_path)
    states = sorted(tmp_path.glob("*/*.state"))
    assert {path.parent.name for path in states} == {
        *(f"client-{name}" for name in "abc"), *(f"auxiliary-server-{i}" for i in (1, 2, 3)),
        "auxiliary-client-1", "server",
    }  # fmt: skip
    for path in states:
        assert path.stat().st_mode & 0o077 == 0
        assert int(path.stem) in (3, 4, 5)
    assert not list(tmp_path.rglob("*.new"))


def test_a_run_goes_on_only_with_its_own_labels_and_settings(tmp_path: Path) -> None:
    federation.fit(row_sites("abc"), model=MODEL, checkpoint=tmp_path)
    with pytest.raises(bc3e.InputError, match="checkpoint"):
        federation.fit(row_sites("abcd"), model=MODEL, checkpoint=tmp_path)
    with pytest.raises(bc3e.InputError, match="checkpoint"):
        federation.fit(row_sites("abc"), model=bc3e.BC3E(evidence_weight=0.2), checkpoint=tmp_path)
    with pytest.raises(bc3e.InputError, match="id_key"):
        federation.fit(row_sites("abc"), model=MODEL, checkpoint=tmp_path, id_key=b"x" * 32)


def test_a_damaged_state_is_not_believed(tmp_path: Path) -> None:
    federation.fit(row_sites("abc"), model=MODEL, checkpoint=tmp_path)
    for path in (tmp_path / "client-b").glob("*.state"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"client:b is damaged"):
        federation.fit(row_sites("abc"), model=MODEL, checkpoint=tmp_path)


SCRIPT = """
import sys
from bc3e import federation
from bc3e.federation import memory
from tests.federation.test_processes import MODEL, column_sites, fingerprint
count, deliver = 0, memory.MemoryTransport._deliver_one
def counted(self):
    global count
    count += 1
    if count == int(sys.argv[2]):
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    deliver(self)
memory.MemoryTransport._deliver_one = counted
result = federation.fit(column_sites("abc", 4), model=MODEL, checkpoint=sys.argv[1])
sys.stdout.write(fingerprint(result).hex())
"""


def test_the_one_process_of_a_run_can_be_killed_too(tmp_path: Path) -> None:
    unbroken = fingerprint(federation.fit(column_sites("abc", 4), model=MODEL))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    killed = subprocess.run([*command, "80"], capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    again = subprocess.run([*command, "0"], capture_output=True, timeout=120, check=True)
    assert bytes.fromhex(again.stdout.decode()) == unbroken


PARENT = """
import os, signal, sys
from bc3e import federation
from bc3e.federation import processes
from tests.federation.test_processes import MODEL, column_sites
def watch(delivered, children):
    if delivered == 100:
        sys.stdout.write(" ".join(str(child) for child in children.values()))
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
processes.watch = watch
federation.fit(column_sites("abc", 4), model=MODEL, checkpoint=sys.argv[1], processes=True)
"""


def test_no_process_outlives_the_one_that_carries_the_messages(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    killed = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    children = [int(child) for child in killed.stdout.split()]
    assert len(children) == 5
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "processes are left over"
        time.sleep(0.05)
    result = federation.fit(column_sites("abc", 4), model=MODEL, checkpoint=tmp_path, processes=True)
    assert fingerprint(result) == fingerprint(federation.fit(column_sites("abc", 4), model=MODEL))


@pytest.mark.parametrize("in_processes", [False, True])
def test_logs_hold_no_label_id_or_value(
    in_processes: bool, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    ids = [f"secretid{i}" for i in range(9)]
    sites = [
        federation.Site(
            name,
            pd.DataFrame({f"v-{name}": rng.choice(["secretclass1", "secretclass2"], size=9)}, index=ids),
            pd.DataFrame(
                {f"c-{name}": rng.choice(["secretcluster1", "secretcluster2"], size=9)}, index=ids
            ),
        )
        for name in "abc"
    ]
    with caplog.at_level(logging.DEBUG):
        result = federation.fit(sites, model=MODEL, processes=in_processes)
    out, err = capfd.readouterr()
    text = caplog.text + out + err
    assert in_processes or "shares, iteration 2" in text, "there is a log to look at"
    assert "secret" not in text
    for site in result.sites.values():
        for value in site.values.ravel():
            assert f"{value:.6f}"[2:] not in text
            assert repr(float(value)) not in text


def test_an_error_in_a_process_is_the_callers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    ids = list(range(300))
    sites = [
        federation.Site(
            name,
            pd.DataFrame({f"v-{name}": np.where(rng.random(300) < 0.2, 1 - truth, truth)}, index=ids),
            pd.DataFrame({f"c-{name}": truth if name == "a" else rng.integers(3, size=300)}, index=ids),
        )
        for name in "abc"
    ]
    with pytest.raises(bc3e.InputError, match="predict the votes"):
        federation.fit(sites, processes=True)
