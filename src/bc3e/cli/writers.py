"""Arrow tables into CSV, TSV, Parquet, Arrow and JSON lines."""

from __future__ import annotations

import csv
import gzip
import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from bc3e.cli.errors import fault
from bc3e.cli.sources import FORMATS, extension_format

DIGITS = 6  # decimals of probabilities in text formats
TEXT_FORMATS = ("csv", "tsv", "jsonl")
SLICE = 131_072  # rows that are turned into text at a time
FORMULA = r"^[=+\-@\t\r]"
PLAIN_NUMBER = r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$"


def output_format(output: str, given: str | None) -> str:
    """Format of the output by option or extension; CSV on standard output."""
    if given is not None and given not in FORMATS:
        raise fault("--output-format", f"{given!r} is not a format", f"Use one of {', '.join(FORMATS)}.")
    if given is not None:
        return given
    if output == "-" or output.startswith("/dev/"):
        return "csv"
    found = extension_format(output)
    if found is None or output.lower().endswith((".json", ".txt")):
        raise fault(
            f"--output {output}",
            "the extension names no format",
            "Use .csv, .tsv, .parquet, .arrow, .feather or .jsonl, or add --output-format.",
        )
    return found


def write_table(table: Any, stream: BinaryIO, *, format: str, packed: bool, escape: bool) -> None:
    """Write a table to a binary stream.

    Parameters
    ----------
    packed : bool
        Compress a text format with gzip.
    escape : bool
        Put an apostrophe before text that a spreadsheet would take for a formula;
        in CSV and TSV only.
    """
    if packed and format in TEXT_FORMATS:
        with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=5, mtime=0, filename="") as inner:
            _write_text(table, inner, format, escape)
    elif format in TEXT_FORMATS:
        _write_text(table, stream, format, escape)
    elif format == "parquet":
        import pyarrow as pa
        from pyarrow import parquet as pq

        buffered = io.BytesIO() if not _can_seek(stream) else stream
        repeated = [f.name for f in table.schema if not pa.types.is_floating(f.type)]
        pq.write_table(table, buffered, use_dictionary=repeated)  # probabilities hardly repeat
        if buffered is not stream:
            stream.write(buffered.getbuffer())  # type: ignore[attr-defined]
    else:
        from pyarrow import ipc

        with ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table.unify_dictionaries())


def _can_seek(stream: Any) -> bool:
    try:
        return bool(stream.seekable())
    except (AttributeError, OSError):
        return False


def _write_text(table: Any, stream: Any, format: str, escape: bool) -> None:
    """Slices become text on several threads; they are written in order."""
    table = _as_text(table, escape and format != "jsonl")
    if format != "jsonl":
        stream.write(_header(table.column_names, format, escape))
    pieces = [table.slice(first, SLICE) for first in range(0, table.num_rows, SLICE)]
    encode = _json_lines if format == "jsonl" else _delimited
    with ThreadPoolExecutor(max_workers=4) as pool:
        for content in pool.map(lambda piece: encode(piece, format), pieces):
            stream.write(content)


def _as_text(table: Any, escape: bool) -> Any:
    """Labels without their dictionary, formulas disarmed."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pa.types.is_dictionary(column.type):
            values = column.type.value_type
            if escape and pa.types.is_string(values):
                column = _map_dictionary(column)
            column = column.cast(values)
        elif escape and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            column = _disarmed(column)
        table = table.set_column(i, field.name, column)
    return table


def _map_dictionary(column: Any) -> Any:
    import pyarrow as pa

    whole = column.unify_dictionaries()
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, _disarmed(chunk.dictionary))
        for chunk in whole.chunks
    ]
    return pa.chunked_array(chunks, type=column.type)


def _disarmed(column: Any) -> Any:
    """Text that begins like a formula, and is no plain number, gets an apostrophe."""
    import pyarrow.compute as pc

    formula = pc.and_(
        pc.match_substring_regex(column, FORMULA),
        pc.invert(pc.match_substring_regex(column, PLAIN_NUMBER)),
    )
    return pc.if_else(formula, pc.binary_join_element_wise("'", column, ""), column)


def _header(names: list[str], format: str, escape: bool) -> bytes:
    import pyarrow as pa

    shown = _disarmed(pa.array(names)).to_pylist() if escape else names
    text = io.StringIO()
    csv.writer(text, delimiter=_delimiter(format), lineterminator="\n").writerow(shown)
    return text.getvalue().encode()


def _delimiter(format: str) -> str:
    return "\t" if format == "tsv" else ","


def _delimited(piece: Any, format: str) -> Any:
    """Rows as text; quotation marks only where a cell needs them."""
    import pyarrow as pa
    from pyarrow import csv as writer

    for quoting in ("none", "needed"):
        options = writer.WriteOptions(
            include_header=False, delimiter=_delimiter(format), quoting_style=quoting
        )
        out = pa.BufferOutputStream()
        try:
            writer.write_csv(piece, out, options)
            break
        except pa.ArrowInvalid:
            if quoting == "needed":
                raise
    return out.getvalue()


def _json_lines(piece: Any, format: str) -> Any:
    """Rows as JSON, made by DuckDB: the text of all rows lies in one buffer."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("piece", piece)
        lines = connection.sql("SELECT to_json(piece) || chr(10) AS line FROM piece").to_arrow_table()
    return b"".join(_text_of(chunk) for chunk in lines.column(0).chunks)


def _text_of(chunk: Any) -> bytes:
    """The text of an Arrow string array, as one piece."""
    import numpy as np

    _, offsets, data = chunk.buffers()
    wide = np.int64 if "large" in str(chunk.type) else np.int32
    ends = np.frombuffer(offsets, dtype=wide)[chunk.offset : chunk.offset + len(chunk) + 1]
    return bytes(memoryview(data)[ends[0] : ends[-1]])
