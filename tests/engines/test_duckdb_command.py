"""``bc3e refine --engine duckdb`` writes what the engine in memory writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from bc3e.cli.main import run
from tests.engines.tables import codes, dressed, shares

CHOICE = ("--votes", "v*", "--clusters", "c*")
DUCKDB = ("--engine", "duckdb")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def both(table: str, output: str, *options: str) -> tuple[pa.Table, pa.Table]:
    """The outputs of both engines, in one order."""
    read = pq.read_table if output.endswith("parquet") else pc.read_csv
    found = []
    for engine in ("memory", "duckdb"):
        name = f"{engine}_{output}"
        assert run(["refine", table, *CHOICE, "-o", name, "-q", "--engine", engine, *options]) == 0
        found.append(read(name))
    first = found[0].column_names[0]
    return found[0].sort_by(first), found[1].sort_by(first)


TABLES: dict[str, tuple[list[Any], pa.DataType]] = {
    "text.csv": ([f"class {v}" for v in range(20)], pa.string()),
    "words for missing.csv": (["NA", "?", *"abcdefghijklmnopqr"], pa.string()),
    "digits.csv": (["1", "2.0", "-1", *map(str, range(3, 20))], pa.string()),
    "numbers.parquet": (list(range(20)), pa.uint8()),
    "text digits.parquet": (["", *map(str, range(19))], pa.string()),
    "floats.parquet": ([float("nan"), *map(float, range(19))], pa.float64()),
}


@pytest.mark.parametrize("name", TABLES)
def test_both_engines_write_the_same(name: str, home: Path) -> None:
    table = dressed(codes(400), *TABLES[name], gaps=True)
    if name.endswith("csv"):
        pc.write_csv(table, name)
    else:
        pq.write_table(table, name)
    memory, large = both(name, "r.parquet", "--id", "id", "--keep", "c0", "--prefix", "new_")
    assert memory.column_names == large.column_names
    for column in memory.column_names:
        if not column.startswith(("new_p_", "new_conf", "new_ent")):
            assert str(memory[column].to_pylist()) == str(large[column].to_pylist()), column
    assert abs(shares(memory) - shares(large)).max() <= 1e-12


def test_text_and_rows(home: Path) -> None:
    pq.write_table(dressed(codes(300), list(range(20)), pa.uint8(), True), "t.parquet")
    memory, large = both("t.parquet", "r.csv", "--classes", "2,1,0", "--no-calibration")
    assert memory.to_pydict() == large.to_pydict()
    assert memory.column_names[0] == "row"
    assert run(["refine", "t.parquet", *CHOICE, "-o", "o.csv", "-q", *DUCKDB, "--ordered"]) == 0
    assert pc.read_csv("o.csv")["row"].to_pylist() == list(range(1, 301))


def test_machines_are_told_the_same(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(dressed(codes(300), list(range(20)), pa.uint8(), True), "t.parquet")
    told = []
    for engine in ("memory", "duckdb"):
        command = [
            "refine",
            "t.parquet",
            *CHOICE,
            "-o",
            f"{engine}.parquet",
            "--json",
            "--engine",
            engine,
        ]
        assert run([*command, "--fail-on", "changed>=0"]) == 1
        told.append(json.loads(capsys.readouterr().out))
    memory, large = told
    assert set(large["seconds"]) >= {"check", "group", "fit", "write"}
    for key in memory.keys() - {"output", "seconds"}:
        assert large[key] == (
            pytest.approx(memory[key]) if isinstance(memory[key], float) else memory[key]
        ), key


def test_a_saved_config_can_be_used(home: Path) -> None:
    """All its lines, also those that say what holds anyway."""
    pq.write_table(dressed(codes(100), list(range(20)), pa.uint8(), False), "t.parquet")
    command = ["refine", "t.parquet", *CHOICE, "-o", "r.parquet", "-q", *DUCKDB]
    assert run([*command, "--save-config", "c.toml"]) == 0
    lines = Path("c.toml").read_text().splitlines()
    Path("all.toml").write_text(
        "\n".join(li.removeprefix("# ") for li in lines if not li.endswith(" ="))
    )
    assert run(["refine", "--config", "all.toml", "--force", "-q"]) == 0


def test_a_large_file_is_told_of_the_engine(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(dressed(codes(100), list(range(20)), pa.uint8(), False), "t.parquet")
    assert run(["refine", "t.parquet", *CHOICE]) == 0
    assert "duckdb" not in capsys.readouterr().err
    monkeypatch.setattr("bc3e.cli.refine.LARGE", 1000)
    assert run(["refine", "t.parquet", *CHOICE]) == 0
    assert "note: t.parquet has 0.0 GB; --engine duckdb refines" in capsys.readouterr().err


def test_termination_leaves_nothing(home: Path) -> None:
    """As soon as there is a part of the output."""
    pq.write_table(dressed(codes(300_000), list(range(20)), pa.uint8(), False), "t.parquet")
    (home / "temporary").mkdir()
    command = Path(sys.executable).with_name("bc3e")
    running = subprocess.Popen(
        [str(command), "refine", "t.parquet", *CHOICE, "-o", "r.csv.gz", *DUCKDB,
         "--threads", "1", "--temp-directory", "temporary"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        until = time.monotonic() + 240
        while not list(home.glob(".r.csv.gz*.part")) and time.monotonic() < until:
            time.sleep(0.01)
            assert running.poll() is None
        os.kill(running.pid, signal.SIGTERM)
        _, err = running.communicate(timeout=240)
    finally:
        running.kill()
    assert running.returncode == 130
    assert err.decode().strip() == "bc3e refine: interrupted; nothing was written"
    assert sorted(path.name for path in home.iterdir()) == ["t.parquet", "temporary"]
    assert list((home / "temporary").iterdir()) == []
