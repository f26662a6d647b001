"""Processes of kits on this machine: start them, see whether they run, end them and their children."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from bc3e.errors import InputError
from bc3e.federation.engine import flare, kits
from bc3e.federation.engine.site_config import SiteConfig

PID_FILE = "process.json"
_children: dict[int, subprocess.Popen[bytes]] = {}  # started here and not yet waited for


def start_server(kit: Path, more: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start the server's process in the background."""
    kits.prepare(kit)
    return _start(kit, flare.command(kit.resolve()), more)


def start_site(config: SiteConfig, more: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a site's process in the background, after a look at its files."""
    config.read_key()
    config.read_site()
    kits.prepare(config.kit)
    kits.note(config.kit, {"config": str(config.path)})
    return _start(config.kit, flare.command(config.kit.resolve(), config.name), more)


def _start(kit: Path, command: list[str], more: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    if running(kit) is not None:
        raise InputError("kit", f"{kit.name} is running", "Stop it first.")
    # The working folder is no place to load code from.
    environment = {**os.environ, "PYTHONSAFEPATH": "1", **(more or {})}
    with open(kit / "console.log", "ab") as log:
        process = subprocess.Popen(
            command, cwd=kit, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    _children[process.pid] = process
    (kit / PID_FILE).write_text(json.dumps({"pid": process.pid, "born": _born(process.pid)}))
    return process


def running(kit: Path) -> int | None:
    """Process id of a kit's process, if it runs on this machine."""
    try:
        told = json.loads((kit / PID_FILE).read_text())
    except (OSError, ValueError):
        return None
    pid = int(told["pid"])
    return pid if told["born"] is not None and _born(pid) == told["born"] else None


def mark(kit: Path) -> str | None:
    """Names the process of a kit for good, if it runs on this machine."""
    return None if running(kit) is None else (kit / PID_FILE).read_text()


def stop(kit: Path) -> bool:
    """End a kit's process and all that it started; whether there was one."""
    pid = running(kit)
    if pid is None:
        return False
    end(pid)
    (kit / PID_FILE).unlink(missing_ok=True)
    return True


def family(pid: int) -> list[int]:
    """A process and all that it started, directly or not."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (found := _stat(int(entry.name))) is not None:
            parents[int(entry.name)] = int(found[1])
    members = [pid]
    for one in members:
        members += [child for child, parent in parents.items() if parent == one]
    return members


def end(pid: int, seconds: float = 5.0) -> None:
    """Ask a process and all that it started to end, and end them if they do not."""
    members = family(pid)
    for sent in (signal.SIGTERM, signal.SIGKILL):
        for one in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, sent)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not any(_born(one) is not None for one in members):
                for child in [_children.pop(one) for one in members if one in _children]:
                    child.wait()
                return
            time.sleep(0.05)


def _stat(pid: int) -> list[str] | None:
    """State, parent, ... of a process, as the system tells them; None if it is gone."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _born(pid: int) -> str | None:
    """When a living process was started: with its id this names it for good."""
    found = _stat(pid)
    return None if found is None or found[0] == "Z" else found[19]
