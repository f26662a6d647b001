"""From a frame to its refinement: which way the table is learned, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from bc3e.engines.spark.answers import (
    answer_arrays,
    answer_names,
    check_names,
    refined,
    with_answers,
)
from bc3e.engines.spark.blocks import Blocks
from bc3e.engines.spark.columns import Source, Sources, quoted
from bc3e.engines.spark.inquiry import unreachable_start
from bc3e.engines.spark.learned import learn, light, named
from bc3e.engines.spark.sessions import check_spark, understood
from bc3e.errors import InputError, InputTypeError
from bc3e.estimator import BC3E
from bc3e.labels import LabelTable
from bc3e.settings import check_constructor, whole_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PATTERNS = 2_000_000
DISTINCT = 65_536  # a column with more labels is no column of labels


@dataclass(frozen=True)
class Outcome:
    """A refined frame, and the model that refined it.

    Attributes
    ----------
    frame : DataFrame
        The columns of the input and, after them, label, confidence, p_CLASS for each
        class, changed and entropy.
    model : BC3E
        Fitted: parameters, weights, summary and predictions. It has seen the objects
        but keeps none, so ``labels_`` and ``probabilities_`` are empty.
    """

    frame: DataFrame
    model: BC3E


def refine(
    frame: DataFrame,
    votes: Sequence[str],
    clusters: Sequence[str] = (),
    *,
    model: BC3E | None = None,
    pattern_limit: int = PATTERNS,
    prefix: str = "",
) -> Outcome:
    """Refine the votes of a Spark DataFrame with its clusterings.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per object.
    votes, clusters : list of str
        Names or globs of the columns. Labels are whole numbers, text or booleans, null where
        missing; probabilities are arrays, vectors, or groups of columns ``name:class``.
    model : BC3E, optional
        The settings; ``BC3E()`` by default. It is not changed.
    pattern_limit : int
        Hard labels with at most so many distinct rows are fitted on the driver. Other
        tables are fitted where they are; that takes ``bc3e`` on every worker.
    prefix : str
        Put before the names of the columns that are added.

    Returns
    -------
    Outcome

    Raises
    ------
    InputError
        A column is missing or holds no labels, the frame is empty.
    EngineError
        PySpark is missing, or workers cannot import what they need.
    """
    check_spark()
    _check_frame(frame)
    fitted: BC3E = BC3E() if model is None else clone(model)
    check_constructor(fitted)
    limit = whole_number("pattern_limit", pattern_limit)
    sources = Sources.of(frame, votes, clusters)
    with understood():
        if sources.hard:
            patterns = _patterns(frame, sources, limit)
            if patterns is not None:
                return _joined(frame, sources, fitted, patterns, prefix)
        return _distributed(frame, sources, fitted, prefix)


def _check_frame(frame: Any) -> None:
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    if isinstance(frame, Classic):
        return
    kind = f"{type(frame).__module__}.{type(frame).__name__}"
    if "connect" in kind:
        raise InputTypeError(
            "frame", "a frame of Spark Connect", "Use a session with its own driver: SPARK_REMOTE unset."
        )
    raise InputTypeError("frame", f"a {kind}", "Pass a pyspark.sql.DataFrame.")


# Hard labels, few patterns: the driver has them all.


def _patterns(frame: DataFrame, sources: Sources, limit: int) -> pa.Table | None:
    """Distinct rows of labels and how often each is there; None if they are too many."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    shorts = [source.short for source in sources.all]
    grouped = frame.select(*sources.columns(frame)).groupBy(*shorts).agg(F.count("*").alias("n"))
    found = grouped.limit(limit + 1).toArrow()
    if found.num_rows == 0:
        raise _empty()
    return found if found.num_rows <= limit else None


