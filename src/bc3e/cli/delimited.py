"""CSV and TSV into Arrow columns; every cell that does not fit is found with its row."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bc3e.cli.errors import CommandError, Problems, fault, shown
from bc3e.cli.options import Reading
from bc3e.cli.sources import Source

LABEL, NUMBER, TEXT, FEATURE = "label", "number", "text", "feature"  # what a column is read as
HEADER = 1 << 20  # bytes in which the header must end
LONGEST = 1 << 24  # bytes of the largest row
DELIMITERS = (",", ";", "\t", "|")
SHOWN = 3  # rows of one kind of problem that are listed


@dataclass(frozen=True)
class Delimited:
    """A text table: its column names, and how its cells are told apart."""

    source: Source
    names: list[str]
    delimiter: str
    reading: Reading

    @classmethod
    def open(cls, source: Source, reading: Reading) -> Delimited:
        """Read the header."""
        _check_reading(reading)
        head = source.head(HEADER)
        utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if utf16 and _codec(reading.encoding) == "utf-8":
            raise fault(source.name, "the text is UTF-16", "Add --encoding utf-16.")
        if b"\0" in head and _codec(reading.encoding) == "utf-8":
            raise fault(
                source.name, "not a text table: it has zero bytes", "Check the file, or pass --format."
            )
        try:
            decoder = codecs.getincrementaldecoder(reading.encoding)()
            text = decoder.decode(head).removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise not_encoded(source, reading) from None
        first = text.lstrip("\r\n").splitlines()[0] if text.strip() else ""
        if not first:
            raise fault(source.name, "there is no header", "Pass a table with a header and rows.")
        delimiter = reading.delimiter or _told(first, source.format)
        stream = io.StringIO(text.lstrip("\r\n"), newline="")
        try:
            names = next(csv.reader(stream, delimiter=delimiter))
        except csv.Error as error:
            raise fault(source.name, f"the header cannot be read: {error}", "Check the file.") from None
        return cls(source, names, delimiter, reading)

    def read(self, kinds: Mapping[str, str], problems: Problems) -> Any:
        """The columns asked for, as an Arrow table.

        Everything is read at full speed first; only if that fails, again and slowly
        to find each place.
        """
        import pyarrow as pa

        types = {name: self._types()[kind] for name, kind in kinds.items() if kind != FEATURE}
        try:
            table = self._parsed(list(kinds), types)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            table = self._diagnosed(kinds, types, problems)
        if self.names[-1:] and self.source.count(b'"') % 2:
            self._refuse_open_quote()
        if table.num_rows == 0 and not problems.found:
            raise no_rows(self.source)
        return table

    @staticmethod
    def _types() -> dict[str, Any]:
        import pyarrow as pa

        return {
            LABEL: pa.dictionary(pa.int32(), pa.string()),
            NUMBER: pa.float64(),
            TEXT: pa.string(),
        }

    def _parsed(
        self, names: list[str], types: Mapping[str, Any], skipped: list[Any] | None = None
    ) -> Any:
        """Let pyarrow read; rows of the wrong length go to `skipped`, if there is such a list."""
        import pyarrow as pa
        from pyarrow import csv as reader

        def skip(row: Any) -> str:
            assert skipped is not None
            skipped.append(row)
            return "skip"

        if self._is_header_only():  # which pyarrow takes for no table at all
            return pa.table({name: pa.array([], pa.string()) for name in names})
        return reader.read_csv(
            self.source.open(),
            read_options=reader.ReadOptions(
                encoding=self.reading.encoding,
                use_threads=skipped is None,
                **({} if skipped is None else {"block_size": LONGEST}),
            ),
            parse_options=reader.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                invalid_row_handler=None if skipped is None else skip,
            ),
            convert_options=reader.ConvertOptions(
                include_columns=names,
                column_types=dict(types),
                decimal_point=self.reading.decimal,
                null_values=missing_words(self.reading),
                timestamp_parsers=[],
            ),
        )

    def _is_header_only(self) -> bool:
        head = self.source.head(HEADER)
        return len(head) < HEADER and not head.strip().count(b"\n") and not head.strip().count(b"\r")

    def _diagnosed(self, kinds: Mapping[str, str], types: Mapping[str, Any], problems: Problems) -> Any:
        """The table without what cannot be read, and a problem for each thing left out."""
        import pyarrow as pa

        skipped: list[Any] = []
        texts = {
            name: pa.string() if kind == NUMBER else types[name]
            for name, kind in kinds.items()
            if kind != FEATURE
        }
        try:
            table = self._parsed(list(kinds), texts, skipped)
        except UnicodeDecodeError:
            raise not_encoded(self.source, self.reading) from None
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):
                raise open_quote(self.source, None) from None
            if "UTF8" in str(error) or "utf8" in str(error):
                raise not_encoded(self.source, self.reading) from None
            raise fault(self.source.name, f"not readable: {error}", "Check the file.") from None
        if skipped:
            problems.add(ragged(self.source, skipped))
            problems.skipped.extend(row.number - 1 for row in skipped)
        for name in [name for name, kind in kinds.items() if kind == NUMBER]:
            numbers = numbers_of(table.column(name), name, self.source, problems, self.reading)
            table = table.set_column(table.column_names.index(name), name, numbers)
        return table

    def _refuse_open_quote(self) -> None:
        """A quotation mark that is never closed swallows all that follows it."""
        import pyarrow as pa

        last = self._parsed([self.names[-1]], {self.names[-1]: pa.string()}, []).column(0)
        if len(last) and "\n" in (last[len(last) - 1].as_py() or "").rstrip("\r\n"):
            raise open_quote(self.source, len(last))


def missing_words(reading: Reading) -> list[str]:
    """What stands for a missing cell: always the empty cell, and the words of ``--missing``."""
    return ["", *(word for word in reading.missing.split(",") if word)]


def numbers_of(column: Any, name: str, source: Source, problems: Problems, reading: Reading) -> Any:
    """A text column as numbers; cells that are not become a problem with their place."""
    import pyarrow as pa
    import pyarrow.compute as pc

    present = pc.if_else(pc.is_in(column, pa.array(missing_words(reading))), None, column)
    if reading.decimal != ".":
        present = pc.replace_substring(present, reading.decimal, ".")
    pattern = r"^\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|[iI]nf(inity)?|[nN]a[nN])\s*$"
    fits = pc.match_substring_regex(present, pattern)
    bad = pc.indices_nonzero(pc.invert(fits))
    if len(bad):
        first = bad[0].as_py()
        problems.unread.update(bad.to_pylist())
        more = f" ({len(bad):,} such cells)" if len(bad) > 1 else ""
        comma = re.fullmatch(r"[+-]?\d*,\d+", column[first].as_py().strip())
        problems.add(
            fault(
                f"{source.name}, column {name!r}, row {problems.row(first)}",
                f"{shown(column[first].as_py())} is not a number{more}",
                "Add --decimal ','."
                if comma
                else "Correct it, or leave the cell empty if it is missing.",
            )
        )
    clean = pc.utf8_trim_whitespace(pc.if_else(fits, present, None))
    return pc.cast(clean, pa.float64())


def ragged(source: Source, skipped: list[Any]) -> CommandError:
    """Rows with too few or too many cells."""
    first = skipped[0]
    if "\n" in first.text and first.actual_columns < first.expected_columns:
        return open_quote(source, first.number - 1)
    also = ", ".join(str(row.number - 1) for row in skipped[1 : SHOWN + 1])
    more = f"; also row {also}{' ...' if len(skipped) > SHOWN + 1 else ''}" if also else ""
    return fault(
        f"{source.name}, row {first.number - 1}",
        f"{first.actual_columns} cells, but the header has {first.expected_columns}{more}",
        "Complete the row, or quote cells that contain the delimiter.",
    )


def open_quote(source: Source, row: int | None) -> CommandError:
    """A cell that goes on to the end of the file."""
    return fault(
        source.name if row is None else f"{source.name}, row {row}",
        "a quotation mark is opened and not closed",
        "Close it, or double it if it is part of the text.",
    )


def no_rows(source: Source) -> CommandError:
    """A table of nothing."""
    return fault(source.name, "there is a header but no row", "Pass at least one object.")


def not_encoded(source: Source, reading: Reading) -> CommandError:
    """Bytes that are no text in the encoding asked for."""
    data = source.read()
    try:
        data.decode(reading.encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return fault(
            f"{source.name}, line {line}",
            f"byte 0x{data[error.start]:02x} is not {reading.encoding} text",
            "Add --encoding latin-1, or what the file was written in.",
        )
    return fault(source.name, f"not {reading.encoding} text", "Add --encoding.")


def _told(first: str, format: str) -> str:
    """The delimiter of a header line."""
    if format == "tsv":
        return "\t"
    counts = {mark: first.count(mark) for mark in DELIMITERS}
    return "," if counts[","] or not any(counts.values()) else max(DELIMITERS, key=counts.__getitem__)


def _codec(encoding: str) -> str:
    return codecs.lookup(encoding).name


def _check_reading(reading: Reading) -> None:
    try:
        codecs.lookup(reading.encoding)
    except LookupError:
        raise fault(
            "--encoding", f"{reading.encoding!r} is not known", "Use utf-8, latin-1, utf-16, cp1252 ..."
        ) from None
    for option, mark in (("--delimiter", reading.delimiter), ("--decimal", reading.decimal)):
        if mark is not None and (len(mark) != 1 or mark in '"\r\n' or ord(mark) > 127):
            raise fault(option, f"{mark!r} is not one plain character", "Pass one, such as ';'.")
    if reading.delimiter == reading.decimal:
        raise fault("--decimal", "it is also the delimiter", "Pass another.")
