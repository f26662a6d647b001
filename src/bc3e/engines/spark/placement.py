"""Row-distributed EM: posteriors stay with their blocks, statistics come back and are added.

Each E-step turns the blocks and their states into blocks with new states. Spark keeps the latest of
them; one that is lost with its worker is computed again from the one before, with the parameters
of that step, to the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bc3e.engines.spark.blocks import (
    PLACE,
    Blocks,
    added_up,
    array_bytes,
    array_of,
    each_row,
    kept,
    one_row,
    release,
    unpacked,
)
from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, Workers, cold_state, e_step
from bc3e.model.parameters import Parameters, Rules
from bc3e.model.statistics import Statistics, m_step
from bc3e.objects import Objects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ONE = Workers(1)  # Spark runs as many tasks as there are cores

# Asked of a block: its objects, their evidence and their posteriors.
Question = Callable[[Objects, Evidence, State], FloatArray]


@dataclass(frozen=True, kw_only=True)
class View(Evidence):
    """Evidence without rows: how each block is to read its own.

    Attributes
    ----------
    counted : (r1,) array
        How much a vote of each classifier counts.
    vote_weight : float or None
    exponent : float
        Power that the votes are raised to.
    """

    counted: FloatArray
    vote_weight: float | None
    exponent: float = 1.0

    def of(self, objects: Objects) -> Evidence:
        """The evidence of a block's objects."""
        return objects.table.evidence(
            evidence_weights=self.evidence_weights,
            weights=objects.weights,
            classifier_weights=self.counted,
            vote_weight=self.vote_weight,
            vote_exponent=self.exponent,
        )


class SparkPlacement:
    """A :class:`bc3e.model.schedule.Placement` whose objects are the blocks of a frame."""

    def __init__(self, blocks: Blocks, view: View, structured: bool) -> None:
        self.blocks, self.view, self.structured = blocks, view, structured
        self.row_weights = view.layout.per_row(view.evidence_weights)
        self.frame: DataFrame | None = None
        self.cold: Parameters

    def begin(self, parameters: Parameters) -> None:
        self.release()
        self.cold = parameters

    def e_step(self, parameters: Parameters, *, sweeps: int, settled: float, final: bool) -> Statistics:
        step = self._stepping(parameters, sweeps, settled)
        before = self.frame
        if before is None:
            from pyspark.sql import functions as F  # noqa: N812 - its usual name

            given = self.blocks.labels.withColumn("state", F.lit(None).cast("binary"))
        else:
            given = before.select("part", "block", "labels", "state")
        schema = f"{PLACE}, labels binary, state binary, sums binary"
        self.frame = kept(given.mapInArrow(step, schema))
        sums = added_up(self.frame)
        if before is not None:
            release(before)
        return _statistics(sums, self.view.n_classes)

    def m_step(self, statistics: Statistics, parameters: Parameters, rules: Rules) -> Parameters:
        return m_step(statistics, parameters, rules, self.view.layout)

    def ask(self, question: Question) -> FloatArray:
        """The sum of what the blocks answer, knowing their posteriors."""
        assert self.frame is not None
        shell, view = self.blocks.shell, self.view

        def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for part, block, labels, state in each_row(batches):
                objects = Objects.of(unpacked(shell, labels))
                sums = question(objects, view.of(objects), _state(state, view.n_classes))
                yield one_row(part, block, sums=array_bytes(sums))

        given = self.frame.select("part", "block", "labels", "state")
        return added_up(given.mapInArrow(answer, f"{PLACE}, sums binary"))

    def release(self) -> None:
        """Let Spark forget the posteriors."""
        if self.frame is not None:
            release(self.frame)
        self.frame = None

    def _stepping(
        self, parameters: Parameters, sweeps: int, settled: float
    ) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        """What a worker does: improve the posteriors of its blocks, and sum up."""
        shell, view, structured, cold = self.blocks.shell, self.view, self.structured, self.cold

        def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for part, block, labels, known in each_row(batches):
                evidence = view.of(Objects.of(unpacked(shell, labels)))
                state = cold_state(evidence, cold) if known is None else _state(known, view.n_classes)
                found = e_step(
                    evidence,
                    parameters,
                    state,
                    structured=structured,
                    sweeps=sweeps,
                    workers=ONE,
                    settled=settled,
                )
                yield one_row(part, block, labels=labels, state=_bytes(state), sums=_sums(found))

        return step


def _sums(found: Statistics) -> bytes:
    single: list[Any] = [[found.weight, found.gap, found.bound], found.first, found.second]
    return array_bytes(np.concatenate([*single, found.counts.ravel()]))


def _statistics(sums: FloatArray, k: int) -> Statistics:
    weight, gap, bound = (float(value) for value in sums[:3])
    first, second, counts = sums[3 : 3 + k], sums[3 + k : 3 + 2 * k], sums[3 + 2 * k :]
    return Statistics(weight, first, second, gap, counts.reshape(-1, k), bound)


def _bytes(state: State) -> bytes:
    """A state as one table: mean, tendency, a and d, then g."""
    return array_bytes(np.hstack([state.mean, state.tendency, state.a, state.d, state.g[:, None]]))


def _state(content: bytes, k: int) -> State:
    table = array_of(content)
    mean, tendency, a, d = (np.ascontiguousarray(table[:, i * k : i * k + k]) for i in range(4))
    return State(mean, tendency, a, d, np.ascontiguousarray(table[:, -1]))
