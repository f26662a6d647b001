"""The columns that a refinement adds to a frame: those of ``bc3e refine``, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bc3e.agreement import leading_class
from bc3e.answers import Refined
from bc3e.engines.spark.columns import Sources, quoted
from bc3e.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bc3e.consensus import Answer
    from bc3e.estimator import BC3E
    from bc3e.labels import LabelTable

FAMILIES = {"int64": "bigint", "bool": "boolean", "double": "double", "string": "string"}


def answer_names(classes: Sequence[Any], prefix: str) -> list[str]:
    """Names of the columns that are added."""
    names = ["label", "confidence", *(f"p_{label}" for label in classes), "changed", "entropy"]
    return [prefix + name for name in names]


def answer_types(classes: Sequence[Any]) -> list[str]:
    """Spark's types of these columns."""
    return [FAMILIES[str(pa.array(classes).type)], *["double"] * (1 + len(classes)), "boolean", "double"]


def check_names(frame: DataFrame, added: Sequence[str]) -> None:
    """Refuse a column that would be there twice; Spark as a rule does not tell Label from label."""
    told_apart = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    seen = [name if told_apart else name.lower() for name in (*frame.columns, *added)]
    for name, plain in zip(added, seen[len(frame.columns) :], strict=True):
        if seen.count(plain) > 1:
            raise InputError(
                "prefix",
                f"two columns would be called {name!r}",
                "Pass prefix='refined_' to rename those that are added.",
            )


def refined(table: LabelTable, answer: Answer) -> Refined:
    """Answers beside the soft vote of what they were given for."""
    rows = table.representatives(answer.inverse, len(answer.probabilities))
    said = table.votes_per_class(rows)
    before = np.where(said.any(axis=1), leading_class(said), -1)
    return Refined(table.classes.tolist(), answer.probabilities, before, answer.inverse)


def answer_arrays(found: Refined) -> list[pa.Array]:
    """The columns that are added, for each object."""
    voted = found.soft_vote >= 0
    each = found.probabilities if found.inverse is None else found.probabilities[found.inverse]
    return [
        pa.array(found.classes).take(pa.array(found.winners)),
        pa.array(found.confidence()),
        *(pa.array(np.ascontiguousarray(column)) for column in each.T),
        pa.array(found.changed(), mask=~voted),
        pa.array(found.entropy()),
    ]


def with_answers(frame: DataFrame, model: BC3E, sources: Sources, names: Sequence[str]) -> DataFrame:
    """The frame with the answers of a fitted model to each of its rows.

    Only labels travel to Python, and only answers back: the other columns may be of any type.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    types = answer_types(model.classes_.tolist())
    fields = ", ".join(f"a{i} {kind}" for i, kind in enumerate(types))
    function = F.arrow_udf(answering(model, sources), fields)
    kept = [F.col(quoted(name)) for name in frame.columns]
    answered = frame.select(*kept, function(*sources.columns(frame)).alias("bc3e answers"))
    added = [F.col("bc3e answers").getField(f"a{i}").alias(name) for i, name in enumerate(names)]
    return answered.select(*kept, *added)


def answering(
    model: BC3E, sources: Sources
) -> Callable[[Iterator[tuple[pa.Array, ...]]], Iterator[pa.Array]]:
    """What a worker does: batches of labels in, structs of answers out."""
    shorts = [source.short for source in sources.all]

    def answer(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        for batch in batches:
            columns = batch if isinstance(batch, tuple) else (batch,)
            votes, clusters = sources.labels(dict(zip(shorts, columns, strict=True)))
            arrays = answer_arrays(refined(*model._infer(votes, clusters)))
            yield pa.StructArray.from_arrays(arrays, names=[f"a{i}" for i in range(len(arrays))])

    return answer
