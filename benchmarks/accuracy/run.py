"""Compare consensus methods on all cases.

    python -m benchmarks.accuracy.run --split development --methods BC3E "C3E*"

Gains are points of accuracy over the soft vote. BC3E_DATA names the folder of
the data files, BC3E_CACHE that of the built cases.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.accuracy.cases import prepare, specs
from benchmarks.accuracy.methods import choose
from benchmarks.accuracy.scores import Row, score_all
from benchmarks.accuracy.summary import Table, case_table, tables


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    console = Console(width=options.width)
    wanted = specs(options.split, options.families, options.tags or ())
    if not wanted:
        raise SystemExit("no such cases: see --split, --families and --tags")
    methods, absent = choose(options.methods)
    for name, why in absent.items():
        console.print(f"skipped {name}: {why}", style="yellow")
    start = time.perf_counter()
    prepare(wanted, n_jobs=options.jobs)
    built = time.perf_counter()
    rows = score_all(wanted, list(methods), n_jobs=options.jobs)
    ran = time.perf_counter()
    found = tables(rows)
    shown = found if not options.brief else [table for table in found if table.title.endswith("methods")]
    if options.cases:
        shown.append(case_table(rows))
    for table in shown:
        console.print(rich_table(table))
    for row in rows:
        if row.error:
            console.print(f"{row.method} failed on {row.case}: {row.error}", style="yellow")
    console.print(f"{len(wanted)} cases: {built - start:.1f} s to build, {ran - built:.1f} s to run")
    for path in options.out:
        _write(path, rows, shown)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.run", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    splits = ("development", "check", "all", "reserve")
    parser.add_argument("--split", choices=splits, default="all", help="all: development and check")
    parser.add_argument("--families", nargs="+", help="data sources; all by default")
    parser.add_argument("--tags", nargs="+", help="only cases with all of these tags")
    parser.add_argument("--methods", nargs="+", help="names or patterns; all by default")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--brief", action="store_true", help="without the tables by family")
    parser.add_argument("--cases", action="store_true", help="every case too, worst first")
    parser.add_argument("--width", type=int, default=150, help="columns of the printed tables")
    parser.add_argument(
        "--out", type=Path, action="append", default=[], help="also write .md (tables) or .json (rows)"
    )
    return parser


def rich_table(table: Table) -> RichTable:
    shown = RichTable(title=table.title, title_justify="left")
    for i, name in enumerate(table.header):
        shown.add_column(name, justify="left" if i == 0 else "right")
    for row in table.rows:
        shown.add_row(*row)
    return shown


def _write(path: Path, rows: Sequence[Row], shown: Sequence[Table]) -> None:
    if path.suffix == ".json":
        path.write_text(json.dumps([_plain(row) for row in rows], indent=1) + "\n")
    else:
        path.write_text("\n".join(table.markdown() for table in shown))


def _plain(row: Row) -> dict[str, Any]:
    """A row for JSON, which knows no NaN."""
    found = dataclasses.asdict(row)
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in found.items()
    }


if __name__ == "__main__":
    main()
