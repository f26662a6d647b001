"""Objects: the rows of a label table, and how many objects each of them stands for.

Rows with the same hard labels are one pattern, and all that is learned is learned from patterns: past
the grouping no step looks at single rows. So it does not matter whether rows were grouped here or
by a database that hands over patterns and their counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.errors import InputError, InputTypeError
from bc3e.labels import LabelTable
from bc3e.model.evidence import FloatArray

MOST = 2**53  # beyond it floating-point numbers skip whole ones


@dataclass(frozen=True)
class Objects:
    """Rows that stand for one or more objects.

    Attributes
    ----------
    table : LabelTable
        One row per pattern; if a column is soft, one per object.
    counts : (P,) array
        How many objects a row stands for.
    weights : (P,) array
        The sum of their weights.
    inverse : (N,) array or None
        The row of `table` that each row of the table before grouping became; None if it was not grouped.
    ordered : bool
        Whether the rows are in an order that does not depend on how they were given.
    """

    table: LabelTable
    counts: FloatArray
    weights: FloatArray
    inverse: NDArray[np.intp] | None
    ordered: bool = field(default=True, kw_only=True)

    @classmethod
    def of(
        cls, table: LabelTable, weights: FloatArray | None = None, counts: FloatArray | None = None
    ) -> Objects:
        """Group the rows of a table.

        Parameters
        ----------
        table : LabelTable
        weights : (N,) array, optional
            Weight of each row, of all its objects together.
        counts : (N,) array, optional
            How many objects each row stands for; 1 by default.
        """
        rows, inverse = table.patterns()
        objects = np.ones(table.n_objects) if counts is None else counts
        mass = objects if weights is None else weights
        if rows is None or inverse is None:
            return cls(table, objects, mass, None)
        if counts is None and len(rows) == table.n_objects:  # no two are alike: no copy of them
            return cls(table, objects, mass, None, ordered=False)
        totals = np.bincount(inverse, weights=counts, minlength=len(rows)).astype(np.float64)
        summed = totals
        if weights is not None:
            summed = np.bincount(inverse, weights=weights, minlength=len(rows)).astype(np.float64)
        return cls(table.take(rows), totals, summed, inverse)

    @property
    def n_objects(self) -> int:
        return int(self.counts.sum())

    @property
    def unit(self) -> float:
        """Mean weight of an object."""
        return float(self.weights.sum() / self.counts.sum())

    def expand(self, values: NDArray[Any]) -> NDArray[Any]:
        """One entry per row before the grouping instead of one per pattern."""
        return values if self.inverse is None else values.take(self.inverse, axis=0)

    def without_vote(self, column: int) -> Objects:
        """The objects as if one classifier had not been asked; `inverse` leads there from here."""
        return Objects.of(self.table.without_vote(column), self.weights, self.counts)

    def sample(self, size: int, seed: int) -> Objects:
        """That many objects, drawn without replacement; all if there are no more."""
        if self.n_objects <= size:
            return self
        order = None if self.ordered else self.table.patterns()[0]
        rows, counts = drawn_rows(self.counts if order is None else self.counts[order], size, seed)
        rows = rows if order is None else order[rows]
        weights = self.weights[rows] * (counts / self.counts[rows])
        return Objects(self.table.take(rows), counts, weights, None)


def drawn_rows(counts: FloatArray, size: int, seed: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Rows of `size` objects drawn without replacement, and how many of each; `counts` are to draw from.

    They are drawn from the patterns in their order, which the order of the rows does not change.
    """
    ends = np.cumsum(counts.astype(np.int64))
    picked = np.random.default_rng(seed).choice(int(ends[-1]), size, replace=False, shuffle=False)
    drawn = np.bincount(np.searchsorted(ends, np.sort(picked), side="right"), minlength=len(counts))
    rows = np.flatnonzero(drawn)
    return rows, drawn[rows].astype(np.float64)


def check_counts(counts: Any, n_rows: int) -> FloatArray | None:
    """Counts of objects as a checked float array; None stays None."""
    if counts is None:
        return None
    try:
        found = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(
            "counts", "values that are not numbers", "Pass one whole number per row."
        ) from None
    if found.shape != (n_rows,):
        raise InputError("counts", f"shape {found.shape} for {n_rows} rows", "Pass one count per row.")
    bad = ~np.isfinite(found) | (found < 1) | (found != np.floor(found)) | (found > MOST)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            "counts",
            f"{found[row]:g} is not a number of objects",
            "Pass whole numbers from 1 up; leave out rows that stand for none.",
            place=f"row {row}",
        )
    if found.sum() > MOST:
        raise InputError(
            "counts", f"{found.sum():.3g} objects in all", f"Pass counts of at most {MOST} objects."
        )
    return found
