"""Data sets stored as .npz files: the reserve, kept apart until a method is frozen.

`python -m benchmarks.accuracy.collect FOLDER` makes such a folder.

Each file holds `X`, either (N, d) numbers or (N,) texts, `y` (N,) and perhaps
`domain` (N,): 0 for what a classifier may be trained on, 1 for the target. The
folder is named by BC3E_RESERVE.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bc3e.experiments.domains import (
    Domains,
    FloatArray,
    IntArray,
    known_classes,
    labelled_rows,
    pick,
    split_labelled,
)


def checksum(name: str) -> int:
    """Of the file of a stored set: another folder may have another set of the same name."""
    return zlib.crc32(_file(name).read_bytes())


def reserve_folder() -> Path | None:
    folder = os.environ.get("BC3E_RESERVE")
    return Path(folder) if folder else None


def _file(name: str) -> Path:
    folder = reserve_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}.npz: BC3E_RESERVE names no folder")
    return folder / f"{name}.npz"


@cache
def read(name: str) -> tuple[Any, IntArray, IntArray | None]:
    """Features, classes and domains (if any) of a stored set."""
    with np.load(_file(name), allow_pickle=False) as file:
        X, y = file["X"], file["y"]
        domain = file["domain"] if "domain" in file.files else None
    return (X.astype(object) if X.dtype.kind == "U" else X), y, domain


def stored(
    rng: np.random.Generator, *, name: str, per_class: int, size: int, drift: str = ""
) -> Domains:
    """A stored set with about `per_class` labels per class, at most half of its objects.

    `drift` is for sets without domains of their own: ``mix`` draws the class
    mix of the training set at random, ``feature`` trains below the median of
    a feature and asks above. ``sensors`` is for all tables: every feature of the
    target gets another scale, another zero and some noise.
    """
    X, y, domain = read(name)
    if drift == "sensors":
        found = stored(rng, name=name, per_class=per_class, size=size)
        return replace(found, target=_moved(found.target, rng))
    count = min(per_class * len(np.unique(y)), len(y) // 2)
    if domain is None and drift == "feature":
        domain = _halves(X, y, rng)
    if domain is None:
        mix = rng.dirichlet(np.full(len(np.unique(y)), 2.0)) if drift == "mix" else None
        return split_labelled(X, y, rng, count=count, size=size, mix=mix)
    early, late = np.flatnonzero(domain == 0), np.flatnonzero(domain == 1)
    train = early[labelled_rows(y[early], count, rng)]
    late = late[np.isin(y[late], y[train])]
    target = late[pick(len(late), size, rng)]
    return known_classes(X[train], y[train], X[target], y[target])


def _moved(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Features as sensors would give them that have aged."""
    mean, spread = X.mean(axis=0), X.std(axis=0)
    scale, zero = np.exp(0.3 * rng.standard_normal(len(mean))), 0.7 * rng.standard_normal(len(mean))
    noise: FloatArray = 0.3 * rng.standard_normal(X.shape)
    return mean + scale * (X - mean) + spread * (zero + noise)


def _halves(X: Any, y: IntArray, rng: np.random.Generator) -> IntArray:
    """Which side of the median of a feature each object is on.

    Of the features in random order the one that first leaves every class on
    both sides, else the one that leaves most. If no feature has enough objects
    on either side, a random mixture of all takes its place.
    """
    mixture = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12) @ rng.standard_normal(X.shape[1])
    sides = [(-1, _above(mixture))]
    for feature in rng.permutation(X.shape[1]):
        above = _above(X[:, feature])
        if not 0.25 < above.mean() < 0.75:
            continue
        both = sum(np.ptp(above[y == code]) > 0 for code in np.unique(y))
        if both == len(np.unique(y)):
            return above
        sides.append((both, above))
    return max(sides, key=lambda side: side[0])[1]


def _above(values: FloatArray) -> IntArray:
    return (values > np.median(values)).astype(np.int64)
