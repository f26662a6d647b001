"""A few numbers that stand for the features of an object, for the test of drift.

Columns are divided by their spread in the source; up to five are looked at one by one, more
are mixed at random. The mixing does not look at where objects lie, so objects of the
source and new objects from the same place are alike in it. Of each number only the bin is kept
that it falls into, of 32 that hold equally many objects of the source: enough for a test, too
little to tell the features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
BINS = 32


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
    edges : (q, bins - 1) array
        Where the bins of each number end.
    """

    columns: list[Column] | None
    fillers: FloatArray
    directions: FloatArray
    edges: FloatArray

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
        drawn = np.random.default_rng(0).standard_normal((d, NUMBERS)) if d > NUMBERS else np.eye(d)
        scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
        found = cls(columns, fillers, drawn * scale[:, None], np.empty((0, 0)))
        inner = np.arange(1, BINS) / BINS
        edges = np.quantile(found._mixed(X)[0], inner, axis=0, method="lower").T
        return replace(found, edges=edges)

    def apply(self, X: Any) -> FloatArray:
        """Bins of the numbers of each object, and how many of its values are missing, (N, q + 1)."""
        mixed, missing = self._mixed(X)
        bins = [
            np.searchsorted(edges, column) for edges, column in zip(self.edges, mixed.T, strict=True)
        ]
        return np.stack([*bins, missing], axis=1).astype(np.float64)

    def _mixed(self, X: Any) -> tuple[FloatArray, FloatArray]:
        matrix = _matrix(X, self.columns)
        missing = np.zeros(X.shape[0])
        if not is_sparse(matrix):
            missing = np.isnan(matrix).sum(axis=1).astype(np.float64)
            matrix = fill_holes(matrix, self.fillers)
        mixed: FloatArray = np.asarray(matrix @ self.directions, dtype=np.float64)
        return mixed, missing

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        columns = self.columns
        return {
            "columns": None if columns is None else [[c.name, c.levels] for c in columns],
            "fillers": self.fillers.tolist(),
            "directions": self.directions.tolist(),
            "edges": self.edges.tolist(),
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
            np.array(content["edges"], dtype=np.float64),
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
