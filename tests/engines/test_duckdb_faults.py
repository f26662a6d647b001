"""What the DuckDB engine refuses, how it says so, and that nothing is left behind."""

from __future__ import annotations

import datetime
import decimal
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bc3e import BC3E, InputError, InputTypeError
from bc3e.engines.background import Background
from bc3e.engines.connection import Database, parse_memory
from bc3e.engines.duckdb import TextForm, refine
from tests.engines.tables import VOTES, codes, dressed, refined

LABELS = dressed(codes(300), list(range(20)), pa.uint8(), False)


def swapped(name: str, values: Any, kind: pa.DataType | None = None) -> pa.Table:
    at = LABELS.column_names.index(name)
    return LABELS.set_column(at, name, pa.array(values, type=kind))


def numbers(*first: float) -> list[float]:
    return [1.0, 2.0, *first, *[0.0] * (298 - len(first))]


DAYS = [datetime.date(2024, 1, 1 + i % 9) for i in range(300)]
CASES: dict[str, tuple[pa.Table, dict[str, Any], tuple[str, ...]]] = {
    "missing column": (LABELS, {"votes": ["v0", "w1"]}, ("votes: no column", "'w1'", "The columns are 'id'")),
    "a name misspelt": (LABELS, {"clusters": ["c00"]}, ("clusters: ", "Did you mean 'c0'?")),
    "missing id": (LABELS, {"id": "name"}, ("id: no column", "'name'")),
    "nothing to keep": (LABELS, {"keep": "x*"}, ("keep: no column", "'x*'")),
    "both uses": (LABELS, {"clusters": ["c0", "v1"]}, ("clusters: column 'v1' is also in votes", "globs")),
    "an id by a glob": (LABELS, {"id": "i*"}, ("id: no column", "'i*'", "The columns are 'id'")),
    "a number for a name": (LABELS, {"votes": ["v0", 1]}, ("votes: 1 is not text", "names or globs")),
    "probabilities": (
        LABELS.rename_columns(["p:a", "p:b", *LABELS.column_names[2:]]), {"votes": "p:*", "clusters": "c*", "id": None},
        ("votes: the columns p:* are probabilities, not labels", "in memory"),
    ),
    "no labels": (LABELS, {"votes": [], "clusters": []}, ("votes: neither votes nor clusters", "Name")),
    "no rows": (LABELS.slice(0, 0), {}, ("table: Arrow table has no rows", "at least one object")),
    "an id for a clustering": (
        pa.table({n: np.resize(LABELS[n].to_numpy(), 80_000) for n in VOTES} | {"c": np.arange(80_000) * 7}),
        {"clusters": "c", "id": None},
        ("clusters, column 'c': ", "different labels, more than 65,536", "leave the column out"),
    ),
    "infinite": (swapped("c1", numbers(np.inf)), {}, ("clusters, column 'c1', row 2: inf is not a whole number", "in memory")),
    "a fraction": (swapped("v1", numbers(np.nan, 0.25, 0.5)), {}, ("votes, column 'v1', row 3: 0.25 is not a whole", "in memory")),
    "beyond 53 bits": (swapped("c2", numbers(1e17)), {}, ("clusters, column 'c2', row 2: 1e+17 is not a whole", "in memory")),
    "beyond 64 bits": (swapped("c2", [2**63 + i for i in range(300)], pa.uint64()), {}, ("clusters, column 'c2': ", "beyond 64 bits", "from 0")),
    "all votes missing": (LABELS, {"votes": "none", "clusters": "c*"}, ("votes: every vote is missing", "class labels")),
    "dates": (swapped("v0", DAYS), {}, ("votes, column 'v0': labels of type DATE", "whole numbers, text or booleans")),
    "decimals": (swapped("v0", [decimal.Decimal(i % 3) for i in range(300)]), {}, ("votes, column 'v0': labels of type DECIMAL", "whole")),
    "lists": (swapped("c0", [[0.1, 0.9]] * 300), {}, ("clusters, column 'c0': labels of type DOUBLE[]", "probabilities")),
    "not a class": (LABELS, {"model": BC3E(classes=[0, 1])}, ("votes, column 'v0': 2 is not one of the 2 classes", "classes=")),
    "a column twice": (LABELS.rename_columns(["label", *LABELS.column_names[1:]]), {"id": "label"}, ("output: two columns would be called 'label'", "prefix")),
    "missing ids": (swapped("id", [None, *range(299)]), {}, ("id, column 'id': 1 of 300 ids are missing", "keep=")),
    "memory in words": (LABELS, {"memory_limit": "plenty"}, ("memory_limit: 'plenty' is not an amount", "3GB")),
    "too little memory": (LABELS, {"memory_limit": "10MB"}, ("memory_limit: 10MB is too little", "756 MB")),
    "no threads": (LABELS, {"threads": 0}, ("threads: 0 is not a number of threads", "1 or more")),
    "no temporary directory": (LABELS, {"temp_directory": "/no/where"}, ("temp_directory: /no/where: No such", "write to")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refusals(name: str, tmp_path: Path) -> None:
    table, options, says = CASES[name]
    if name == "all votes missing":
        table = table.append_column("none", pa.nulls(300, pa.int32()))
    with pytest.raises(InputError) as caught:
        refined(table, tmp_path, **options)
    at = 0
    for part in says:
        assert part in str(caught.value)[at:], str(caught.value)
        at = str(caught.value).index(part, at)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["dates", "decimals", "infinite", "a fraction", "beyond 53 bits"])
def test_the_fit_in_memory_refuses_the_same(name: str) -> None:
    table, _, _ = CASES[name]
    with pytest.raises(InputError):
        BC3E().fit({n: table[n] for n in VOTES}, {n: table[n] for n in ("c0", "c1", "c2")})


def test_too_many_patterns_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bc3e.engines.patterns.fit_bytes", lambda *sizes: 10**8)
    with pytest.raises(
        InputError, match=r"different patterns of labels need about .* GB to fit"
    ) as caught:
        refined(LABELS, tmp_path, memory_limit="1GB")
    assert "'c2' has up to 9 labels" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_data_frame_is_sent_to_the_fit_in_memory(tmp_path: Path) -> None:
    with pytest.raises(
        InputTypeError, match=r"table: a dict\. Pass a Parquet or CSV file.*BC3E\(\)\.fit"
    ):
        refined({"v0": [1]}, tmp_path)


FILES: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"id,v0,v1,v2,c0,c1,c2\n", "has no rows"),
    "ragged.csv": (b"id,v0,v1,v2,c0,c1,c2\n1,a,b,a,1,1,1\nsecret,a\n", "line 3: it does not have the 7 cells"),
    "quote.csv": (b'id,v0,v1,v2,c0,c1,c2\n1,"a,b,a,1,1,1\n', "line 2: a quotation mark is opened and not closed"),
    "ids.csv": (b"id,v0,v1,v2,c0,c1,c2\n1,a,b,a,1,1,1\n,a,b,a,1,1,1\n", "column 'id': 1 of 2 ids are missing"),
    "latin.csv": ("id,v0,v1,v2,c0,c1,c2\n1,é,b,a,1,1,1\n".encode("latin-1"), "is not utf-8 text"),
    "twice.csv": (b"id,v0,v0,v2,c0,c1,c2\n1,a,b,a,1,1,1\n", "two columns of"),
    "shares.csv": (b"id,v0,v1,v2,c0,c1,c2\n1,0.3,1,1,1,1,1\n", "column 'v0': 0.3 is not a whole number"),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "is damaged or cut off"),
    "text.parquet": (b"id,v0,v1,v2,c0,c1,c2\n" * 9, "cannot be read"),
    "labels.xlsx": (b"PK", "names no format"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_bad_files(name: str, tmp_path: Path) -> None:
    content, says = FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        refined(tmp_path / name, tmp_path)
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name, says in (
        ("no.parquet", "there is no file"),
        ("*.parquet", "there is no file"),
        ("", "is a dir"),
    ):
        with pytest.raises(InputError, match=says):
            refined(str(tmp_path / name), tmp_path)


def test_encodings_can_be_named(tmp_path: Path) -> None:
    text = "id;v0;v1\n1;é;b\n2;é;-\n3;b;b\n"
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    form = TextForm(encoding="latin-1", missing=("-",))
    outcome, _ = refined(tmp_path / "t.csv", tmp_path, votes="v*", clusters=None, text=form)
    assert outcome.model.classes_.tolist() == ["b", "é"]


def test_outputs_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: dict[str, Any] = {"votes": VOTES, "progress": False}
    (tmp_path / "there.parquet").write_bytes(b"precious")
    for name, says in {
        "there.parquet": "there.parquet exists",
        "no/where.parquet": "there is no directory",
        "refined.xlsx": "names no format",
        "refined.parquet.gz": "names no format",
    }.items():
        with pytest.raises(InputError, match=says):
            refine(LABELS, tmp_path / name, **chosen)
    assert (tmp_path / "there.parquet").read_bytes() == b"precious"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="read-only"):
        refine(LABELS, tmp_path / "refined.parquet", **chosen)


