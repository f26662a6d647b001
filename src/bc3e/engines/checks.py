"""Label columns checked in SQL, and made into digits, before anything is grouped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bc3e.coding import first_fraction
from bc3e.engines.connection import Advance, Database, literal, quoted
from bc3e.engines.packing import Digit
from bc3e.engines.tables import Source
from bc3e.errors import InputError, InputTypeError

WHOLE = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}  # fmt: skip
DENSE = 65_536  # whole numbers in a range up to this are digits as they are
MOST_LABELS = 65_536  # more different labels than this are no classes and no clusters
EXACT = 2**53  # floats up to this hold every whole number
WIDEST = 2**62  # whole numbers beyond are not computed with, but looked up


@dataclass(frozen=True)
class LabelName:
    """A label column and the argument that chose it."""

    argument: str
    name: str
    kind: str

    @property
    def place(self) -> str:
        return f"column {self.name!r}"

    @property
    def value(self) -> str:
        """SQL for the label: a whole number or text, NULL where missing."""
        column = quoted(self.name)
        return {
            "whole": column,
            "float": f"TRY_CAST({column} AS BIGINT)",
            "bool": f"CAST({column} AS TINYINT)",
            "text": f"CAST({column} AS VARCHAR)",
            "bytes": f"hex({column})",
        }[self.kind]


@dataclass(frozen=True)
class Checked:
    """What is known of the labels before they are grouped.

    Attributes
    ----------
    rows : int
    votes, clusters : list of Digit
    """

    rows: int
    votes: list[Digit]
    clusters: list[Digit]


def label_names(argument: str, names: Sequence[str], source: Source) -> list[LabelName]:
    """The columns with their kinds; types that hold no labels are refused."""
    return [LabelName(argument, name, _kind(argument, name, source.types[name])) for name in names]


def _kind(argument: str, name: str, type: str) -> str:
    if type in WHOLE or type == '"NULL"':
        return "whole"
    kinds = {"FLOAT": "float", "DOUBLE": "float", "BOOLEAN": "bool", "VARCHAR": "text", "BLOB": "bytes"}
    if type in kinds:
        return kinds[type]
    if type.startswith("ENUM"):
        return "text"
    raise InputTypeError(
        argument,
        f"labels of type {type}",
        "Labels are whole numbers, text or booleans; probabilities need BC3E().fit in memory.",
        place=f"column {name!r}",
    )


def check_labels(
    db: Database,
    source: Source,
    votes: Sequence[str],
    clusters: Sequence[str],
    id: str | None,
    classes_known: bool,
    advance: Advance,
) -> Checked:
    """Count, bound and list the labels of every column; the first that cannot be used is an error.

    Votes may all be missing only where the classes are known without them.
    """
    columns = [*label_names("votes", votes, source), *label_names("clusters", clusters, source)]
    parts = ["count(*)", "count(*)" if id is None else _present(id, source)]
    for column in columns:
        parts += _figures(column)
    (row,) = db.rows(source.select(parts), advance)
    total, present = row[:2]
    if total == 0:
        raise InputError("table", f"{source.name} has no rows", "Pass at least one object.")
    if present < total:
        raise InputError(
            "id",
            f"{total - present:,} of {total:,} ids are missing",
            "Fill them in, or copy the column with keep= instead.",
            place=f"column {id!r}",
        )
    digits = []
    for i, column in enumerate(columns):
        figures = Figures(*row[2 + WIDTH * i : 2 + WIDTH * (i + 1)])
        if figures.bad:
            raise _fraction(db, source, column)
        digits.append(_digit(db, source, column, i, figures))
    voted = any(digit.has_labels for digit in digits[: len(votes)])
    if votes and not voted and not classes_known:
        raise InputError(
            "votes", "every vote is missing", "Choose columns of class labels, or pass classes=."
        )
    return Checked(total, digits[: len(votes)], digits[len(votes) :])


def _present(id: str, source: Source) -> str:
    """SQL for the number of ids; empty text is none."""
    column = quoted(id)
    return f"count(nullif({column}, ''))" if source.types[id] == "VARCHAR" else f"count({column})"


@dataclass(frozen=True)
class Figures:
    """What one look at a column tells.

    Attributes
    ----------
    labels : int
        Labels that are not missing.
    low, high : number or None
        The least and the greatest, of numbers.
    bad : int or None
        Numbers that are not whole or not finite.
    distinct : int or None
        About how many different ones there are, of text.
    """

    labels: int
    low: Any
    high: Any
    bad: int | None
    distinct: int | None


WIDTH = 5  # figures of a column


def _figures(column: LabelName) -> list[str]:
    """SQL for the :class:`Figures` of a column; of whole numbers, what Parquet knows unread."""
    value = column.value
    count = f"count({value})"
    if column.kind in ("text", "bytes"):
        return [count, "NULL", "NULL", "NULL", f"approx_count_distinct({value})"]
    bad = "NULL"
    if column.kind == "float":
        bad = f"count(*) FILTER ({_not_whole(quoted(column.name))})"
    return [count, f"min({value})", f"max({value})", bad, "NULL"]


def _not_whole(value: str) -> str:
    """SQL: a number that is no label. NaN is missing, and told by its name: of columns in Parquet
    DuckDB takes for granted that there is none, and isnan() for false.
    """
    whole = f"TRY_CAST({value} AS BIGINT)"
    return (
        f"CASE WHEN {whole} IS NULL THEN CAST({value} AS VARCHAR) NOT IN ('nan', '-nan') "
        f"ELSE {whole} <> {value} OR abs({whole}) > {EXACT} END"
    )


def _fraction(db: Database, source: Source, column: LabelName) -> InputError:
    """The first number of a column that is no label."""
    scan = source.select([f"{quoted(column.name)} AS value", f"{source.number} AS row"], number=True)
    ((number, row),) = db.rows(
        f"SELECT arg_min(value, row), min(row) FROM ({scan}) AS t WHERE {_not_whole('value')}"
    )
    return InputError(
        column.argument,
        f"{number} is not a whole number, so not a label",
        "Probabilities and memberships need BC3E().fit in memory.",
        place=f"{column.place}, row {row - 1}",
    )


def _digit(db: Database, source: Source, column: LabelName, number: int, figures: Figures) -> Digit:
    if figures.labels == 0:
        return Digit(column.name, "CAST(0 AS BIGINT)", 0, 1)
    if figures.low is not None:
        low, high = int(figures.low), int(figures.high)
        if high - low < DENSE and low > -WIDEST and high < WIDEST:
            text = f"coalesce(CAST({column.value} AS BIGINT) - ({low - 1}), 0)"
            return Digit(column.name, text, low, high - low + 2, is_bool=column.kind == "bool")
        if low < -(2**63) or high >= 2**63:
            raise InputError(
                column.argument,
                f"{high if high >= 2**63 else low} is beyond 64 bits",
                "Number the labels from 0.",
                place=column.place,
            )
    return _looked_up(db, source, column, number, figures.distinct)


def _looked_up(
    db: Database, source: Source, column: LabelName, number: int, distinct: int | None
) -> Digit:
    """Text, and numbers far apart, by their place in the list of those that occur."""
    whole = column.kind in ("whole", "float")
    text = f"CAST(CAST({column.value} AS BIGINT) AS VARCHAR)" if whole else column.value
    if distinct is None:
        ((distinct,),) = db.rows(source.select([f"approx_count_distinct({text})"]))
    if distinct > MOST_LABELS * 1.1:  # the estimate may be some percent off
        raise _too_many(column, f"about {distinct:,}")
    query = source.select([f"DISTINCT {text} AS label"])
    found = [label for (label,) in db.rows(f"SELECT label FROM ({query}) AS t WHERE label IS NOT NULL")]
    if len(found) > MOST_LABELS:
        raise _too_many(column, f"{len(found):,}")
    found.sort(key=int if whole else None)
    values = _values(source, column, found)
    name = quoted(f"bc3e labels {number}")
    db.rows(f"CREATE TYPE {name} AS ENUM ({', '.join(literal(label) for label in found)})")
    digit = f"coalesce(CAST(enum_code(CAST({text} AS {name})) AS BIGINT) + 1, 0)"
    return Digit(column.name, digit, 0, len(found) + 1, values)


def _values(source: Source, column: LabelName, found: list[str]) -> tuple[Any, ...]:
    """What the texts of SQL stand for; None where a word means missing."""
    if column.kind in ("whole", "float"):
        return tuple(int(label) for label in found)
    if column.kind == "bytes":
        return tuple(bytes.fromhex(label) for label in found)
    if not source.spelled:
        return tuple(found)
    said = [label for label in found if label not in source.missing]
    fraction = first_fraction(said)
    if fraction is not None:
        raise InputError(
            column.argument,
            f"{said[fraction]} is not a whole number, so not a label",
            "Probabilities and memberships need BC3E().fit in memory.",
            place=column.place,
        )
    return tuple(None if label in source.missing else label for label in found)


def _too_many(column: LabelName, count: str) -> InputError:
    return InputError(
        column.argument,
        f"{count} different labels, more than {MOST_LABELS:,}",
        "This looks like an id or a measurement: leave the column out, or put its values in groups.",
        place=column.place,
    )
