"""Tables that DuckDB can read again and again: Parquet as it is, everything else by way of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any

from bc3e.column_choice import Header
from bc3e.engines.connection import Advance, Database, literal, quoted
from bc3e.engines.text import TextForm, csv_scan
from bc3e.errors import InputError, InputTypeError

REGISTERED = "bc3e_table"


@dataclass(frozen=True)
class Source:
    """A table and how SQL reads it.

    Attributes
    ----------
    name : str
        For messages.
    scan : str
        What stands behind FROM.
    types : dict
        DuckDB's type of each column.
    number : str
        Expression of the row, from 1.
    numbered : str
        What stands behind FROM where the row is asked for.
    spelled : bool
        Labels are text as a file spells them: `1` and `1.0` are the same number.
    missing : collection of str
        Words that stand for a missing label.
    once : bool
        It must be staged: reading it again would cost too much, or is not possible.
    """

    name: str
    scan: str
    types: Mapping[str, str]
    number: str
    numbered: str
    spelled: bool = False
    missing: Collection[str] = ()
    once: bool = False

    @property
    def header(self) -> Header:
        """The columns to choose from."""
        return Header(list(self.types), self.name)

    def select(self, parts: Iterable[str], number: bool = False) -> str:
        """A query over all rows."""
        return f"SELECT {', '.join(parts)} FROM {self.numbered if number else self.scan}"


def open_table(db: Database, table: Any, form: TextForm, format: str | None = None) -> Source:
    """Find out what a user means by a table.

    Parameters
    ----------
    table : path, glob, list of paths, Arrow table, DuckDB relation
    format : {"parquet", "csv", "tsv"}, optional
        Told by the extension by default.
    """
    if isinstance(table, str | os.PathLike):
        return _files(db, [os.fspath(table)], form, format)
    if isinstance(table, list | tuple) and table:
        return _files(db, [os.fspath(item) for item in table], form, format)
    kind = type(table).__module__.split(".")[0]
    if kind == "pyarrow" and hasattr(table, "column_names"):
        db.register(REGISTERED, lambda: table)
        return _arrow(db, "Arrow table", once=False)
    if kind in ("duckdb", "_duckdb") and hasattr(table, "to_arrow_table"):
        # DuckDB before 1.5 has the other name, which later ones warn about
        read = getattr(table, "to_arrow_reader", None) or table.fetch_arrow_reader
        db.register(REGISTERED, lambda: read(100_000))
        return _arrow(db, "relation", once=True)
    raise InputTypeError(
        "table",
        f"a {type(table).__name__}",
        "Pass a Parquet or CSV file, several, an Arrow table or a DuckDB relation; "
        "what is in memory anyway is refined by BC3E().fit.",
    )


def _arrow(db: Database, name: str, *, once: bool) -> Source:
    scan = quoted(REGISTERED)
    return Source(name, scan, _types(db, scan), "row_number() OVER ()", scan, once=once)


def _files(db: Database, given: Sequence[str], form: TextForm, format: str | None) -> Source:
    paths = [path for name in given for path in _found(name)]
    name = given[0] if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"
    kind = format or _format(paths[0])
    listed = f"[{', '.join(literal(path) for path in paths)}]"
    if kind == "parquet":
        return _parquet(db, name, paths, listed)
    scan, names = csv_scan(paths, form, kind)
    types = dict.fromkeys(names, "VARCHAR")
    return Source(name, scan, types, "0", scan, spelled=True, missing=form.missing, once=True)


def _parquet(db: Database, name: str, paths: Sequence[str], listed: str) -> Source:
    """Rows are counted over all files, in their order."""
    counts = dict(db.rows(f"SELECT file_name, num_rows FROM parquet_file_metadata({listed})"))
    offsets, total = [], 0
    for path in paths:
        offsets.append(f"WHEN {literal(path)} THEN {total}")
        total += counts[path]
    scan = f"read_parquet({listed})"
    types = _types(db, scan)
    if "file_row_number" in types or "filename" in types:  # DuckDB's own columns have these names
        return Source(name, scan, types, "row_number() OVER ()", scan)
    number, numbered = "file_row_number + 1", f"read_parquet({listed}, file_row_number = true)"
    if len(paths) > 1:
        number += f" + CASE filename {' '.join(offsets)} END"
        numbered = f"read_parquet({listed}, file_row_number = true, filename = true)"
    return Source(name, scan, types, number, numbered)


def _found(name: str) -> list[str]:
    path = Path(name)
    if path.is_file():
        return [name]
    if path.is_dir():
        raise InputError("table", f"{name} is a directory", f"Name files, such as {path / '*.parquet'}.")
    found = sorted(hit for hit in glob(name) if os.path.isfile(hit))
    if not found:
        raise InputError("table", f"there is no file {name}", "Check the name and the directory.")
    return found


def _format(path: str) -> str:
    plain = path.lower().removesuffix(".gz")
    for kind, endings in {
        "parquet": (".parquet", ".pq"),
        "csv": (".csv", ".txt"),
        "tsv": (".tsv", ".tab"),
    }.items():
        if plain.endswith(endings):
            return kind
    raise InputError(
        "table",
        f"the extension of {path} names no format that DuckDB reads here",
        "Use .parquet, .csv or .tsv (.gz too).",
    )


def _types(db: Database, scan: str) -> dict[str, str]:
    return {row[0]: str(row[1]) for row in db.rows(f"DESCRIBE SELECT * FROM {scan}")}


def staged(db: Database, source: Source, columns: Sequence[str], advance: Advance) -> Source:
    """The columns in a Parquet file of the scratch directory, if the source is to be read once."""
    if not source.once:
        return source
    path = str(db.scratch / "table.parquet")
    query = source.select(quoted(name) for name in columns)
    db.rows(f"COPY ({query}) TO {literal(path)} (FORMAT parquet)", advance)
    copy = _parquet(db, source.name, [path], f"[{literal(path)}]")
    return replace(copy, spelled=source.spelled, missing=source.missing)
