"""A master and two workers on 127.0.0.1: the fit of one machine, also when a worker is lost."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bc3e
from bc3e.engines import spark as engine
from tests.engines.spark.cluster import PATIENCE, Cluster, cluster, is_running
from tests.engines.spark.tables import CLASSES, CONFIG, planted

VOTES = ["clf_0", "clf_1", "clf_2"]
CLUSTERS = ["clu_0", "clu_1", "clu_2", "clu_3"]
SHARES = [f"p_{name}" for name in CLASSES]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def spark(machines: Cluster) -> Iterator[Any]:
    config = CONFIG | {"spark.executor.memory": "512m", "spark.cores.max": "2"}
    session = engine.session(machines.address, config)
    session.sparkContext.setLogLevel("OFF")  # a lost worker is news that is expected here
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return planted(20_000, seed=5)


def read(spark: Any, table: pd.DataFrame, folder: Path) -> Any:
    """The table as a frame that every worker reads its part of."""
    for i, part in enumerate(np.array_split(np.arange(len(table)), 4)):
        table.iloc[part].to_parquet(folder / f"{i}.parquet", index=False)
    return spark.read.parquet(str(folder))


def largest_difference(frame: Any, local: bc3e.BC3E) -> float:
    found = frame.select("id", *SHARES).toArrow().to_pandas().sort_values("id")
    assert len(found) == len(local.probabilities_)
    return float(np.abs(found[SHARES].to_numpy() - np.asarray(local.probabilities_)).max())


def test_patterns_on_a_cluster(spark: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    frame = read(spark, table, tmp_path)
    outcome = engine.refine(frame, VOTES, CLUSTERS, model=bc3e.BC3E(random_state=0))
    local = bc3e.BC3E(random_state=0).fit(table[VOTES], table[CLUSTERS])
    assert largest_difference(outcome.frame, local) <= 1e-12


def test_patterns_with_a_worker_lost_while_spark_groups(
    spark: Any, machines: Cluster, table: pd.DataFrame, tmp_path: Path
) -> None:
    (labels := tmp_path / "labels").mkdir()
    (begun := tmp_path / "begun").mkdir()
    go_on = tmp_path / "go on"

    def held(batches: Iterator[Any]) -> Iterator[Any]:
        """Rows as they are, once they may pass; a file tells that a worker has come this far."""
        (begun / str(os.getppid())).touch()
        until = time.monotonic() + PATIENCE
        while not go_on.exists() and time.monotonic() < until:
            time.sleep(0.05)
        yield from batches

    def lose() -> list[int]:
        """Kill a worker when both are at the rows, and let the rows pass."""
        until = time.monotonic() + PATIENCE
        while len(list(begun.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        lost = machines.lose_worker()
        go_on.touch()
        return lost

    frame = read(spark, table, labels)
    frame = frame.mapInArrow(held, frame.schema)
    with ThreadPoolExecutor(1) as pool:
        losing = pool.submit(lose)
        outcome = engine.refine(frame, VOTES, CLUSTERS, model=bc3e.BC3E(random_state=0))
    lost = losing.result()
    assert len(lost) == 2, "a worker and its executor"
    assert not any(is_running(pid) for pid in lost)
    local = bc3e.BC3E(random_state=0).fit(table[VOTES], table[CLUSTERS])
    assert largest_difference(outcome.frame, local) <= 1e-12
    machines.add_worker()


def test_a_worker_lost_between_two_iterations(
    spark: Any, machines: Cluster, table: pd.DataFrame, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"evidence_weight": 0.4, "delta2": "learn", "max_iter": 4, "tol": 0.0}
    lost: list[int] = []

    def lose(step: bc3e.model.schedule.Progress) -> None:
        if step.iteration == 2:  # posteriors of two iterations are on the workers
            lost.extend(machines.lose_worker())

    frame = read(spark, table, tmp_path)
    outcome = engine.refine(
        frame, VOTES, CLUSTERS, model=bc3e.BC3E(callback=lose, **settings), pattern_limit=100
    )
    local = bc3e.BC3E(**settings).fit(table[VOTES], table[CLUSTERS])
    assert len(lost) == 2, "a worker and its executor"
    assert not any(is_running(pid) for pid in lost)
    assert outcome.model.n_iter_ == 4
    assert outcome.model.delta2_ == pytest.approx(local.delta2_, rel=1e-11)
    assert largest_difference(outcome.frame, local) <= 1e-9
