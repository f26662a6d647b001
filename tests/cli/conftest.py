"""Small tables for the command line: from the real data sets where they are, else generated."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bc3e.cli.main import run

FILES = {
    "pima": "pima.csv.gz",
    "heart": "heart_statlog.csv.gz",
    "german": "german_numer.csv.gz",
    "wine": "wine.csv.gz",
}


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command line in this process, in tmp_path."""
    monkeypatch.chdir(tmp_path)

    def go(*arguments: str) -> Result:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return Result(code, told.out, told.err)

    return go


def features(name: str) -> pa.Table:
    """A data set with a column `label`."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("BC3E_DATA", beside)) / FILES[name]
    if path.is_file():
        return pc.read_csv(path)
    k = 3 if name == "wine" else 2
    X, y = make_classification(300, 8, n_informative=5, n_classes=k, random_state=len(name))
    return pa.table({**{f"x{i}": X[:, i] for i in range(8)}, "label": y})


@dataclass(frozen=True)
class Files:
    """Training table, drifted target and label table of one data set."""

    train: Path
    target: Path
    labels: Path
    n_target: int
    classes: list[int]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[str, Files] = {}

    def build(name: str) -> Files:
        if name not in made:
            made[name] = write_files(name, tmp_path_factory.mktemp(name))
        return made[name]

    return build


def write_files(name: str, home: Path) -> Files:
    table = features(name)
    rng = np.random.default_rng(0)
    order = rng.permutation(table.num_rows)
    half = len(order) // 2
    train, target = table.take(order[:half]), table.take(order[half:])
    names = [column for column in table.column_names if column != "label"]
    X = np.stack([train[column].to_numpy() for column in names], axis=1).astype(float)
    Z = np.stack([target[column].to_numpy() for column in names], axis=1).astype(float)
    Z = Z + rng.normal(0.7, 0.3, Z.shape) * X.std(axis=0)  # the sensors have moved
    moved = pa.table(
        {"id": [f"{name}-{i}" for i in range(len(Z))], **dict(zip(names, Z.T, strict=True))}
    ).append_column("label", target["label"])
    labels = label_table(X, train["label"].to_numpy(), Z, moved)
    result = Files(
        *(home / f"{part}.csv" for part in ("train", "target", "labels")),
        n_target=len(Z),
        classes=sorted(set(table["label"].to_pylist())),
    )
    for path, content in ((result.train, train), (result.target, moved), (result.labels, labels)):
        pc.write_csv(content, path)
    return result


def label_table(X: Any, y: Any, Z: Any, moved: pa.Table) -> pa.Table:
    """Two hard classifiers, a soft one, three clusterings and the truth."""
    columns: dict[str, Any] = {"id": moved["id"]}
    for name, model in (
        ("clf_tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
        ("clf_bayes", GaussianNB()),
    ):
        columns[name] = model.fit(X, y).predict(Z)
    logit = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    shares = logit.predict_proba(Z)
    columns.update({f"logit:{label}": shares[:, i] for i, label in enumerate(logit.classes_)})
    scaled = StandardScaler().fit_transform(Z)
    for k in (3, 5, 8):
        columns[f"clu_{k}"] = KMeans(k, n_init=1, random_state=k).fit_predict(scaled)
    return pa.table({**columns, "y": moved["label"]})


LABELS = """id,clf_a,clf_b,s:cat,s:dog,clu_1,clu_2,y,w
o1,cat,cat,0.9,0.1,0,5,cat,1
o2,cat,dog,0.6,0.4,0,5,cat,1
o3,dog,dog,0.2,0.8,1,6,dog,2
o4,dog,cat,0.3,0.7,1,6,dog,1
o5,dog,dog,0.1,0.9,1,6,dog,1
o6,cat,cat,0.8,0.2,0,5,cat,1
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Six objects in a CSV file."""
    path = tmp_path / "labels.csv"
    path.write_text(LABELS)
    return path
