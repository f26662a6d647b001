"""Domains: labelled training data and an unlabelled target, the raw material of a case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Features = Any
"""Either a dense (N, d) float array or an (N,) object array of texts."""


@dataclass(frozen=True)
class Domains:
    """What the classifiers are trained on, what is to be labelled, and the truth for scoring.

    Attributes
    ----------
    train, target : (N, d) float arrays, or (N,) object arrays of texts
    train_labels : (N,) ints
        Classes 0..k-1; every class occurs.
    truth : (N,) ints
        True classes of the target. Only the metrics may look at it.
    images : bool
        Features are pixels: already on one scale. Dividing each by its own
        spread would blow up margins that are empty in one domain only.
    """

    train: Features
    train_labels: IntArray
    target: Features
    truth: IntArray
    images: bool = False

    @property
    def n_classes(self) -> int:
        return int(self.train_labels.max()) + 1


def known_classes(train: Features, train_labels: Any, target: Features, truth: Any) -> Domains:
    """Number the classes of the training data and drop target objects of any other class."""
    classes, codes = np.unique(np.asarray(train_labels), return_inverse=True)
    truth = np.asarray(truth)
    known = np.isin(truth, classes)
    return Domains(
        train=train,
        train_labels=codes.astype(np.int64),
        target=target[known],
        truth=np.searchsorted(classes, truth[known]).astype(np.int64),
    )


def pick(count: int, size: int | None, rng: np.random.Generator) -> IntArray:
    """`size` of `count` row numbers in random order; all of them if that is fewer."""
    return rng.permutation(count)[: count if size is None else size].astype(np.int64)


def labelled_rows(
    labels: Any,
    count: int,
    rng: np.random.Generator,
    *,
    at_least: int = 3,
    reverse: bool = False,
    mix: FloatArray | None = None,
) -> IntArray:
    """Rows of a training set with about `count` objects and every class.

    Parameters
    ----------
    labels : (N,) array
    count : int
    at_least : int
        Of each class, as far as there are that many: below three even a
        cross-validated calibration is impossible.
    reverse : bool
        Give the rarest class the share of the most frequent one and so on, so
        that the class mix of the training set misleads.
    mix : (k,) array, optional
        Share of each class, instead of that of the data.
    """
    classes, codes, sizes = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
    shares = sizes / sizes.sum() if mix is None else mix
    if reverse:
        order = np.argsort(sizes)
        shares[order] = shares[order[::-1]]
    rows = []
    for code in range(len(classes)):
        members = rng.permutation(np.flatnonzero(codes == code))
        wanted = max(at_least, round(count * shares[code]))
        rows.append(members[: min(wanted, len(members) - 1)])
    return rng.permutation(np.concatenate(rows)).astype(np.int64)


def split_labelled(
    X: Features,
    y: Any,
    rng: np.random.Generator,
    *,
    count: int,
    size: int | None = None,
    reverse: bool = False,
    mix: FloatArray | None = None,
) -> Domains:
    """A few labelled rows train the classifiers, `size` of the others are the target."""
    train = labelled_rows(y, count, rng, reverse=reverse, mix=mix)
    rest = np.setdiff1d(np.arange(len(y)), train)
    target = rest[pick(len(rest), size, rng)]
    return known_classes(X[train], y[train], X[target], y[target])
