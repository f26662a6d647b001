"""Formats, encodings and the columns of the output: what goes in comes out."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import LABELS

VOTES = ("--votes", "clf_*,s:*", "--clusters", "clu_*", "--id", "id")
ROWS = list(csv.DictReader(io.StringIO(LABELS)))


def typed() -> pa.Table:
    return pc.read_csv(pa.BufferReader(LABELS.encode()))


def write(path: Path, content: str = LABELS) -> None:
    """LABELS in the format of the file name."""
    table = pc.read_csv(pa.BufferReader(content.encode()))
    kind = path.name.split(".", 1)[1]
    if kind in ("csv", "txt"):
        path.write_text(content)
    elif kind == "tsv":
        path.write_text(content.replace(",", "\t"))
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(content.encode()))
    elif kind == "parquet":
        pq.write_table(table, path)
    elif kind in ("arrow", "feather"):
        pf.write_feather(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of an output file, all as text."""
    kind = path.name.split(".", 1)[1]
    if kind == "parquet":
        rows = pq.read_table(path).to_pylist()
    elif kind in ("arrow", "feather"):
        rows = pf.read_table(path).to_pylist()
    elif kind == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        data = path.read_bytes()
        text = gzip.decompress(data).decode() if kind.endswith("gz") else data.decode()
        rows = list(csv.DictReader(io.StringIO(text), delimiter="\t" if kind == "tsv" else ","))
    return rows


@pytest.fixture
def expected(call: Any, small: Path, tmp_path: Path) -> list[dict[str, str]]:
    assert call("refine", small, *VOTES, "-o", "expected.csv").code == 0
    return read(tmp_path / "expected.csv")


KINDS = ["csv", "tsv", "csv.gz", "parquet", "feather", "arrow", "jsonl"]


@pytest.mark.parametrize("kind", [*KINDS, "txt"])
def test_every_input_format_gives_the_same(kind: str, call: Any, tmp_path: Path, expected: Any) -> None:
    write(tmp_path / f"in.{kind}")
    assert call("refine", f"in.{kind}", *VOTES, "-o", "out.csv").code == 0
    assert read(tmp_path / "out.csv") == expected


@pytest.mark.parametrize("kind", KINDS)
def test_every_output_format_holds_the_same(
    kind: str, call: Any, small: Path, tmp_path: Path, expected: Any
) -> None:
    assert call("refine", small, *VOTES, "-o", f"out.{kind}").code == 0
    found = read(tmp_path / f"out.{kind}")
    for row, wanted in zip(found, expected, strict=True):
        assert list(row) == list(wanted)
        assert (row["id"], row["label"]) == (wanted["id"], wanted["label"])
        assert str(row["changed"]).lower() == wanted["changed"]
        for name in ("confidence", "p_cat", "p_dog", "entropy"):
            assert float(row[name]) == pytest.approx(float(wanted[name]), abs=1e-6)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (("\ufeff" + LABELS).encode(), ()),
        (LABELS.replace("\n", "\r\n").encode(), ()),
        (LABELS.encode("utf-16"), ("--encoding", "utf-16")),
        (LABELS.replace(",", ";").encode(), ()),
        (LABELS.replace(",", "|").encode(), ("--delimiter", "|")),
        (LABELS.replace(",", ";").replace("0.", "0,").encode(), ("--decimal", ",")),
        (("\n\n" + LABELS + "\n\n").encode(), ()),
        (LABELS.rstrip("\n").encode(), ()),
    ],
    ids=["BOM", "CRLF", "UTF-16", "semicolons", "bars", "decimal comma", "blank lines", "no last newline"],
)  # fmt: skip
def test_text_as_people_have_it(
    content: bytes, options: tuple[str, ...], call: Any, tmp_path: Path, expected: Any
) -> None:
    (tmp_path / "in.csv").write_bytes(content)
    assert call("refine", "in.csv", *VOTES, *options, "-o", "out.csv").code == 0
    assert read(tmp_path / "out.csv") == expected