def test_an_output_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    target = tmp_path / "refined.parquet"
    model = BC3E(callback=lambda step: target.write_bytes(b"precious") == 0)
    with pytest.raises(InputError, match=r"refined\.parquet exists"):
        refine(LABELS, target, votes=VOTES, model=model, progress=False)
    assert target.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_temporary_disk(tmp_path: Path) -> None:
    with Database("1GB", 1, tmp_path) as db:
        db.connection.execute("SET memory_limit = '20MB'; SET max_temp_directory_size = '1MB'")
        with pytest.raises(InputError, match=f"temp_directory: the disk of {tmp_path} is full"):
            db.rows("CREATE TEMP TABLE t AS SELECT range AS a, random() AS b FROM range(5000000)")
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_needs_more_memory(tmp_path: Path) -> None:
    with Database("1GB", 1, tmp_path) as db:
        db.connection.execute("SET memory_limit = '20MB'")
        with pytest.raises(InputError, match=r"memory_limit: 1\.0 GB are not enough"):
            db.rows("SELECT length(list(range)) FROM range(30000000)")


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> int:
        raise RuntimeError("while writing")

    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr("bc3e.engines.refinement.write", fail)
    with pytest.raises(RuntimeError):
        refined(LABELS, tmp_path, temp_directory=home)
    assert list(tmp_path.iterdir()) == [home]
    assert list(home.iterdir()) == []


