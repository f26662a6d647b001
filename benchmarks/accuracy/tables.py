"""Tables of measurements: small UCI sets, gas sensors over time, images of digits."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from bc3e.experiments.data import load, read
from bc3e.experiments.domains import (
    Domains,
    FloatArray,
    known_classes,
    labelled_rows,
    pick,
    split_labelled,
)

REPOSITORY = Path(__file__).resolve().parents[2]


def data_folder() -> Path:
    """Where the data files are: BC3E_DATA, or the folder shared beside the repository."""
    return Path(os.environ.get("BC3E_DATA", REPOSITORY.parent / "shared" / "data"))


def uci(
    rng: np.random.Generator,
    *,
    name: str,
    fraction: float,
    size: int | None = None,
    reverse: bool = False,
    below: int | None = None,
) -> Domains:
    """A small set of which only a fraction is labelled.

    Parameters
    ----------
    reverse : bool
        Train on a class mix turned upside down.
    below : int, optional
        A feature: the training data lie below its median, the target above, as
        when a model of one population is used on another.
    """
    X, y = load(name, data_folder())
    if below is None:
        return split_labelled(X, y, rng, count=round(fraction * len(y)), size=size, reverse=reverse)
    low = X[:, below] <= np.median(X[:, below])
    early, late = np.flatnonzero(low), np.flatnonzero(~low)
    train = early[labelled_rows(y[early], round(fraction * len(y)), rng)]
    target = late[pick(len(late), size, rng)]
    return known_classes(X[train], y[train], X[target], y[target])


@cache
def _gas() -> tuple[FloatArray, Any, Any]:
    frame = read("gas", data_folder()).to_pandas()
    features = frame.filter(regex=r"^f\d+$").to_numpy(dtype=np.float64)
    return features, frame["label"].to_numpy(), frame["batch"].to_numpy()


def gas(
    rng: np.random.Generator, *, train: tuple[int, ...], target: int, size: int | None = None
) -> Domains:
    """Sensors trained in early batches and used, drifted, in a later one."""
    X, y, batch = _gas()
    source, late = np.isin(batch, train), np.flatnonzero(batch == target)
    late = late[pick(len(late), size, rng)]
    return known_classes(X[source], y[source], X[late], y[late])


@cache
def _mnist_usps() -> tuple[FloatArray, Any, Any]:
    frame = read("mnist_usps", data_folder()).to_pandas()
    pixels = frame.filter(regex=r"^p\d+$").to_numpy(dtype=np.float64)
    return pixels, frame["label"].to_numpy(), frame["domain"].to_numpy()


def mnist_usps(
    rng: np.random.Generator,
    *,
    train: str,
    target: str,
    count: int = 1000,
    size: int | None = None,
    digits: tuple[int, ...] | None = None,
) -> Domains:
    """Digits of one post office read by classifiers of another."""
    X, y, domain = _mnist_usps()
    wanted = np.ones(len(y), dtype=bool) if digits is None else np.isin(y, np.asarray(digits) + 1)
    source = np.flatnonzero((domain == train) & wanted)
    source = source[labelled_rows(y[source], count, rng)]
    late = np.flatnonzero((domain == target) & wanted)
    late = late[pick(len(late), size, rng)]
    found = known_classes(X[source], y[source], X[late], y[late])
    return replace(found, images=True)


def digits(
    rng: np.random.Generator,
    *,
    count: int = 600,
    size: int | None = None,
    shift: tuple[float, float] = (0, 0),
    angle: float = 0.0,
    noise: float = 0.0,
) -> Domains:
    """8x8 digits; those of the target are shifted (pixels), rotated (degrees) and noised.

    Noise is in the 16 steps of grey.
    """
    X, y = load("digits")
    domains = split_labelled(X, y, rng, count=count, size=size)
    images = domains.target.reshape(-1, 8, 8)
    if angle:
        images = ndimage.rotate(images, angle, axes=(1, 2), reshape=False, order=1)
    images = ndimage.shift(images, (0, *shift), order=1)
    images = images + noise * rng.standard_normal(images.shape)
    return replace(
        domains, train=domains.train / 16, target=images.reshape(len(images), -1) / 16, images=True
    )
