"""Tables of labels for the engines: codes first, then dressed as labels of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bc3e import BC3E
from bc3e.engines.duckdb import Outcome, refine

VOTES, CLUSTERS = ["v0", "v1", "v2"], ["c0", "c1", "c2"]


def codes(rows: int, seed: int = 0, k: int = 3) -> dict[str, np.ndarray]:
    """Votes that err and clusterings that help, as whole numbers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=rows)
    drawn = {name: np.where(rng.random(rows) < 0.3, rng.integers(k, size=rows), truth) for name in VOTES}
    for i, name in enumerate(CLUSTERS):
        fine = truth * (i + 1) + rng.integers(i + 1, size=rows)
        drawn[name] = np.where(rng.random(rows) < 0.2, rng.integers(k * (i + 1), size=rows), fine)
    return drawn


def dressed(drawn: dict[str, np.ndarray], values: list[Any], kind: pa.DataType, gaps: bool) -> pa.Table:
    """Codes as labels of a kind, some missing."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {"id": np.arange(len(drawn["v0"])) + 100}
    for name, column in drawn.items():
        lost = rng.random(len(column)) < 0.1 if gaps else np.zeros(len(column), dtype=bool)
        labels = [
            None if gone else values[code] for code, gone in zip(column.tolist(), lost, strict=True)
        ]
        columns[name] = pa.array(labels, type=kind)
    return pa.table(columns)


def refined(table: Any, home: Path, **options: Any) -> tuple[Outcome, pa.Table]:
    """The output of the engine, in the order of the ids or rows."""
    choice = {"votes": VOTES, "clusters": CLUSTERS, "id": "id", "progress": False} | options
    outcome = refine(table, home / "refined.parquet", overwrite=True, **choice)
    found = pq.read_table(home / "refined.parquet")
    return outcome, found.sort_by(found.column_names[0])


def shares(found: pa.Table) -> np.ndarray:
    """The probabilities of an output, (N, k)."""
    return np.stack([found[n].to_numpy() for n in found.column_names if "p_" in n], axis=1)


def in_memory(table: pa.Table, **settings: Any) -> BC3E:
    """The fit of a whole table."""
    votes = {name: table[name] for name in VOTES if name in table.column_names}
    clusters = {name: table[name] for name in CLUSTERS if name in table.column_names}
    return BC3E(**settings).fit(votes, clusters)
