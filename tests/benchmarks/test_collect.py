"""Data sets are read out of packages as they are, and stored as the reserve reads them."""

from __future__ import annotations

import bz2
import gzip
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from benchmarks.accuracy import cases
from benchmarks.accuracy.collect import FEWEST, LOCK, collect, read_series
from benchmarks.accuracy.public_sources import SOURCES, Source
from benchmarks.accuracy.reserve import _templates
from benchmarks.accuracy.stored import read, stored

N = 400


@pytest.fixture
def package(tmp_path):
    """A package with a table in every format."""
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=N)
    size = kind + rng.standard_normal(N) / 4
    size[5] = np.nan
    table = pd.DataFrame(
        {"id": [f"n{i}" for i in range(N)], "size": size, "colour": kind % 2, "year": range(N)}
    )
    table["colour"] = table["colour"].map({0: "red", 1: "blue"})
    table["kind"] = np.array(["a", "b", "c"])[kind]
    table.loc[:2, "kind"] = "rare"
    table["said"] = [f"word{k} and  number {i // 2}" for i, k in enumerate(kind)]
    keel = "@relation r\n@attribute size real\n@data\n"
    keel += "".join(f"{'?' if np.isnan(s) else s}, {k}\n" for s, k in zip(size, kind, strict=True))
    tab = table[["said", "kind"]]
    tab = pd.concat([pd.DataFrame({"said": ["string", "meta"], "kind": ["discrete", "class"]}), tab])
    table.to_parquet(tmp_path / "table.parquet")
    with ZipFile(tmp_path / "made-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("made/table.dat", keel)
        archive.writestr("made/table.csv", table.to_csv(sep=";", index=False))
        archive.writestr("made/table.csv.gz", gzip.compress(table.to_csv(index=False).encode()))
        archive.writestr("made/table.csv.bz2", bz2.compress(table.to_csv(index=False).encode()))
        archive.writestr("made/early.csv", table[:300].to_csv(index=False))
        archive.writestr("made/late.csv", table[300:].to_csv(index=False))
        archive.writestr("made/texts.tab", tab.to_csv(sep="\t", index=False))
        archive.write(tmp_path / "table.parquet", "made/table.parquet")
    return {"made": tmp_path / "made-1.0-py3-none-any.whl"}


def test_every_format_is_read(package, tmp_path, monkeypatch):
    folder = tmp_path / "reserve"
    features = {"target": "kind", "drop": ("said",), "later": ("year", 300)}
    tab = {"sep": "\t", "skiprows": [1, 2]}
    sources = [
        Source("keel", "made", "made/table.dat"),
        Source("csv", "made", "made/table.csv", reading={"sep": ";"}, **features),
        Source("parquet", "made", "made/table.parquet", **features),
        Source("gz", "made", "made/table.csv.gz", **features),
        Source("bz2", "made", "made/table.csv.bz2", **features),
        Source("parts", "made", "made/early.csv", more="made/late.csv", **features),
        Source("texts", "made", "made/texts.tab", "kind", text="said", reading=tab),
        Source("nothing", "made", "made/table.csv", "id", reading={"sep": ";"}),
    ]
    assert collect(package, folder, sources) == [source.name for source in sources[:-1]]
    monkeypatch.setenv("BC3E_RESERVE", str(folder))
    read.cache_clear()
    X, y, domain = read("keel")
    assert X.shape == (N, 1)
    assert np.isfinite(X).all()
    assert domain is None
    for name in ("csv", "parquet", "gz", "bz2", "parts"):
        X, y, domain = read(name)
        assert X.shape == (N - 3, 3)  # size, red, blue: no name, no year
        assert domain.tolist() == [0] * 297 + [1] * 100
        assert np.unique(y).tolist() == [0, 1, 2]
    assert (X[:, 1] + X[:, 2] == 1).all()
    texts, y, _ = read("texts")
    assert len(texts) == len(set(texts)) >= FEWEST
    assert all(
        text == f"word{label} and number {text.split()[-1]}"
        for text, label in zip(texts, y, strict=True)
    )
    read.cache_clear()


def test_series_are_stretched():
    content = b"@problemName made\n@classLabel true up down\n@DATA\n0,1,2:5,5:up\n2,1,0,-1,-2:0,4:down\n"
    table = read_series(content, points=3)
    assert table.to_numpy().tolist() == [[0, 1, 2, 5, 5, 5, "up"], [2, 0, -2, 0, 2, 4, "down"]]


def test_series_are_stored(tmp_path):
    def series(first):
        lines = (f"{i % 3},{i % 3 + i / N}:{'abc'[i % 3]}" for i in range(first, first + N // 2))
        return "@data\n" + "\n".join(lines) + "\n"

    path = tmp_path / "made-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        archive.writestr("made/made_TRAIN.ts", series(0))
        archive.writestr("made/made_TEST.ts", series(N // 2))
    reading = {"points": 5}
    source = Source("series", "made", "made/made_TRAIN.ts", more="made/made_TEST.ts", reading=reading)
    assert collect({"made": path}, tmp_path, [source]) == ["series"]
    with np.load(tmp_path / "series.npz") as found:
        assert found["X"].shape == (N, 5)
        assert found["y"].tolist() == [i % 3 for i in range(N)]


def test_target_classes_and_texts_are_chosen(package, tmp_path):
    options = {"reading": {"sep": ";"}, "drop": ("said", "id", "year")}
    sources = [
        Source("red", "made", "made/table.csv", "kind", among=("colour", "red green"), **options),
        Source("two", "made", "made/table.csv", "kind", classes=2, **options),
        Source("long", "made", "made/texts.tab", "kind", text="said", shortest=len("word0 and number 10"),
               reading={"sep": "\t", "skiprows": [1, 2]}),
    ]  # fmt: skip
    assert collect(package, tmp_path, sources) == ["red", "two", "long"]
    with np.load(tmp_path / "red.npz") as found:
        assert found["X"].shape == (N - 3, 1)
        assert np.array_equal(found["domain"] == 1, found["y"] % 2 == 0)
    with np.load(tmp_path / "two.npz") as found, np.load(tmp_path / "red.npz") as every:
        assert sorted(np.bincount(found["y"])) == sorted(np.bincount(every["y"]))[1:]
    with np.load(tmp_path / "long.npz") as found:
        numbers = [int(str(text).split()[-1]) for text in found["X"]]
        assert min(numbers) == 10


def test_kinds_of_the_reserve(package, tmp_path, monkeypatch):
    monkeypatch.setenv("BC3E_RESERVE", str(tmp_path / "reserve"))
    collect(package, tmp_path / "reserve", [Source("keel", "made", "made/table.dat")])
    read.cache_clear()
    found = cases.specs("reserve")
    assert len(found) >= 12
    for kind in ("ordinary", "moved", "sensors", "other"):
        assert len(cases.specs("reserve", tags=[kind])) >= 1
    assert all(spec.tags & {"moved", "sensors"} for spec in found if "drift" in spec.tags)
    before = cases.cached_file(found[0])
    aged = cases.specs("reserve", tags=["sensors"])[0]
    still = cases.domains(aged)
    options = tuple((key, "" if key == "drift" else value) for key, value in aged.options)
    as_it_was = cases.domains(type(aged)(**{**vars(aged), "options": options}))
    assert np.array_equal(still.train, as_it_was.train)
    assert np.array_equal(still.truth, as_it_was.truth)
    assert not np.array_equal(still.target, as_it_was.target)
    X, y, _ = read("keel")
    np.savez(tmp_path / "reserve" / "keel.npz", X=X + 1, y=y, domain=np.arange(len(y)) % 2)
    assert cases.cached_file(found[0]) != before  # another set of the same name
    for cached in (read, _templates):
        cached.cache_clear()
    found = cases.specs("reserve")
    assert all("drift" in spec.tags for spec in found)
    assert all(spec.tags & {"natural", "sensors", "other"} for spec in found)
    for cached in (read, _templates):
        cached.cache_clear()


def test_rare_features_have_halves_too(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.random((N, 8)) < 0.1).astype(float)
    np.savez(tmp_path / "rare.npz", X=X, y=np.arange(N) % 3)
    monkeypatch.setenv("BC3E_RESERVE", str(tmp_path))
    read.cache_clear()
    found = stored(rng, name="rare", per_class=10, size=100, drift="feature")
    assert len(found.target) == 100
    assert {tuple(row) for row in found.train}.isdisjoint(tuple(row) for row in found.target)
    read.cache_clear()


def test_sources_are_told_apart():
    assert len({source.name for source in SOURCES}) == len(SOURCES) >= 100
    assert len({(source.path, source.more) for source in SOURCES}) == len(SOURCES)
    assert not any(source.later and source.among for source in SOURCES)


def test_every_package_is_locked_and_used():
    locked = [line.split("==")[0] for line in LOCK.read_text().splitlines() if "--hash=sha256:" in line]
    assert {name.replace("-", "_") for name in locked} == {source.package for source in SOURCES}