def _joined(frame: DataFrame, sources: Sources, model: BC3E, patterns: pa.Table, prefix: str) -> Outcome:
    """Fit the patterns, and give each row the answer to its pattern."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    handed = {source.short: patterns.column(source.short) for source in sources.all}
    for source in sources.all:
        _check_distinct(source, len(handed[source.short].unique()))
    labels = sources.labels(handed)
    model.fit(*labels, counts=patterns.column("n").to_numpy())
    table = LabelTable.read_like(*labels, model._schema)
    names = answer_names(model.classes_.tolist(), prefix)
    check_names(frame, names)
    arrays = answer_arrays(refined(table, model._answer))
    shorts = [source.short for source in sources.all]
    content = handed | {f"a{i}": array for i, array in enumerate(arrays)}
    answers = frame.sparkSession.createDataFrame(pa.table(content))
    kept = [F.col(quoted(name)) for name in frame.columns]
    labelled = zip(shorts, sources.columns(frame), strict=True)
    keyed = frame.select(*kept, *(column.alias(f"bc3e {short}") for short, column in labelled))
    same = [keyed[f"bc3e {short}"].eqNullSafe(answers[short]) for short in shorts]
    added = [answers[f"a{i}"].alias(name) for i, name in enumerate(names)]
    joined = keyed.join(answers, same, "left").select(*kept, *added)
    named(model, table.take(np.empty(0, dtype=np.intp)))
    return Outcome(joined, model)


# Everything else: the rows stay where they are.


def _distributed(frame: DataFrame, sources: Sources, model: BC3E, prefix: str) -> Outcome:
    """Fit blocks of rows, and let the workers answer."""
    starts = {model.init} if isinstance(model.init, str) else set(model.init)
    for start in sorted(starts - {"votes"}):
        raise unreachable_start(repr(start))
    sources, shell = _shell(frame, sources, model)
    names = answer_names(shell.classes.tolist(), prefix)
    check_names(frame, names)
    learn(model, Blocks.pack(frame, sources, shell))
    return Outcome(with_answers(frame, light(model), sources, names), model)


def _shell(frame: DataFrame, sources: Sources, model: BC3E) -> tuple[Sources, LabelTable]:
    """The classes and clusters of a frame, as a table without rows; widths of its probabilities."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    handed = frame.select(*sources.columns(frame))
    asked = [F.count("*").alias("n")]
    for source in sources.all:
        asked.append(
            F.max(F.size(source.short)).alias(source.short)
            if source.soft
            else F.approx_count_distinct(source.short).alias(source.short)
        )
    told = handed.agg(*asked).collect()[0]
    if told["n"] == 0:
        raise _empty()
    for source in sources.all:
        if not source.soft:
            _check_distinct(source, int(told[source.short]))
    sides = (sources.votes, sources.clusters)
    known = Sources(*(tuple(_widened(one, told[one.short]) for one in side) for side in sides))
    hard = [source.short for source in sources.all if not source.soft]
    sets = handed.agg(*(F.collect_set(short).alias(short) for short in hard)).toArrow() if hard else {}
    values = {short: sets[short].combine_chunks().flatten() for short in hard}
    table = LabelTable.read(
        *known.labels(_listed(known, values)), classes=model.classes, n_classes=model.n_classes
    )
    return known, table.take(np.empty(0, dtype=np.intp))


def _widened(source: Source, told: Any) -> Source:
    """A source of probabilities that knows how many there are."""
    if not source.soft:
        return source
    if told is None or told < 1:
        raise InputError(
            source.argument, "no probabilities in any row", "Leave the column out.",
            place=f"column {source.name!r}",
        )  # fmt: skip
    return replace(source, width=int(told))


def _listed(sources: Sources, values: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """A small table with every label of each column once, and missing probabilities."""
    rows = max([1, *(len(once) for once in values.values())])
    found: dict[str, pa.Array] = {}
    for source in sources.all:
        if source.soft:
            found[source.short] = pa.nulls(rows, pa.list_(pa.float64()))
        else:
            once = values[source.short]
            found[source.short] = pa.concat_arrays([once, pa.nulls(rows - len(once), once.type)])
    return found


def _check_distinct(source: Source, count: int) -> None:
    if count > DISTINCT:
        raise InputError(
            source.argument,
            f"about {count:,} distinct labels, at most {DISTINCT:,} can be",
            "Name columns of class or cluster labels.",
            place=f"column {source.name!r}",
        )


def _empty() -> InputError:
    return InputError("frame", "no rows", "Pass at least one object.")
