"""The EM loop, on one screen.

The loop does not know where objects and parameters are. A :class:`Placement` does: one
machine (:class:`LocalPlacement`), or many sites that exchange messages
(:mod:`bc3e.federation`). All placements follow this one schedule, step for step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, Workers, e_step
from bc3e.model.parameters import Parameters, Rules
from bc3e.model.statistics import Statistics, m_step

# Sweeps per EM iteration: the state is carried over, so an object that rests early or is cut
# off goes on improving in the next iteration. The answer itself is swept until it settles.
SWEEPS, PASSING = 3, 1e-3
FINAL_SWEEPS, SETTLED = 200, 1e-10
ROUGHLY = 1e-2  # enough to know an object's label, where its probabilities are not asked for


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each EM iteration.

    Attributes
    ----------
    iteration : int
        1 for the first iteration.
    lower_bound : float
        The bound before this iteration's M-step.
    parameters : Parameters
        The parameters that the bound belongs to.
    start : str
        Name of the start this iteration belongs to.
    """

    iteration: int
    lower_bound: float
    parameters: Parameters
    start: str


@dataclass(frozen=True)
class Fit:
    """Outcome of one EM run from one start, or of as many of its iterations as were done."""

    parameters: Parameters
    lower_bounds: tuple[float, ...]
    delta2_path: tuple[float, ...]
    converged: bool
    start: str


class Placement(Protocol):
    """Where the objects and the parameters of a fit are, and how they are reached."""

    @property
    def row_weights(self) -> FloatArray:
        """Evidence weight of each row of the profiles that are part of the parameters here."""

    def begin(self, parameters: Parameters) -> None:
        """Bring every object to its cold state."""

    def e_step(self, parameters: Parameters, *, sweeps: int, settled: float, final: bool) -> Statistics:
        """Improve every posterior from where it is; `final` if no M-step will follow."""

    def m_step(self, statistics: Statistics, parameters: Parameters, rules: Rules) -> Parameters:
        """Parameters that maximise the bound."""


class LocalPlacement:
    """Everything on this machine."""

    def __init__(self, evidence: Evidence, *, structured: bool, workers: Workers) -> None:
        self.evidence, self.structured, self.workers = evidence, structured, workers
        self.row_weights = evidence.layout.per_row(evidence.evidence_weights)
        self.state = State.room(evidence.n_patterns, evidence.n_classes)
        self.fresh = True

    def begin(self, parameters: Parameters) -> None:
        self.fresh = True

    def e_step(self, parameters: Parameters, *, sweeps: int, settled: float, final: bool) -> Statistics:
        fresh, self.fresh = self.fresh, False
        return e_step(
            self.evidence,
            parameters,
            self.state,
            structured=self.structured,
            sweeps=sweeps,
            workers=self.workers,
            settled=settled,
            summed=not final,
            fresh=fresh,
        )

    def m_step(self, statistics: Statistics, parameters: Parameters, rules: Rules) -> Parameters:
        return m_step(statistics, parameters, rules, self.evidence.layout)


def alternate(
    placement: Placement,
    so_far: Fit,
    rules: Rules,
    *,
    max_iter: int,
    tol: float,
    observe: Callable[[Progress], bool] | None = None,
    keep: Callable[[Fit], None] | None = None,
    passing: float = PASSING,
) -> Fit:
    """Alternate E-step and M-step, going on from where a fit is.

    Stops after `max_iter` iterations, when an iteration raises the bound by no
    more than `tol` nats per unit of object weight, or when `observe` asks to.
    `keep` is handed the fit after each iteration, to be gone on with after a crash. An object rests
    for an iteration when a step is no larger than `passing`.
    """
    fit = so_far
    if not fit.lower_bounds:
        placement.begin(fit.parameters)
    while not fit.converged and len(fit.lower_bounds) < max_iter:
        parameters, bounds = fit.parameters, fit.lower_bounds
        statistics = placement.e_step(parameters, sweeps=SWEEPS, settled=passing, final=False)
        bounds += (statistics.bound + rules.log_prior(parameters, placement.row_weights),)
        step = Progress(len(bounds), bounds[-1], parameters, fit.start)
        stop = observe is not None and observe(step)
        converged = len(bounds) > 1 and bounds[-1] - bounds[-2] <= tol * statistics.weight
        path = (*fit.delta2_path, parameters.delta2)
        if not (converged or stop):
            parameters = placement.m_step(statistics, parameters, rules)
        fit = Fit(parameters, bounds, path, converged, fit.start)
        if keep is not None:
            keep(fit)
        if stop:
            break
    return fit


def settle(
    placement: Placement, parameters: Parameters, settled: float = SETTLED, *, cold: bool = True
) -> float:
    """Bring every object to its posterior under frozen parameters; its part of the bound.

    An answer begins in the cold state, so that objects of the fit and new objects with
    the same labels get the same one to the last bit.
    """
    if cold:
        placement.begin(parameters)
    return placement.e_step(parameters, sweeps=FINAL_SWEEPS, settled=settled, final=True).bound


def infer(
    evidence: Evidence,
    parameters: Parameters,
    *,
    structured: bool,
    workers: Workers,
    settled: float = SETTLED,
) -> tuple[State, float]:
    """:func:`settle` on this machine: posterior of every pattern, and its part of the bound."""
    placement = LocalPlacement(evidence, structured=structured, workers=workers)
    bound = settle(placement, parameters, settled)
    return placement.state, bound
