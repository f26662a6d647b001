"""How much the clusterings may say, decided without a label.

A classifier is hidden. The others are refined with the clusterings at a given
weight, and each label that the refinement changes is put to the hidden
classifier: does it side with the new label or with the old one? A weight earns
its place if the new labels win this vote by more than its standard error; the
weight with the largest such margin is used, and none if none wins. Classifiers
that share errors side with the old label too often, so the rule errs on the
side of leaving the votes alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bc3e.columns import LabelColumn
from bc3e.labels import LabelTable
from bc3e.model.evidence import FloatArray

TOTALS = (0.5, 1.0, 3.0)  # evidence of all clusterings together, in labels
UNADVISED = 1.0  # the same with a single classifier, when nobody can be asked
WITNESSES = 4  # classifiers that are hidden in turn
SAMPLE = 20_000  # objects that the choice looks at

Refine = Callable[[LabelTable, FloatArray | None, float], tuple[NDArray[np.intp], NDArray[np.intp]]]


def winners(table: LabelTable) -> NDArray[np.intp]:
    """Each classifier's choice for each object, -1 where it did not vote, (N, r1)."""
    chosen = np.empty((table.n_objects, len(table.votes)), dtype=np.intp)
    for column, vote in enumerate(table.votes):
        if isinstance(vote, LabelColumn):
            chosen[:, column] = vote.codes
        else:
            chosen[:, column] = np.where(vote.scores.any(axis=1), vote.scores.argmax(axis=1), -1)
    return chosen


def agreement_rate(table: LabelTable, weights: FloatArray | None) -> float | None:
    """How often two classifiers choose the same class; None without two votes to compare."""
    chosen = winners(table)
    mass = np.ones(table.n_objects) if weights is None else weights
    same = both = 0.0
    for a in range(chosen.shape[1]):
        for b in range(a):
            voted = (chosen[:, a] >= 0) & (chosen[:, b] >= 0)
            both += float(mass[voted].sum())
            same += float(mass[voted & (chosen[:, a] == chosen[:, b])].sum())
    return same / both if both > 0 else None


def independent_witnesses(chosen: NDArray[np.intp]) -> list[int]:
    """The classifiers that agree least with the rest: their word is worth most."""
    r1 = chosen.shape[1]
    if r1 <= WITNESSES:
        return list(range(r1))
    agree = [
        float(np.mean([(chosen[:, a] == chosen[:, b]).mean() for b in range(r1) if b != a]))
        for a in range(r1)
    ]
    return sorted(np.argsort(agree, kind="stable")[:WITNESSES].tolist())


def choose_total(table: LabelTable, weights: FloatArray | None, refine: Refine, seed: int) -> float:
    """Evidence that the clusterings get together: one of 0, 0.5, 1 and 3 labels.

    Parameters
    ----------
    table : LabelTable
        Votes of at least two classifiers, and the clusterings.
    weights : (N,) array or None
        Weights of the objects.
    refine : callable
        Labels of the objects of a table before and after refinement with a
        given total evidence.
    seed : int
        Seed of the sample that is used of a large table.
    """
    if table.n_objects > SAMPLE:
        rows = np.sort(np.random.default_rng(seed).choice(table.n_objects, SAMPLE, replace=False))
        table, weights = table.take(rows), None if weights is None else weights[rows]
    mass = np.ones(table.n_objects) if weights is None else weights / weights.mean()
    chosen = winners(table)
    witnesses = independent_witnesses(chosen)
    best, margin = 0.0, 0.0
    for total in TOTALS:
        sided_new = sided_old = 0.0
        for hidden in witnesses:
            old, new = refine(table.without_vote(hidden), weights, total)
            changed = old != new
            sided_new += float(mass[changed & (chosen[:, hidden] == new)].sum())
            sided_old += float(mass[changed & (chosen[:, hidden] == old)].sum())
        score = sided_new - sided_old - np.sqrt(sided_new + sided_old + 1.0)
        if score > margin:
            best, margin = total, score
    return best
