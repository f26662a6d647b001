"""Memory follows the limit and the patterns, not the rows; each run is a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.large_files import run_apart, write_table

from bc3e.engines.connection import parse_memory


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "labels.parquet"
    write_table(path, 4_000_000, 30_000)
    return path


def test_a_table_is_refined_within_the_limit(table: Path) -> None:
    """Id, labels and answers of all rows would take 0.4 GB on top of the libraries' 0.4 GB."""
    limit = "800MB"
    found = run_apart("refine", table, table.with_name("refined.parquet"), limit)
    bare = run_apart("join back", table, table.with_name("bare.parquet"), limit)
    assert found["patterns"] == bare["patterns"]
    assert found["bytes"] == pytest.approx(bare["bytes"], rel=0.2)  # it does write as much
    assert found["peak"] < parse_memory(limit)
    assert [path.name for path in table.parent.iterdir()] == [table.name]
