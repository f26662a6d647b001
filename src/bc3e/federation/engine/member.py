"""A site's side: answers the calls of the server and of other sites, and decides what it agrees to."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import threading
from collections.abc import Mapping
from typing import Any

import msgpack
import numpy as np

from bc3e.alignment import given_classes
from bc3e.errors import InputError
from bc3e.federation.assembly import Seat, build_roles, keepers, places, resume
from bc3e.federation.checkpoint import Checkpoints, write_safely
from bc3e.federation.client import Client
from bc3e.federation.defaults import Settings
from bc3e.federation.engine import planning_post
from bc3e.federation.engine.answers import reason
from bc3e.federation.engine.exchange import BUSY, Call, CallRefused, Exchange, Unanswered, pack
from bc3e.federation.engine.job import Job
from bc3e.federation.engine.passport import Passport, check, issue
from bc3e.federation.engine.site_config import SiteConfig
from bc3e.federation.host import Host
from bc3e.federation.keys import Identity
from bc3e.federation.ledger import Ledger
from bc3e.federation.planning import SERVER, Plan, client
from bc3e.federation.privacy import Policy
from bc3e.federation.roles import Run
from bc3e.federation.sites import SiteData, common_classes, octets_of
from bc3e.labels import LabelTable

logger = logging.getLogger("bc3e.federation")

WAIT = 5.0  # seconds after which a call that waits for another one is told to come again


class Member:
    """One site in one attempt of a run.

    Parameters
    ----------
    config : SiteConfig
    call : callable
        Carries calls to other machines.
    """

    def __init__(self, config: SiteConfig, call: Call) -> None:
        self.config, self.call = config, call
        self.job: Job | None = None
        self.exchange: Exchange | None = None
        self._lock = threading.Lock()
        self._said: dict[bytes, bytes] = {}

    def answer(self, caller: str, topic: str, data: bytes) -> bytes:
        """Carry out a call and return the answer; refuse by raising."""
        if topic == "deliver":
            # Another site may be ready before this one: it asks again.
            return BUSY if self.exchange is None else self.exchange.deliver(caller, data)
        if caller != SERVER:
            raise CallRefused(f"{caller} may not ask for {topic!r}")
        if topic not in ("join", "holdings", "contest", "seat", "begin", "finish"):
            raise CallRefused(f"there is no {topic!r} here")
        if not self._lock.acquire(timeout=WAIT):
            return BUSY
        try:
            return self._once(topic, data)
        finally:
            self._lock.release()

    def _once(self, topic: str, data: bytes) -> bytes:
        """A call that comes again, because its answer got lost, has the same answer."""
        mark = topic.encode() + hashlib.sha256(data).digest()
        if mark not in self._said:
            told: bytes = getattr(self, f"_{topic}")(data)
            if told == BUSY:
                return BUSY
            self._said[mark] = told
        return self._said[mark]

    def close(self) -> None:
        if self.exchange is not None:
            self.exchange.close()

    def _join(self, data: bytes) -> bytes:
        """Look at the run that is proposed, agree to it, and say who this site is."""
        job = Job.from_json(data.decode())
        if not job.masked and not self.config.allow_plain:
            raise CallRefused("the run has no masks, and this site has not agreed (allow_plain)")
        if self.config.name not in job.sites:
            raise CallRefused("this site is not among the sites of the run")
        self.folder = self.config.state / job.run
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = self.folder / "run.json"
        known: dict[str, Any] = {"attempt": -1, "digest": None}
        if about.exists():
            known = json.loads(about.read_text())
        if job.attempt <= known["attempt"]:
            raise CallRefused(f"attempt {job.attempt} of this run has been here before")
        # On the disk before the first mask: a mask of an attempt is used once.
        self.known = {"attempt": job.attempt, "digest": known["digest"]}
        write_safely(about, json.dumps(self.known).encode())
        self.job, self.key = job, self.config.read_key()
        self.site = self.config.read_site()
        self.identity = Identity.generate(self.site.name)
        passport = issue(
            self.config.kit / "startup", self.site.name, job.run, job.attempt, self.identity.public
        )
        classes: list[Any] = []
        if job.classes is None and self.config.votes:
            classes = common_classes([self.site], None).tolist()
        return json.dumps({"classes": classes, "passport": passport.to_plain()}).encode()

    def _holdings(self, data: bytes) -> bytes:
        """Hashed ids and names of columns, once the class list is known."""
        job = self._job()
        classes = given_classes(json.loads(data))
        assert classes is not None
        self.classes = classes
        self.table: LabelTable = self.site.table(self.classes)
        self.data = SiteData.of(self.site, self.table, self.key, job.run)
        # In the order of the hashes: that of the rows could name objects.
        self.order = np.argsort(self.data.ids, kind="stable")
        votes, clusters = self.site.column_names
        arrays = {
            "ids": octets_of(self.data.ids[self.order]),
            "columns": planning_post.as_octets([votes, clusters]),
        }
        return planning_post.write(job.run, "holdings", client(self.site.name), SERVER, arrays)

    def _contest(self, data: bytes) -> bytes:
        """Which of the cells that several sites hold have a label here."""
        run, own = self._job().run, client(self.site.name)
        asked = planning_post.read(data, run, "contest", SERVER, own)
        columns = [(kind, name) for kind, name in planning_post.as_value(asked["columns"])]
        if any(kind not in ("votes", "clusters") for kind, _ in columns):
            raise CallRefused("message 'contest' refused: it asks for an unknown kind of column")
        labels = np.stack([self.data.present(kind, name)[self.order] for kind, name in columns])
        if asked["cells"].shape != labels.shape:
            raise CallRefused("message 'contest' refused: it has the wrong shape")
        return planning_post.write(run, "claims", own, SERVER, {"cells": asked["cells"] & labels})

    def _seat(self, data: bytes) -> bytes:
        """Look at the plan and at everybody's passport; agree, and say where this site could go on."""
        job, own = self._job(), client(self.site.name)
        told: dict[str, Any] = msgpack.unpackb(data)
        placement = planning_post.read(told["placement"], job.run, "placement", SERVER, own)
        plan = Plan.from_json(placement["plan"].tobytes().decode())
        if plan.sites != tuple(sorted(job.sites)) or len(placement["blocks"]) != len(self.data.ids):
            raise CallRefused("the plan is not one for the sites and objects of this run")
        policy = Policy(plan, job.masked, job.allow_two and self.config.allow_two)
        try:
            policy.check()
        except InputError as refusal:  # it speaks of the plan, which the server knows
            raise CallRefused(str(refusal)) from refusal
        back = np.argsort(self.order)
        silent = {}
        if told["awards"] is not None:
            awards = planning_post.read(told["awards"], job.run, "awards", SERVER, own)
            columns = [(kind, name) for kind, name in told["columns"]]
            silent = {c: row[back] == 0 for c, row in zip(columns, awards["cells"], strict=True)}
        root = (self.config.kit / "startup" / "rootCA.pem").read_bytes()
        self.identities = self._meet(told["passports"], root) if policy.needs_keys else {}
        settings = Settings.from_json(told["settings"])
        self.run = Run(job.run, job.attempt, plan, policy, settings)
        identity = self.identity if policy.needs_keys else None
        self.seat = Seat(self.data.without(silent), placement["blocks"][back], identity)
        self._enter()
        own_roles = places(plan)[self.site.name]
        kept = [address for address in own_roles if address in keepers(plan)]
        return json.dumps(
            {"latest": Checkpoints(self.folder).common(kept), "keeps": bool(kept)}
        ).encode()

    def _meet(self, passports: Mapping[str, Mapping[str, str]], root: bytes) -> dict[str, bytes]:
        job = self._job()
        if set(passports) != set(job.sites):
            raise CallRefused("there is not one passport for each site")
        return {
            site: check(Passport.from_plain(told), site, job.run, job.attempt, root)
            for site, told in passports.items()
        }

    def _enter(self) -> None:
        """Refuse to go on with other labels or settings than the run began with."""
        mark = hashlib.sha256(self.run.plan.to_json().encode() + self.run.settings.to_json().encode())
        mark.update(json.dumps([self.run.policy.masked, self.run.policy.allow_two]).encode())
        mark.update(self.seat.data.to_bytes())
        if self.known["digest"] not in (None, mark.hexdigest()):
            raise CallRefused("this site's labels, or the settings, are not those the run began with")
        self.known["digest"] = mark.hexdigest()
        write_safely(self.folder / "run.json", json.dumps(self.known).encode())

    def _begin(self, data: bytes) -> bytes:
        """Take up the roles from the state after an iteration, and say their first words."""
        if self.exchange is not None:
            raise CallRefused("the run has begun before")
        job, own = self._job(), self.site.name
        addresses = places(self.run.plan)[own]
        roles = build_roles(addresses, self.run, seat=self.seat, identities=self.identities)
        checkpoints = Checkpoints(self.folder)
        resume(roles, checkpoints, int(json.loads(data)))
        ledger = Ledger(path=self.folder / f"ledger-{own}.jsonl")
        self.host = Host(roles, self.run, ledger, checkpoints)
        exchange = Exchange(
            own, [self.host], self.run.plan.hosts, job.attempt, self.call, job.patience, self._trouble
        )
        parcels = exchange.start(SERVER, [self.host])
        self.exchange = exchange
        return pack(job.attempt, 0, parcels)

    def _trouble(self, error: Exception) -> None:
        """Tell the server that this site cannot go on."""
        logger.error("the run cannot go on here: %s", error)
        with contextlib.suppress(Unanswered, CallRefused):  # the server finds out by itself
            self.call(SERVER, "trouble", reason(error).encode(), self._job().patience.answer)

    def _finish(self, data: bytes) -> bytes:
        """Write this site's answers; the server learns that it is done, and the list of messages."""
        role = self.host.roles[client(self.site.name)]
        assert isinstance(role, Client)
        if not role.done:
            return BUSY
        self.config.write_answers(self.site.object_ids, self.classes.tolist(), role.answer)
        self.host.ledger.close()
        logger.info("the answers of %d objects are written", len(role.answer))
        return (self.folder / f"ledger-{self.site.name}.jsonl").read_bytes()

    def _job(self) -> Job:
        if self.job is None:
            raise CallRefused("this site has not joined the run")
        return self.job
