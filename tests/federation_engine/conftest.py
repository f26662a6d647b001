"""One federation of real processes for all tests of a worker: a server and six sites on 127.0.0.1."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bc3e.federation.engine import kits, launching
from bc3e.federation.engine.exchange import Patience
from bc3e.federation.engine.job import Job
from bc3e.federation.engine.line import Line
from bc3e.federation.engine.rehearsal import Rehearsal, deal
from bc3e.federation.engine.site_config import SiteConfig, write_table
from tests.federation_engine import faults

ROOT = Path(__file__).parents[2]
VOTES = [f"v{i}" for i in range(6)]
CLUSTERS = [f"c{i}" for i in range(6)]
IMPATIENT = Patience(answer=4.0, silence=14.0)
ENGINE = pytest.mark.timeout(600)
SECONDS = 150.0  # no single run may take longer


def label_table(n: int = 240, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)

    def noisy(share: float) -> np.ndarray:
        return np.where(rng.random(n) < share, rng.integers(3, size=n), truth)

    columns: dict[str, Any] = {"id": [str(i) for i in range(n)]}
    columns |= {name: np.array(["no", "so", "yes"])[noisy(0.4)] for name in VOTES}
    columns |= {name: noisy(0.2) + 3 * rng.integers(2, size=n) for name in CLUSTERS}
    return pa.table(columns)


@dataclass
class Federation:
    """A running federation whose sites can be given other labels and other manners."""

    made: Rehearsal
    link: Line
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def hand_out(
        self, how: str, count: int, *, masked: bool = True, allow_two: bool = False
    ) -> list[str]:
        """Give the first sites their parts of the table."""
        tables = deal(label_table(), count, how, VOTES, CLUSTERS, "id")
        names = list(self.made.sites)[:count]
        for name, table in zip(names, tables, strict=True):
            config = self.made.sites[name]
            write_table(table, config.labels, ".parquet")
            held = table.column_names
            text = config.path.read_text().splitlines()
            new = {
                "votes": json.dumps([c for c in VOTES if c in held]),
                "clusters": json.dumps([c for c in CLUSTERS if c in held]),
                "allow_two": str(allow_two).lower(),
                "allow_plain": str(not masked).lower(),
            }
            lines = [line for line in text if line.split(" = ")[0] not in new]
            config.path.write_text("\n".join([*lines, *(f"{k} = {v}" for k, v in new.items())]) + "\n")
            self.made.sites[name] = SiteConfig.read(config.path)  # type: ignore[index]
            for suffix in (".fault", ".hit", ".told"):
                config.path.with_suffix(suffix).unlink(missing_ok=True)
        return names

    def propose(self, sites: Sequence[str], **settings: Any) -> Job:
        settings.setdefault("model", {"max_iter": 5, "tol": 0.0})
        settings.setdefault("patience", IMPATIENT)
        return self.made.control.new_job(f"run-{next(self.numbers)}", tuple(sites), **settings)

    def run(self, job: Job, show: Any = None) -> dict[str, Any]:
        """Submit an attempt and follow it to its end."""
        ticket = self.submit(job)
        return self.follow(job, ticket, show)

    def submit(self, job: Job) -> str:
        return self.made.control.submit(self.link, job, faults.PATH)

    def follow(self, job: Job, ticket: str, show: Any = None) -> dict[str, Any]:
        return self.made.control.follow(self.link, job, ticket, show or (lambda _: None), SECONDS)

    def gaps(self, job: Job) -> tuple[float, float]:
        """Differences from the protocol in one process."""
        only = Rehearsal(self.made.folder, {s: self.made.sites[s] for s in job.sites}, self.made.control)
        return only.gaps(job.name)

    def log_of(self, name: str) -> str:
        """Everything that a site (or "server") has logged."""
        kit = self.made.control.server if name == "server" else self.made.sites[name].kit
        texts = [path.read_text(errors="replace") for path in sorted(kit.glob("**/log.txt"))]
        return "\n".join(texts)

    def misbehave(self, name: str, **fault: Any) -> None:
        self.made.sites[name].path.with_suffix(".fault").write_text(json.dumps(fault))

    def wait_for_hit(self, name: str, seconds: float = 60.0) -> None:
        path, deadline = self.made.sites[name].path.with_suffix(".hit"), time.monotonic() + seconds
        while not path.exists():
            assert time.monotonic() < deadline, f"{name} never came to its fault"
            time.sleep(0.05)


@pytest.fixture(scope="session")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    tables = deal(label_table(), 6, "row", VOTES, CLUSTERS, "id")
    made = Rehearsal.prepare(
        tmp_path_factory.mktemp("federation") / "here", tables, "id", VOTES, CLUSTERS,
        allowed=(*kits.ALLOWED, faults.PATH),
    )  # fmt: skip
    made.environment = {"PYTHONPATH": str(ROOT)}
    with made.running() as link:
        found = Federation(made, link)
        yield found
        found.link.close()  # another one than at the beginning if the server was restarted
    for kit in (made.control.server, *(config.kit for config in made.sites.values())):
        assert launching.running(kit) is None
