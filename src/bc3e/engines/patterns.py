"""Distinct label patterns with counts: GROUP BY in DuckDB, then as few rows as a fit needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.coding import Coded, as_labels, in_common
from bc3e.engines.checks import Checked
from bc3e.engines.connection import LIBRARIES, Advance, Database, shown_bytes
from bc3e.engines.packing import Word, packed
from bc3e.engines.tables import Source
from bc3e.errors import InputError


@dataclass(frozen=True)
class Patterns:
    """Every pattern of labels once.

    Attributes
    ----------
    words : list of Word
        How SQL computes the key of a row.
    keys : dict of (P,) arrays
        Key of each pattern by column name, sorted.
    counts : (P,) array of int
        How many objects have it.
    votes, clusters : dict
        Labels of the patterns by column, as :meth:`bc3e.BC3E.fit` takes them.
    classes : list or None
        The class list, if one was given, in the kind of the votes.
    """

    words: list[Word]
    keys: dict[str, NDArray[np.int64]]
    counts: NDArray[np.int64]
    votes: dict[str, Any]
    clusters: dict[str, Any]
    classes: list[Any] | None

    def __len__(self) -> int:
        return len(self.counts)


def key_name(number: int) -> str:
    """Name of a word in SQL; a blank in it keeps it apart from the columns of a table."""
    return f"bc3e key {number}"


def key_parts(words: Sequence[Word]) -> list[str]:
    """SQL for the key of a row."""
    return [f'{word.expression} AS "{key_name(i)}"' for i, word in enumerate(words)]


def group(
    db: Database,
    source: Source,
    checked: Checked,
    classes: Sequence[Any] | None,
    n_classes: int | None,
    advance: Advance,
) -> Patterns:
    """Group the objects by their labels.

    Parameters
    ----------
    classes : sequence or None
        The class list, if it was given: -1 may be one of them.
    n_classes : int or None
        How many there are, if that was given.
    """
    words = packed([*checked.votes, *checked.clusters])
    names = [f'"{key_name(i)}"' for i in range(len(words))]
    grouped = ", ".join(names)
    query = source.select(key_parts(words))
    db.rows(
        f"CREATE TEMP TABLE bc3e_patterns AS SELECT {grouped}, count(*) AS n FROM ({query}) AS t "
        f"GROUP BY {grouped}",
        advance,
    )
    ((found,),) = db.rows("SELECT count(*) FROM bc3e_patterns")
    _refuse_too_many(db, found, checked, len(classes) if classes is not None else n_classes)
    # Sorted, for groups come in the order in which threads finish: the same fit every time.
    arrays = db.arrays(f"SELECT * FROM bc3e_patterns ORDER BY {grouped}")
    db.rows("DROP TABLE bc3e_patterns")
    counts = np.ascontiguousarray(arrays.pop("n"), dtype=np.int64)
    columns = [
        column
        for word, key in zip(words, arrays.values(), strict=True)
        for column in word.unpacked(np.ascontiguousarray(key, dtype=np.int64))
    ]
    votes, clusters = columns[: len(checked.votes)], columns[len(checked.votes) :]
    given = None if classes is None else list(classes)
    if source.spelled:
        votes, typed = in_common(votes, [str(label) for label in given or ()])
        given = None if given is None else typed
        clusters = [in_common([column])[0][0] for column in clusters]
    keep = _keep_minus_one(votes, given)
    return Patterns(words, arrays, counts, _labels(votes, keep), _labels(clusters, False), given)


def _keep_minus_one(votes: Sequence[Coded], classes: list[Any] | None) -> bool:
    """Whether -1 is a class; a vote for what is no class is refused."""
    if classes is None:
        return False
    for column in votes:
        for value in column.values:
            if value not in classes and value != -1:
                raise InputError(
                    "votes",
                    f"{value!r} is not one of the {len(classes)} classes",
                    "Add it to classes=, or mark the vote as missing (None).",
                    place=f"column {column.name!r}",
                )
    return -1 in classes


def _labels(columns: Sequence[Coded], keep_minus_one: bool) -> dict[str, Any]:
    return {column.name: as_labels(column, keep_minus_one) for column in columns}


def fit_bytes(classes: int, votes: int, clusters: int) -> int:
    """About how much memory a pattern takes at the peak of a fit."""
    return 64 * classes + 8 * clusters + 4 * votes + 60


def _refuse_too_many(db: Database, found: int, checked: Checked, n_classes: int | None) -> None:
    """The fit holds all patterns in memory."""
    k = n_classes or max((digit.base - 1 for digit in checked.votes), default=2)
    need = LIBRARIES + found * fit_bytes(k, len(checked.votes), len(checked.clusters))
    if need <= db.memory:
        return
    widest = max((*checked.votes, *checked.clusters), key=lambda digit: digit.base)
    raise InputError(
        "memory_limit",
        f"{found:,} different patterns of labels need about {shown_bytes(need)} to fit, "
        f"more than {shown_bytes(db.memory)}",
        f"Allow more, or leave out the clusterings with the most clusters ({widest.name!r} has up to "
        f"{widest.base - 1:,} labels).",
    )
