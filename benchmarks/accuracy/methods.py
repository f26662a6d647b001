"""The methods that the harness compares, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from typing import Any

import numpy as np

from bc3e.experiments.domains import FloatArray
from benchmarks.accuracy.cases import Case
from benchmarks.accuracy.metrics import soft_vote

SOFT_VOTE = "soft vote"
C3E_ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class Outcome:
    """What a method says of a case.

    Attributes
    ----------
    probabilities : (N, k) array
    trust : float
        Its trust in the clusterings, NaN if it has none.
    """

    probabilities: FloatArray
    trust: float = float("nan")


Method = Callable[[Case], Outcome]


def _soft_vote(case: Case) -> Outcome:
    return Outcome(soft_vote(case))


def _fitted(model: Any) -> Outcome:
    probabilities = np.asarray(model.probabilities_, dtype=np.float64)
    return Outcome(probabilities, float(getattr(model, "trust_", float("nan"))))


def fit(make: Callable[..., Any], case: Case) -> Outcome:
    """Fit what `make` makes for the classes of the case."""
    model = make(classes=list(range(case.n_classes)))
    return _fitted(model.fit(case.votes, case.clusters))


def _bc3e(**settings: Any) -> Method:
    import bc3e

    return partial(fit, partial(bc3e.BC3E, **settings))


def _published() -> Method:
    import bc3e

    return partial(fit, bc3e.BC3E.as_published)


def _rival(name: str, **settings: Any) -> Method:
    import bc3e.rivals

    return partial(fit, partial(getattr(bc3e.rivals, name), **settings))


def _c3e_ideal() -> Method:
    """C3E with the alpha that suits the true labels best: a bound, not a method."""
    import bc3e.rivals

    def best(case: Case) -> Outcome:
        grid = {"alpha": C3E_ALPHAS}
        classes = list(range(case.n_classes))
        model = bc3e.rivals.C3E.ideal(case.votes, case.clusters, case.truth, grid=grid, classes=classes)
        return _fitted(model)

    return best


REGISTRY: dict[str, Callable[[], Method]] = {
    SOFT_VOTE: lambda: _soft_vote,
    "BC3E": _bc3e,
    "BC3E as published": _published,
    "majority vote": partial(_rival, "MajorityVote"),
    "BGCM": partial(_rival, "BGCM"),
    "LWE": partial(_rival, "LWE"),
    **{f"C3E {alpha:g}": partial(_rival, "C3E", alpha=alpha) for alpha in C3E_ALPHAS},
    "C3E ideal": _c3e_ideal,
    "Dawid-Skene": partial(_rival, "DawidSkene", evidence_weight=1.0),
    "Dawid-Skene 0.2": partial(_rival, "DawidSkene", evidence_weight=0.2),
    "Bayesian cluster ensemble": partial(_rival, "BayesianClusterEnsemble"),
}
"""How to get each method; called late, so that one that is not there stops nothing."""


def choose(patterns: Sequence[str] | None) -> tuple[dict[str, Method], dict[str, str]]:
    """Methods whose names match one of the patterns (all by default), and why others are missing."""
    methods: dict[str, Method] = {}
    absent: dict[str, str] = {}
    for name, make in REGISTRY.items():
        if patterns is not None and not any(fnmatch(name.lower(), p.lower()) for p in patterns):
            continue
        try:
            methods[name] = make()
        except (ImportError, AttributeError, TypeError) as problem:
            absent[name] = str(problem)
    return methods, absent
