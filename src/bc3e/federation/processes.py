"""Every place in a process of its own on this machine; this process carries the messages."""

from __future__ import annotations

import atexit
import io
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from bc3e.errors import InputError
from bc3e.federation.assembly import Seat, places
from bc3e.federation.defaults import rules_to_json
from bc3e.federation.ledger import read_folder
from bc3e.federation.planning import SERVER
from bc3e.federation.result import Outcome
from bc3e.federation.roles import Run
from bc3e.federation.server import Learned
from bc3e.model.evidence import FloatArray
from bc3e.model.parameters import Parameters, Rules
from bc3e.model.schedule import Fit

# For tests: called after each delivered message with how many there were and the process ids.
Watch = Callable[[int, Mapping[str, int]], None]
watch: Watch | None = None


class RunInterrupted(RuntimeError):  # noqa: N818 - the name says what happened to the run
    """A process of the run ended before the run did.

    Start it again with the same ``checkpoint=`` and it goes on where it was.
    """


class RunFailed(RuntimeError):  # noqa: N818 - the name says what happened to the run
    """A role could not go on; the message says why."""


class _Nursery:
    """The process that forks the others; started once, ended with this process."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bc3e.federation.nursery", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self.door = ours
        if self.door.recv(8) != b"ready...":
            raise RunFailed("the processes of the run could not be started.")

    def start(self, job: Path) -> tuple[int, Connection]:
        """A new process for a job: its id and the connection to it."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self.door, [str(job).encode()], [theirs.fileno()])
        theirs.close()
        child = int.from_bytes(self.door.recv(8), "little")
        if not child:
            raise RunFailed("the processes of the run could not be started.")
        return child, Connection(ours.detach())

    def close(self) -> None:
        self.door.close()
        self.process.wait()


_nursery: _Nursery | None = None


def _start(job: Path) -> tuple[int, Connection]:
    global _nursery
    if not hasattr(os, "fork"):
        raise InputError("processes", "True", "Processes need a Unix system; run in one process here.")
    if _nursery is None or _nursery.process.poll() is not None:
        _nursery = _Nursery()
        atexit.register(_nursery.close)
    return _nursery.start(job)


@dataclass
class _Place:
    """A process of the run, and the queue of what it is still to be handed."""

    name: str
    child: int
    connection: Connection
    outbox: queue.SimpleQueue[bytes | None] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        # A thread of its own: a place that is busy sending must not block the one who carries.
        self.writer = threading.Thread(target=self._write, daemon=True)
        self.writer.start()

    def _write(self) -> None:
        while (frame := self.outbox.get()) is not None:
            try:
                self.connection.send_bytes(frame)
            except OSError:
                return

    def end(self) -> None:
        """Stop the process if it still runs, and wait until it is gone."""
        self.outbox.put(None)
        with suppress(ProcessLookupError):
            os.kill(self.child, signal.SIGKILL)
        with suppress(EOFError, OSError):
            while True:
                self.connection.recv_bytes()
        self.writer.join()
        self.connection.close()


def run_processes(
    run: Run, seats: Mapping[str, Seat], rules: Rules, folder: Path | None, number: int
) -> Outcome:
    """The run with one process per place, from the state after iteration `number`."""
    with tempfile.TemporaryDirectory(prefix="bc3e-") as private:
        desk = Path(private)
        keep = desk if folder is None else folder
        homes = places(run.plan)
        jobs = {
            place: _write_job(desk, keep, folder, place, addresses, run, seats, rules, number)
            for place, addresses in homes.items()
        }
        # The server's process hands out work to the others: it is started last.
        order = [place for place in jobs if place != SERVER] + [SERVER]
        started: dict[str, _Place] = {}
        try:
            for place in order:
                started[place] = _Place(place, *_start(jobs[place]))
            home = {address: started[place] for place, found in homes.items() for address in found}
            results = _carry(started, home, wanted={SERVER, *seats})
        finally:
            for running in started.values():
                running.end()
        entries = read_folder(keep)
    answers: dict[str, FloatArray] = {site: results[site]["answer"] for site in seats}
    seconds = sum(float(results[site]["seconds"][0]) for site in seats)
    return Outcome(_learned(results[SERVER]), answers, entries, (), seconds)


def _carry(
    started: Mapping[str, _Place], home: Mapping[str, _Place], wanted: set[str]
) -> dict[str, dict[str, Any]]:
    """Carry messages between the processes until all results are in."""
    by_connection = {place.connection: place for place in started.values()}
    children = {name: place.child for name, place in started.items()}
    results: dict[str, dict[str, Any]] = {}
    delivered = 0
    while set(results) != wanted:
        for ready in wait(list(by_connection)):
            assert isinstance(ready, Connection)
            sender = by_connection[ready]
            try:
                frame = ready.recv_bytes()
            except (EOFError, OSError):
                raise RunInterrupted(
                    f"the process of {sender.name} ended before the run did. With checkpoint= the run "
                    "goes on where it was when it is started again."
                ) from None
            if frame[:1] == b"M":
                recipient = frame[1 : frame.index(b"\n")].decode()
                home[recipient].outbox.put(frame)
                delivered += 1
                if watch is not None:
                    watch(delivered, children)
            elif frame[:1] == b"R":
                with np.load(io.BytesIO(frame[1:]), allow_pickle=False) as arrays:
                    results[sender.name] = {name: arrays[name] for name in arrays.files}
            else:
                _raise(json.loads(frame[1:]))
    return results


def _raise(about: dict[str, Any]) -> None:
    if about["input"] is not None:
        raise InputError(*about["input"])
    raise RunFailed(f"{about['type']}: {about['text']}")


def _write_job(
    desk: Path,
    keep: Path,
    folder: Path | None,
    place: str,
    addresses: tuple[str, ...],
    run: Run,
    seats: Mapping[str, Seat],
    rules: Rules,
    number: int,
) -> Path:
    """Everything that a process must know, in files that only this user can read."""
    name = place.replace(":", "-")
    own = seats.get(place)
    data = blocks = identity = None
    if own is not None:
        data, blocks = f"{name}.npz", f"{name}.npy"
        _write_private(desk / data, own.data.to_bytes())
        np.save(desk / blocks, own.blocks, allow_pickle=False)
        if own.identity is not None:
            identity = f"{name}.pem"
            own.identity.save(desk / identity)
    job = {
        "place": place,
        "addresses": addresses,
        "run": run.id,
        "attempt": run.attempt,
        "plan": run.plan.to_json(),
        "masked": run.policy.masked,
        "allow_two": run.policy.allow_two,
        "settings": run.settings.to_json(),
        "rules": rules_to_json(rules) if place == SERVER else None,
        "data": data,
        "seats": blocks,
        "identity": identity,
        "identities": {s: seat.identity.public.hex() for s, seat in seats.items() if seat.identity},
        "checkpoint": None if folder is None else str(folder.resolve()),
        "ledger": str(keep.resolve() / f"ledger-{name}.jsonl"),
        "number": number,
    }
    path = desk / f"{name}.json"
    _write_private(path, json.dumps(job).encode())
    return path


def _write_private(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def _learned(arrays: Mapping[str, Any]) -> Learned:
    delta2, converged, bound, votes, answer, weight = arrays["scalars"].tolist()
    nothing = np.empty((0, len(arrays["mean"])))
    parameters = Parameters(arrays["mean"], arrays["variance"], delta2, nothing)
    bounds, path = tuple(arrays["bounds"].tolist()), tuple(arrays["path"].tolist())
    fit = Fit(parameters, bounds, path, bool(converged), "votes")
    return Learned(fit, bound, votes, answer, weight)
