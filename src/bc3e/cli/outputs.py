"""Files that appear whole or not at all, and never over others unless asked."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from bc3e.cli.errors import CommandError, explain_os, fault

STDOUT = "-"


@dataclass(frozen=True)
class _Pending:
    option: str
    part: Path
    target: Path


class Outputs:
    """All files of a run: written beside their targets, renamed together at the end.

    Leaving the ``with`` block without :meth:`commit`, for whatever reason, removes
    everything that was written.
    """

    def __init__(self, force: bool) -> None:
        self.force = force
        self.pending: list[_Pending] = []
        self.planned: dict[Path, str] = {}
        self.committed = False
        self._streams: list[Callable[[BinaryIO], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for item in self.pending:
            item.part.unlink(missing_ok=True)

    def plan(self, option: str, given: str | None, inputs: Sequence[str] = ()) -> None:
        """Refuse an impossible target before any work is done."""
        if given is None or given == STDOUT:
            return
        target = _resolved(option, given)
        if target in self.planned:
            raise fault(
                f"{option} {given}", f"{self.planned[target]} has the same name", "Give each its own."
            )
        self.planned[target] = option
        if any(name != STDOUT and _same_file(target, Path(name)) for name in inputs):
            raise fault(f"{option} {given}", "this is the input", "Choose another name.")
        try:
            _check_place(option, given, target, self.force)
        except OSError as error:
            raise CommandError(explain_os(error, f"{option} {given}")) from None

    def write(self, option: str, given: str, fill: Callable[[BinaryIO], None]) -> None:
        """Let `fill` write a file; it has its name only after :meth:`commit`."""
        if given == STDOUT:  # last of all: what a pipe has taken cannot be taken back
            self._streams.append(fill)
            return
        target = _resolved(option, given)
        try:
            if _is_device(target):  # a pipe or /dev/null is no file that could be replaced
                with open(target, "wb") as stream:
                    fill(stream)
                return
            part = target.with_name(f".{target.name[:100]}.{os.getpid()}.{len(self.pending)}.part")
            self.pending.append(_Pending(option, part, target))  # first: it must go, come what may
            with open(part, "xb") as stream:
                fill(stream)
                stream.flush()
                os.fsync(stream.fileno())  # a name must not outlive its content when the power goes
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CommandError(explain_os(error, f"{option} {given}")) from None

    def commit(self) -> None:
        """Give all files their names."""
        while self.pending:
            item = self.pending[0]
            try:
                _rename(item, self.force)
            except OSError as error:
                raise CommandError(explain_os(error, f"{item.option} {item.target}")) from None
            self.pending.pop(0)
            self.committed = True
        for fill in self._streams:
            try:
                fill(sys.stdout.buffer)
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                raise CommandError(explain_os(error, "standard output")) from None


def _resolved(option: str, given: str) -> Path:
    if not given or "\0" in given:
        raise fault(option, "an empty name, or one with a zero byte", "Name a file.")
    return Path(os.path.realpath(given))


def _same_file(target: Path, other: Path) -> bool:
    try:
        return target.samefile(other)
    except OSError:
        return False


def _is_device(target: Path) -> bool:
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _check_place(option: str, given: str, target: Path, force: bool) -> None:
    where = f"{option} {given}"
    if target.is_dir():
        raise fault(where, "this is a directory", "Add a file name.")
    if _is_device(target):
        return
    parent = target.parent
    if not parent.exists():
        raise fault(where, "its directory does not exist", f"Create it: mkdir -p {parent}")
    if not parent.is_dir():
        raise fault(where, f"{parent} is a file, not a directory", "Choose another place.")
    if target.exists() and not force:
        raise fault(where, "the file exists", "Add --force to overwrite it, or choose another name.")
    if not os.access(parent, os.W_OK):
        raise fault(
            where, f"the directory {parent} is read-only", "Choose a directory you can write to."
        )


def _rename(item: _Pending, force: bool) -> None:
    if force:
        if item.target.exists():
            item.part.chmod(stat.S_IMODE(item.target.stat().st_mode))
        item.part.replace(item.target)
        return
    try:
        os.link(item.part, item.target)  # unlike a rename, it never replaces what came meanwhile
    except FileExistsError:
        raise fault(
            f"{item.option} {item.target}",
            "the file has appeared while this command ran",
            "Add --force to overwrite it, or choose another name.",
        ) from None
    except OSError:  # a file system without hard links
        with open(item.target, "xb"):  # refuses what came meanwhile, and holds the place
            pass
        item.part.replace(item.target)
        return
    item.part.unlink()
