"""CSV and TSV for DuckDB: the header is read here, so that nothing about the rows is guessed."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bc3e.engines.connection import literal
from bc3e.errors import InputError

WORDS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")  # missing cells
DELIMITERS = (",", ";", "\t", "|")
HEADER = 1 << 20  # bytes in which the header must end
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class TextForm:
    """How the cells of a text table are told apart; a delimiter of None is told from the header."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    missing: Collection[str] = WORDS


def csv_scan(paths: Sequence[str], form: TextForm, kind: str) -> tuple[str, list[str]]:
    """What stands behind FROM for text tables with one header, and their columns."""
    names, delimiter = _header(paths[0], form, kind)
    for path in paths[1:]:
        if _header(path, form, kind)[0] != names:
            raise InputError(
                "table",
                f"{path} has other columns than {paths[0]}",
                "Pass tables with the same header.",
            )
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                "table", f"two columns of {paths[0]} are called {name!r}", "Give each its own name."
            )
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    listed = ", ".join(literal(name) for name in names)  # empty cells stay what they are
    files = ", ".join(literal(path) for path in paths)
    scan = (
        f"read_csv([{files}], auto_detect = false, header = true, columns = {{{columns}}}, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', strict_mode = true, "
        f"force_not_null = [{listed}], encoding = {literal(form.encoding)}{_compression(paths[0])})"
    )
    return scan, names


def _compression(path: str) -> str:
    with open(path, "rb") as stream:
        return ", compression = 'gzip'" if stream.read(2) == GZIP else ""


def _header(path: str, form: TextForm, kind: str) -> tuple[list[str], str]:
    """Column names and the delimiter between them."""
    try:
        decoder = codecs.getincrementaldecoder(form.encoding)()
    except LookupError:
        raise InputError("encoding", f"{form.encoding!r} is not known", "Pass utf-8, say.") from None
    try:
        text = decoder.decode(_head(path)).removeprefix("\ufeff").lstrip("\r\n")
    except UnicodeDecodeError:
        raise InputError(
            "table", f"{path} is not {form.encoding} text", "Name its encoding, such as latin-1."
        ) from None
    if not text.strip():
        raise InputError("table", f"{path} is empty", "Pass a table with a header and rows.")
    first = text.splitlines()[0]
    counts = {mark: first.count(mark) for mark in DELIMITERS}
    told = "," if counts[","] or not any(counts.values()) else max(DELIMITERS, key=counts.__getitem__)
    delimiter = form.delimiter or ("\t" if kind == "tsv" else told)
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)), delimiter


def _head(path: str) -> bytes:
    """The first bytes of a file, unpacked."""
    try:
        with open(path, "rb") as stream:
            packed = stream.read(2) == GZIP
        with gzip.open(path) if packed else open(path, "rb") as stream:
            return stream.read(HEADER)
    except (EOFError, zlib.error):
        raise InputError("table", f"the gzip file {path} is damaged or cut off", "Copy it.") from None
    except OSError as error:
        raise InputError("table", f"{path}: {error.strerror or error}", "Check the file.") from None
