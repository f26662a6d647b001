"""Spark against the fit on one machine: seconds, and the largest difference of any probability.

``python -m benchmarks.spark_engine [rows]``; 1,000,000 rows by default. Each figure is one run: the
times tell the order of magnitude, the differences are what matters.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.engines.spark.cluster import Cluster, cluster
from tests.engines.spark.tables import CONFIG

import bc3e
from bc3e.engines import spark as engine
from benchmarks.speed import label_table

FILES = 8
SHARES = [f"p_{i}" for i in range(5)]
WAYS = {"patterns": 2_000_000, "rows": 1}


def written(folder: Path, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The table of the other benchmarks, in Parquet."""
    votes, clusters = label_table(rows, rows // 10)
    table = pd.DataFrame({"id": np.arange(rows)})
    for name, block in (("clf", votes), ("clu", clusters)):
        for j in range(block.shape[1]):
            table[f"{name}_{j}"] = block[:, j].astype(np.int16)  # Spark knows no unsigned bytes
    for i, part in enumerate(np.array_split(np.arange(rows), FILES)):
        table.iloc[part].to_parquet(folder / f"{i}.parquet", index=False)
    return votes, clusters


def refined(session: Any, folder: Path, way: str, callback: Any = None) -> tuple[float, np.ndarray]:
    """Seconds of a refinement, answers of all rows included, and the probabilities by row."""
    model = bc3e.BC3E(random_state=0, callback=callback)
    frame = session.read.parquet(str(folder))
    before = time.perf_counter()
    outcome = engine.refine(frame, ["clf_*"], ["clu_*"], model=model, pattern_limit=WAYS[way])
    found = outcome.frame.select("id", *SHARES).toArrow()
    seconds = time.perf_counter() - before
    order = np.argsort(found.column("id").to_numpy())
    return seconds, np.stack([found.column(name).to_numpy()[order] for name in SHARES], axis=1)


def started(master: str) -> Any:
    config = CONFIG | {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "4"}
    session = engine.session(master, config)
    session.sparkContext.setLogLevel("OFF")
    frame = session.createDataFrame([(i % 3, i % 2) for i in range(100)], "clf int, clu int")
    for limit in WAYS.values():  # what is loaded and compiled once
        engine.refine(frame, ["clf"], ["clu"], pattern_limit=limit).frame.collect()
    return session


def on_cluster(report: Callable[..., None], folder: Path, way: str, lose: bool) -> None:
    """One run on a master and two workers of its own, perhaps with a worker killed on the way."""
    with tempfile.TemporaryDirectory() as place, cluster(Path(place)) as machines:
        session = started(machines.address)
        try:
            lost: list[int] = []
            callback, timer = losing(machines, lost, way) if lose else (None, None)
            if timer is not None:
                timer.start()
            seconds, shares = refined(session, folder, way, callback)
            if lose:
                assert len(lost) == 2, "a worker and its executor"
        finally:
            session.stop()
    report("two workers" + (", one killed on the way" if lose else ""), way, seconds, shares)


def losing(machines: Cluster, lost: list[int], way: str) -> tuple[Any, threading.Timer | None]:
    """Who kills a worker: a clock while Spark groups, or the first iteration of the EM."""

    def lose(_: Any = None) -> None:
        if not lost:
            lost.extend(machines.lose_worker())

    return (lose, None) if way == "rows" else (None, threading.Timer(1.0, lose))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    import pyspark

    load = os.getloadavg()[0]
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Python "
        f"{platform.python_version()}, PySpark {pyspark.__version__}, {rows:,} rows\n"
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "labels"
        folder.mkdir()
        votes, clusters = written(folder, rows)
        bc3e.BC3E().fit(votes[:1000], clusters[:1000])  # compile first
        before = time.perf_counter()
        local = bc3e.BC3E(random_state=0).fit(votes, clusters)
        wanted = np.asarray(local.probabilities_)
        seconds = time.perf_counter() - before
        print("| where | way | seconds | largest difference |\n|---|---|---|---|")
        print(f"| this process, one thread | fit | {seconds:.1f} | |")

        def report(where: str, way: str, seconds: float, shares: np.ndarray) -> None:
            print(
                f"| {where} | {way} | {seconds:.1f} | {np.abs(shares - wanted).max():.1e} |", flush=True
            )

        session = started("local[2]")
        for way in WAYS:
            report("local[2]", way, *refined(session, folder, way))
        session.stop()
        for lose in (False, True):
            for way in WAYS:
                on_cluster(report, folder, way, lose)


if __name__ == "__main__":
    main()
