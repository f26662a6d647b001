"""The coordinator's side: start the server, hand in runs, follow them, stop and resume them."""

from __future__ import annotations

import json
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bc3e.errors import InputError
from bc3e.federation.checkpoint import write_safely
from bc3e.federation.engine import flare, launching
from bc3e.federation.engine.job import Job
from bc3e.federation.engine.line import Line
from bc3e.federation.engine.records import read_progress
from bc3e.federation.processes import RunFailed, RunInterrupted

Event = dict[str, Any]
Show = Callable[[Event], None]
ENDING = 10.0  # seconds that the engine may need to end a run that was stopped


@dataclass(frozen=True)
class Control:
    """A federation as its coordinator holds it: the server's kit and the coordinator's.

    Attributes
    ----------
    folder : Path
        Holds the kits ``server`` and ``coordinator``.
    """

    folder: Path

    def __post_init__(self) -> None:
        for kit in (self.server, self.person):
            if not (kit / "startup").is_dir():
                raise InputError("kits", f"{self.folder} has no kit {kit.name!r}",
                                 "Pass the folder with the kits of server and coordinator.")  # fmt: skip

    @property
    def server(self) -> Path:
        return self.folder / "server"

    @property
    def person(self) -> Path:
        return self.folder / "coordinator"

    def serve(self, more: Mapping[str, str] | None = None) -> None:
        """Start the server, if it does not run."""
        if launching.running(self.server) is None:
            launching.start_server(self.server, more)

    def connect(self, seconds: float = 60.0) -> Line:
        """A line to the server, as soon as it listens."""
        deadline, place = time.monotonic() + seconds, flare.address(self.person)
        while not _listens(place):
            if launching.running(self.server) is None:
                raise RunFailed(f"the server does not run; {self.server / 'console.log'} says why.")
            if time.monotonic() > deadline:
                raise RunFailed(f"nobody listens at {place[0]}:{place[1]}.")
            time.sleep(0.2)
        while True:
            try:
                return Line(self.person)
            except RunFailed:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def wait_for_sites(self, link: Line, sites: tuple[str, ...], seconds: float) -> None:
        """Wait until all sites are connected."""
        deadline = time.monotonic() + seconds
        while missing := set(sites) - set(link.sites()):
            if time.monotonic() > deadline:
                raise RunInterrupted(f"not connected: {', '.join(sorted(missing))}. "
                                     "Start them and try again.")  # fmt: skip
            time.sleep(0.5)

    def sites(self) -> tuple[str, ...]:
        """All sites for which a certificate was made, as the server's kit lists them."""
        told = json.loads((self.server / "local" / "bc3e_sites.json").read_text())
        return tuple(told["sites"])

    # Runs.

    def runs(self) -> list[str]:
        """Names of all runs, the oldest first."""
        found = (self.server / "runs").glob("*/job.json")
        return [path.parent.name for path in sorted(found, key=lambda path: path.stat().st_mtime)]

    def standing(self, name: str) -> tuple[str, str, str, str, str]:
        """Name, attempt, iteration, bound and state of a run, as words."""
        job = self.job(name)
        events = self.of_attempt(job)
        steps = [event for event in events if event["event"] == "iteration"]
        bound = steps[-1]["bound"] if steps else None
        state = "waits"
        if events:
            last = events[-1]
            state = {"finished": "finished", "stopped": f"stopped: {last.get('reason')}"}.get(
                last["event"], "runs" if launching.running(self.server) else "interrupted: resume it"
            )
        return (name, str(job.attempt), str(steps[-1]["iteration"]) if steps else "-",
                "-" if bound is None else f"{bound:.6f}", state)  # fmt: skip

    def run_folder(self, name: str) -> Path:
        return self.server / "runs" / name

    def new_job(self, name: str, sites: tuple[str, ...], **settings: Any) -> Job:
        """A run that was never begun; it is on the disk before anything is sent."""
        job = Job(name, secrets.token_hex(16), 0, sites, **settings)
        job.estimator()
        if (self.run_folder(name) / "job.json").exists():
            raise InputError("name", f"there is a run {name!r}", "Resume it, or choose another name.")
        return self._keep(job)

    def next_attempt(self, link: Line, name: str) -> Job:
        """The next attempt at a run that was stopped."""
        job, deadline = self.job(name), time.monotonic() + ENDING
        while self._goes_on(link, job):
            if time.monotonic() > deadline:
                raise InputError("name", f"run {name!r} runs", "Stop it first.")
            time.sleep(0.5)
        if any(event["event"] == "finished" for event in self.events(name)):
            raise InputError("name", f"run {name!r} has finished", "Start another one.")
        return self._keep(job.again())

    def _goes_on(self, link: Line, job: Job) -> bool:
        """Whether the last attempt still runs, or may begin."""
        told = self._ticket(job.name)
        ends = ("finished", "stopped")
        if told is None or any(event["event"] in ends for event in self.of_attempt(job)):
            return False
        status = link.status(told["ticket"])
        # The engine calls a run running for ever if the server was killed in it.
        same = told.get("server") == launching.mark(self.server)
        return status == "SUBMITTED" or (same and not status.startswith("FINISHED"))

    def _ticket(self, name: str) -> dict[str, Any] | None:
        """The engine's id of the last attempt, and the process that it was handed to."""
        try:
            return dict(json.loads((self.run_folder(name) / "ticket.json").read_text()))
        except OSError:
            return None

    def job(self, name: str) -> Job:
        try:
            return Job.from_json((self.run_folder(name) / "job.json").read_text())
        except OSError:
            raise InputError("name", f"there is no run {name!r}", "Start it first.") from None

    def events(self, name: str) -> list[Event]:
        return read_progress(self.run_folder(name))

    def _keep(self, job: Job) -> Job:
        flare.run_folder(self.server, job.name)
        write_safely(self.run_folder(job.name) / "job.json", job.to_json().encode())
        return job

    def submit(self, link: Line, job: Job, site_agent: str = flare.SITE_AGENT) -> str:
        """Hand a run to the engine; the engine's id of it."""
        with tempfile.TemporaryDirectory(prefix="bc3e-") as place:
            ticket = link.submit(flare.write_job(Path(place) / "job", job, site_agent))
        told = {"ticket": ticket, "server": launching.mark(self.server)}
        write_safely(self.run_folder(job.name) / "ticket.json", json.dumps(told).encode())
        return ticket

    def follow(self, link: Line, job: Job, ticket: str, show: Show, seconds: float) -> Event:
        """Report events until the run ends: its last event, or the reason why there is none."""
        seen, deadline, looked, ended = 0, time.monotonic() + seconds, 0.0, 0.0
        while time.monotonic() < deadline:
            events = self.of_attempt(job)
            for event in events[seen:]:
                show(event)
                if event["event"] == "finished":
                    return event
                if event["event"] == "stopped":
                    raise (RunInterrupted if event["resumable"] else RunFailed)(event["reason"])
            seen = len(events)
            now = time.monotonic()
            if ended and now > ended + 2.0:
                raise RunInterrupted(f"the engine ended the run: {link.explain(ticket)}")
            if not ended and now > looked + 2.0:
                looked = now
                status = self._status(link, ticket)
                ended = now if status.startswith("FINISHED") else 0.0
            time.sleep(0.2)
        raise RunInterrupted(f"the run has not ended within {seconds:.0f} s; it goes on.")

    def _status(self, link: Line, ticket: str) -> str:
        try:
            return link.status(ticket)
        except RunFailed as error:
            if launching.running(self.server) is None:
                raise RunInterrupted("the server does not run any more. Resume the run.") from error
            return "UNKNOWN"

    def of_attempt(self, job: Job) -> list[Event]:
        """Events of one attempt of a run."""
        events = self.events(job.name)
        starts = [i for i, e in enumerate(events)
                  if e["event"] == "attempt" and e["attempt"] == job.attempt]  # fmt: skip
        return events[starts[0] :] if starts else []

    def stop_run(self, link: Line, name: str) -> None:
        """Stop a run; it can be resumed."""
        told = self._ticket(name)
        if told is None:
            raise InputError("name", f"there is no run {name!r}", "See 'bc3e federate status'.")
        link.abort(told["ticket"])


def _listens(place: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(place, timeout=2.0):
            return True
    except OSError:
        return False
