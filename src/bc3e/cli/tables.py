"""Tables of every format behind one interface: names first, then the columns asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bc3e.cli.delimited import FEATURE, LABEL, NUMBER, TEXT, Delimited, missing_words, no_rows
from bc3e.cli.delimited import numbers_of as numbers_of_text
from bc3e.cli.errors import CommandError, Problems, fault
from bc3e.cli.options import Reading
from bc3e.cli.sources import Source, open_source
from bc3e.column_choice import Header

__all__ = ["FEATURE", "LABEL", "NUMBER", "TEXT", "Table", "open_table"]


@dataclass(frozen=True)
class Table:
    """A table that was opened: its columns can be listed, and read as what they are for."""

    source: Source
    names: list[str]
    reading: Reading
    text: Delimited | None

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def header(self) -> Header:
        """The columns to choose from."""
        return Header(self.names, self.name)

    @property
    def missing(self) -> frozenset[str]:
        """Words that stand for a missing label; a typed format has real gaps instead."""
        return frozenset(missing_words(self.reading)) if self.text is not None else frozenset({""})

    def read(self, kinds: Mapping[str, str], problems: Problems) -> Any:
        """Columns as an Arrow table.

        Parameters
        ----------
        kinds : mapping from names to kinds
            LABEL (distinct values), NUMBER (float64), TEXT (kept as it is) or
            FEATURE (as the file suggests).
        """
        for name in kinds:
            if self.names.count(name) > 1:
                raise fault(
                    self.name, f"two columns are called {name!r}", "Give every column its own name."
                )
        if self.text is not None:
            return self.text.read(kinds, problems)
        table = _typed(self.source, kinds)
        if table.num_rows == 0:
            raise no_rows(self.source)
        for i, (name, kind) in enumerate(kinds.items()):
            if kind == NUMBER:
                numbers = self._numbers(table.column(name), name, problems)
                table = table.set_column(i, name, numbers)
        return table

    def _numbers(self, column: Any, name: str, problems: Problems) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = pc.cast(column, pa.string())
            return numbers_of_text(texts, name, self.source, problems, self.reading)
        try:
            return pc.cast(column, pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            problems.add(
                fault(
                    f"{self.name}, column {name!r}",
                    f"values of type {column.type}, not numbers",
                    "Turn them into numbers.",
                )
            )
            return pa.nulls(len(column), pa.float64())


def open_table(given: str, reading: Reading) -> Table:
    """Open a table and list its columns."""
    source = open_source(given, reading.format)
    if source.format in ("csv", "tsv"):
        text = Delimited.open(source, reading)
        return Table(source, text.names, reading, text)
    return Table(source, _typed_names(source), reading, None)


def _typed_names(source: Source) -> list[str]:
    return [str(name) for name in _guarded(source, _schema_names)]


def _schema_names(source: Source) -> Any:
    from pyarrow import ipc
    from pyarrow import parquet as pq

    if source.format == "parquet":
        return pq.read_schema(source.open()).names
    if source.format == "arrow":
        return _arrow_reader(source, ipc).schema.names
    return _json(source).column_names


def _typed(source: Source, kinds: Mapping[str, str]) -> Any:
    return _guarded(source, lambda source: _typed_columns(source, kinds))


def _typed_columns(source: Source, kinds: Mapping[str, str]) -> Any:
    from pyarrow import ipc
    from pyarrow import parquet as pq

    names = list(kinds)
    if source.format == "parquet":  # distinct values and codes are what the file holds anyway
        labels = [name for name, kind in kinds.items() if kind == LABEL]
        return pq.read_table(source.open(), columns=names, read_dictionary=labels).select(names)
    if source.format == "arrow":
        return _arrow_reader(source, ipc).read_all().select(names)
    return _json(source).select(names)


def _arrow_reader(source: Source, ipc: Any) -> Any:
    stream = source.head(6) != b"ARROW1"
    return ipc.open_stream(source.open()) if stream else ipc.open_file(source.open())


def _json(source: Source) -> Any:
    """JSON lines; text that looks like a date stays text, as ids may."""
    import pyarrow as pa
    from pyarrow import json as reader

    table = reader.read_json(source.open())
    dates = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
    if dates:
        as_text = pa.schema([(name, pa.string()) for name in dates])
        table = reader.read_json(
            source.open(), parse_options=reader.ParseOptions(explicit_schema=as_text)
        )
    return table


NAMES = {"parquet": "a Parquet file", "arrow": "an Arrow file", "jsonl": "JSON lines"}


def _guarded(source: Source, read: Any) -> Any:
    """Read, and turn what pyarrow says into one line."""
    import pyarrow as pa

    try:
        return read(source)
    except UnicodeDecodeError:
        raise fault(source.name, "the text is not UTF-8", "Save it as UTF-8.") from None
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(source, str(error)) from None


def _unreadable(source: Source, reason: str) -> CommandError:
    row = re.search(r"(.*?)[ .]*in row (\d+)", reason)
    if source.format == "jsonl" and row is not None:
        if "array in row" in reason:
            return fault(
                source.name,
                "a JSON list, not JSON lines",
                "Write one object per line, as jq -c '.[]' does.",
            )
        found = row[1].removeprefix("JSON parse error: ").replace("Column(/", "column (")
        remedy = "Use one type in a column." if "changed" in found else "Write one object per line."
        return fault(f"{source.name}, row {int(row[2]) + 1}", found, remedy)
    first = reason.split(". ")[0].split("\n")[0]
    return fault(
        source.name,
        f"not {NAMES[source.format]}, or damaged ({first})",
        "Write it again, or name its format with --format.",
    )
