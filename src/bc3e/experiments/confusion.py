"""Large categories: leaf categories that a classifier confuses with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from bc3e.errors import InputError
from bc3e.experiments.domains import FloatArray
from bc3e.settings import whole_number

SMALLEST, LARGEST = 4, 10  # leaf categories of a large one, as in the paper


def confusion_groups(
    truth: Any, predicted: Any, *, smallest: int = SMALLEST, largest: int = LARGEST
) -> list[list[Any]]:
    """Group the classes that a classifier mistakes for each other.

    The confusion graph has an arrow from class i to class j, as heavy as the
    share of class i that is taken for j. Arrows are drawn one after the other,
    heaviest first. As soon as a strongly connected part (every class can be
    reached from every other one) has `smallest` classes, it is a group and leaves
    the graph. An arrow that would connect more than `largest` at once is left out.

    Parameters
    ----------
    truth : (N,) labels
        True classes of development objects; the classifier has not been
        trained on them.
    predicted : (N,) labels, or (N, k) probabilities
        What the classifier says; the columns of probabilities are the classes of
        `truth` in sorted order, and their mean is a finer graph than counts.
    smallest, largest : int
        Classes of a group.

    Returns
    -------
    list of lists
        Classes of each group, in order; the most confused group first. Classes
        that are confused with too few others are in none.

    Examples
    --------
    Shoes are taken for each other in a circle, and so are shirts; nobody
    takes a shoe for a shirt.

    >>> shoes, shirts = ["boot", "clog", "pump"], ["polo", "tee", "vest"]
    >>> truth = [item for item in shoes + shirts for _ in range(4)]
    >>> taken = {"boot": "clog", "clog": "pump", "pump": "boot", "polo": "tee", "tee": "vest",
    ...          "vest": "polo"}
    >>> predicted = [taken[item] if i % 4 == 0 else item for i, item in enumerate(truth)]
    >>> confusion_groups(truth, predicted, smallest=3)
    [['boot', 'clog', 'pump'], ['polo', 'tee', 'vest']]
    """
    low, high = whole_number("smallest", smallest), whole_number("largest", largest)
    if not 2 <= low <= high:
        raise InputError("smallest", f"{low} to {high} classes", "Pass 2 <= smallest <= largest.")
    classes, shares = _confusions(truth, predicted)
    i, j = np.nonzero(shares)
    drawn = np.zeros(shares.shape, dtype=bool)
    free = np.ones(len(classes), dtype=bool)
    groups = []
    for at in np.lexsort((j, i, -shares[i, j])):
        if not (free[i[at]] and free[j[at]]):
            continue
        drawn[i[at], j[at]] = True
        part = _part_of(drawn, i[at])
        if len(part) > high:
            drawn[i[at], j[at]] = False
        elif len(part) >= low:
            groups.append(classes[part].tolist())
            free[part] = drawn[part] = drawn[:, part] = False
    return groups


def _confusions(truth: Any, predicted: Any) -> tuple[NDArray[Any], FloatArray]:
    """Classes, and which share of each is taken for each other one."""
    known, said = np.asarray(truth), np.asarray(predicted)
    if known.ndim != 1 or len(known) == 0:
        raise InputError("truth", f"an array of shape {known.shape}", "Pass one label per object.")
    if said.ndim not in (1, 2) or len(said) != len(known):
        found = f"an array of shape {said.shape} for {len(known)} objects"
        raise InputError("predicted", found, "Pass one label, or one row of probabilities, per object.")
    classes = np.unique(known if said.ndim == 2 else np.concatenate([known, said]))
    if said.ndim == 2 and said.shape[1] != len(classes):
        found = f"{said.shape[1]} columns for the {len(classes)} classes of truth"
        raise InputError("predicted", found, "Pass one column per class of truth, in sorted order.")
    counts = np.zeros((len(classes), len(classes)))
    rows = np.searchsorted(classes, known)
    if said.ndim == 2:
        np.add.at(counts, rows, said)
    else:
        np.add.at(counts, (rows, np.searchsorted(classes, said)), 1.0)
    sizes = np.bincount(rows, minlength=len(classes))
    np.fill_diagonal(counts, 0.0)
    shares: FloatArray = counts / np.maximum(sizes, 1)[:, None]
    return classes, shares


def _part_of(drawn: NDArray[np.bool_], node: int) -> NDArray[np.intp]:
    """The strongly connected part that a class is in."""
    _, parts = connected_components(drawn, connection="strong")
    return np.flatnonzero(parts == parts[node])
