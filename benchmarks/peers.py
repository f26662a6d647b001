"""A fit beside its peers, in CPU seconds of one process: ``python -m benchmarks.peers``.

1,000,000 objects, 3 vote columns (5 classes) and 8 clusterings (10 to 50 clusters), about 100,000
different rows. Each is run five times, in turns, and medians are printed:

- ``BC3E().fit`` at its default;
- crowd-kit's ``DawidSkene``, 100 iterations, on the three vote columns alone (once: it takes long);
- a Dawid-Skene EM in NumPy over all eleven columns, 100 iterations (once);
- DuckDB's GROUP BY over the eleven columns with count(*), from a table in its memory.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa

import bc3e
from benchmarks.speed import label_table

ITERATIONS, ROUNDS = 100, 5


def cpu(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def crowd_kit(votes: np.ndarray, iterations: int) -> Callable[[], object]:
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    n, r1 = votes.shape
    answers = pd.DataFrame(
        {
            "task": np.repeat(np.arange(n), r1),
            "worker": np.tile(np.arange(r1), n),
            "label": votes.ravel(),
        }
    )
    return lambda: DawidSkene(n_iter=iterations, tol=0.0).fit(answers)


def numpy_dawid_skene(columns: np.ndarray, k: int, iterations: int) -> Callable[[], object]:
    """EM with a confusion matrix per column, objects as rows of arrays, as one would write it."""
    n = len(columns)
    sizes = columns.max(axis=0).astype(int) + 1

    def run() -> np.ndarray:
        shares = np.zeros((n, k))
        for j in range(3):
            shares[np.arange(n), columns[:, j]] += 1.0
        shares /= shares.sum(axis=1, keepdims=True)
        for _ in range(iterations):
            logs = np.tile(np.log(shares.mean(axis=0)), (n, 1))
            for j, size in enumerate(sizes):
                confusion = np.stack(
                    [np.bincount(columns[:, j], weights=shares[:, i], minlength=size) for i in range(k)],
                    axis=1,
                )
                confusion = (confusion + 0.01) / (confusion + 0.01).sum(axis=0)
                logs += np.log(confusion)[columns[:, j]]
            logs -= logs.max(axis=1, keepdims=True)
            shares = np.exp(logs)
            shares /= shares.sum(axis=1, keepdims=True)
        return shares

    return run


def group_by(votes: np.ndarray, clusters: np.ndarray) -> Callable[[], object]:
    named = {f"v{i}": np.ascontiguousarray(votes[:, i]) for i in range(votes.shape[1])}
    named |= {f"c{i}": np.ascontiguousarray(clusters[:, i]) for i in range(clusters.shape[1])}
    database = duckdb.connect()
    database.register("given", pa.table(named))
    database.execute("create table labels as select * from given")
    query = f"select {', '.join(named)}, count(*) as n from labels group by all"
    return lambda: database.sql(query).to_arrow_table()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--iterations", type=int, default=ITERATIONS, help="of the two slow peers")
    given = options.parse_args()
    n, iterations = given.rows, given.iterations
    votes, clusters = label_table(n, n // 10)
    grouped = group_by(votes, clusters)
    bc3e.BC3E().fit(*label_table(50_000, 5_000))  # compile and load first
    grouped()
    fits, groups = [], []
    for _ in range(ROUNDS):
        fits.append(cpu(lambda: bc3e.BC3E().fit(votes, clusters)))
        groups.append(cpu(grouped))
    fit, group = statistics.median(fits), statistics.median(groups)
    written = cpu(numpy_dawid_skene(np.hstack([votes, clusters]), 5, iterations))
    crowd = cpu(crowd_kit(votes, iterations))
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}, duckdb {duckdb.__version__}"
    )
    print(
        f"{n:,} objects, {iterations} iterations of the Dawid-Skenes; CPU seconds, and the fit as a share of each"
    )
    print(f"  BC3E().fit                              {fit:8.2f}")
    print(f"  crowd-kit DawidSkene, 3 columns         {crowd:8.2f}  {fit / crowd:6.3f}  (goal 0.1)")
    print(
        f"  Dawid-Skene in NumPy, 11 columns        {written:8.2f}  {fit / written:6.3f}  (goal 0.333)"
    )
    print(f"  DuckDB GROUP BY, 11 columns             {group:8.3f}  {fit / group:6.1f}  (goal 6)")


if __name__ == "__main__":
    main()
