"""The server's side: asks the sites to join, plans, and drives the run to its end."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from bc3e.alignment import given_classes
from bc3e.errors import InputError
from bc3e.federation.assembly import build_roles, keepers, places, resume
from bc3e.federation.checkpoint import Checkpoints
from bc3e.federation.defaults import rules_of, settings_of
from bc3e.federation.engine import planning_post
from bc3e.federation.engine.exchange import Call, Exchange, insist, unpack
from bc3e.federation.engine.job import Job
from bc3e.federation.engine.records import Records
from bc3e.federation.host import Host
from bc3e.federation.kinds import KINDS
from bc3e.federation.ledger import Entry, Ledger
from bc3e.federation.messages import decode
from bc3e.federation.planning import SERVER, Cells, Holding, Plan, Seating, client, seat_sites
from bc3e.federation.privacy import Policy
from bc3e.federation.processes import RunInterrupted
from bc3e.federation.roles import Arrays, Letter, Run
from bc3e.federation.server import Learned, Server
from bc3e.federation.sites import hashes_of

TICK = 0.5  # seconds between two looks at whether the run was stopped


class Leader:
    """Leads one attempt of a run.

    Parameters
    ----------
    job : Job
    folder : Path
        The run's own folder at the server.
    call : callable
        Carries calls to the sites.
    stopped : callable
        Whether somebody has stopped the run.
    """

    def __init__(self, job: Job, folder: Path, call: Call, stopped: Callable[[], bool]) -> None:
        self.job, self.folder, self.call, self.stopped = job, folder, call, stopped
        self.records = Records(folder)
        self.planned = Ledger()
        self.exchange: Exchange | None = None

    def lead(self) -> Learned:
        """Everything from the first call to the written model."""
        joined = {site: json.loads(told) for site, told in
                  self._ask_all("join", self.job.to_json().encode()).items()}  # fmt: skip
        model = self.job.estimator()
        classes = merged_classes(self.job.classes, [told["classes"] for told in joined.values()])
        settings = settings_of(
            model, len(classes), self.job.total_evidence, self.job.classifier_weights or None
        )
        plan, seats = self._plan(classes)
        policy = Policy(plan, self.job.masked, self.job.allow_two)
        policy.check()
        run = Run(self.job.run, self.job.attempt, plan, policy, settings)
        passports = {site: told["passport"] for site, told in joined.items()}
        number = self._seat(run, seats, passports)
        rules = rules_of(model, len(classes))
        checkpoints = Checkpoints(self.folder)
        hosts = []
        ledger = Ledger(path=self.folder / "ledger-server.jsonl")
        for place, addresses in places(plan).items():
            if place not in plan.sites:
                roles = build_roles(addresses, run, rules=rules)
                resume(roles, checkpoints, number)
                hosts.append(Host(roles, run, ledger, checkpoints))
        self.records.began(plan, classes, number)
        learned = self._drive(run, hosts, number)
        ledgers = self._ask_all("finish", b"")
        ledger.close()
        for site, lines in ledgers.items():
            (self.folder / f"ledger-{site}.jsonl").write_bytes(lines)
        self.records.finished(learned, classes, self.planned)
        return learned

    def _ask(self, site: str, topic: str, data: bytes) -> bytes:
        return insist(self.call, site, topic, data, self.job.patience)

    def _ask_all(self, topic: str, data: bytes | Mapping[str, bytes]) -> dict[str, bytes]:
        """The same question to all sites at once."""

        def ask(site: str) -> bytes:
            return self._ask(site, topic, data if isinstance(data, bytes) else data[site])

        with ThreadPoolExecutor(len(self.job.sites)) as pool:
            return dict(zip(self.job.sites, pool.map(ask, self.job.sites), strict=True))

    # Planning.

    def _enter(self, data: bytes) -> bytes:
        """Put a message of the planning into the ledger."""
        self.planned.add(Entry.of(decode(data, KINDS), len(data), final=False, revealed=False))
        return data

    def _plan(self, classes: list[Any]) -> tuple[Plan, dict[str, Seating]]:
        run, holdings = self.job.run, {}
        for site, data in sorted(self._ask_all("holdings", json.dumps(classes).encode()).items()):
            self._enter(data)
            read = planning_post.read(data, run, "holdings", client(site), SERVER)
            votes, clusters = planning_post.as_value(read["columns"])
            holdings[site] = Holding(hashes_of(read["ids"]), tuple(votes), tuple(clusters))

        def claim(site: str, cells: Cells) -> Cells:
            columns = list(cells)
            stacked = np.stack([cells[column] for column in columns]).astype(np.uint8)
            arrays = {"columns": planning_post.as_octets(columns), "cells": stacked}
            question = self._enter(planning_post.write(run, "contest", SERVER, client(site), arrays))
            answer = self._enter(self._ask(site, "contest", question))
            found = planning_post.read(answer, run, "claims", client(site), SERVER)["cells"]
            return {column: row.astype(bool) for column, row in zip(columns, found, strict=True)}

        return seat_sites(holdings, claim)

    def _seat(
        self, run: Run, seats: Mapping[str, Seating], passports: Mapping[str, Mapping[str, str]]
    ) -> int:
        """Tell every site its place; the iteration from which all can go on."""
        text = np.frombuffer(run.plan.to_json().encode(), dtype=np.uint8)
        told = {}
        for site, seating in seats.items():
            awards = None
            placement: Arrays = {"blocks": seating.blocks, "plan": text}
            if seating.silent:
                cells = ~np.stack(list(seating.silent.values())).astype(np.uint8) & 1
                awards = self._enter(
                    planning_post.write(run.id, "awards", SERVER, client(site), {"cells": cells})
                )
            told[site] = msgpack.packb(
                {
                    "placement": self._enter(
                        planning_post.write(run.id, "placement", SERVER, client(site), placement)
                    ),
                    "awards": awards,
                    "columns": [list(column) for column in seating.silent],
                    "passports": passports,
                    "settings": run.settings.to_json(),
                }
            )
        found = [json.loads(answer) for answer in self._ask_all("seat", told).values()]
        own = [a for a in keepers(run.plan) if run.plan.hosts[a] == SERVER]
        latest = [int(said["latest"]) for said in found if said["keeps"]]
        return min([*latest, Checkpoints(self.folder).common(own)])

    # Learning.

    def _drive(self, run: Run, hosts: list[Host], number: int) -> Learned:
        exchange = Exchange(
            SERVER, hosts, run.plan.hosts, run.attempt, self.call, self.job.patience,
            lambda error: exchange.waiting.put(error), front=SERVER,
        )  # fmt: skip
        self.exchange = exchange
        main = exchange.local[SERVER]
        server = main.roles[SERVER]
        assert isinstance(server, Server)
        try:
            exchange.act(lambda: [parcel for host in hosts for parcel in host.start()])
            for site, answer in self._ask_all("begin", json.dumps(number).encode()).items():
                exchange.take(unpack(answer)[2], site)

            def send(letters: list[Letter]) -> None:
                exchange.act(lambda: main.send(letters))

            def keep() -> None:
                main.keep(server)
                self.records.iterated(server, exchange)

            def wait() -> None:
                message, node = self._next(exchange)
                exchange.act(lambda: main.receive(message, SERVER, exchange.residents[node]))

            learned = server.drive(send, wait, keep)
            exchange.flush(self.job.patience.silence)
        finally:
            exchange.close()
        return learned

    def _next(self, exchange: Exchange) -> tuple[bytes, str]:
        """The next message to the server role, or the reason why there will be none."""
        deadline = time.monotonic() + self.job.patience.work
        while True:
            if self.stopped():
                raise RunInterrupted("the run was stopped. Resume it when all sites are ready.")
            try:
                found = exchange.waiting.get(timeout=TICK)
            except queue.Empty:
                if time.monotonic() > deadline:
                    raise RunInterrupted("no site has reported for too long; resume the run.") from None
                continue
            if isinstance(found, Exception):
                raise found
            return found


def merged_classes(given: tuple[Any, ...] | None, told: list[list[Any]]) -> list[Any]:
    """The class list: given, or what the votes of all sites name together.

    >>> merged_classes(None, [["no", "yes"], [], ["maybe", "no"]])
    ['maybe', 'no', 'yes']
    """
    if given is not None:
        listed = given_classes(given)
        assert listed is not None
        return list(listed.tolist())
    found = {value for classes in told for value in classes}
    if not found:
        raise InputError("sites", "no site has votes", "One site must have some.")
    if len({isinstance(value, str) for value in found}) > 1:
        raise InputError("classes", "some sites name classes, others number them", "Agree on one way.")
    return sorted(found)