def test_latin_1_with_its_encoding(call: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(LABELS.replace("cat", "chât").encode("latin-1"))
    assert call("refine", "in.csv", *VOTES, "--encoding", "latin-1", "-o", "out.csv").code == 0
    assert {row["label"] for row in read(tmp_path / "out.csv")} == {"chât", "dog"}


def test_quoted_newlines_commas_and_quotes_survive(call: Any, tmp_path: Path) -> None:
    odd = 'line one\nline "two", end'
    quoted = '"' + odd.replace('"', '""') + '"'
    (tmp_path / "in.csv").write_text(
        LABELS.replace("o3", quoted).replace("s:cat", '"s:ca,t"').replace(",cat", ',"ca,t"')
    )
    assert call("refine", "in.csv", *VOTES, "-o", "out.csv").code == 0
    rows = read(tmp_path / "out.csv")
    assert rows[2]["id"] == odd
    assert {row["label"] for row in rows} == {"ca,t", "dog"}
    assert "p_ca,t" in rows[0]


@pytest.mark.parametrize(
    "ids", ["007 08 9 10 11 12", "NA null 1e5 2011-01-01 -0 +1", "1.10 1.1 true 0x1 ' \u00e9"]
)
def test_ids_are_kept_to_the_letter(ids: str, call: Any, tmp_path: Path) -> None:
    names = ids.split()
    content = LABELS
    for i, name in enumerate(names, 1):
        content = content.replace(f"o{i},", f"{name},")
    (tmp_path / "in.csv").write_text(content)
    assert call("refine", "in.csv", *VOTES, "-o", "out.csv").code == 0
    assert [row["id"] for row in read(tmp_path / "out.csv")] == names


def test_dates_in_json_stay_text(call: Any, tmp_path: Path) -> None:
    rows = [
        {**row, "id": f"2011-01-0{i}", "s:cat": float(row["s:cat"]), "s:dog": float(row["s:dog"])}
        for i, row in enumerate(ROWS, 1)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("refine", "in.jsonl", *VOTES, "-o", "out.csv").code == 0
    assert [row["id"] for row in read(tmp_path / "out.csv")] == [row["id"] for row in rows]


def test_without_an_id_rows_are_counted(call: Any, small: Path, tmp_path: Path) -> None:
    assert call("refine", small, "--votes", "clf_*", "--clusters", "clu_*", "-o", "out.csv").code == 0
    assert [row["row"] for row in read(tmp_path / "out.csv")] == ["1", "2", "3", "4", "5", "6"]


def test_keep_and_prefix(call: Any, small: Path, tmp_path: Path) -> None:
    options = ("--keep", "y,w", "--prefix", "new_", "-o", "out.csv")
    assert call("refine", small, *VOTES, *options).code == 0
    rows = read(tmp_path / "out.csv")
    assert list(rows[0])[:5] == ["id", "y", "w", "new_label", "new_confidence"]
    assert [row["w"] for row in rows] == [row["w"] for row in ROWS]


def test_changed_is_against_the_soft_vote(call: Any, small: Path, tmp_path: Path) -> None:
    options = (
        "--votes",
        "clf_a,clf_b",
        "--clusters",
        "clu_*",
        "--evidence-weight",
        "9",
        "-o",
        "out.csv",
    )
    assert call("refine", small, *options).code == 0
    for row, source in zip(read(tmp_path / "out.csv"), ROWS, strict=True):
        votes = [source["clf_a"], source["clf_b"]]
        soft = "cat" if votes.count("cat") >= 1 else "dog"  # of equals the first
        assert row["changed"] == str(row["label"] != soft).lower()


def test_missing_votes(call: Any, tmp_path: Path) -> None:
    content = LABELS.replace("o1,cat,cat", "o1,NA,").replace("o3,dog", "o3,n/k")
    (tmp_path / "in.csv").write_text(content)
    options = ("--votes", "clf_*", "--clusters", "clu_*", "--missing", "NA,n/k", "-o", "out.csv")
    assert call("refine", "in.csv", *options).code == 0
    rows = read(tmp_path / "out.csv")
    assert rows[0]["changed"] == ""  # nobody voted, so nothing was changed
    assert set(rows[0]) >= {"p_cat", "p_dog"}
    assert "p_n/k" not in rows[0]


def test_whole_numbers_as_pandas_writes_them(call: Any, tmp_path: Path) -> None:
    """A column of whole numbers with a gap has become 1.0, 2.0 on its way."""
    (tmp_path / "in.csv").write_text("a,b,k\n1,1.0,0\n2,2.0,1\n1,,0\n2,2.0,1\n10,10.0,1\n")
    assert call("refine", "in.csv", "--votes", "a,b", "--clusters", "k", "-o", "out.csv").code == 0
    assert list(read(tmp_path / "out.csv")[0])[2:6] == ["confidence", "p_1", "p_2", "p_10"]


def test_codes_with_zeros_in_front_are_text(call: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b,k\n01,01,0\n02,02,1\n01,02,0\n")
    assert call("refine", "in.csv", "--votes", "a,b", "--clusters", "k", "-o", "out.csv").code == 0
    assert {row["label"] for row in read(tmp_path / "out.csv")} <= {"01", "02"}


EVIL = "=HYPERLINK(0)"


@pytest.mark.parametrize("escape", [False, True])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_formulas_are_escaped_in_text_tables_on_request(
    kind: str, escape: bool, call: Any, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text(
        LABELS.replace("cat", EVIL).replace("o2,", "@o2,").replace("o3,", "-3,")
    )
    options = ["--escape-formulas"] if escape else []
    assert call("refine", "in.csv", *VOTES, *options, "-o", f"out.{kind}").code == 0
    rows = read(tmp_path / f"out.{kind}")
    mark = "'" if escape and kind in ("csv", "tsv") else ""
    assert {row["label"] for row in rows} == {mark + EVIL, "dog"}
    assert rows[1]["id"] == f"{mark}@o2"
    assert rows[2]["id"] == "-3"  # a number is no formula


def test_typed_tables_may_hold_any_kind_of_label(call: Any, tmp_path: Path) -> None:
    table = pa.table(
        {
            "a": pa.array(["x", "y", None, "y"]).dictionary_encode(),
            "b": pa.array(["x", "y", "x", "x"], pa.large_string()),
            "k": pa.array([0, 1, 0, 1], pa.uint8()),
            "f": pa.array([0.0, 1.0, float("nan"), 1.0]),
            "t": pa.array([True, False, True, None]),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    done = call("refine", "in.parquet", "--votes", "a,b", "--clusters", "k,f,t", "-o", "out.csv")
    assert done.code == 0, done.err
    assert call("refine", "in.parquet", "--votes", "t", "--clusters", "k", "-o", "bool.csv").code == 0
    assert {row["label"] for row in read(tmp_path / "bool.csv")} <= {"true", "false"}
    pq.write_table(pa.table({"a": [[1], [2]], "k": [0, 1]}), tmp_path / "nested.parquet")
    done = call("refine", "nested.parquet", "--votes", "a", "--clusters", "k")
    assert done.code == 2
    assert "labels of type list" in done.err


def test_soft_clusterings(call: Any, tmp_path: Path) -> None:
    content = "a,k:1,k:2\n" + "x,0.9,0.1\ny,0.2,0.8\n" * 5
    (tmp_path / "in.csv").write_text(content)
    done = call("refine", "in.csv", "--votes", "a", "--clusters", "k:*", "--json")
    assert done.code == 0
    assert list(json.loads(done.out)["clusterings"]) == ["k"]


def test_minus_one_is_missing_unless_it_is_a_class(call: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b,k\n-1,-1,0\n1,1,1\n-1,1,0\n0,0,1\n")
    assert json.loads(call("refine", "in.csv", "--votes", "a,b", "--clusters", "k", "--json").out)[
        "classes"
    ] == [0, 1]
    with_class = call(
        "refine", "in.csv", "--votes", "a,b", "--clusters", "k", "--json", "--classes=-1,0,1"
    )
    assert json.loads(with_class.out)["classes"] == [-1, 0, 1]


def test_a_terminal_is_safe_from_labels(call: Any, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(LABELS.replace("cat", "\x1b[31mred").replace("s:", "q:"))
    done = call("refine", "in.csv", "--votes", "clf_*", "--clusters", "clu_*")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "x1b[31mred" in done.out
