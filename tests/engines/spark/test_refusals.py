"""What cannot be done is said in one line, with what to do about it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyspark
import pytest

import bc3e
from bc3e.engines import spark as engine
from bc3e.engines.spark.sessions import EngineError, java_version

ASK = "from bc3e.engines import spark as engine\nengine.session('local[1]')\n"


def asked(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python process of its own that must fail."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    run = subprocess.run(
        [sys.executable, "-c", code], env=kept | environment, capture_output=True, text=True
    )
    assert run.returncode == 1, run.stdout + run.stderr
    return run


def last_line(run: subprocess.CompletedProcess[str]) -> str:
    return run.stderr.strip().splitlines()[-1]


def test_no_java_at_all() -> None:
    said = last_line(asked(ASK, PATH=""))
    assert "EngineError: Java was not found: no JAVA_HOME, no java on the PATH." in said
    assert "Install Java 17" in said


def test_java_home_leads_nowhere(tmp_path: Path) -> None:
    said = last_line(asked(ASK, PATH=os.environ["PATH"], JAVA_HOME=str(tmp_path)))
    assert f"JAVA_HOME is {tmp_path}, but" in said
    assert "does not run. Install Java 17" in said


def test_java_is_too_old(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    said = last_line(asked(ASK, PATH=str(tmp_path)))
    assert f"{java} is Java 11; Spark needs 17 or newer." in said


def test_versions_of_java() -> None:
    assert java_version('openjdk version "21" 2023-09-19') == 21
    assert java_version("no version at all") is None


def test_no_pyspark() -> None:
    hidden = "import importlib.util as u\nfind = u.find_spec\n"
    hidden += "u.find_spec = lambda name, *rest: None if name == 'pyspark' else find(name, *rest)\n"
    said = last_line(asked(hidden + ASK, PATH=os.environ["PATH"]))
    assert said.endswith('PySpark is not installed. Install it: pip install "bc3e[spark]"')


def test_importing_bc3e_loads_no_spark() -> None:
    code = "import sys, bc3e, bc3e.engines.spark\nsys.exit(any(m.split('.')[0] in ('pyspark', 'py4j') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    rows = [(i, "ab"[i % 2], i % 3, [0.5, 0.5], 1.5, None) for i in range(12)]
    return spark.createDataFrame(
        rows, "id long, clf string, clu int, soft array<double>, half double, day date"
    )


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("no such column", {"votes": ["clif"]}, "votes: no column of the frame matches 'clif'. Did you mean 'clf'?"),
    ("no column at all", {"votes": []}, "votes: neither votes nor clusters. Name at least one column."),
    ("a text for a list", {"votes": "clf"}, "votes: a text. Pass a list of names: ['clf']."),
    ("both", {"votes": ["clf"], "clusters": ["clf"]}, "clusters: column 'clf' is also in votes."),
    ("a date", {"votes": ["day"]}, "votes, column 'day': type date. Labels are whole numbers, text or booleans"),
    ("no whole numbers", {"votes": ["half"]}, "votes, column 'half', row 0: 1.5 is not a whole number"),
    ("no limit", {"votes": ["clf"], "pattern_limit": 0}, "pattern_limit: 0. Pass a whole number"),
    ("a bad model", {"votes": ["clf"], "model": bc3e.BC3E(tol=-1.0)}, "tol: -1.0."),
    ("no class in common", {"votes": ["clf"], "model": bc3e.BC3E(classes=["a"])}, "unknown class 'b'; the classes are 'a'."),
    ("a start that needs all", {"votes": ["clf", "soft"], "clusters": ["clu"], "model": bc3e.BC3E(init="diffusion")},
     "init: the start 'diffusion' needs all objects in one place"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_refused(frame: Any, case: tuple[str, dict[str, Any], str]) -> None:
    _, arguments, words = case
    with pytest.raises(bc3e.InputError) as caught:
        engine.refine(frame, **arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_frame_of_another_library(frame: Any) -> None:
    with pytest.raises(
        TypeError, match=r"frame: a pandas\.(\S+\.)?DataFrame\. Pass a pyspark\.sql\.DataFrame"
    ):
        engine.refine(pd.DataFrame({"clf": [1]}), ["clf"])


def test_a_frame_of_spark_connect() -> None:
    """A stand-in: the real class cannot be imported without a client of Connect's."""
    name = "pyspark.sql.connect.dataframe"
    source = Path(pyspark.__file__).parents[1].joinpath(*name.split(".")).with_suffix(".py")
    made_there = [
        node.name for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef)
    ]
    assert "DataFrame" in made_there
    stand_in = type("DataFrame", (), {"__module__": name})
    with pytest.raises(
        bc3e.InputTypeError,
        match=r"^frame: a frame of Spark Connect\. Use a session .* SPARK_REMOTE unset",
    ):
        engine.refine(stand_in(), ["clf"])


def test_no_rows(frame: Any) -> None:
    for votes in (["clf"], ["soft"]):
        with pytest.raises(bc3e.InputError, match="frame: no rows"):
            engine.refine(frame.where("id < 0"), votes)


def test_a_name_twice(frame: Any) -> None:
    with pytest.raises(bc3e.InputError, match=r"two columns would be called 'label'.*prefix='refined_'"):
        engine.refine(frame.withColumnRenamed("id", "Label"), ["clf"])
    with pytest.raises(bc3e.InputError, match="frame: two columns are called 'clf'"):
        engine.refine(frame.select("clf", "clf"), ["clf"])


def test_too_many_labels(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.range(5000).selectExpr("id % 2 as clf", "id as clu")
    monkeypatch.setattr("bc3e.engines.spark.refining.DISTINCT", 1000)
    for limit in (100, 10_000):
        with pytest.raises(
            bc3e.InputError, match=r"column 'clu': about .* distinct labels, at most 1,000"
        ):
            engine.refine(frame, ["clf"], ["clu"], pattern_limit=limit)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0.5, 0.6], "probabilities [0.5, 0.6] that do not sum to 1"),
        ([0.5], "arrays of 2 and of 1 numbers"),
        ([None, 1.0], "probabilities that are NaN in part"),
    ],
)
def test_bad_probabilities_are_found_where_they_are(spark: Any, row: list[Any], words: str) -> None:
    rows = [([0.5, 0.5],)] * 9 + [(row,)]
    frame = spark.createDataFrame(rows, "soft array<double>").repartition(1)
    with pytest.raises(bc3e.InputError, match="column 'soft'") as caught:
        engine.refine(frame, ["soft"])
    assert words in str(caught.value)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_workers_without_bc3e(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import PythonException

    def fails(*_: Any) -> None:
        raise PythonException("...\nModuleNotFoundError: No module named 'bc3e.engines'\n")

    monkeypatch.setattr("bc3e.engines.spark.refining._distributed", fails)
    frame = spark.createDataFrame([([0.5, 0.5],)], "soft array<double>")
    with pytest.raises(EngineError, match=r"The Python of the workers has no bc3e. Install bc3e there"):
        engine.refine(frame, ["soft"])
