"""Rows of a frame, coded and packed into blocks that stay in Spark and answer questions.

A block is one row of a DataFrame: a number, and the labels of some 65,000 objects as bytes. What it
holds and in which order is fixed once it is packed, so an answer is the same whoever gives it, and
answers are added up in the order of the blocks: a worker that is lost and whose blocks are
packed again elsewhere changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from io import BytesIO
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bc3e.columns import Column, LabelColumn, ScoreColumn
from bc3e.engines.spark.columns import Sources
from bc3e.errors import InputError
from bc3e.labels import LabelTable
from bc3e.model.evidence import FloatArray
from bc3e.objects import Objects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BLOCK = 65_536  # rows of a block, up to the batch that fills it
PLACE = "part int, block int"


@dataclass(frozen=True)
class Blocks:
    """The blocks of a frame.

    Attributes
    ----------
    frame : DataFrame
        part, block, rows and labels, kept by Spark.
    shell : LabelTable
        The table that the blocks are parts of, without rows.
    sizes : dict
        Rows of each block by (part, block), in their order.
    """

    frame: DataFrame
    shell: LabelTable
    sizes: dict[tuple[int, int], int]

    @classmethod
    def pack(cls, frame: DataFrame, sources: Sources, shell: LabelTable) -> Blocks:
        """Code all rows by the classes and clusters of `shell`."""
        schema = f"{PLACE}, rows int, labels binary, error string"
        handed = frame.select(*sources.columns(frame))
        packed = kept(handed.mapInArrow(_packing(sources, shell), schema))
        told = sorted(packed.select("part", "block", "rows", "error").collect())
        for *_, error in told:
            if error is not None:
                release(packed)
                raise InputError(*json.loads(error))
        sizes = {(part, block): rows for part, block, rows, _ in told}
        return cls(packed, shell, sizes)

    @property
    def n_objects(self) -> int:
        return sum(self.sizes.values())

    @property
    def labels(self) -> DataFrame:
        """part, block and labels."""
        return self.frame.select("part", "block", "labels")

    def ask(self, question: Callable[[Objects], Any]) -> FloatArray:
        """The sum of what the blocks answer."""
        shell = self.shell

        def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for part, block, labels in each_row(batches):
                sums = question(Objects.of(unpacked(shell, labels)))
                yield one_row(part, block, sums=array_bytes(sums))

        return added_up(self.labels.mapInArrow(answer, f"{PLACE}, sums binary"))

    def take(self, rows: NDArray[np.intp]) -> LabelTable:
        """Some rows, given in rising order, as a table of this machine."""
        wanted, first = {}, 0
        for place, size in self.sizes.items():
            here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + size)] - first
            wanted[place] = here
            first += size
        shell = self.shell

        def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for part, block, labels in each_row(batches):
                if len(here := wanted[part, block]):
                    some = unpacked(shell, labels).take(here)
                    yield one_row(part, block, labels=packed(some))

        found = sorted(self.labels.mapInArrow(answer, f"{PLACE}, labels binary").collect())
        return _stacked(shell, [unpacked(shell, bytes(labels)) for *_, labels in found])

    def release(self) -> None:
        """Let Spark forget the blocks."""
        release(self.frame)


def kept(frame: DataFrame) -> DataFrame:
    """The frame, computed once: kept by the workers, or in the checkpoint directory if one is set."""
    from pyspark.storagelevel import StorageLevel

    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint()
    return frame.persist(StorageLevel.MEMORY_AND_DISK)


def release(frame: DataFrame) -> None:
    """Let Spark forget a frame of :func:`kept`."""
    frame.unpersist()


def added_up(frame: DataFrame) -> FloatArray:
    """The sums of all blocks, added in the order of the blocks."""
    found = sorted(frame.select("part", "block", "sums").collect())
    total: FloatArray = reduce(add, (array_of(bytes(sums)) for *_, sums in found))
    return total


def each_row(batches: Iterator[pa.RecordBatch]) -> Iterator[Sequence[Any]]:
    """The rows of Arrow batches as Python values."""
    for batch in batches:
        for row in range(batch.num_rows):
            yield [column[row].as_py() for column in batch.columns]


def one_row(part: int, block: int, **fields: Any) -> pa.RecordBatch:
    """A batch of one row."""
    kinds = {"rows": pa.int32(), "error": pa.string()}
    columns = {"part": pa.array([part], pa.int32()), "block": pa.array([block], pa.int32())}
    columns |= {name: pa.array([value], kinds.get(name, pa.binary())) for name, value in fields.items()}
    return pa.RecordBatch.from_pydict(columns)


def array_bytes(values: Any) -> bytes:
    """Numbers with their shape as bytes."""
    stream = BytesIO()
    np.save(stream, np.asarray(values, dtype=np.float64), allow_pickle=False)
    return stream.getvalue()


def array_of(content: bytes) -> FloatArray:
    """What :func:`array_bytes` wrote."""
    values: FloatArray = np.load(BytesIO(content), allow_pickle=False)
    return values


def packed(table: LabelTable) -> bytes:
    """The rows of a table as an Arrow stream."""
    columns: dict[str, pa.Array] = {}
    for i, column in enumerate((*table.votes, *table.clusters)):
        if isinstance(column, LabelColumn):
            columns[str(i)] = pa.array(column.codes)
        else:
            flat, width = pa.array(column.scores.ravel()), column.scores.shape[1]
            columns[str(i)] = pa.FixedSizeListArray.from_arrays(flat, width)
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpacked(shell: LabelTable, content: bytes) -> LabelTable:
    """The table behind the bytes of :func:`packed`."""
    with pa.ipc.open_stream(content) as stream:
        batch = stream.read_next_batch()

    def filled(column: Column, array: pa.Array) -> Column:
        if isinstance(column, LabelColumn):
            return replace(column, codes=array.to_numpy(zero_copy_only=False))
        scores = array.flatten().to_numpy(zero_copy_only=False)
        return replace(column, scores=scores.reshape(batch.num_rows, -1))

    columns = [
        filled(column, array)
        for column, array in zip((*shell.votes, *shell.clusters), batch.columns, strict=True)
    ]
    r1 = len(shell.votes)
    votes, clusters = tuple(columns[:r1]), tuple(columns[r1:])
    return replace(shell, votes=votes, clusters=clusters, n_objects=batch.num_rows)


def _packing(
    sources: Sources, shell: LabelTable
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = shell.schema

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        part = context.partitionId()
        for block, rows in enumerate(_blocks(batches)):
            handed = {name: rows.column(name) for name in rows.column_names}
            labels, error = None, None
            try:
                votes, clusters = sources.labels(handed)
                labels = packed(LabelTable.read_like(votes, clusters, schema))
            except InputError as found:
                place = f"{found.place} of block {block} of partition {part}" if found.place else ""
                error = json.dumps([found.argument, found.found, found.remedy, place])
            yield one_row(part, block, rows=rows.num_rows, labels=labels, error=error)

    return pack


def _blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until they fill a block."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= BLOCK:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if any(one.num_rows for one in waiting):
        yield pa.Table.from_batches(waiting)


def _stacked(shell: LabelTable, parts: Sequence[LabelTable]) -> LabelTable:
    """Tables one below the other."""

    def stacked(column: Column, same: Sequence[Column]) -> Column:
        if isinstance(column, LabelColumn):
            codes = [one.codes for one in same if isinstance(one, LabelColumn)]
            return replace(column, codes=np.concatenate(codes))
        scores = [one.scores for one in same if isinstance(one, ScoreColumn)]
        return replace(column, scores=np.concatenate(scores))

    votes = tuple(stacked(c, [p.votes[i] for p in parts]) for i, c in enumerate(shell.votes))
    clusters = tuple(stacked(c, [p.clusters[i] for p in parts]) for i, c in enumerate(shell.clusters))
    return replace(shell, votes=votes, clusters=clusters, n_objects=sum(p.n_objects for p in parts))
