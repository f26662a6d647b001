"""The DuckDB engine answers as the fit in memory does, whatever the labels look like."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from bc3e import BC3E
from bc3e.engines.duckdb import refine
from bc3e.engines.packing import Digit, packed
from tests.engines.tables import CLUSTERS, VOTES, codes, dressed, in_memory, refined, shares

EXACT = 1e-12
LETTERS = list("abcdefghijklmnopqrst")

KINDS: dict[str, tuple[list[Any], pa.DataType]] = {
    "uint8": (list(range(20)), pa.uint8()),
    "int16 from below zero": ([v - 5 for v in range(20)], pa.int16()),
    "int64 with -1": ([-1, *range(19)], pa.int64()),
    "int64 far apart": ([v * 10**15 - 7 for v in range(20)], pa.int64()),
    "uint64": ([v * 10**17 for v in range(20)], pa.uint64()),
    "whole floats": ([float(v) for v in range(20)], pa.float64()),
    "floats with NaN": ([float("nan"), *map(float, range(19))], pa.float32()),
    "text": ([f"it's {v}" for v in range(20)], pa.string()),
    "empty text and digits": (["", "1", "01", "NA", *map(str, range(2, 18))], pa.string()),
    "dictionary": ([f"ünï {v}" for v in range(20)], pa.dictionary(pa.int32(), pa.string())),
    "bytes": ([bytes([v, 0, 255]) for v in range(20)], pa.binary()),
}


def same(found: pa.Table, model: BC3E) -> None:
    """The probabilities are those of the fit in memory."""
    there = model._answer.expand(model._answer.probabilities)
    np.testing.assert_allclose(shares(found), there, rtol=0, atol=EXACT)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_label_is_read_as_in_memory(kind: str, gaps: bool, tmp_path: Path) -> None:
    table = dressed(codes(600, k=4), *KINDS[kind], gaps)
    pq.write_table(table, tmp_path / "labels.parquet")
    outcome, found = refined(str(tmp_path / "labels.parquet"), tmp_path)
    model = in_memory(table)
    assert outcome.model.classes_.tolist() == model.classes_.tolist()
    assert outcome.objects == 600
    assert outcome.model.clusterer_names_ == tuple(CLUSTERS)
    assert found["id"].to_pylist() == table["id"].to_pylist()
    same(found, model)
    assert found["label"].to_pylist() == list(model.labels_)


def test_booleans(tmp_path: Path) -> None:
    table = dressed(codes(300, k=2), [False, True] * 3, pa.bool_(), True)
    outcome, found = refined(table, tmp_path)
    model = in_memory(table)
    assert outcome.model.classes_.tolist() == model.classes_.tolist() == [False, True]
    same(found, model)


def test_a_large_table_is_refined_to_the_last_bit(tmp_path: Path) -> None:
    """Past 10,000 objects the fit looks at a sample: of the patterns, which the engine has too."""
    table = dressed(codes(60_000), list(range(20)), pa.uint8(), False)
    outcome, found = refined(table, tmp_path)
    model = in_memory(table)
    there = model._answer.expand(model._answer.probabilities)
    np.testing.assert_array_equal(shares(found), there)
    rows = zip(*(table[name].to_pylist() for name in (*VOTES, *CLUSTERS)), strict=True)
    assert outcome.patterns == len(set(rows))
    assert (outcome.model.delta2_, outcome.model.trust_) == (model.delta2_, model.trust_)
    again, _ = refined(table, tmp_path, threads=1)
    assert again.model.lower_bound_ == outcome.model.lower_bound_ == model.lower_bound_


def test_answers_beside_the_probabilities(tmp_path: Path) -> None:
    table = dressed(codes(2000), LETTERS, pa.string(), True)
    outcome, found = refined(table, tmp_path)
    p = shares(found)
    added = ["label", "confidence", "p_a", "p_b", "p_c", "changed", "entropy"]
    assert found.column_names == ["id", *added]
    np.testing.assert_array_equal(found["confidence"].to_numpy(), p.max(axis=1))
    np.testing.assert_allclose(found["entropy"].to_numpy(), -(p * np.log(p)).sum(axis=1), atol=1e-12)
    nobody = np.all([table[name].is_null().to_numpy() for name in VOTES], axis=0)
    assert nobody.any()
    assert (found["changed"].is_null().to_numpy() == nobody).all()
    changed = found["changed"].fill_null(False).to_numpy().mean()
    assert 0 < changed < 1
    assert outcome.figures["changed"] == pytest.approx(changed, abs=1e-12)
    assert outcome.figures["entropy"] == pytest.approx(found["entropy"].to_numpy().mean(), abs=1e-12)
    assert set(outcome.seconds) == {"check", "group", "fit", "write"}
    assert outcome.bytes == (tmp_path / "refined.parquet").stat().st_size


def test_minus_one_can_be_a_class(tmp_path: Path) -> None:
    table = dressed(codes(300), [-1, *range(19)], pa.int8(), True)
    outcome, found = refined(table, tmp_path, model=BC3E(classes=[-1, 0, 1]))
    assert outcome.model.classes_.tolist() == [-1, 0, 1]
    same(found, in_memory(table, classes=[-1, 0, 1]))


@pytest.mark.parametrize(("votes", "clusters"), [(["v0"], CLUSTERS), (VOTES, []), ([], CLUSTERS)])
def test_few_columns(votes: list[str], clusters: list[str], tmp_path: Path) -> None:
    table = dressed(codes(400), list(range(20)), pa.uint8(), True)
    settings = {"random_state": 3} | ({} if votes else {"n_classes": 3})
    _, found = refined(table, tmp_path, votes=votes, clusters=clusters, model=BC3E(**settings))
    same(found, in_memory(table.select(["id", *votes, *clusters]), **settings))


def test_many_columns_take_several_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"k{i:02}" for i in range(40)]
    table = dressed(codes(300), list(range(20)), pa.uint8(), False)
    for name in names:
        table = table.append_column(name, pa.array(rng.integers(50, size=300)))
    assert len(packed([Digit(name, name, 0, 51) for name in names])) == 4
    _, found = refined(table, tmp_path, clusters="k*")
    same(found, BC3E().fit({n: table[n] for n in VOTES}, {n: table[n] for n in names}))


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv"])
def test_text_files_are_read_as_the_command_line_reads_them(name: str, tmp_path: Path) -> None:
    drawn = codes(400)
    table = dressed(drawn, ["1", "2.0", "3", *map(str, range(4, 20))], pa.string(), True)
    path = tmp_path / name
    separator = "\t" if name.endswith("tsv") else ","
    pc.write_csv(table, path, pc.WriteOptions(delimiter=separator))
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    outcome, found = refined(path, tmp_path, id=None)
    assert outcome.model.classes_.tolist() == [1, 2, 3]
    same(found, in_memory(dressed(drawn, [*range(1, 20)], pa.int64(), True)))
    assert found["row"].to_pylist() == list(range(1, 401))


def test_text_output(tmp_path: Path) -> None:
    table = dressed(codes(200), list(range(20)), pa.uint8(), True)
    _, found = refined(table, tmp_path)
    for name in ("refined.csv", "refined.csv.gz"):
        refine(table, tmp_path / name, votes="v?", clusters="c?", id="id", progress=False)
        read = pc.read_csv(tmp_path / name).sort_by("id")
        assert read.column_names == found.column_names
        np.testing.assert_array_equal(shares(read), np.round(shares(found), 6))
    assert gzip.decompress((tmp_path / "refined.csv.gz").read_bytes())[:3] == b"id,"


def test_rows_are_counted_over_several_files(tmp_path: Path) -> None:
    table = dressed(codes(900), list(range(20)), pa.uint8(), True)
    for i, (first, size) in enumerate([(0, 500), (500, 100), (600, 300)]):
        pq.write_table(table.slice(first, size), tmp_path / f"part_{i}.parquet", row_group_size=90)
    outcome, found = refined(str(tmp_path / "part_*.parquet"), tmp_path, id=None)
    assert found["row"].to_pylist() == list(range(1, 901))
    whole, by_id = refined(table, tmp_path, keep="id", id=None)
    np.testing.assert_array_equal(shares(found), shares(by_id))
    listed, _ = refined([tmp_path / "part_0.parquet", tmp_path / "part_2.parquet"], tmp_path)
    assert (outcome.objects, whole.objects, listed.objects) == (900, 900, 800)


def test_the_order_of_rows_can_be_kept(tmp_path: Path) -> None:
    table = dressed(codes(300_000), list(range(20)), pa.uint8(), False)
    pq.write_table(table, tmp_path / "labels.parquet", row_group_size=10_000)
    orders = {}
    for ordered in (True, False):
        refine(
            tmp_path / "labels.parquet", tmp_path / "out.parquet", votes=VOTES, clusters="c*",
            keep="id", ordered=ordered, overwrite=True, progress=False,
        )  # fmt: skip
        orders[ordered] = pq.read_table(tmp_path / "out.parquet")["id"].to_numpy()
    np.testing.assert_array_equal(orders[True], table["id"].to_numpy())
    np.testing.assert_array_equal(np.sort(orders[False]), table["id"].to_numpy())


def test_a_relation_is_read_once(tmp_path: Path) -> None:
    import duckdb

    table = dressed(codes(300), LETTERS, pa.string(), True)
    connection = duckdb.connect()
    connection.register("labels", table)
    _, found = refined(connection.sql("SELECT * FROM labels WHERE id >= 150"), tmp_path)
    _, sliced = refined(table.slice(50), tmp_path)
    assert found.to_pydict() == sliced.to_pydict()


def test_rows_of_an_arrow_table(tmp_path: Path) -> None:
    table = dressed(codes(300), list(range(20)), pa.uint8(), False)
    _, found = refined(table, tmp_path, id=None)
    _, by_id = refined(table, tmp_path)
    assert found["row"].to_pylist() == list(range(1, 301))
    np.testing.assert_array_equal(shares(found), shares(by_id))


def test_columns_with_awkward_names(tmp_path: Path) -> None:
    table = dressed(codes(200), list(range(20)), pa.uint8(), False)
    awkward = table.rename_columns(['i"d', "v'0", "v 1", "v;2", 'c"0"', "filename", "file_row_number"])
    path = str(tmp_path / "it's [1].parquet")
    pq.write_table(awkward, path)
    chosen = {"votes": "v*", "clusters": ["c*", "file*"]}
    _, found = refined(path, tmp_path, id='i"d', prefix="new ", **chosen)
    assert found.column_names[:2] == ['i"d', "new label"]
    _, by_row = refined(path, tmp_path, id=None, **chosen)
    assert by_row["label"].equals(found["new label"])
    assert by_row["row"].to_pylist() == list(range(1, 201))


def test_importing_the_engines_does_not_load_duckdb() -> None:
    code = "import sys, bc3e, bc3e.engines; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
