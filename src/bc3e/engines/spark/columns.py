"""Which columns of a DataFrame are votes and clusterings, and how they reach NumPy.

A classifier or clustering is one column of labels, one column of probabilities (an array or a
vector), or a group of columns ``name:class`` with a probability each. Spark hands them over as
short-named columns, groups and vectors as arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bc3e.column_choice import Header, Voter, chosen_voters
from bc3e.errors import InputError, InputTypeError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "float", "double")
LABELS = (*NUMBERS, "string", "boolean")


@dataclass(frozen=True)
class Source:
    """A classifier or a clustering.

    Attributes
    ----------
    argument : str
        "votes" or "clusters".
    name : str
    short : str
        Its name among the columns that are handed over.
    columns : tuple of str
        Its columns in the frame.
    members : tuple of str
        Class or cluster of each column of a group; empty otherwise.
    soft : bool
        Whether it hands over probabilities.
    width : int
        How many probabilities an object has; 0 if that is not known yet.
    """

    argument: str
    name: str
    short: str
    columns: tuple[str, ...]
    members: tuple[str, ...]
    soft: bool
    width: int = 0


@dataclass(frozen=True)
class Sources:
    """All classifiers and clusterings of a frame."""

    votes: tuple[Source, ...]
    clusters: tuple[Source, ...]

    @classmethod
    def of(cls, frame: DataFrame, votes: Sequence[str], clusters: Sequence[str]) -> Sources:
        """Find and check the columns that names and globs stand for."""
        types = dict(frame.dtypes)
        if len(types) < len(frame.columns):
            twice = next(name for name in frame.columns if frame.columns.count(name) > 1)
            raise InputError(
                "frame", f"two columns are called {twice!r}", "Give every column its own name."
            )
        for argument, given in (("votes", votes), ("clusters", clusters)):
            if isinstance(given, str):
                raise InputTypeError(argument, "a text", f"Pass a list of names: [{given!r}].")
        found = chosen_voters(Header(frame.columns, "the frame"), votes, clusters)
        return cls(_sources("votes", found[0], types), _sources("clusters", found[1], types))

    @property
    def all(self) -> tuple[Source, ...]:
        return self.votes + self.clusters

    @property
    def hard(self) -> bool:
        """Whether all of them hand over labels."""
        return not any(source.soft for source in self.all)

    def columns(self, frame: DataFrame) -> list[Column]:
        """What is handed over, one column for each source, by its short name."""
        types = dict(frame.dtypes)
        return [_handed_over(source, types).alias(source.short) for source in self.all]

    def labels(self, handed: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Votes and clusterings as :class:`bc3e.labels.LabelTable` reads them."""
        votes, clusters = (
            {source.name: _labels(source, handed[source.short]) for source in sources}
            for sources in (self.votes, self.clusters)
        )
        return votes, clusters


def quoted(name: str) -> str:
    """A column name as an expression of Spark's, dots and all."""
    return "`" + name.replace("`", "``") + "`"


def _sources(argument: str, voters: Sequence[Voter], types: Mapping[str, str]) -> tuple[Source, ...]:
    short = argument[0]
    return tuple(
        Source(
            argument, voter.name, f"{short}{i}", voter.columns, voter.members,
            _is_soft(argument, voter.columns, types), len(voter.members),
        )
        for i, voter in enumerate(voters)
    )  # fmt: skip


def _is_soft(argument: str, columns: tuple[str, ...], types: Mapping[str, str]) -> bool:
    """Whether columns hold probabilities; refuses what can be neither these nor labels."""
    for column in columns:
        kind = types[column]
        known = NUMBERS if len(columns) > 1 else (*LABELS, "array<float>", "array<double>", "vector")
        if kind not in known:
            raise InputTypeError(
                argument,
                f"type {kind}",
                "Labels are whole numbers, text or booleans; probabilities an array of double, a "
                "vector, or a column name:class for each class.",
                place=f"column {column!r}",
            )
    return len(columns) > 1 or types[columns[0]] not in LABELS


def _handed_over(source: Source, types: Mapping[str, str]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    columns = [F.col(quoted(name)) for name in source.columns]
    if source.members:
        floats = all(types[name] == "float" for name in source.columns)
        return F.array(*(column.cast("float" if floats else "double") for column in columns))
    if types[source.columns[0]] == "vector":
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(columns[0])
    return columns[0]


def _labels(source: Source, column: pa.Array | pa.ChunkedArray) -> Any:
    """Labels as Arrow's, probabilities as an array, or as a table if their columns have names."""
    if not source.soft:
        return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    scores = _scores(source, whole)
    if not source.members:
        return scores
    return pa.table({name: scores[:, i] for i, name in enumerate(source.members)})


def _scores(source: Source, lists: pa.ListArray) -> np.ndarray[Any, Any]:
    """Lists of numbers as rows; a missing list is a row of NaN."""
    present = lists.is_valid().to_numpy(zero_copy_only=False)
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)[present]
    if (lengths != source.width).any():
        raise InputError(
            source.argument,
            f"arrays of {source.width} and of {int(lengths[lengths != source.width][0])} numbers",
            "Give every object one number per class or cluster, or null if all are missing.",
            place=f"column {source.name!r}",
        )
    kind = np.float32 if str(lists.type.value_type) == "float" else np.float64
    scores = np.full((len(lists), source.width), np.nan, dtype=kind)
    scores[present] = lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, source.width)
    return scores
