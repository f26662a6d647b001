"""Classifiers trained on either half of the source, to speak about the half they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bc3e.classifiers import votes_of
from bc3e.features import take_rows
from bc3e.model.evidence import FloatArray

Members = list[tuple[str, Any]]


def train(members: Sequence[tuple[str, Any]], X: Any, y: Any, n_jobs: int | None) -> Members:
    """Clones of the classifiers, trained."""
    from joblib import Parallel, delayed

    def trained(model: Any) -> Any:
        return clone(model).fit(X, y)

    models = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(trained)(model) for _, model in members)
    return [(name, model) for (name, _), model in zip(members, models, strict=True)]


@dataclass(frozen=True)
class Probes:
    """Two sets of the same classifiers, each trained on one half."""

    sets: tuple[Members, Members]
    classes: list[Any]

    @classmethod
    def train(
        cls,
        members: Sequence[tuple[str, Any]],
        X: Any,
        y: NDArray[Any],
        half: NDArray[np.intp],
        n_jobs: int | None,
    ) -> Probes:
        """Train one set on the objects of either half."""
        first, second = (train(members, take_rows(X, half == h), y[half == h], n_jobs) for h in (0, 1))
        return cls((first, second), np.unique(y).tolist())

    def votes(self, X: Any, which: NDArray[np.intp]) -> dict[str, FloatArray]:
        """Votes of the set that each object is put to."""
        votes = {name: np.empty((X.shape[0], len(self.classes))) for name, _ in self.sets[0]}
        for number, members in enumerate(self.sets):
            rows = which == number
            if rows.any():
                for name, said in votes_of(members, take_rows(X, rows), self.classes)[1].items():
                    votes[name][rows] = said
        return votes


def halves(y: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp] | None:
    """Half 0 or 1 of each object, drawn at random; None if some class is too small to be split."""
    half: NDArray[np.intp] = (rng.permutation(len(y)) % 2).astype(np.intp)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        if len(members) < 2:
            return None
        if half[members].min() == half[members].max():
            half[members[0]] = 1 - half[members[0]]
    return half
