"""``adapt`` and ``drift``: categories, gaps, prose, and what is never learned from."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

QUICK = ("--clusterings", "4", "--json")


def mixed(rows: int, shift: float, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return [
        {
            "size": "" if rng.random() < 0.1 else round(float(rng.normal(3 * c + shift)), 3),
            "colour": ("red", "blue")[c] if rng.random() < 0.8 else "green",
            "new": "true" if rng.random() < 0.5 else "false",
            "kind": ("apple", "pear")[c],
        }
        for c in y
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    write(tmp_path / "train.csv", mixed(150, 0.0, 0))
    write(tmp_path / "target.csv", mixed(150, 0.5, 1))
    return tmp_path


ADAPT = ("adapt", "--train", "train.csv", "--target", "target.csv", "--label", "kind")


def test_numbers_categories_and_gaps(call: Any, tables: Path) -> None:
    done = call(*ADAPT, "--truth", "kind", "-o", "out.csv", *QUICK)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["classes"] == ["apple", "pear"]
    assert told["accuracy"] > 0.9


def test_labels_of_the_target_are_never_learned_from(call: Any, tables: Path) -> None:
    assert call(*ADAPT, "-o", "one.csv", *QUICK).code == 0
    turned = [
        row | {"kind": "pear" if row["kind"] == "apple" else "apple"} for row in mixed(150, 0.5, 1)
    ]
    write(tables / "target.csv", turned)
    assert call(*ADAPT, "--truth", "kind", "-o", "two.csv", *QUICK).code == 0
    assert (tables / "one.csv").read_bytes() == (tables / "two.csv").read_bytes()


def test_the_same_table_in_another_format_gives_the_same(call: Any, tables: Path) -> None:
    for part in ("train", "target"):
        with open(tables / f"{part}.csv", newline="") as stream:
            rows = list(csv.DictReader(stream))
        columns = {
            "size": pa.array([float(row["size"]) if row["size"] else None for row in rows]),
            "colour": pa.array([row["colour"] for row in rows]).dictionary_encode(),
            "new": pa.array([row["new"] == "true" for row in rows]),
            "kind": [row["kind"] for row in rows],
        }
        pq.write_table(pa.table(columns), tables / f"{part}.parquet")
    assert call(*ADAPT, "-o", "csv.csv", *QUICK).code == 0
    typed = [part.replace(".csv", ".parquet") for part in ADAPT]
    done = call(*typed, "-o", "parquet.csv", *QUICK)
    assert done.code == 0, done.err
    assert (tables / "csv.csv").read_bytes() == (tables / "parquet.csv").read_bytes()


def test_notes_on_what_looks_odd(call: Any, tables: Path) -> None:
    rows = mixed(150, 0.0, 0)
    rows[3]["kind"] = ""
    write(tables / "train.csv", [{"id": i, **row} for i, row in enumerate(rows)])
    later = mixed(150, 0.5, 1)
    later[5]["colour"] = "mauve"
    write(tables / "target.csv", [{"id": i, **row} for i, row in enumerate(later)])
    done = call(*ADAPT, *QUICK)
    assert done.code == 0
    lines = done.err.splitlines()
    assert len(lines) == 3
    assert "column 'id' is used as a feature; if it is an id, pass --id 'id'" in done.err
    assert "1 rows of train.csv have no label and are left out" in done.err
    assert "column 'colour' of target.csv has 1 values never seen in training" in done.err
    assert "mauve" not in done.err
    assert call(*ADAPT, "--id", "id", "--quiet", "-o", "out.csv").err == ""


def test_drift_of_nothing(call: Any, tables: Path) -> None:
    write(tables / "target.csv", mixed(150, 0.0, 7))
    done = call("drift", *ADAPT[1:], "--fail-on", "drift,new-class,p<0.01", *QUICK)
    assert done.code == 0, done.err
    assert json.loads(done.out)["verdict"] == "no drift"


WORDS = (
    ("engine wheel brake road driver motor", "cars"),
    ("goal match league player ball referee", "sport"),
)


def prose(rows: int, seed: int) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    found = []
    for i in range(rows):
        words, topic = WORDS[i % 2]
        chosen = (
            rng.choice(words.split(), 4).tolist()
            + rng.choice(["the", "a", "of", "and", "on"], 3).tolist()
        )
        found.append({"title": f"{' '.join(chosen)} {rng.integers(1000)}", "topic": topic})
    return found


@pytest.mark.parametrize("extra", [(), ("--text", "title")])
def test_one_column_of_prose(extra: tuple[str, ...], call: Any, tmp_path: Path) -> None:
    write(tmp_path / "train.csv", prose(120, 0))
    write(tmp_path / "target.csv", prose(80, 1))
    done = call(*ADAPT[:-1], "topic", "--truth", "topic", *extra, *QUICK)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["classifiers"] == ["bayes", "logit", "neighbours"]
    assert told["accuracy"] > 0.95
