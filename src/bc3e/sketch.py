"""A few numbers that stand for the features of an object, for the test of drift.

Up to five columns are looked at as they are; more are mixed at random, after each was
divided by its spread in the source. The mixing does not look at where objects lie, so
objects of the source and new objects from the same place are alike in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bc3e.errors import InputError
from bc3e.features import (
    Column,
    fill_holes,
    frame_numbers,
    hole_fillers,
    is_frame,
    is_sparse,
    is_text,
    read_column,
)
from bc3e.model.evidence import FloatArray

NUMBERS = 5


@dataclass(frozen=True)
class FeatureSketch:
    """How features become a few numbers.

    Attributes
    ----------
    columns : list of Column or None
        Columns of a data frame that can be turned into numbers.
    fillers : (d,) array
        What stands for a missing value.
    directions : (d, q) array
    """

    columns: list[Column] | None
    fillers: FloatArray
    directions: FloatArray

    @classmethod
    def learn(cls, X: Any) -> FeatureSketch | None:
        """The sketch of a source; None for texts, which have no columns."""
        if is_text(X):
            return None
        columns = _readable(X) if is_frame(X) else None
        if columns == []:
            return None
        matrix = _matrix(X, columns)
        if is_sparse(matrix):
            fillers = np.zeros(matrix.shape[1])
            squares = np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
            spread = np.sqrt(np.maximum(squares - np.asarray(matrix.mean(axis=0)).ravel() ** 2, 0.0))
        else:
            fillers = hole_fillers(matrix)
            spread = fill_holes(matrix, fillers).std(axis=0)
        d = len(fillers)
        if d <= NUMBERS:
            return cls(columns, fillers, np.eye(d))
        drawn = np.random.default_rng(0).standard_normal((d, NUMBERS))
        scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
        return cls(columns, fillers, drawn * scale[:, None])

    def apply(self, X: Any) -> FloatArray:
        """The numbers of each object, (N, q)."""
        matrix = _matrix(X, self.columns)
        if not is_sparse(matrix):
            matrix = fill_holes(matrix, self.fillers)
        mixed: FloatArray = np.asarray(matrix @ self.directions, dtype=np.float64)
        return mixed.round(9)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        columns = self.columns
        return {
            "columns": None if columns is None else [[c.name, c.levels] for c in columns],
            "fillers": self.fillers.tolist(),
            "directions": self.directions.tolist(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> FeatureSketch:
        """What :meth:`to_dict` gave."""
        columns = content["columns"]
        return cls(
            None
            if columns is None
            else [Column(name, None if levels is None else tuple(levels)) for name, levels in columns],
            np.array(content["fillers"], dtype=np.float64),
            np.array(content["directions"], dtype=np.float64),
        )


def _readable(X: Any) -> list[Column]:
    """The columns of a data frame that are numbers or categories."""
    found = []
    for name in X.columns:
        try:
            found.append(read_column(X, name))
        except InputError:  # prose, dates: classifiers may know what to do with them
            continue
    return found


def _matrix(X: Any, columns: list[Column] | None) -> Any:
    if columns is not None:
        return frame_numbers(X, columns)[0]
    return X if is_sparse(X) else np.asarray(X, dtype=np.float64)
