"""Columns as the command line names them: several in one option, by commas."""

from __future__ import annotations

from collections.abc import Sequence

from bc3e.cli.errors import fault
from bc3e.column_choice import Header


def by_commas(option: str, given: Sequence[str] | None, header: Header) -> list[str]:
    """Names and globs of an option; a column name with a comma in it stays whole.

    Examples
    --------
    >>> by_commas("--votes", ["a,b", "x,y"], Header(["a", "b", "x,y"], "labels.csv"))
    ['a', 'b', 'x,y']
    """
    found: list[str] = []
    for text in given or ():
        parts = [text] if text in header.names else [part.strip() for part in text.split(",")]
        found.extend(part for part in parts if part)
    if not found:
        raise fault(option, "no column is named", f"Name some. {header.listing}")
    return found
