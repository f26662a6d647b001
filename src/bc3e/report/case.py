"""The objects of a fit with what the report needs of each, pattern by pattern.

Objects with the same hard labels are one pattern, so most of the work does not
grow with N; with soft labels every object is its own pattern. Nothing here
visits objects one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from bc3e.agreement import leading_class
from bc3e.columns import Column, LabelColumn
from bc3e.consensus import Answer
from bc3e.errors import InputError
from bc3e.estimator import BC3E
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.calibration import BLOCK
from bc3e.model.evidence import FloatArray

Codes = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True)
class Case:
    """Labels before and after the refinement.

    Attributes
    ----------
    table : LabelTable
    votes, clusters : tuples of (N,) arrays
        Strongest label of each object in each column, -1 where missing.
    rows : (P,) array
        An object of each pattern.
    inverse : (N,) array or None
        Pattern of each object; None if every object is its own.
    counts : (P,) array
        Objects of each pattern.
    voted : (P,) array of bool
        Whether there was any vote.
    before, after : (P,) arrays
        Class by soft vote and after refinement.
    moved : (P,) array
        Share of the probability that went to other classes: half the sum of the
        absolute differences.
    certainty : (2, P) array
        Probability of `before` by soft vote and of `after` after refinement.
    entropy : (2, P) array
        Entropy before and after, in nats.
    """

    table: LabelTable
    votes: tuple[Codes, ...]
    clusters: tuple[Codes, ...]
    rows: NDArray[np.intp]
    inverse: NDArray[np.intp] | None
    counts: NDArray[np.intp]
    voted: NDArray[np.bool_]
    before: NDArray[np.intp]
    after: NDArray[np.intp]
    moved: FloatArray
    certainty: FloatArray
    entropy: FloatArray

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Patterns whose label differs from that of the votes."""
        changed: NDArray[np.bool_] = self.voted & (self.before != self.after)
        return changed

    def expand(self, values: NDArray[Any]) -> NDArray[Any]:
        """One entry per object instead of one per pattern."""
        return values if self.inverse is None else values[self.inverse]


def read_case(model: BC3E, votes: Any, clusters: Any) -> Case:
    """Look again at the labels that a model was fitted with."""
    answer = model._fitted_answer()
    if model._counts is not None:
        raise InputError(
            "counts",
            "the model was fitted to patterns with counts, and a report tells of single objects",
            "Fit the rows themselves, or a sample of them, for a report.",
        )
    table = LabelTable.read_like(votes, clusters, model._schema)
    _check_same(table, answer, model._sizes[0])
    patterns = len(answer.probabilities)
    rows = table.representatives(answer.inverse, patterns)
    if answer.inverse is None:
        counts = np.ones(patterns, dtype=np.intp)
    else:
        counts = np.bincount(answer.inverse, minlength=patterns)
    case = Case(
        table=table,
        votes=tuple(leading(column) for column in table.votes),
        clusters=tuple(leading(column) for column in table.clusters),
        rows=rows,
        inverse=answer.inverse,
        counts=counts,
        voted=np.zeros(patterns, dtype=bool),
        before=np.zeros(patterns, dtype=np.intp),
        after=np.argmax(answer.probabilities, axis=1),
        moved=np.empty(patterns),
        certainty=np.empty((2, patterns)),
        entropy=np.empty((2, patterns)),
    )
    for first in range(0, patterns, BLOCK):  # a block at a time: no copy of the whole table
        _fill(case, answer.probabilities, slice(first, min(first + BLOCK, patterns)))
    return case


def _fill(case: Case, probabilities: FloatArray, block: slice) -> None:
    votes, refined = case.table.votes_per_class(case.rows[block]), probabilities[block]
    shares, every = soft_vote(votes), np.arange(len(votes))
    case.voted[block] = votes.any(axis=1)
    case.before[block] = leading_class(votes)
    case.moved[block] = 0.5 * np.abs(refined - shares).sum(axis=1)
    case.certainty[0, block] = shares[every, case.before[block]]
    case.certainty[1, block] = refined[every, case.after[block]]
    for i, values in enumerate((shares, refined)):
        case.entropy[i, block] = -xlogy(values, values).sum(axis=1)


def _check_same(table: LabelTable, answer: Answer, n_objects: int) -> None:
    """Refuse labels that are not those of the fit, as far as they can be told apart."""
    remedy = "Pass the votes and clusters that the model was fitted with, in the same order."
    if table.n_objects != n_objects:
        raise InputError("votes", f"{table.n_objects} objects, but the fit had {n_objects}", remedy)
    if answer.inverse is None:
        return
    rows = table.representatives(answer.inverse, len(answer.probabilities))
    for argument, columns in (("votes", table.votes), ("clusters", table.clusters)):
        for column in columns:
            codes = leading(column)
            other = codes != codes[rows][answer.inverse]
            if other.any():
                place = f"column {column.name!r}, row {int(np.argmax(other))}"
                raise InputError(argument, "not a label of the fit", remedy, place=place)


def leading(column: Column) -> Codes:
    """Strongest label of each object in a column, -1 where missing."""
    if isinstance(column, LabelColumn):
        return column.codes
    found = np.argmax(column.scores, axis=1)
    return np.where(column.scores.any(axis=1), found, -1)


def sampled(table: LabelTable, most: int) -> LabelTable:
    """At most so many of the objects, drawn at random but always the same."""
    if table.n_objects <= most:
        return replace(table, frame=None)
    rows = np.random.default_rng(0).choice(table.n_objects, size=most, replace=False)
    return table.take(np.sort(rows))
