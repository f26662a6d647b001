"""With a checkpoint directory every step is on safe ground, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import bc3e
from bc3e.engines import spark as engine
from tests.engines.spark.tables import CLASSES, frame_of, planted


def test_a_fit_with_checkpoints(spark: Any, tmp_path: Path) -> None:
    table = planted(2_000, seed=9)
    frame = frame_of(spark, table).repartition(2)
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    model = bc3e.BC3E(evidence_weight=0.3)
    outcome = engine.refine(frame, ["clf_*"], ["clu_*"], model=model, pattern_limit=10)
    assert any(tmp_path.rglob("part-*")), "nothing was written"
    local = model.fit(table.filter(like="clf_"), table.filter(like="clu_"))
    found = outcome.frame.toArrow().to_pandas().sort_values("id")
    shares = found[[f"p_{name}" for name in CLASSES]].to_numpy()
    assert np.abs(shares - np.asarray(local.probabilities_)).max() <= 1e-9
