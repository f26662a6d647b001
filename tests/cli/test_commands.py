"""Every command as its own process, on files as users have them."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

SCRIPT = Path(sys.executable).with_name("bc3e")


def process(
    *arguments: Any, cwd: Path, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(SCRIPT), *(str(a) for a in arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=300,
        env=os.environ | {"COLUMNS": "120"},
    )


LABEL_OPTIONS = ("--votes", "clf_*,logit:*", "--clusters", "clu_*", "--id", "id")


def test_refine(files: Any, tmp_path: Path) -> None:
    wine = files("wine")
    done = process(
        "refine", wine.labels, *LABEL_OPTIONS, "--truth", "y", "-o", "refined.parquet", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Written to refined.parquet." in done.stdout
    table = pq.read_table(tmp_path / "refined.parquet")
    shares = [f"p_{label}" for label in wine.classes]
    assert table.column_names == ["id", "label", "confidence", *shares, "changed", "entropy"]
    assert table.num_rows == wine.n_target
    p = np.stack([table[name].to_numpy() for name in shares], axis=1)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(table["confidence"].to_numpy(), p.max(axis=1))
    np.testing.assert_allclose(table["entropy"].to_numpy(), -(p * np.log(p)).sum(axis=1))
    assert table["label"].to_pylist() == [wine.classes[i] for i in p.argmax(axis=1)]
    assert os.listdir(tmp_path) == ["refined.parquet"]


def test_refine_with_a_report(files: Any, tmp_path: Path) -> None:
    wine = files("wine")
    done = process(
        "refine", wine.labels, *LABEL_OPTIONS, "--truth", "y", "-o", "refined.csv", "--report", "page.html",
        "--report-json", "page.json", cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    page, summary = (
        (tmp_path / "page.html").read_text(),
        json.loads((tmp_path / "page.json").read_text()),
    )
    assert summary["n_objects"] == wine.n_target
    assert summary["verdict"]["sentence"] in page
    digest = hashlib.sha256(wine.labels.read_bytes()).hexdigest()
    assert digest in page  # the input can be told from another one
    assert "--report-json" in page  # and the run typed again
    assert len(page) < 1_000_000


def test_adapt_with_a_report(files: Any, tmp_path: Path) -> None:
    pima = files("pima")
    done = process(
        "adapt", "--train", pima.train, "--target", pima.target, "--label", "label", "--truth", "label",
        "--id", "id", "-o", "refined.csv", "--report", "page.html", "--quiet", cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    page = (tmp_path / "page.html").read_text()
    assert "rift (p = " in page  # the verdict on drift is part of it
    assert sorted(os.listdir(tmp_path)) == ["page.html", "refined.csv"]


def test_refine_reads_standard_input_and_writes_standard_output(files: Any, tmp_path: Path) -> None:
    content = files("heart").labels.read_bytes()
    done = process("refine", "-", *LABEL_OPTIONS, "-o", "-", "--quiet", cwd=tmp_path, stdin=content)
    assert (done.returncode, done.stderr) == (0, b"")
    rows = list(csv.DictReader(done.stdout.decode().splitlines()))
    assert len(rows) == files("heart").n_target
    assert rows[0]["id"] == "heart-0"
    assert not os.listdir(tmp_path)


def test_adapt(files: Any, tmp_path: Path) -> None:
    pima = files("pima")
    done = process(
        "adapt", "--train", pima.train, "--target", pima.target, "--label", "label", "--truth", "label",
        "--id", "id", "-o", "refined.csv", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    assert told["objects"] == pima.n_target
    assert told["classifiers"] == ["forest", "logit", "discriminant"]
    assert told["drift"]["verdict"] != "unknown"
    with open(tmp_path / "refined.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [f"pima-{i}" for i in range(pima.n_target)]
    changed = sum(row["changed"] == "true" for row in rows) / len(rows)
    assert changed == pytest.approx(told["changed"])
    with open(pima.target, newline="") as stream:
        truth = [row["label"] for row in csv.DictReader(stream)]
    right = np.mean([row["label"] == label for row, label in zip(rows, truth, strict=True)])
    assert right == pytest.approx(told["accuracy"])


def test_compare(files: Any, tmp_path: Path) -> None:
    heart = files("heart")
    done = process(
        "compare", heart.labels, *LABEL_OPTIONS, "--truth", "y", "--methods", "softvote,BC3E",
        "--bootstrap", "50", "-o", "scores.csv", cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert "best single classifier" in done.stdout.decode()
    with open(tmp_path / "scores.csv", newline="") as stream:
        rows = {row["method"]: row for row in csv.DictReader(stream)}
    assert set(rows) == {"SoftVote", "BC3E", "C3E-Ideal", "best single classifier"}
    assert 0.4 < float(rows["BC3E"]["accuracy"]) <= 1


def test_drift_fails_on_drift(files: Any, tmp_path: Path) -> None:
    german = files("german")
    done = process(
        "drift", "--train", german.train, "--target", german.target, "--label", "label", "--id", "id",
        "--fail-on", "drift", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == b"bc3e drift: --fail-on: drift holds.\n"
    assert b"Drift (p = " in done.stdout
    assert not os.listdir(tmp_path)


def test_validate(files: Any, tmp_path: Path) -> None:
    done = process("validate", files("wine").labels, *LABEL_OPTIONS, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    assert told["valid"] is True
    assert told["classifiers"] == ["clf_tree", "clf_bayes", "logit"]
    assert told["objects"] == files("wine").n_target


def test_demo_writes_tables_that_the_other_commands_take(tmp_path: Path) -> None:
    done = process("demo", "--write", ".", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(os.listdir(tmp_path)) == ["digits-labels.csv", "digits-target.csv", "digits-train.csv"]
    refine = next(line for line in done.stdout.decode().splitlines() if "bc3e refine" in line)
    arguments = refine.replace("'", "").split()[1:]
    again = process(*arguments, "--json", cwd=tmp_path)
    assert again.returncode == 0
    assert json.loads(again.stdout)["gain"] > 0.2  # what the README promises of the demo


def test_help_is_light() -> None:
    """Neither numpy nor anything heavier is imported to show a help page."""
    script = (
        "import sys; from bc3e.cli.main import run; code = run(['refine', '--help']);"
        "heavy = {'numpy', 'pyarrow', 'duckdb', 'sklearn', 'numba', 'pandas', 'matplotlib'} & set(sys.modules);"
        "assert not heavy, heavy; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Examples" in done.stdout
    assert "--escape-formulas" in done.stdout


def test_version() -> None:
    done = process("--version", cwd=Path.cwd())
    assert (done.returncode, done.stdout) == (0, b"bc3e 0.1.0\n")
