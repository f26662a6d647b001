"""Tables larger than memory: the DuckDB engine against DuckDB's bare group-by and join-back.

``python -m benchmarks.large_files --rows 50_000_000`` writes Parquet files of 3 vote columns (5
classes), 8 clusterings (10 to 50 clusters), all uint8, and an int64 id; with about 100,000 and about
5,000,000 different patterns of labels. Everything that is measured runs in a process of its own.

- `refine` is ``bc3e.engines.duckdb.refine`` from the import of bc3e to the renamed output.
- `join back` is DuckDB alone under the same memory limit: GROUP BY over the 11 columns into a table
  with a number for each pattern, and made-up answers of the same types as ours; joined back by the 11
  columns; id and answers written to Parquet. It writes what `refine` writes, but for the numbers.
- `number only` does the same, but writes the id and the number of the pattern alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SIZES = (10, 15, 20, 25, 30, 35, 40, 50)
VOTES = [f"v{i}" for i in range(3)]
CLUSTERS = [f"c{i}" for i in range(8)]
CHUNK = 1_000_000


def write_table(path: Path, rows: int, patterns: int) -> None:
    """Rows drawn evenly from that many patterns, a chunk at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=patterns, dtype=np.uint8)
    columns = {
        name: np.where(rng.random(patterns) < 0.3, rng.integers(5, size=patterns, dtype=np.uint8), truth)
        for name in VOTES
    }
    for name, size in zip(CLUSTERS, SIZES, strict=True):
        fine = truth * np.uint8(size // 5) + rng.integers(size // 5, size=patterns, dtype=np.uint8)
        strays = rng.integers(size, size=patterns, dtype=np.uint8)
        columns[name] = np.where(rng.random(patterns) < 0.7, fine, strays)
    writer = None
    for first in range(0, rows, CHUNK):
        count = min(CHUNK, rows - first)
        chosen = rng.integers(patterns, size=count)
        table = pa.table(
            {"id": np.arange(first, first + count)}
            | {name: column[chosen] for name, column in columns.items()}
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=250_000)
    assert writer is not None
    writer.close()


def refine(table: str, output: str, memory_limit: str) -> dict[str, object]:
    from bc3e.engines.duckdb import refine

    options = {"votes": VOTES, "clusters": CLUSTERS, "id": "id", "progress": False, "overwrite": True}
    home = str(Path(output).parent)
    outcome = refine(table, output, memory_limit=memory_limit, temp_directory=home, **options)
    return {"patterns": outcome.patterns, "parts": dict(outcome.seconds)}


def join_back(table: str, output: str, memory_limit: str, *, number_only: bool) -> dict[str, object]:
    import duckdb

    keys = ", ".join([*VOTES, *CLUSTERS])
    made_up = [f"hash(number, {i}) / 18446744073709551616.0" for i in range(7)]
    names = ["confidence", *(f"p_{i}" for i in range(5)), "entropy"]
    answers = ", ".join(f"{value} AS {name}" for value, name in zip(made_up, names, strict=True))
    written = "number" if number_only else f"label, {', '.join(names)}, changed"
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{memory_limit}'")
        connection.execute(f"SET temp_directory = '{Path(output).parent / 'bare'}'")
        connection.execute(
            f"CREATE TEMP TABLE patterns AS SELECT *, number % 5 AS label, {answers}, number % 9 = 0 AS changed "
            f"FROM (SELECT {keys}, count(*) AS n, row_number() OVER () AS number "
            f"FROM read_parquet('{table}') GROUP BY {keys})"
        )
        connection.execute(
            f"COPY (SELECT id, {written} FROM read_parquet('{table}') JOIN patterns USING ({keys})) "
            f"TO '{output}' (FORMAT parquet)"
        )
        (count,) = connection.execute("SELECT count(*) FROM patterns").fetchone() or (0,)
    return {"patterns": count}


def peak_memory() -> int:
    """Most bytes of memory that this process has had, without what its parent had before."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) for line in status.open() if line.startswith("VmHWM")) * 1024


def measured(what: str, table: str, output: str, memory_limit: str) -> None:
    """Run one thing in this process and print what it took."""
    begin = time.perf_counter()
    if what == "refine":
        told = refine(table, output, memory_limit)
    else:
        told = join_back(table, output, memory_limit, number_only=what == "number only")
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds, cpu = time.perf_counter() - begin, used.ru_utime + used.ru_stime
    figures = {
        "seconds": seconds,
        "cpu": cpu,
        "peak": peak_memory(),
        "bytes": os.path.getsize(output),
    }
    print(json.dumps(told | figures))


def run_apart(what: str, table: Path, output: Path, memory_limit: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.large_files", "--measure", what]
    paths = ["--table", str(table), "--output", str(output), "--memory-limit", memory_limit]
    done = subprocess.run([*command, *paths], check=True, capture_output=True, text=True)
    output.unlink()
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare(home: Path, rows: int, patterns: int, memory_limit: str, repeats: int) -> None:
    table = home / "labels.parquet"
    write_table(table, rows, patterns)
    things = ("refine", "join back", "number only")
    rounds = [
        {what: run_apart(what, table, home / "out.parquet", memory_limit) for what in things}
        for _ in range(repeats)
    ]
    found = int(rounds[0]["refine"]["patterns"])
    print(
        f"\n{rows:,} rows, {found:,} patterns, {table.stat().st_size / 1e9:.2f} GB, limit {memory_limit}"
    )
    print(
        f"{'':14}{'wall s':>9}{'CPU s':>9}{'peak GB':>9}{'out GB':>9}{'wall, refine is':>18}{'CPU':>9}"
    )
    for what in things:
        middle = {
            key: statistics.median(one[what][key] for one in rounds)
            for key in ("seconds", "cpu", "peak", "bytes")
        }
        ratios = [
            statistics.median(one["refine"][key] / one[what][key] for one in rounds)
            for key in ("seconds", "cpu")
        ]
        print(
            f"{what:14}{middle['seconds']:9.1f}{middle['cpu']:9.1f}{middle['peak'] / 1e9:9.2f}"
            f"{middle['bytes'] / 1e9:9.2f}{ratios[0]:12.2f} times{ratios[1]:9.2f}"
        )
    parts = rounds[-1]["refine"]["parts"]
    print("parts of refine: " + ", ".join(f"{name} {took:.1f} s" for name, took in parts.items()))
    table.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--patterns", type=int, nargs="+", default=[100_000, 5_000_000])
    parser.add_argument("--memory-limit", default="3GB")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--directory", help="where about 5 GB are free")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    parser.add_argument("--output", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measured(given.measure, given.table, given.output, given.memory_limit)
        return
    import duckdb

    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, DuckDB {duckdb.__version__}"
    )
    print(f"load average {os.getloadavg()[0]:.1f}; medians of {given.repeats}")
    for patterns in given.patterns:
        with tempfile.TemporaryDirectory(dir=given.directory) as home:
            compare(Path(home), given.rows, patterns, given.memory_limit, given.repeats)


if __name__ == "__main__":
    main()
