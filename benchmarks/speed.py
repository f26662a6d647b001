"""Speed as ratios of things run side by side, and memory of a large fit: ``make bench``."""

from __future__ import annotations

import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

import bc3e


def label_table(n: int, patterns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """3 vote columns (5 classes) and 8 clusterings (10 to 50 clusters) with that many patterns."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(5, size=patterns)
    votes = np.where(
        rng.random((patterns, 3)) < 0.3, rng.integers(5, size=(patterns, 3)), truth[:, None]
    )
    sizes = np.array([10, 15, 20, 25, 30, 35, 40, 50])
    fine = truth[:, None] * (sizes // 5) + rng.integers(10**6, size=(patterns, 8)) % (sizes // 5)
    clusters = np.where(
        rng.random((patterns, 8)) < 0.7, fine, rng.integers(10**6, size=(patterns, 8)) % sizes
    )
    rows = rng.integers(patterns, size=n)
    return votes[rows].astype(np.uint8), clusters[rows].astype(np.uint8)


def cpu(run: Callable[[], object], repeats: int = 3) -> float:
    """Median CPU seconds."""
    times = []
    for _ in range(repeats):
        before = time.process_time()
        run()
        times.append(time.process_time() - before)
    return statistics.median(times)


def wall(run: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def main() -> None:
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"
    )
    bc3e.BC3E().fit([[0, 1], [1, 1]], [[0], [1]])  # compile first
    votes, clusters = label_table(1_000_000, 100_000)
    whole = cpu(lambda: bc3e.BC3E().fit(votes, clusters))
    few, few_clusters = votes[:100_000], clusters[:100_000]
    tenth = cpu(lambda: bc3e.BC3E().fit(few, few_clusters))
    one = wall(lambda: bc3e.BC3E(n_jobs=1).fit(votes, clusters))
    two = wall(lambda: bc3e.BC3E(n_jobs=2).fit(votes, clusters))
    from bc3e.rivals import DawidSkene

    other = DawidSkene(max_iter=100)
    rival = cpu(lambda: other.fit(votes, clusters))
    tracemalloc.start()
    bc3e.BC3E().fit(votes, clusters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"fit, 1,000,000 objects, about 100,000 patterns:    {whole:6.2f} s CPU")
    print(f"  of 100,000 objects of the same table:            {tenth / whole:6.2f} of that")
    print(f"  two threads against one, wall time:              {one / two:6.2f} times as fast")
    print(
        f"  Dawid-Skene over all columns, {other.n_iter_:3d} iterations:    {rival / whole:6.2f} of that"
    )
    print(
        f"  peak memory traced, in sizes of the input:       {peak / (votes.nbytes + clusters.nbytes):6.2f}"
    )


if __name__ == "__main__":
    main()
