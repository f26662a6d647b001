"""What ``bc3e refine`` costs beyond reading the file and fitting, on a million rows.

Run it with ``python benchmarks/cli_overhead.py [rows]``. Overhead is the time of the
process less the fit inside it, less the time pyarrow needs here to read the same columns;
so it holds the start of Python, all imports, checks, answers and writing. Imports of the
estimator (scikit-learn and what it imports) are also timed alone, since no code here can
make them faster. Wall time, and processor time of all threads, which a busy machine
disturbs less.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

PAIRS = (("parquet", "parquet"), ("parquet", "csv"), ("csv", "csv"), ("csv", "jsonl"))
CHILD = """
import json, sys, time
from bc3e.cli import main, refine
fit = refine.fit
def timed(*arguments):
    import bc3e.estimator  # counts as overhead
    begin = time.perf_counter(), time.process_time()
    model = fit(*arguments)
    cost = {"wall": time.perf_counter() - begin[0], "cpu": time.process_time() - begin[1]}
    print(json.dumps(cost), file=sys.stderr)
    return model
refine.fit = timed
main.main()
"""
NAMES = np.array(["cat", "dog", "emu", "fox", "gnu"])


def table(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, rows)
    columns: dict[str, Any] = {"id": pa.array(np.arange(rows)).cast(pa.string())}
    for i in range(3):
        votes = np.where(rng.random(rows) < 0.7, truth, rng.integers(0, 5, rows))
        columns[f"clf_{i}"] = pa.array(NAMES[votes])
    for i in range(4):
        columns[f"clu_{i}"] = np.where(
            rng.random(rows) < 0.8, truth * 3 + rng.integers(0, 3, rows), rng.integers(0, 15, rows)
        )
    return pa.table(columns)


@dataclass(frozen=True)
class Cost:
    """Seconds on the wall and of the processor."""

    wall: float
    cpu: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall - other.wall, self.cpu - other.cpu)

    def __str__(self) -> str:
        return f"{self.wall:.2f} s wall, {self.cpu:.2f} s cpu"


def command(source: Path, target: Path) -> tuple[Cost, Cost]:
    """Cost of the whole process and of the fit inside it."""
    arguments = ["refine", str(source), "--votes", "clf_*", "--clusters", "clu_*", "--id", "id"]
    arguments += ["-o", str(target), "--force", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, check=True)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    fit = json.loads(done.stderr)
    return Cost(wall, cpu), Cost(fit["wall"], fit["cpu"])


def alone() -> Cost:
    """Start of Python and import of the estimator."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import bc3e.estimator"], check=True)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def read(path: Path) -> Cost:
    """What pyarrow needs to read the file, once warm."""
    reader = pq.read_table if path.suffix == ".parquet" else pc.read_csv
    reader(path)
    begin = Cost(time.perf_counter(), time.process_time())
    reader(path)
    return Cost(time.perf_counter(), time.process_time()) - begin


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        content = table(rows)
        pq.write_table(content, home / "in.parquet")
        pc.write_csv(content, home / "in.csv")
        start = min((alone() for _ in range(3)), key=lambda cost: cost.cpu)
        print(f"{rows:,} rows; start of Python and import of the estimator alone: {start}")
        for source, target in PAIRS:
            whole, fit = command(home / f"in.{source}", home / f"out.{target}")
            over = whole - fit - read(home / f"in.{source}")
            print(f"{source} -> {target}: fit {fit}; overhead {over}; beyond imports {over - start}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
