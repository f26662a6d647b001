"""One place of a run in a process of its own: reads messages, drives its roles, writes messages.

What travels on the connection is bytes, a letter first: M a message (address of the recipient, line
feed, encoded message), R the results of this place, E an error.
"""

from __future__ import annotations

import io
import json
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bc3e.errors import InputError
from bc3e.federation.assembly import Seat, build_roles, resume
from bc3e.federation.checkpoint import Checkpoints
from bc3e.federation.client import Client
from bc3e.federation.defaults import Settings, rules_from_json
from bc3e.federation.host import Host, Parcel
from bc3e.federation.ledger import Ledger
from bc3e.federation.planning import SERVER, Plan
from bc3e.federation.privacy import Policy
from bc3e.federation.roles import Letter, Run, Unmasking
from bc3e.federation.server import Learned, Server
from bc3e.federation.sites import SiteData


class Disconnected(Exception):  # noqa: N818 - not an error: the run is over
    """The other end of the connection is gone."""


def work(job: Path, connection: Connection) -> None:
    """Play the roles of a job until the connection closes."""
    try:
        host = _host(json.loads(job.read_text()), job.parent)
        desk = _Desk(host, connection)
        if SERVER in host.roles:
            desk.lead()
        else:
            desk.follow()
    except (Disconnected, BrokenPipeError, ConnectionResetError):
        return
    except Exception as error:
        _report(error, connection)


def _report(error: Exception, connection: Connection) -> None:
    """Tell what went wrong, in words that hold no value of the data."""
    about: dict[str, Any] = {"type": type(error).__name__, "text": str(error), "input": None}
    if isinstance(error, InputError):
        about["input"] = [error.argument, error.found, error.remedy, error.place]
    try:
        connection.send_bytes(b"E" + json.dumps(about).encode())
    except OSError:
        return


class _Desk:
    """Reads and writes for a host."""

    def __init__(self, host: Host, connection: Connection) -> None:
        self.host, self.connection = host, connection

    def lead(self) -> None:
        """Drive the server, then hand in what it learned."""
        server = self.host.roles[SERVER]
        assert isinstance(server, Server)

        def send(letters: list[Letter]) -> None:
            self._send(self.host.send(letters))

        learned = server.drive(send, self._read, lambda: self.host.keep(server))
        self.connection.send_bytes(b"R" + _pack(_learned_arrays(learned)))
        self._until_closed()

    def follow(self) -> None:
        """Answer messages; hand in the answers of a site once it has them all."""
        self._send(self.host.start())
        client = next((role for role in self.host.roles.values() if isinstance(role, Client)), None)
        while client is None or not client.done:
            self._read()
        seconds = Unmasking.seconds + (client.keyring.seconds if client.keyring is not None else 0.0)
        results = {"answer": client.answer, "seconds": np.array([seconds])}
        self.connection.send_bytes(b"R" + _pack(results))
        self._until_closed()

    def _until_closed(self) -> None:
        while True:
            self._read()

    def _read(self) -> None:
        try:
            frame = self.connection.recv_bytes()
        except (EOFError, OSError):
            raise Disconnected from None
        recipient, _, data = frame[1:].partition(b"\n")
        self._send(self.host.receive(data, recipient.decode()))

    def _send(self, parcels: list[Parcel]) -> None:
        for recipient, data in parcels:
            self.connection.send_bytes(b"M" + recipient.encode() + b"\n" + data)


def _host(job: dict[str, Any], folder: Path) -> Host:
    found = Plan.from_json(job["plan"])
    policy = Policy(found, job["masked"], job["allow_two"])
    run = Run(job["run"], job["attempt"], found, policy, Settings.from_json(job["settings"]))
    seat = None
    if job["data"] is not None:
        identity = None
        if job["identity"] is not None:
            from bc3e.federation.keys import Identity

            identity = Identity.load(folder / job["identity"], job["place"])
        blocks = np.load(folder / job["seats"], allow_pickle=False)
        seat = Seat(SiteData.from_bytes((folder / job["data"]).read_bytes()), blocks, identity)
    identities = {site: bytes.fromhex(key) for site, key in job["identities"].items()}
    rules = None if job["rules"] is None else rules_from_json(job["rules"])
    roles = build_roles(job["addresses"], run, seat=seat, identities=identities, rules=rules)
    checkpoints = None
    if job["checkpoint"] is not None:
        checkpoints = Checkpoints(Path(job["checkpoint"]))
        resume(roles, checkpoints, job["number"])
    return Host(roles, run, Ledger(path=Path(job["ledger"])), checkpoints)


def _learned_arrays(learned: Learned) -> dict[str, Any]:
    fit = learned.fit
    powers = [learned.vote_exponent, learned.answer_exponent, learned.evidence_weight]
    return {
        "mean": fit.parameters.class_mean,
        "variance": fit.parameters.class_variance,
        "bounds": np.array(fit.lower_bounds),
        "path": np.array(fit.delta2_path),
        "scalars": np.array([fit.parameters.delta2, fit.converged, learned.bound, *powers]),
    }


def _pack(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
