"""Data sets by name: files of a data folder first, then scikit-learn's own, then OpenML.

Files that are known are checked by their SHA-256, downloads by that of their content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from bc3e.errors import InputError
from bc3e.experiments.domains import FloatArray, IntArray

VARIABLE = "BC3E_DATA"


@dataclass(frozen=True)
class OpenML:
    """A data set of openml.org, and what its class names are called in our files.

    Attributes
    ----------
    name, version
        As OpenML has them.
    classes : mapping of str to int
    sha256 : str
        Of the content, see :func:`content_digest`: whatever the form it came in.
    """

    name: str
    version: int
    classes: Mapping[str, int]
    sha256: str


@dataclass(frozen=True)
class Source:
    """Where a data set can be had.

    Attributes
    ----------
    file, sha256 : str
        Its name in a data folder, and its checksum; no name if there is no file of it.
    origin : str
        The public place that it comes from, for who has to get it by hand.
    own : callable, optional
        scikit-learn's own copy, or generator of `size` objects from a seed.
    size : int
        Objects that a generator is asked for.
    openml : OpenML, optional
    """

    file: str = ""
    sha256: str = ""
    origin: str = ""
    own: Callable[..., tuple[Any, Any]] | None = None
    size: int = 0
    openml: OpenML | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def _own(name: str) -> Callable[..., tuple[Any, Any]]:
    """A function of scikit-learn by name; imported when it is called."""

    def load(**options: Any) -> tuple[Any, Any]:
        from sklearn import datasets

        found: tuple[Any, Any] = getattr(datasets, name)(**options)
        return found

    return load


WHOLE = {"return_X_y": True}
UCI = "archive.ics.uci.edu"

SOURCES: Mapping[str, Source] = {
    "pima": Source(
        file="pima.csv.gz",
        sha256="63b31b81ed27d5294ff652700fcaa351e48b328c3647bc90a06d6f7ee6e1851c",
        origin="github.com/jbrownlee/Datasets, pima-indians-diabetes.csv",
        openml=OpenML(
            "diabetes",
            1,
            {"tested_negative": 0, "tested_positive": 1},
            "4e3a11381292e49331814290a9df2283e2c32b911819d96273b44d1834a3161f",
        ),
    ),
    "heart": Source(
        file="heart_statlog.csv.gz",
        sha256="963d0c5265b2b5f0656673072235cdd2b9e9127fb79d16f0554a04d8cef84bda",
        origin=f"{UCI}, Statlog (Heart)",
        openml=OpenML(
            "heart-statlog",
            1,
            {"absent": 0, "present": 1},
            "48924e3ec3784c88effcb439d2c478a15500fb0afa80cc308b4efaf6960fed25",
        ),
    ),
    "german": Source(
        file="german_numer.csv.gz",
        sha256="c7cab8fbf1f344db8f4ef469c2d1956e8a6d475f771325a14c113e79a7f9bf31",
        origin=f"{UCI}, Statlog (German Credit Data), german.data-numeric",
    ),
    "wine": Source(
        file="wine.csv.gz",
        sha256="6f589e4362d09d4f421807ea0844251237444593591ceb2fe58568214d321e82",
        origin=f"{UCI}, Wine",
        own=_own("load_wine"),
        options=WHOLE,
    ),
    "digits": Source(own=_own("load_digits"), options=WHOLE),
    "breast_cancer": Source(own=_own("load_breast_cancer"), options=WHOLE),
    "iris": Source(own=_own("load_iris"), options=WHOLE),
    "moons": Source(own=_own("make_moons"), size=800, options={"noise": 0.05}),
    "circles": Source(own=_own("make_circles"), size=1600, options={"noise": 0.05, "factor": 0.5}),
    "myntra": Source(
        file="myntra_product_titles.parquet",
        sha256="f819b3a45a2fdb06b7834276fcc7696a3bf1b16622aa3073c8658c24662760fb",
        origin="kaggle.com, Fashion Product Images Dataset, styles.csv",
    ),
    "arxiv": Source(
        file="arxiv_cs_titles.parquet",
        sha256="518e486e70b8c10c6fb2f355ca23a2caeb6cd8d985f90f20ef1b7b79b76e899c",
        origin="github.com/staeiou/arxiv_archive, processed_data/20190101/per_category",
    ),
    "pricerunner": Source(
        file="pricerunner_titles.parquet",
        sha256="5f216ed679490b54411fab00233cc55a95528394d14b2d9f211cf67a0e599cfd",
        origin=f"{UCI}, Product Classification and Clustering",
    ),
    "newsgroups": Source(
        file="twenty_newsgroups_bydate.parquet",
        sha256="13a094f43dc81818e622a708f9dedba7758244c803c05e01ef77e10b472cd93d",
        origin="qwone.com/~jason/20Newsgroups, 20news-bydate",
    ),
    "gas": Source(
        file="gas_drift_raw_8batches.parquet",
        sha256="36e01da53beef684a2d1c6d13c4e4bb65153c0ccbde85a6f66e7f35e593c5bef",
        origin=f"{UCI}, Gas Sensor Array Drift at Different Concentrations",
    ),
    "mnist_usps": Source(
        file="mnist_usps_16x16.parquet",
        sha256="07891626f90a4146275fdc3a7727afbe4cbec624bc5d0583e273b95ebfa5bf52",
        origin="github.com/chamwen/JPDA, data/MNIST_vs_USPS.mat",
    ),
}
"""Every data set that has a name here."""


def data_folder(data: str | os.PathLike[str] | None = None) -> Path | None:
    """Where files are looked for: `data`, or what BC3E_DATA says, or nowhere."""
    given = os.environ.get(VARIABLE) if data is None else data
    return Path(given) if given else None


def has_file(name: str, data: str | os.PathLike[str] | None = None) -> bool:
    """Whether the file of a data set is in the data folder."""
    folder, file = data_folder(data), _source(name).file
    return bool(file) and folder is not None and (folder / file).is_file()


def read(name: str, data: str | os.PathLike[str] | None = None) -> pa.Table:
    """The file of a data set, as it is, with its checksum verified.

    Parameters
    ----------
    name : str
        A key of `SOURCES`.
    data : path, optional
        The data folder; the environment variable BC3E_DATA by default.

    Raises
    ------
    InputError
        If there is no such file, or another one of that name.
    """
    source, folder = _source(name), data_folder(data)
    if folder is None or not has_file(name, folder):
        where = (
            f"no data folder for {source.file}" if folder is None else f"{folder} has no {source.file}"
        )
        raise InputError("data", where, _by_hand(name, source))
    path = folder / source.file
    return _verified(path, source.sha256, path.stat().st_mtime_ns)


def load(
    name: str, data: str | os.PathLike[str] | None = None, *, random_state: int = 0
) -> tuple[FloatArray, IntArray]:
    """Features and labels of a table of numbers, from wherever it can be had.

    Parameters
    ----------
    name : str
        A key of `SOURCES` whose data are numbers.
    data : path, optional
        The data folder; the environment variable BC3E_DATA by default.
    random_state : int
        Seed of what is generated: half-moons and circles.

    Examples
    --------
    >>> X, y = load("moons", random_state=3)
    >>> X.shape, sorted(set(y.tolist()))
    ((800, 2), [0, 1])
    """
    source = _source(name)
    if has_file(name, data):
        table = read(name, data)
        X = np.stack([_numbers(table, c) for c in table.column_names if c != "label"], axis=1)
        return X, _numbers(table, "label").astype(np.int64)
    if source.own is not None:
        options = dict(source.options)
        if source.size:
            options |= {"n_samples": source.size, "random_state": random_state}
        features, labels = source.own(**options)
        return np.asarray(features, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    if source.openml is None:
        read(name, data)  # says what is missing
    return _download(name, source)


def available(name: str, data: str | os.PathLike[str] | None = None) -> None:
    """Refuse a data set that cannot be had, or whose file is another one, before work is begun.

    Raises
    ------
    InputError
        As :func:`read` and :func:`load` do.
    """
    source = _source(name)
    if has_file(name, data) or (source.own is None and source.openml is None):
        read(name, data)
    elif source.own is None:
        load(name, data)


def content_digest(features: FloatArray, labels: IntArray) -> str:
    """SHA-256 of a table of numbers, whatever the order of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1])
    >>> content_digest(X, y) == content_digest(X[::-1], y[::-1]) != content_digest(X, y[::-1])
    True
    """
    rows = np.column_stack([features, labels]).astype("<f8")
    rows = rows[np.lexsort(rows.T[::-1])]
    return hashlib.sha256(repr(rows.shape).encode() + rows.tobytes()).hexdigest()


def _source(name: str) -> Source:
    if name not in SOURCES:
        raise InputError("name", f"{name!r}", f"Use one of {', '.join(SOURCES)}.")
    return SOURCES[name]


def _by_hand(name: str, source: Source) -> str:
    get = f"Name a folder that has {source.file} (--data or {VARIABLE})"
    return f"{get}; {name} comes from {source.origin}." if source.origin else f"{get}."


@cache
def _verified(path: Path, sha256: str, _changed: int) -> pa.Table:
    """Read a file once; `_changed`, the time of its last change, makes another file another key."""
    with open(path, "rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        raise InputError(
            "data",
            f"sha256 of {path} is {found[:12]}..., not {sha256[:12]}...",
            "It is another version or was cut short: get the file again.",
        )
    reader = pyarrow.parquet.read_table if path.suffix == ".parquet" else pyarrow.csv.read_csv
    return reader(path)


def _numbers(table: pa.Table, column: str) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = pc.cast(table[column], pa.float64()).to_numpy()
    return numbers


def _download(name: str, source: Source) -> tuple[FloatArray, IntArray]:
    """From openml.org, checked by content; scikit-learn keeps a copy for the next time."""
    from sklearn import datasets

    remote = source.openml
    assert remote is not None
    try:
        found = datasets.fetch_openml(
            remote.name, version=remote.version, as_frame=False, parser="liac-arff"
        )
    except (OSError, ValueError) as error:  # URLError is an OSError; ValueError: not there, or spoilt
        raise InputError(
            "data",
            f"no file, and OpenML cannot be read ({type(error).__name__})",
            _by_hand(name, source),
        ) from None
    X = np.asarray(found.data, dtype=np.float64)
    y = np.array([remote.classes.get(str(label), -1) for label in found.target], dtype=np.int64)
    digest = content_digest(X, y)
    if digest != remote.sha256:
        raise InputError(
            "data",
            f"{name} from OpenML has sha256 {digest[:12]}..., not {remote.sha256[:12]}...",
            f"It is another version. {_by_hand(name, source)}",
        )
    return X, y
