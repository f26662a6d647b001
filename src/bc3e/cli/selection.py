"""Which columns are meant: names, globs, and groups of class probabilities."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from bc3e.cli.errors import CommandError, fault

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


def split_patterns(given: Sequence[str] | None, names: Collection[str]) -> list[str]:
    """Patterns by commas; a column name with a comma in it stays whole.

    Examples
    --------
    >>> split_patterns(["a,b", "x,y"], ["a", "b", "x,y"])
    ['a', 'b', 'x,y']
    """
    found: list[str] = []
    for text in given or ():
        found.extend([text] if text in names else [part.strip() for part in text.split(",")])
    return [pattern for pattern in found if pattern]


def matching(
    option: str,
    given: Sequence[str] | None,
    names: Sequence[str],
    where: str,
    skip: Collection[str] = (),
) -> list[str]:
    """Columns that the patterns name, in the order of the table within each pattern.

    Columns of `skip` are found by their full name only, never by a glob.
    """
    found: dict[str, None] = {}
    for pattern in split_patterns(given, names):
        if pattern in names:
            hits = [pattern]
        else:
            hits = [name for name in names if name not in skip and fnmatchcase(name, pattern)]
        if not hits:
            raise unknown_column(option, pattern, names, where)
        found.update(dict.fromkeys(hits))
    if not found:
        raise fault(option, "no column is named", f"Name some. {columns_of(names, where)}")
    return list(found)


def voters(
    option: str,
    given: Sequence[str] | None,
    names: Sequence[str],
    where: str,
    skip: Collection[str] = (),
) -> list[Voter]:
    """Classifiers or clusterings: columns with a colon belong to the group before it.

    Examples
    --------
    >>> found = voters("--votes", ["a", "b:*"], ["id", "a", "b:cat", "b:dog"], "t.csv")
    >>> [(voter.name, voter.members) for voter in found]
    [('a', ()), ('b', ('cat', 'dog'))]
    """
    groups: dict[str, list[str]] = {}
    for column in matching(option, given, names, where, skip):
        groups.setdefault(column.split(COLON, 1)[0], []).append(column)
    found = []
    for name, columns in groups.items():
        soft = [column for column in columns if COLON in column]
        if not soft:
            found.append(Voter(name, (name,)))
            continue
        if len(soft) < len(columns):
            raise fault(
                option,
                f"column {name!r} has the name of the group {name}{COLON}*",
                "Choose one of them, or rename one.",
            )
        if len(soft) == 1:
            raise fault(
                option,
                f"{soft[0]!r} is the only column of the group {name}{COLON}*",
                "Name a column for each class, or rename it without a colon if it holds labels.",
            )
        found.append(Voter(name, tuple(soft), tuple(c.split(COLON, 1)[1] for c in soft)))
    return found


def one_column(option: str, given: str, names: Sequence[str], where: str) -> str:
    """A column by its name."""
    if given not in names:
        raise unknown_column(option, given, names, where)
    return given


def unknown_column(option: str, pattern: str, names: Sequence[str], where: str) -> CommandError:
    """No column of this name, and what there is instead."""
    is_glob = any(mark in pattern for mark in "*?[")
    close = [] if is_glob else difflib.get_close_matches(pattern, names, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return fault(
        f"{option} {pattern!r}", f"no column of {where} matches", hint + columns_of(names, where)
    )


def columns_of(names: Sequence[str], where: str) -> str:
    """The columns of a table, in a few words."""
    listed = ", ".join(repr(name) for name in names[:LISTED])
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"The columns of {where} are {listed}{more}."


def no_overlap(votes: Sequence[Voter], clusters: Sequence[Voter]) -> None:
    """Refuse a column that is both a vote and a clustering."""
    both = {c for voter in votes for c in voter.columns} & {c for v in clusters for c in v.columns}
    if both:
        raise fault(
            "--clusters",
            f"column {sorted(both)[0]!r} is also in --votes",
            "Write patterns that do not meet.",
        )
