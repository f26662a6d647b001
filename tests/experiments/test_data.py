"""The registry: files first, then scikit-learn's own, then OpenML; nothing unchecked."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
from sklearn import datasets
from sklearn.utils import Bunch

from bc3e.errors import InputError
from bc3e.experiments import data
from bc3e.experiments.data import OpenML, Source, available, content_digest, load, read

ROWS = "a,b,label\n1,2.5,0\n3,4.5,1\n5,6.5,1\n"
X, Y = np.array([[1.0, 2.5], [3.0, 4.5], [5.0, 6.5]]), np.array([0, 1, 1])


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Source:
    """A data set that is known by its file and by OpenML."""
    monkeypatch.delenv("BC3E_DATA", raising=False)
    source = Source(
        file="toy.csv",
        sha256=hashlib.sha256(ROWS.encode()).hexdigest(),
        origin="nowhere.example",
        openml=OpenML("toy", 1, {"no": 0, "yes": 1}, content_digest(X, Y)),
    )
    monkeypatch.setattr(data, "SOURCES", {**data.SOURCES, "toy": source})
    return source


def openml(monkeypatch: pytest.MonkeyPatch, **found: Any) -> list[tuple[Any, ...]]:
    """Let OpenML answer with this; the list tells what it was asked."""
    asked: list[tuple[Any, ...]] = []

    def fetch(name: str, **options: Any) -> Bunch:
        asked.append((name, options["version"]))
        if "error" in found:
            raise found["error"]
        return Bunch(**found)

    monkeypatch.setattr(datasets, "fetch_openml", fetch)
    return asked


def test_a_file_comes_first(toy: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = openml(monkeypatch, error=AssertionError("asked for what is here"))
    (tmp_path / "toy.csv").write_text(ROWS)
    for where in (tmp_path, None):
        monkeypatch.setenv("BC3E_DATA", str(tmp_path))
        features, labels = load("toy", where)
        np.testing.assert_array_equal(features, X)
        np.testing.assert_array_equal(labels, Y)
    available("toy")
    assert not asked


def test_a_file_that_was_changed_is_refused(toy: Source, tmp_path: Path) -> None:
    path = tmp_path / "toy.csv"
    path.write_text(ROWS)
    load("toy", tmp_path)
    path.write_text(ROWS.replace("6.5", "6.6"))
    for look in (load, read, available):
        with pytest.raises(InputError, match=r"sha256 of .*toy.csv is .* get the file again"):
            look("toy", tmp_path)


def test_openml_comes_last_and_is_checked(toy: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    order = [2, 0, 1]
    names = np.array(["no", "yes"])[Y]
    asked = openml(monkeypatch, data=X[order], target=names[order])
    features, labels = load("toy")
    assert asked == [("toy", 1)]
    np.testing.assert_array_equal(features, X[order])
    np.testing.assert_array_equal(labels, Y[order])
    openml(monkeypatch, data=X + 1, target=names)
    with pytest.raises(InputError, match=r"from OpenML has sha256 .* another version\. .*--data"):
        load("toy")


@pytest.mark.parametrize(
    "error", [URLError("no network"), ValueError("no such data set"), OSError("md5")]
)
def test_without_file_and_network_the_error_says_what_to_do(
    toy: Source, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    openml(monkeypatch, error=error)
    with pytest.raises(
        InputError, match=r"OpenML cannot be read .*toy\.csv.*BC3E_DATA.*nowhere\.example"
    ):
        load("toy")


def test_what_is_nowhere_else_must_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BC3E_DATA", raising=False)
    for look in (load, read, available):
        with pytest.raises(
            InputError, match=r"no data folder for german_numer.csv.gz.*--data or BC3E_DATA"
        ):
            look("german")
        with pytest.raises(InputError, match=r"has no german_numer\.csv\.gz"):
            look("german", tmp_path)
    with pytest.raises(InputError, match=r"'gold'.*pima, heart"):
        load("gold")


def test_scikit_learn_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BC3E_DATA", raising=False)
    for name in ("wine", "digits", "moons", "circles"):
        available(name)
        features, labels = load(name, random_state=4)
        assert len(features) == len(labels) > 100
    one, other = load("moons", random_state=1)[0], load("moons", random_state=2)[0]
    assert not np.array_equal(one, other)


def test_the_known_files_are_what_their_names_say(data_dir: Path) -> None:
    for name, source in data.SOURCES.items():
        if source.file:
            assert read(name, data_dir).num_rows > 100
    for name in ("pima", "heart"):
        remote = data.SOURCES[name].openml
        assert remote is not None
        assert content_digest(*load(name, data_dir)) == remote.sha256
    features, labels = load("wine", data_dir)
    own, own_labels = datasets.load_wine(return_X_y=True)
    np.testing.assert_array_equal(features, own)
    np.testing.assert_array_equal(labels - 1, own_labels)
