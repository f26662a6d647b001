"""What the rivals share: checks of their parameters and the record of their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bc3e.consensus import ConsensusEstimator
from bc3e.errors import InputError
from bc3e.labels import LabelTable


@dataclass(frozen=True)
class Trace:
    """The course of an iteration: its objective after each step, and whether it settled."""

    objectives: Sequence[float]
    converged: bool


class IterativeRival(ConsensusEstimator):
    """Base of the rivals that improve an objective step by step.

    After a fit, ``objectives_`` holds the objective at the start and after each
    of the ``n_iter_`` iterations, and ``converged_`` whether `tol` was reached.
    """

    max_iter: int
    tol: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol)

    def _record(self, trace: Trace) -> None:
        self.objectives_ = np.array(trace.objectives)
        self.n_iter_ = len(trace.objectives) - 1
        self.converged_ = trace.converged


def need_votes(table: LabelTable, method: str) -> None:
    """Refuse a table without classifiers."""
    if not table.votes:
        raise InputError(
            "votes",
            f"no classifier, but {method} has nothing else to learn the classes from",
            "Pass votes, or use BC3E or BayesianClusterEnsemble with n_classes=.",
        )


def check_number(name: str, value: Any, *, positive: bool = False) -> None:
    """Refuse what is not a finite number of at least zero (above zero if `positive`)."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or value < 0 or (positive and value == 0):
        least = "larger than 0" if positive else "0 or larger"
        raise InputError(name, f"{value!r}", f"Pass a number, {least}.")


def check_count(name: str, value: Any) -> None:
    """Refuse what is not a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(name, f"{value!r}", "Pass a whole number, 1 or larger.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a word that is not among the choices."""
    if value not in choices:
        raise InputError(name, f"{value!r}", f"Use one of {', '.join(map(repr, choices))}.")
