"""A DuckDB database that works within limits, tells how far it is, and can be stopped."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bc3e.engines.background import Background
from bc3e.errors import InputError

Advance = Callable[[int, int], None]

LIBRARIES = 500_000_000  # bytes that Python, NumPy, numba and pyarrow take before any table
LEAST = 256_000_000  # bytes that DuckDB needs to do anything well
UNITS = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip


def parse_memory(text: str) -> int:
    """Bytes of a memory limit.

    Examples
    --------
    >>> parse_memory("3GB"), parse_memory("1.5 GiB")
    (3000000000, 1610612736)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?B)\s*", str(text).upper())
    if found is None or found[2] not in UNITS:
        raise InputError(
            "memory_limit", f"{text!r} is not an amount of memory", "Write it like 3GB or 800MiB."
        )
    size = int(float(found[1]) * UNITS[found[2]])
    if size < LIBRARIES + LEAST:
        raise InputError(
            "memory_limit",
            f"{text} is too little to work with",
            f"Allow at least {shown_bytes(LIBRARIES + LEAST)}.",
        )
    return size


def shown_bytes(size: float) -> str:
    """Bytes for people.

    Examples
    --------
    >>> shown_bytes(1_234_567_890), shown_bytes(650_000_000)
    ('1.2 GB', '650 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


class Database:
    """An empty database in memory that spills to a temporary directory of its own.

    Parameters
    ----------
    memory_limit : str
        Of the whole process, as closely as can be.
    threads : int or None
        None leaves it to DuckDB.
    temp_directory : path or None
        Where there is room for what does not fit in memory; the system's by default.

    Attributes
    ----------
    memory : int
        The limit in bytes.
    scratch : Path
        A directory that is removed in the end.
    """

    def __init__(
        self, memory_limit: str, threads: int | None, temp_directory: str | os.PathLike[str] | None
    ) -> None:
        self.memory = parse_memory(memory_limit)
        if threads is not None and (isinstance(threads, bool) or threads < 1):
            raise InputError("threads", f"{threads!r} is not a number of threads", "Pass 1 or more.")
        import duckdb

        try:
            self.scratch = Path(tempfile.mkdtemp(prefix="bc3e-duckdb-", dir=temp_directory))
        except OSError as error:
            raise InputError(
                "temp_directory",
                f"{temp_directory or tempfile.gettempdir()}: {error.strerror}",
                "Name a directory that you can write to.",
            ) from None
        config: dict[str, Any] = {"temp_directory": str(self.scratch)}
        if threads is not None:
            config["threads"] = threads
        try:
            self._background = Background()
            self.connection = duckdb.connect(config=config)
            # Progress is counted only if the bar is on; it need not be printed for that.
            self.rows("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
            self.leave(0)
        except BaseException:
            shutil.rmtree(self.scratch, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._background.settle(self.connection.interrupt)  # a second Ctrl-C may have left work
            if not self._background.stuck:  # else it would wait, too
                self.connection.close()
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def leave(self, others: int) -> None:
        """Let DuckDB have what `others` bytes of arrays outside of it leave of the limit."""
        share = max(LEAST, self.memory - LIBRARIES - others)
        self.rows(f"SET memory_limit = '{share}B'")

    def register(self, name: str, content: Callable[[], Any]) -> None:
        """Let a query read Arrow data by a name."""
        self._watched(lambda: self.connection.register(name, content()), None)

    def unregister(self, name: str) -> None:
        """Let go of what :meth:`register` took."""
        self._watched(lambda: self.connection.unregister(name), None)

    def rows(self, sql: str, advance: Advance | None = None) -> list[tuple[Any, ...]]:
        """Run a statement and fetch what it returns."""
        return self._watched(lambda: self.connection.execute(sql).fetchall(), advance)  # type: ignore[no-any-return]

    def arrays(self, sql: str, advance: Advance | None = None) -> dict[str, Any]:
        """Run a query and fetch its columns as NumPy arrays."""
        return self._watched(lambda: self.connection.execute(sql).fetchnumpy(), advance)  # type: ignore[no-any-return]

    def _watched(self, work: Callable[[], Any], advance: Advance | None) -> Any:
        """Work in the background while this thread tells how far it is and hears Ctrl-C.

        Everything that DuckDB does is done so, however short.
        """
        import duckdb

        def look() -> None:
            share = self.connection.query_progress()
            if advance is not None and share >= 0:
                advance(int(share), 100)

        try:
            return self._background.run(work, look, self.connection.interrupt)
        except duckdb.Error as error:
            raise self.explained(error) from None

    def explained(self, error: Exception) -> Exception:
        """An error of DuckDB's in one line of this library's; what is no user's business as it is."""
        import duckdb

        text = str(error)
        ours = str(self.scratch) in text or "max_temp_directory_size" in text
        if ours or os.strerror(errno.ENOSPC) in text:
            place = self.scratch.parent if ours else "the output"
            return InputError(
                "temp_directory" if ours else "output",
                f"the disk of {place} is full",
                "Free some space, or pass temp_directory= on a larger disk."
                if ours
                else "Free some space, or write to another disk.",
            )
        if isinstance(error, duckdb.OutOfMemoryException):
            return InputError(
                "memory_limit",
                f"{shown_bytes(self.memory)} are not enough for this table",
                "Allow more, or pass fewer threads.",
            )
        if isinstance(error, duckdb.IOException | duckdb.InvalidInputException):
            return InputError("table", f"it cannot be read: {said(error)}", "Check the file.")
        return error


FINDINGS = {  # what DuckDB finds wrong with a row of a CSV file; the row itself is nobody's business
    r"Expected Number of Columns: (\d+)": r"it does not have the \1 cells of the header",
    r"unterminated quote": "a quotation mark is opened and not closed",
    r"Invalid unicode": "a cell is not text in the encoding",
    r"Maximum line size": "the line is too long",
}


def said(error: BaseException) -> str:
    """What DuckDB says about a file, in one line and without its content.

    Examples
    --------
    >>> said(ValueError("Error: CSV Error on Line: 3: Invalid unicode"))
    'line 3: a cell is not text in the encoding'
    """
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    if line is None:
        return text.strip().splitlines()[0].split("Error: ", 1)[-1].rstrip(".")
    for pattern, words in FINDINGS.items():
        found = re.search(pattern, text)
        if found is not None:
            return f"line {line[1]}: {found.expand(words)}"
    return f"line {line[1]} cannot be told apart into cells"


def quoted(name: str) -> str:
    """A column name in SQL.

    Examples
    --------
    >>> quoted('5" disks')
    '"5"" disks"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A piece of text in SQL.

    Examples
    --------
    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
