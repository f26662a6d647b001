"""One line for everything that goes wrong: where, what was found, what to do."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bc3e.errors import InputError

REMEDIES = {
    errno.ENOSPC: "Free some space, or write to another disk.",
    errno.EDQUOT: "Free some of your quota, or write to another disk.",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f), or write to another disk.",
    errno.EROFS: "Write to another directory.",
    errno.EACCES: "Change its permissions, or choose another place.",
    errno.EPERM: "Change its permissions, or choose another place.",
    errno.ENOENT: "Check the name and the directory.",
    errno.ENOTDIR: "A part of the path is a file: choose another place.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}

# What an argument of the library is called on the command line.
OPTIONS = {
    "votes": "--votes",
    "clusters": "--clusters",
    "classes": "--classes",
    "n_classes": "--classes",
    "sample_weight": "--weight",
    "truth": "--truth",
    "table": "TABLE",
    "X": "features",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "methods": "--methods",
    "n_bootstrap": "--bootstrap",
    "n_clusterings": "--clusterings",
}
# What the library says of arguments in its messages, and what it is called here.
WORDS = (
    ("is also in votes. ", "is also in --votes. "),
    ("Pass classes= with every class, -1 included, if -1 is a class.", "List all with --classes."),
    ("Pass classes= or n_classes=.", "Name the classes with --classes."),
    ("Pass votes, or n_classes= for a plain cluster ensemble.", "Choose columns with --votes."),
    (
        "Add it to classes=, or mark the vote as missing (None).",
        "Add it to --classes, or empty the cell.",
    ),
    ("InverseGamma(...), ", ""),
    ("Pass prefix='refined_'", "Add --prefix refined_"),
    ("need BC3E().fit in memory", "need --engine memory"),
    ("pass temp_directory= on a larger disk", "name a larger one with --temp-directory"),
    ("with keep= instead", "with --keep instead"),
    ("or pass classes=.", "or name them with --classes."),
    ("or make it NaN if it is missing", "or leave all its cells empty if it is missing"),
    ("or make all of it NaN if it is missing", "or leave all its cells empty if it is missing"),
    ("or pass `view=` with a transformer of your own", "or leave it out with --drop"),
)


class CommandError(Exception):
    """Something that the user can put right; ends the command with exit code 2."""


def fault(where: str, found: str, remedy: str) -> CommandError:
    """An error of one line.

    Examples
    --------
    >>> str(fault("labels.csv", "the file is empty", "Pass a table."))
    'labels.csv: the file is empty. Pass a table.'
    """
    return CommandError(f"{where}: {found}. {remedy}")


def option_name(argument: str) -> str:
    """The option behind an argument of the library.

    Examples
    --------
    >>> option_name("sample_weight"), option_name("max_iter")
    ('--weight', '--max-iter')
    """
    return OPTIONS.get(argument, "--" + argument.replace("_", "-"))


def explain(error: Exception) -> str:
    """The line for an error: options instead of arguments, rows counted from 1."""
    if isinstance(error, InputError):
        place = re.sub(r"\brow (\d+)", lambda row: f"row {int(row[1]) + 1}", error.place)
        where = ", ".join(part for part in (option_name(error.argument), place) if part)
        said = f"{error.found}. {error.remedy}"
        for ours, theirs in WORDS:
            said = said.replace(ours, theirs)
        return one_line(f"{where}: {said}")
    if isinstance(error, OSError):
        return one_line(explain_os(error))
    return one_line(str(error))


def explain_os(error: OSError, where: str | None = None) -> str:
    """The line for a file that could not be read or written."""
    place = where or (str(error.filename) if error.filename else "input or output")
    reason = (error.strerror or str(error)).strip().rstrip(".")
    remedy = REMEDIES.get(error.errno or 0, "Check the file and the disk.")
    return f"{place}: {reason[:1].lower()}{reason[1:]}. {remedy}"


def one_line(text: str) -> str:
    """Text without line breaks and control characters, which could play tricks on a terminal."""
    joined = " ".join(text.split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in joined)


def shown(value: object, limit: int = 40) -> str:
    """A value as it stands in a message: quoted, and cut if long."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 4]}...{text[-1]}"


@dataclass
class Problems:
    """Stops at the first problem, or collects all of them.

    Attributes
    ----------
    collect : bool
    found : list of str
        One line each.
    notes : list of str
        What is no mistake, but worth knowing.
    skipped : list of int
        Rows of the file that could not be read, so that later ones have moved up.
    unread : set of int
        Positions, among the rows that were read, with a cell that could not be.
    """

    collect: bool = False
    found: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    unread: set[int] = field(default_factory=set)

    @contextmanager
    def here(self) -> Iterator[None]:
        """A step that may go wrong."""
        try:
            yield
        except (CommandError, InputError) as error:
            if not self.collect:
                raise
            self.found.append(explain(error))

    def add(self, error: CommandError) -> None:
        """A problem that was found without stopping."""
        if not self.collect:
            raise error
        self.found.append(explain(error))

    def row(self, position: int) -> int:
        """Row of the file, counted from 1, of a position among the rows that were read.

        Examples
        --------
        >>> problems = Problems(skipped=[2, 3])
        >>> [problems.row(position) for position in (0, 1)]
        [1, 4]
        """
        row = int(position) + 1
        for skipped in sorted(self.skipped):
            row += skipped <= row
        return row

    def note(self, text: str) -> None:
        """Something worth knowing; kept only by those who collect."""
        self.notes.append(one_line(text))
