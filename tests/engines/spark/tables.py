"""Tables of labels for the tests, and what the fit on one machine makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from bc3e import BC3E
from bc3e.answers import Refined

CONFIG = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}
CLASSES = ["cat", "dog", "emu"]


def planted(n: int, seed: int = 0) -> pd.DataFrame:
    """Three classifiers that are right in 7 of 10 cases, four clusterings that go with the classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    table: dict[str, Any] = {"id": np.arange(n)}
    for j in range(3):
        said = np.where(rng.random(n) < 0.7, truth, rng.integers(3, size=n))
        labels = np.array(CLASSES, dtype=object)[said]
        labels[rng.random(n) < 0.05] = None
        table[f"clf_{j}"] = labels
    for j in range(4):
        found = np.where(
            rng.random(n) < 0.8, 2 * truth + rng.integers(2, size=n), rng.integers(7, size=n)
        )
        table[f"clu_{j}"] = np.where(rng.random(n) < 0.05, -1, found)
    return pd.DataFrame(table)


def frame_of(spark: Any, table: pd.DataFrame) -> Any:
    """A Spark frame with the content of a table."""
    return spark.createDataFrame(pa.Table.from_pandas(table, preserve_index=False))


def scores(labels: NDArray[Any], values: list[Any], seed: int) -> NDArray[np.float64]:
    """Probabilities in favour of the labels; a row of NaN where one is missing."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(values), 0.6), size=len(labels))
    for i, value in enumerate(values):
        shares[labels == value, i] += rng.random() + 0.5
    shares /= shares.sum(axis=1, keepdims=True)
    shares[[label is None or label == -1 for label in labels]] = np.nan
    return shares


def expected(model: BC3E, votes: dict[str, Any]) -> pd.DataFrame:
    """The columns that ``bc3e refine`` would add to the table that a model was fitted on."""
    said = {name: pa.array(column, from_pandas=True) for name, column in votes.items()}
    return Refined.of(model, said).table({}, "").to_pandas().drop(columns="row")


def same(found: pd.DataFrame, wanted: pd.DataFrame, within: float = 1e-9) -> None:
    """Both tables say the same, numbers to `within`."""
    assert list(found.columns) == list(wanted.columns)
    for name in wanted.columns:
        if wanted[name].dtype == np.float64:
            assert np.abs(found[name].to_numpy() - wanted[name].to_numpy()).max() <= within, name
        else:
            assert found[name].astype(object).where(found[name].notna(), None).tolist() == (
                wanted[name].astype(object).where(wanted[name].notna(), None).tolist()
            ), name
