"""From nothing to a finished run with the commands that people type, each in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bc3e.federation.engine import launching
from bc3e.federation.engine.control import Control
from bc3e.federation.engine.rehearsal import Rehearsal, deal, free_port
from bc3e.federation.engine.site_config import SiteConfig, write_table
from tests.federation_engine.conftest import CLUSTERS, ENGINE, VOTES, label_table

pytestmark = ENGINE
SITES = ("bank-a", "bank-b", "bank-c")
Type = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def type_in(tmp_path: Path) -> Iterator[Type]:
    """Type a command in a folder; whatever still runs at the end is ended."""
    running: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        program = [sys.executable, "-c", "from bc3e.cli.main import main; main()", "federate", *words]
        process = subprocess.Popen(
            program, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "COLUMNS": "200"},
        )  # fmt: skip
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=30)


def said(process: subprocess.Popen[str], code: int = 0, seconds: float = 150.0) -> str:
    told, _ = process.communicate(timeout=seconds)
    assert process.returncode == code, told
    return told


def test_from_nothing_to_a_finished_run(tmp_path: Path, type_in: Type) -> None:
    project = f"name: fraud\nserver: localhost:{free_port()}\nsites: [{', '.join(SITES)}]\n"
    (tmp_path / "project.yml").write_text(project + "coordinator: lead@example.org\n")
    assert "bank-b" in said(type_in("provision", "project.yml"))
    said(type_in("key", "ids.key"))
    parts = deal(label_table(), 3, "column", VOTES, CLUSTERS, "id")
    for site, part in zip(SITES, parts, strict=True):
        write_table(part, tmp_path / f"{site}.csv", ".csv")
        own = part.column_names
        (tmp_path / f"{site}.toml").write_text(
            f'kit = "kits/{site}"\nlabels = "{site}.csv"\nid = "id"\nid_key = "ids.key"\n'
            f"votes = {[c for c in VOTES if c in own]}\n"
            f"clusters = {[c for c in CLUSTERS if c in own]}\n"
            f'answers = "{site}-refined.csv"\nstate = "state-{site}"\n'
        )
    (tmp_path / "settings.toml").write_text("max_iter = 25\ntol = 0.0\n")
    assert "240 objects" in said(type_in("site", "--config", "bank-a.toml", "--check"))
    for site in SITES:
        type_in("site", "--config", f"{site}.toml")
    try:
        first = type_in("start", "--name", "one", "--settings", "settings.toml")
        _wait_for_iteration(tmp_path, "one", 1)
        held = _family(tmp_path, "bank-a")  # the run cannot end before it is stopped
        _send(held, signal.SIGSTOP)
        assert "goes on" in said(type_in("stop", "--name", "one"))
        said(first, 4)
        _send(held, signal.SIGCONT)
        status = said(type_in("status"))
        assert "bank-a, bank-b, bank-c" in status
        assert "run.html" in said(type_in("resume", "--name", "one"))
        assert "finished" in said(type_in("status"))
    finally:
        assert "server: ended" in said(type_in("stop", "--name", "one", "--server"), 0)
    sites = {site: SiteConfig.read(tmp_path / f"{site}.toml") for site in SITES}
    found = Rehearsal(tmp_path, sites, Control(tmp_path / "kits")).gaps("one")
    assert max(found) <= 1e-6


def _family(folder: Path, site: str) -> list[int]:
    pid = launching.running(folder / "kits" / site)
    assert pid is not None
    return launching.family(pid)


def _send(pids: list[int], sent: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sent)


def _wait_for_iteration(folder: Path, name: str, number: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        kits = folder / "kits"
        events = Control(kits).events(name) if kits.exists() else []
        if any(e["event"] == "iteration" and e["iteration"] >= number for e in events):
            return
        assert time.monotonic() < deadline, "the run does not begin"
        time.sleep(0.1)
