"""A federation on one machine: real processes, certificates and calls, for a first try."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bc3e.errors import InputError
from bc3e.federation.engine import kits, launching
from bc3e.federation.engine.control import Control, Show
from bc3e.federation.engine.job import Job
from bc3e.federation.engine.line import Line
from bc3e.federation.engine.site_config import SiteConfig, read_table, write_key, write_table
from bc3e.federation.processes import RunFailed
from bc3e.federation.running import fit

SPLITS = ("row", "column", "arbitrary")


@dataclass(frozen=True)
class Rehearsed:
    """How a rehearsal went, and how far it is from the protocol in one process."""

    start_seconds: float
    run_seconds: float
    probability_gap: float
    bound_gap: float


def deal(
    table: pa.Table, count: int, how: str, votes: Sequence[str], clusters: Sequence[str], id_column: str
) -> list[pa.Table]:
    """Tables of the sites.

    By "row" the objects are dealt out, by "column" the columns. "arbitrary" does one with the first
    half of the objects and the other with the second. A cell that a site does not hold is missing.
    """
    if how not in SPLITS:
        raise InputError("split", f"{how!r}", f"Choose one of {', '.join(SPLITS)}.")
    n = table.num_rows
    cut = {"row": n, "column": 0, "arbitrary": n // 2}[how]
    found = []
    for i in range(count):
        mine = np.arange(i, cut, count)
        own = [c for names in (votes, clusters) for j, c in enumerate(names) if j % count == i]
        if how == "column":
            found.append(table.select([id_column, *own]))
            continue
        rows = np.concatenate([mine, np.arange(cut, n)])
        part = table.take(rows).select([id_column, *votes, *clusters])
        for at, name in enumerate(part.column_names):
            if name not in (id_column, *own):
                gone = pa.array(np.arange(len(rows)) >= len(mine))
                blank = pa.nulls(len(rows), part.schema.field(name).type)
                part = part.set_column(at, name, pa.compute.if_else(gone, blank, part.column(name)))
        found.append(part)
    return found


@dataclass
class Rehearsal:
    """A federation of processes on this machine.

    Attributes
    ----------
    folder : Path
        Holds everything: kits, tables of the sites, results.
    sites : mapping from names to SiteConfig
    control : Control
    """

    folder: Path
    sites: Mapping[str, SiteConfig]
    control: Control
    environment: Mapping[str, str] = field(default_factory=dict)
    started: list[int] = field(default_factory=list)

    @classmethod
    def prepare(
        cls,
        folder: Path,
        tables: Sequence[pa.Table],
        id_column: str,
        votes: Sequence[str],
        clusters: Sequence[str],
        *,
        allow_two: bool = False,
        allow_plain: bool = False,
        allowed: Sequence[str] = kits.ALLOWED,
    ) -> Rehearsal:
        """Kits, keys and configuration files of one site per table."""
        names = [f"site-{i + 1}" for i in range(len(tables))]
        project = kits.Project("rehearsal", "localhost", free_port(), tuple(names), "you@example.org")
        made = kits.provision(project, folder / "kits", allowed)
        write_key(folder / "ids.key")
        configs = {}
        for name, table in zip(names, tables, strict=True):
            write_table(table, folder / f"{name}.parquet", ".parquet")
            held = set(table.column_names)
            lines = {
                "kit": f'"{made[name].relative_to(folder)}"',
                "labels": f'"{name}.parquet"',
                "id": f'"{id_column}"',
                "votes": _listed(c for c in votes if c in held),
                "clusters": _listed(c for c in clusters if c in held),
                "id_key": '"ids.key"',
                "answers": f'"{name}-refined.csv"',
                "state": f'"state-{name}"',
                "allow_two": str(allow_two).lower(),
                "allow_plain": str(allow_plain).lower(),
            }
            path = folder / f"{name}.toml"
            path.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()))
            configs[name] = SiteConfig.read(path)
        return cls(folder, configs, Control(folder / "kits"))

    @contextlib.contextmanager
    def running(self) -> Iterator[Line]:
        """Start all processes; end them, and whatever they started, at the end."""
        try:
            self.control.serve(self.environment)
            for config in self.sites.values():
                launching.start_site(config, self.environment)
            link = self.control.connect()
            try:
                self.control.wait_for_sites(link, tuple(self.sites), 60.0)
                yield link
            finally:
                link.close()
        finally:
            for kit in (*(config.kit for config in self.sites.values()), self.control.server):
                launching.stop(kit)

    def run(
        self, link: Line, name: str, show: Show, *, seconds: float = 3600.0, **settings: Any
    ) -> tuple[Job, float]:
        """One run from its proposal to its last event, and how long it took."""
        began = time.monotonic()
        job = self.control.new_job(name, tuple(self.sites), **settings)
        ticket = self.control.submit(link, job)
        self.control.follow(link, job, ticket, show, seconds)
        return job, time.monotonic() - began

    def gaps(self, name: str) -> tuple[float, float]:
        """Largest differences of a run from the protocol in one process: probabilities and bound."""
        job = self.control.job(name)
        expected = fit(
            [config.read_site() for config in self.sites.values()], model=job.estimator(),
            masked=job.masked, allow_two=job.allow_two,
        )  # fmt: skip
        model = json.loads((self.control.run_folder(name) / "model.json").read_text())
        far = 0.0
        for site in self.sites:
            ids, values = self.answers(site)
            own = expected.for_site(site)
            if ids != own.ids:
                raise RunFailed(f"{site}: its answers are for other objects than its labels.")
            far = max(far, float(np.abs(values - own.values).max()))
        return far, abs(model["lower_bound"] - expected.lower_bound)

    def answers(self, name: str) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
        """Ids and refined probabilities of a site, from its own file."""
        config = self.sites[name]
        table = read_table(config.answers, config.id)
        columns = [c for c in table.column_names if c.startswith("p_")]
        values = np.column_stack([table.column(c).to_numpy() for c in columns])
        return table.column(config.id).to_pylist(), values


def rehearse(
    data: Path,
    folder: Path,
    id_column: str,
    votes: Sequence[str],
    clusters: Sequence[str],
    count: int,
    how: str,
    show: Show,
    **settings: Any,
) -> Rehearsed:
    """Deal a table out to sites, run the federation, and compare with the protocol in one process."""
    table = read_table(data, id_column)
    for name in (*votes, *clusters):
        if name not in table.column_names:
            raise InputError("data", f"{data.name} has no column {name!r}",
                             f"It has {', '.join(table.column_names)}.")  # fmt: skip
    folder.mkdir(mode=0o700, parents=True)
    tables = deal(table, count, how, votes, clusters, id_column)
    made = Rehearsal.prepare(
        folder, tables, id_column, votes, clusters,
        allow_two=settings["allow_two"], allow_plain=not settings["masked"],
    )  # fmt: skip
    began = time.monotonic()
    with made.running() as link:
        started = time.monotonic() - began
        _, seconds = made.run(link, "rehearsal", show, **settings)
    return Rehearsed(started, seconds, *made.gaps("rehearsal"))


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listed(names: Iterator[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
