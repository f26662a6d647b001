"""Is the weight of the clusterings that Spark chooses the one that the fit on one machine chooses?

``python -m benchmarks.spark_sample``; a few minutes. The choice looks at 10,000 of 60,000 objects.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pandas as pd
from tests.engines.spark.tables import CLASSES, CONFIG, frame_of, scores

import bc3e
from bc3e.engines import spark as engine

ROWS, SEEDS = 60_000, 4
STRENGTHS = (0.24, 0.26, 0.27, 0.28, 0.5)


def planted(strength: float) -> pd.DataFrame:
    """Classifiers that follow the class in 7 of 10 rows, clusterings that do in a share `strength`."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=ROWS)
    table: dict[str, Any] = {"id": np.arange(ROWS)}
    for j in range(3):
        table[f"v{j}"] = np.where(rng.random(ROWS) < 0.7, truth, rng.integers(3, size=ROWS))
    for j in range(4):
        follows = 2 * truth + rng.integers(2, size=ROWS)
        table[f"c{j}"] = np.where(rng.random(ROWS) < strength, follows, rng.integers(7, size=ROWS))
    return pd.DataFrame(table)


def columns(table: pd.DataFrame, letter: str) -> dict[str, Any]:
    return {name: table[name].to_numpy() for name in table if name[0] == letter}


def hard(session: Any, strength: float, seed: int) -> str:
    """Labels of evidence that both choose, and how many refined labels differ."""
    table, model = planted(strength), bc3e.BC3E(random_state=seed)
    outcome = engine.refine(frame_of(session, table), ["v*"], ["c*"], model=model, pattern_limit=1)
    found = outcome.frame.select("id", "label").toArrow().to_pandas().sort_values("id")["label"]
    local = model.fit(columns(table, "v"), columns(table, "c"))
    here, there = local.evidence_weights_.sum(), outcome.model.evidence_weights_.sum()
    differ = int((found.to_numpy() != np.asarray(local.labels_)).sum())
    return f"| {strength} | {seed} | {here:g} | {there:g} | {differ:,} |"


def soft(session: Any, parts: int | None) -> str:
    """The largest difference of a probability from the fit on one machine, in the table's order."""
    table = planted(0.5)
    shares = {
        name: scores(said, [0, 1, 2], i) for i, (name, said) in enumerate(columns(table, "v").items())
    }
    wide = table.drop(columns=list(shares))
    for name, each in shares.items():
        for j, label in enumerate(CLASSES):
            wide[f"{name}:{label}"] = each[:, j]
    frame = frame_of(session, wide)
    frame = frame if parts is None else frame.repartition(parts).persist()
    model = bc3e.BC3E(random_state=0)
    outcome = engine.refine(frame, ["v*"], ["c*"], model=model)
    found = outcome.frame.select("id", *(f"p_{label}" for label in CLASSES)).toArrow().to_pandas()
    votes = {name: pd.DataFrame(each, columns=CLASSES) for name, each in shares.items()}
    local = model.fit(votes, columns(table, "c"))
    same = (found["id"] == table["id"]).all()
    there = found.sort_values("id").drop(columns="id").to_numpy()
    gap = np.abs(there - np.asarray(local.probabilities_)).max()
    return (
        f"soft labels, {'the same' if same else 'another'} order of rows: largest difference {gap:.0e}"
    )


def main() -> None:
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    session = engine.session("local[2]", CONFIG)
    session.sparkContext.setLogLevel("OFF")
    for parts in (None, 5):
        print(soft(session, parts), flush=True)
    print(
        "\n| strength | random_state | one machine | Spark, rows | labels that differ |\n|---|---|---|---|---|"
    )
    for strength in STRENGTHS:
        for seed in range(SEEDS):
            print(hard(session, strength, seed), flush=True)
    session.stop()


if __name__ == "__main__":
    main()
