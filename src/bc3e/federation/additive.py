"""Attack that takes totals apart: each site's clustering from the sum over all sites, and nothing else.

Where all objects have the same tendency, as in the first sweep, the evidence of a clustering takes as
many values as it has clusters. A total over r clusterings is a sum of r such atoms, and the totals of
all objects lie on a grid with r axes, of which some points are occupied. The axes can be found again:

- Seen from one total, others differ from it by a change of one label, or of several. Changes of one
  label recur most often among all pairs of totals.
- Two changes belong to different clusterings if both can be made at once (four totals form a
  parallelogram), and to the same one if not.
- Once some atoms of each clustering are known, totals that are not yet explained give the others.

No mask protects from this. What does is a grid with far more points than objects: many clusterings,
or many clusters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.federation.recovery import equal_values
from bc3e.federation.scoring import Labels
from bc3e.model.evidence import FloatArray

MOST_TOTALS = 1000  # distinct ones: the work grows with their square
MOST_POINTS = 20_000  # of the grid
BASES = 6  # totals from which the others are looked at
SAVING = 0.75  # atoms must be fewer than this share of the totals, or they explain nothing
MOST_ATOMS = 60  # with more the search has lost its way, and only takes time

Axes = list[list[float]]  # for each clustering the changes of its label, seen from the base


def additive_parts(totals: FloatArray, tolerance: float = 1e-7) -> list[Labels]:
    """One partition of the objects per clustering found in the totals (n, k); none if there is no grid.

    Examples
    --------
    >>> a, b = np.array([0.1, 0.25, 0.7]), np.array([0.0, 0.31])
    >>> first, second = np.arange(30) % 3, np.arange(30) % 2
    >>> parts = additive_parts((a[first] + b[second])[:, None])
    >>> sorted(len(set(part.tolist())) for part in parts)
    [2, 3]
    """
    # A random direction turns rows into numbers that are as distinct as the rows.
    seen = totals @ np.random.default_rng(1).normal(size=totals.shape[1])
    groups = equal_values(seen, tolerance)
    values = np.bincount(groups, seen) / np.bincount(groups)
    if not 3 <= len(values) <= MOST_TOTALS:
        return []
    book = _Book(values, tolerance)
    ties = np.array([book.recurrence(values - value).sum() for value in values])
    fewest, best = SAVING * len(values), np.empty((len(values), 0), dtype=np.intp)
    for base in np.argsort(-ties, kind="stable")[:BASES]:
        axes = _find_axes(values - values[base], book)
        if not axes:
            continue
        labels, atoms = _explain(values - values[base], axes, book)
        if atoms < fewest:
            fewest, best = atoms, labels
    return [np.unique(part, return_inverse=True)[1].reshape(-1)[groups] for part in best.T]


class _Book:
    """Distinct numbers, with quick answers about their sums and differences."""

    def __init__(self, values: FloatArray, tolerance: float) -> None:
        self.values, self.tolerance = np.sort(values), tolerance
        self.differences = np.sort((values[:, None] - values[None, :]).ravel())

    def contains(self, numbers: FloatArray) -> NDArray[np.bool_]:
        return matches(self.values, numbers, self.tolerance)[1]

    def recurrence(self, change: FloatArray) -> NDArray[np.intp]:
        """How many pairs of numbers differ by each change."""
        last = np.searchsorted(self.differences, change + 2 * self.tolerance, side="right")
        return last - np.searchsorted(self.differences, change - 2 * self.tolerance)

    def squares(self, change: float, other: float) -> int:
        """How many numbers have both changes, one by one and together, among the numbers."""
        here = self.values
        both = self.contains(here + change) & self.contains(here + other)
        return int(np.sum(both & self.contains(here + change + other)))


def matches(
    ordered: FloatArray, numbers: FloatArray, tolerance: float
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where each number is in the ordered ones, and whether it is there at all."""
    at = np.searchsorted(ordered, numbers - tolerance).clip(max=len(ordered) - 1)
    return at, np.abs(ordered[at] - numbers) <= tolerance


def _grid(axes: Axes) -> FloatArray:
    """All points of the grid, seen from the base; the last axis runs fastest."""
    points = np.zeros(1)
    for axis in axes:
        points = (points[:, None] + np.array([0.0, *axis])[None, :]).ravel()
    return points


def _atoms(axes: Axes) -> int:
    return sum(len(axis) for axis in axes)


def _is_too_large(axes: Axes) -> bool:
    """Whether a grid has too many atoms to explain anything, or too many points to look at."""
    return _atoms(axes) > MOST_ATOMS or int(np.prod([len(axis) + 1 for axis in axes])) > MOST_POINTS


def _find_axes(offsets: FloatArray, book: _Book) -> Axes:
    """Changes of one label, the most frequent first, each on the axis it belongs to.

    It stops where the grid becomes too large.
    """
    often = book.recurrence(offsets)
    axes: Axes = []
    for at in np.argsort(-often, kind="stable"):
        change = float(offsets[at])
        known = matches(np.sort(_grid(axes)), np.array([change]), 4 * book.tolerance)[1][0]
        if often[at] < 2 or known:  # the base itself, or a change of several labels
            continue
        fitting = [
            (int(book.recurrence(change - np.array(axis)).sum()), number)
            for number, axis in enumerate(axes)
            if not any(book.squares(change, other) for other in axis)
        ]
        fitting = [(links, number) for links, number in fitting if links]
        grown = [list(axis) for axis in axes]
        if fitting:
            grown[max(fitting)[1]].append(change)
        else:
            grown.append([change])
        if _is_too_large(grown):
            break
        axes = grown
    return axes


def _explain(offsets: FloatArray, axes: Axes, book: _Book) -> tuple[Labels, int]:
    """Label of each total on each axis, and how many atoms that took."""
    while True:
        points = _grid(axes)
        order = np.argsort(points)
        at, found = matches(points[order], offsets, 4 * book.tolerance)
        shape = tuple(len(axis) + 1 for axis in axes)
        grown = [] if found.all() else _extended(offsets[~found], axes, book.tolerance)
        if not grown or _is_too_large(grown):
            break
        axes = grown
    labels = np.stack(np.unravel_index(order[at], shape), axis=1)
    missing = int(np.sum(~found))
    labels[~found] = len(points) + np.arange(missing)[:, None]  # each by itself
    return labels.astype(np.intp), _atoms(axes) + missing


def _extended(unexplained: FloatArray, axes: Axes, tolerance: float) -> Axes:
    """Axes with the atom that explains most of the totals left over; none if none explains two."""
    best: Axes = []
    support = 1
    for number, axis in enumerate(axes):
        others = _grid(axes[:number] + axes[number + 1 :])
        if len(others) * len(unexplained) > 10 * MOST_POINTS:
            continue
        wanted = np.sort((unexplained[:, None] - others[None, :]).ravel())
        counts = np.bincount(equal_values(wanted, 4 * tolerance))
        if counts.max() > support:
            support = int(counts.max())
            atom = float(wanted[counts[: counts.argmax()].sum()])
            best = [*axes[:number], [*axis, atom], *axes[number + 1 :]]
    return best
