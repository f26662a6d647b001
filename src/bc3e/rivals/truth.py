"""True labels, for those who know them: read, coded, and scored against."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.columns import LabelColumn, read_columns
from bc3e.errors import InputError
from bc3e.model.evidence import FloatArray

FOREIGN = -2  # a label outside the class list: known, and never right


def label_codes(argument: str, labels: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Position of each label in the class list; -1 where missing, -2 where foreign.

    Parameters
    ----------
    argument : str
        Name of the argument, for messages.
    labels : (N,) array, series or list
        Labels of any type, None or NaN where missing.
    classes : (k,) array
        The class list.
    """
    known = classes.tolist()
    if isinstance(labels, list | tuple):
        labels = np.asarray(labels, dtype=object)
    columns, _ = read_columns(argument, [labels], noun=argument, keep_minus_one=-1 in known)
    column = columns[0]
    if not isinstance(column, LabelColumn):
        raise InputError(argument, "more than one column", "Pass one label per object.")
    position = {value: i for i, value in enumerate(known)}
    table = np.array([position.get(value, FOREIGN) for value in column.values] + [-1], dtype=np.intp)
    codes: NDArray[np.intp] = table[column.codes]
    return codes


def check_truth(truth: Any, classes: NDArray[Any], n_objects: int) -> NDArray[np.intp]:
    """Codes of the true labels, after checking that there are some."""
    codes = label_codes("truth", truth, classes)
    if len(codes) != n_objects:
        raise InputError("truth", f"{len(codes)} labels for {n_objects} objects", "Pass one per object.")
    if not (codes != -1).any():
        raise InputError("truth", "every label is missing", "Pass some true labels, or None.")
    return codes


def accuracy(
    winners: NDArray[np.intp], truth: NDArray[np.intp], weights: FloatArray | None = None
) -> float:
    """Weighted share of the objects with a known true label that are right."""
    known = truth != -1
    share = None if weights is None else weights[known]
    if share is not None and not share.any():
        return float("nan")
    return float(np.average(winners[known] == truth[known], weights=share))