def test_memory_is_parsed() -> None:
    assert parse_memory("2 gib") == 2 * 2**30
    for bad in ("3", "GB", "-3GB", "3XB", "1e9B", "", "3GB GB"):
        with pytest.raises(InputError, match="is not an amount"):
            parse_memory(bad)


INTERRUPTED = """
import sys
from bc3e.engines import connection
from bc3e.engines.duckdb import refine
told = connection.Database.rows
def rows(self, sql, advance=None):
    if sql.startswith("COPY"):
        sql = sql.replace("COPY (", "COPY (SELECT a.* FROM (").replace(") TO ", ") AS a, range(1000000)) TO ")
        print("writing", flush=True)
    return told(self, sql, advance)
connection.Database.rows = rows
refine(sys.argv[1], sys.argv[2], votes="v*", clusters="c*", id="id", progress=False, temp_directory=sys.argv[3])
"""


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    """A writing that would take hours is stopped at once, without half a file."""
    home = tmp_path / "temporary"
    home.mkdir()
    pq.write_table(LABELS, tmp_path / "labels.parquet")
    paths = [str(tmp_path / "labels.parquet"), str(tmp_path / "refined.parquet"), str(home)]
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *paths],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == "writing\n"
        time.sleep(0.5)
        assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"]
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=240)
    finally:
        running.kill()
    assert "KeyboardInterrupt" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.parquet", "temporary"]
    assert list(home.iterdir()) == []


class Heard(BaseException):
    """What the handler of a signal raises."""


def test_a_signal_is_heard_whatever_duckdb_does(tmp_path: Path) -> None:
    """Neither swallowed nor turned into an error of DuckDB's, and the connection can go on."""

    def hear(*_: Any) -> None:
        raise Heard

    def work_on(db: Database, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        while True:
            db.leave(0)
            db.register("labels", lambda: LABELS)
            db.unregister("labels")

    before = signal.signal(signal.SIGPROF, hear)
    try:
        with Database("1GB", 1, tmp_path) as db:
            for i in range(100):
                with pytest.raises(Heard):
                    work_on(db, 1e-4 * (1 + i % 40))
            assert db.rows("SELECT 1") == [(1,)]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert list(tmp_path.iterdir()) == []


def test_work_that_does_not_stop_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB can wait for ever for a task that an interrupt took away: Ctrl-C must end the run all the same."""
    monkeypatch.setattr("bc3e.engines.background.PATIENCE", 0.3)
    free = threading.Event()
    told: list[int] = []

    def look() -> None:
        raise Heard

    background = Background()
    with pytest.raises(Heard):
        background.run(free.wait, look, lambda: told.append(1))
    assert background.stuck
    assert len(told) > 1
    free.set()
    with Database("1GB", 1, tmp_path) as db:
        db._background.stuck = True
    db.connection.close()  # it was not waited for
    assert list(tmp_path.iterdir()) == []
    ready = Background()
    assert ready.run(lambda: 3, look, pytest.fail) == 3
    ready.settle(pytest.fail)
    assert not ready.stuck
