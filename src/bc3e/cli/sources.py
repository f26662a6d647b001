"""Where a table comes from: a file, a compressed file, or standard input; and its format."""

from __future__ import annotations

import gzip
import hashlib
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bc3e.cli.errors import CommandError, explain_os, fault

FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl")
EXTENSIONS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
STDIN = "-"
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Source:
    """A table that can be read more than once.

    Attributes
    ----------
    name : str
        For messages.
    format : str
        One of FORMATS.
    path : Path or None
        Where the content is, if it is a plain file.
    data : bytes or None
        The content otherwise.
    """

    name: str
    format: str
    path: Path | None
    data: bytes | None

    def open(self) -> Any:
        """A pyarrow file at its beginning."""
        import pyarrow as pa

        return pa.OSFile(str(self.path)) if self.data is None else pa.BufferReader(self.data)

    def read(self) -> bytes:
        """All of the content."""
        if self.data is not None:
            return self.data
        assert self.path is not None
        return self.path.read_bytes()

    def head(self, size: int) -> bytes:
        """The first bytes of the content."""
        if self.data is not None:
            return self.data[:size]
        assert self.path is not None
        with open(self.path, "rb") as stream:
            return stream.read(size)

    def count(self, mark: bytes) -> int:
        """How often a byte occurs, without holding the file in memory."""
        if self.data is not None:
            return self.data.count(mark)
        assert self.path is not None
        with open(self.path, "rb") as stream:
            return sum(block.count(mark) for block in iter(lambda: stream.read(1 << 20), b""))

    def sha256(self) -> str:
        """Hash of the content (of a compressed file, of what was compressed)."""
        if self.data is not None:
            return hashlib.sha256(self.data).hexdigest()
        assert self.path is not None
        with open(self.path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def open_source(given: str, format: str | None) -> Source:
    """Find the table behind a name, and its format by option, extension or content."""
    if format is not None and format not in FORMATS:
        raise fault("--format", f"{format!r} is not a format", f"Use one of {', '.join(FORMATS)}.")
    if given == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise fault("-", "standard input is closed", "Pipe a table into the command.")
        if sys.stdin.isatty():
            raise fault("-", "standard input is a terminal", "Pipe a table into the command.")
        name, path, data = "standard input", None, sys.stdin.buffer.read()
    else:
        name, path = given, Path(given)
        try:
            path, data = _opened(given, path)
        except OSError as error:
            raise CommandError(explain_os(error, given)) from None
    if data is not None and data[:2] == GZIP_MAGIC:
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            raise fault(name, "the gzip file is damaged or cut off", "Copy it again.") from None
    found = Source(name, "csv", path, data)
    head = found.head(4096)
    if not head:
        raise fault(name, "the file is empty", "Pass a table with a header and at least one row.")
    return Source(name, format or extension_format(name) or sniffed(head), path, data)


def _opened(given: str, path: Path) -> tuple[Path | None, bytes | None]:
    """The path of a plain file, or the content of one that must be read at once."""
    if path.is_dir():
        raise fault(given, "this is a directory", "Name a file.")
    if not path.is_file() and path.exists():  # a pipe
        return None, path.read_bytes()
    with open(path, "rb") as stream:
        packed = stream.read(2) == GZIP_MAGIC
    return (None, path.read_bytes()) if packed else (path, None)


def extension_format(name: str) -> str | None:
    """Format by file name.

    Examples
    --------
    >>> extension_format("labels.CSV.gz"), extension_format("labels")
    ('csv', None)
    """
    plain = name.lower().removesuffix(".gz")
    return EXTENSIONS.get(Path(plain).suffix)


def sniffed(head: bytes) -> str:
    """Format by content.

    Examples
    --------
    >>> sniffed(b"PAR1..."), sniffed(b'{"id": 1}'), sniffed(b"id,a")
    ('parquet', 'jsonl', 'csv')
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return "arrow"
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        return "jsonl"
    line = head.split(b"\n")[0]
    return "tsv" if b"\t" in line and b"," not in line else "csv"
