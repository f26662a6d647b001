"""Refine tables larger than memory: DuckDB groups and joins, the fit sees each pattern once.

The result is that of :meth:`bc3e.BC3E.fit` on the whole table. Memory is taken by the patterns of
labels, not by the rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bc3e.engines.connection import Advance, Database
from bc3e.engines.refinement import Refinement, Request
from bc3e.engines.tables import open_table
from bc3e.engines.text import TextForm
from bc3e.engines.writing import check_place, whole_file, written_format

if TYPE_CHECKING:
    from bc3e.estimator import BC3E

__all__ = ["Outcome", "TextForm", "refine"]


@dataclass(frozen=True)
class Outcome:
    """What became of a table.

    Attributes
    ----------
    model : BC3E
        Fitted; its `labels_` and `probabilities_` are those of the patterns.
    objects, patterns : int
        Rows of the table, and how many differ in their labels.
    output : str
    bytes : int
        Size of the output.
    figures : mapping
        Shares and means over the objects: changed, confidence, entropy.
    seconds : mapping
        Wall time of each part: check, group, fit, write.
    """

    model: BC3E
    objects: int
    patterns: int
    output: str
    bytes: int
    figures: Mapping[str, float]
    seconds: Mapping[str, float]


def refine(
    table: Any,
    output: str | os.PathLike[str],
    *,
    votes: str | Sequence[str] | None,
    clusters: str | Sequence[str] | None = None,
    id: str | None = None,
    keep: str | Sequence[str] = (),
    model: BC3E | None = None,
    prefix: str = "",
    ordered: bool = False,
    memory_limit: str = "3GB",
    threads: int | None = None,
    temp_directory: str | os.PathLike[str] | None = None,
    progress: bool = True,
    overwrite: bool = False,
    text: TextForm | None = None,
) -> Outcome:
    """Refine a table of hard labels that need not fit in memory.

    Parameters
    ----------
    table : path, glob, list of paths, Arrow table or DuckDB relation
        Parquet, or CSV (also compressed with gzip), which is first copied to Parquet
        in the temporary directory.
    output : path
        Parquet, CSV or TSV, by extension. It appears when it is complete.
    votes, clusters : str or sequence of str
        Columns of class labels and of cluster labels: names or globs.
    id : str, optional
        Column that names the objects; without it and `keep`, the row is written.
    keep : str or sequence of str
        Further columns to copy: names or globs.
    model : BC3E, optional
        What to fit; ``BC3E(n_jobs=-1)`` by default. It is fitted in place.
    prefix : str
        Put before the name of every column that is added.
    ordered : bool
        Write the rows in the order of the table. It about doubles the time of the writing, and
        takes room for the output in the temporary directory.
    memory_limit : str
        Such as "3GB": of the whole process, as closely as can be.
    threads : int, optional
        Of DuckDB; all cores by default.
    temp_directory : path, optional
        Where there is room for what does not fit in memory; the system's by default.
    progress : bool
        Show a bar for each part, on standard error.
    overwrite : bool
        Replace an output that exists.
    text : TextForm, optional
        Delimiter, encoding and words for missing labels of CSV files.

    Returns
    -------
    Outcome

    Notes
    -----
    Unless `ordered`, rows are written as threads finish them: keep an id, or sort by `row`.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from bc3e.engines.duckdb import refine
    >>> table = pa.table({"id": [1, 2, 3], "tree": ["a", "b", "a"], "logit": ["a", "b", "b"],
    ...                   "k2": [0, 1, 0]})
    >>> with tempfile.TemporaryDirectory() as home:
    ...     outcome = refine(table, f"{home}/refined.parquet", votes=["tree", "logit"],
    ...                      clusters="k*", id="id", progress=False)
    ...     pq.read_table(f"{home}/refined.parquet").column_names
    ['id', 'label', 'confidence', 'p_a', 'p_b', 'changed', 'entropy']
    >>> outcome.objects, outcome.patterns
    (3, 3)
    """
    path = os.fspath(output)
    format = written_format(path)
    check_place(path, overwrite)
    if model is None:
        from bc3e.estimator import BC3E

        model = BC3E(n_jobs=-1)
    bars = _Bars(progress)
    with Database(memory_limit, threads, temp_directory) as db:
        source = open_table(db, table, text or TextForm())
        run = Refinement(db, source, Request.of(source.header, votes, clusters, id, keep), bars)
        run.group(model.classes, model.n_classes)
        run.fit(model, prefix)
        with whole_file(path, overwrite) as part:
            run.write(part, format, prefix, packed=path.lower().endswith(".gz"), ordered=ordered)
    size = os.path.getsize(path)
    patterns = len(run.refined.probabilities)
    return Outcome(model, run.objects, patterns, path, size, run.figures(), bars.seconds)


class _Bars:
    """A bar for each part of a run, on standard error; and how long each took."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, text: str) -> Iterator[Advance]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        begin = time.perf_counter()
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), disable=not self.shown) as bar:
            task = bar.add_task(text, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
            bar.update(task, completed=1, total=1)
        self.seconds[name] = time.perf_counter() - begin
