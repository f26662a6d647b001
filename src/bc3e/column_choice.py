"""Which columns of a table are meant: names, globs, and groups of class probabilities.

The rules are the same for the command line and for every engine:

* a name means that column, also if it looks like a glob; a glob means every column that it matches;
* a column without a colon holds labels; columns ``name:class`` are one classifier, or
  ``name:cluster`` one clustering, with a column of probabilities per class or cluster;
* no column is both a vote and a clustering.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bc3e.errors import InputError, InputTypeError

COLON = ":"
LISTED = 8  # column names that a message lists


@dataclass(frozen=True)
class Voter:
    """A classifier or clustering: one column of labels, or a column per class or cluster.

    Attributes
    ----------
    name : str
    columns : tuple of str
    members : tuple of str
        Class or cluster of each column; empty if there is one column of labels.
    """

    name: str
    columns: tuple[str, ...]
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    """The columns that a table has, to choose from.

    Attributes
    ----------
    names : sequence of str
        In the order of the table.
    table : str
        What messages call the table.
    """

    names: Sequence[str]
    table: str

    @property
    def listing(self) -> str:
        """A sentence with the first names."""
        listed = ", ".join(repr(name) for name in self.names[:LISTED])
        more = len(self.names) - LISTED
        return f"The columns are {listed}{f' and {more} more' if more > 0 else ''}."

    def one(self, argument: str, name: str) -> str:
        """A column by its name."""
        if name not in self.names:
            raise self._unknown(argument, name)
        return name

    def matching(
        self, argument: str, given: str | Sequence[str], skip: Collection[str] = ()
    ) -> list[str]:
        """Columns that names and globs mean, in the order of the table within each.

        Columns of `skip` are found by their full name only, never by a glob.

        Examples
        --------
        >>> Header(["id", "b", "a", "a*"], "labels.csv").matching("votes", ["?", "a*"])
        ['b', 'a', 'a*']
        """
        found: dict[str, None] = {}
        for pattern in [given] if isinstance(given, str) else given:
            if not isinstance(pattern, str):
                raise InputTypeError(
                    argument, f"{pattern!r} is not text", "Pass names or globs of columns."
                )
            hits = [pattern]
            if pattern not in self.names:
                hits = [n for n in self.names if n not in skip and fnmatchcase(n, pattern)]
            if not hits:
                raise self._unknown(argument, pattern)
            found.update(dict.fromkeys(hits))
        return list(found)

    def voters(
        self, argument: str, given: str | Sequence[str], skip: Collection[str] = ()
    ) -> list[Voter]:
        """Classifiers or clusterings: columns with a colon belong to the group before it.

        Examples
        --------
        >>> header = Header(["id", "a", "b:cat", "b:dog"], "labels.csv")
        >>> [(voter.name, voter.members) for voter in header.voters("votes", ["a", "b:*"])]
        [('a', ()), ('b', ('cat', 'dog'))]
        """
        groups: dict[str, list[str]] = {}
        for column in self.matching(argument, given, skip):
            groups.setdefault(column.split(COLON, 1)[0], []).append(column)
        return [_voter(argument, name, columns) for name, columns in groups.items()]

    def _unknown(self, argument: str, pattern: str) -> InputError:
        is_glob = any(mark in pattern for mark in "*?[")
        close = [] if is_glob else difflib.get_close_matches(pattern, self.names, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        return InputError(
            argument, f"no column of {self.table} matches {pattern!r}", f"{hint}{self.listing}"
        )


def _voter(argument: str, name: str, columns: Sequence[str]) -> Voter:
    """What columns with the same word before the colon are together."""
    soft = [column for column in columns if COLON in column]
    if not soft:
        return Voter(name, (name,))
    if len(soft) < len(columns):
        raise InputError(
            argument,
            f"column {name!r} has the name of the group {name}{COLON}*",
            "Choose one of them, or rename one.",
        )
    if len(soft) == 1:
        raise InputError(
            argument,
            f"{soft[0]!r} is the only column of the group {name}{COLON}*",
            "Name a column for each class, or rename it without a colon if it holds labels.",
        )
    return Voter(name, tuple(soft), tuple(column.split(COLON, 1)[1] for column in soft))


def chosen_voters(
    header: Header,
    votes: str | Sequence[str] | None,
    clusters: str | Sequence[str] | None,
    skip: Collection[str] = (),
) -> tuple[list[Voter], list[Voter]]:
    """Classifiers and clusterings of a table; one of the two may be empty."""
    found = header.voters("votes", votes or (), skip), header.voters("clusters", clusters or (), skip)
    if not any(found):
        raise InputError("votes", "neither votes nor clusters", "Name at least one column.")
    refuse_overlap(*found)
    return found


def refuse_overlap(votes: Sequence[Voter], clusters: Sequence[Voter]) -> None:
    """Refuse a column that is both a vote and a clustering."""
    both = {c for voter in votes for c in voter.columns} & {c for v in clusters for c in v.columns}
    if both:
        raise InputError(
            "clusters",
            f"column {sorted(both)[0]!r} is also in votes",
            "Write names or globs that do not meet.",
        )
