"""Answers joined back to the rows, in a file that appears whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bc3e.engines.connection import Advance, Database, literal, quoted
from bc3e.engines.packing import Word
from bc3e.engines.patterns import key_name, key_parts
from bc3e.engines.tables import Source
from bc3e.errors import InputError

ANSWERS = "bc3e_answers"
ROW = "bc3e row"
DIGITS = 6  # decimals of probabilities in text files
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv"}


def written_format(path: str) -> str:
    """Format of an output by its name.

    Examples
    --------
    >>> written_format("refined.parquet"), written_format("refined.csv.gz")
    ('parquet', 'csv')
    """
    found = FORMATS.get(Path(path.lower().removesuffix(".gz")).suffix)
    if found is None or (found == "parquet" and path.lower().endswith(".gz")):
        raise InputError(
            "output", f"the extension of {path} names no format", "Use .parquet, .csv or .tsv."
        )
    return found


def write(
    db: Database,
    source: Source,
    words: Sequence[Word],
    kept: Sequence[str],
    answers: Any,
    path: str,
    format: str,
    packed: bool,
    ordered: bool,
    advance: Advance,
) -> int:
    """Join the answers to the rows and write them; returns the number of rows.

    Parameters
    ----------
    kept : list of str
        Columns of the table to copy; without any, the row is written.
    answers : Arrow table
        The key of each pattern, then the columns that are added.
    packed : bool
        Compress a text file with gzip.
    ordered : bool
        Sort the rows as the table has them: a join keeps no order.
    """
    db.register(ANSWERS, lambda: answers)
    db.leave(answers.nbytes)
    keys = [key_name(i) for i in range(len(words))]
    parts = [quoted(name) for name in kept]
    if ordered or not kept:
        parts.append(f"{source.number} AS {quoted(ROW)}")
    rows = source.select([*parts, *key_parts(words)], number=ordered or not kept)
    shown = [f"s.{quoted(name)}" for name in kept] or [f's.{quoted(ROW)} AS "row"']
    shown += [f"a.{quoted(name)}" for name in answers.column_names if name not in keys]
    on = " AND ".join(f"s.{quoted(key)} = a.{quoted(key)}" for key in keys)
    query = f"SELECT {', '.join(shown)} FROM ({rows}) AS s JOIN {ANSWERS} AS a ON {on}"
    query += f" ORDER BY s.{quoted(ROW)}" if ordered else ""
    ((count,),) = db.rows(f"COPY ({query}) TO {literal(path)} ({_options(format, packed)})", advance)
    db.unregister(ANSWERS)
    return int(count)


def _options(format: str, packed: bool) -> str:
    if format == "parquet":
        return "FORMAT parquet, USE_TMP_FILE false"
    delimiter = literal("\t" if format == "tsv" else ",")
    squeeze = "gzip" if packed else "uncompressed"
    return f"FORMAT csv, HEADER true, DELIMITER {delimiter}, COMPRESSION {squeeze}, USE_TMP_FILE false"


@contextmanager
def whole_file(output: str, overwrite: bool) -> Iterator[str]:
    """A name beside the target to write to; it becomes the target at the end, or goes."""
    target = Path(os.path.realpath(output))
    part = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        with open(part, "xb"):
            pass
        yield str(part)
        with open(part, "rb") as stream:
            os.fsync(stream.fileno())  # a name must not outlive its content when the power goes
        if overwrite:
            if target.exists():
                part.chmod(stat.S_IMODE(target.stat().st_mode))
            part.replace(target)
        else:
            _refuse_existing(output, target)
            part.rename(target)
    finally:
        part.unlink(missing_ok=True)


def check_place(output: str, overwrite: bool) -> None:
    """Refuse an output that cannot be written, before any work."""
    target = Path(os.path.realpath(output))
    if target.is_dir():
        raise InputError("output", f"{output} is a directory", "Add a file name.")
    if not target.parent.is_dir():
        raise InputError("output", f"there is no directory {target.parent}", "Create it first.")
    if not overwrite:
        _refuse_existing(output, target)
    if not os.access(target.parent, os.W_OK):
        raise InputError(
            "output",
            f"the directory {target.parent} is read-only",
            "Choose a directory that you can write to.",
        )


def _refuse_existing(output: str, target: Path) -> None:
    if target.exists():
        raise InputError("output", f"{output} exists", "Pass overwrite=True, or choose another name.")
