"""The EM loop, on one screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bc3e.model.evidence import Evidence
from bc3e.model.inference import State, Workers, cold_state, e_step
from bc3e.model.parameters import Parameters, Rules
from bc3e.model.statistics import m_step

# Sweeps per EM iteration: the state is carried over, so an object that rests early or is cut
# off goes on improving in the next iteration. The answer itself is swept until it settles.
SWEEPS, PASSING = 5, 1e-4
FINAL_SWEEPS, SETTLED = 200, 1e-12


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
    """Outcome of one EM run from one start."""

    parameters: Parameters
    lower_bounds: tuple[float, ...]
    delta2_path: tuple[float, ...]
    converged: bool
    start: str


def run_em(
    evidence: Evidence,
    start: Parameters,
    rules: Rules,
    *,
    structured: bool,
    max_iter: int,
    tol: float,
    workers: Workers,
    name: str = "votes",
    observe: Callable[[Progress], bool] | None = None,
) -> Fit:
    """Alternate E-step and M-step from `start`.

    Stops after `max_iter` iterations, when an iteration raises the bound by no
    more than `tol` nats per unit of object weight, or when `observe` asks to.
    """
    row_weights = evidence.layout.per_row(evidence.evidence_weights)
    parameters, state = start, cold_state(evidence, start)
    bounds: list[float] = []
    delta2_path: list[float] = []
    converged = False
    for iteration in range(1, max_iter + 1):
        statistics = e_step(
            evidence,
            parameters,
            state,
            structured=structured,
            sweeps=SWEEPS,
            workers=workers,
            settled=PASSING,
        )
        bounds.append(statistics.bound + rules.log_prior(parameters, row_weights))
        delta2_path.append(parameters.delta2)
        stop = observe is not None and observe(Progress(iteration, bounds[-1], parameters, name))
        converged = len(bounds) > 1 and bounds[-1] - bounds[-2] <= tol * statistics.weight
        if converged or stop:
            break
        parameters = m_step(statistics, parameters, rules, evidence.layout)
    return Fit(parameters, tuple(bounds), tuple(delta2_path), converged, name)


def infer(
    evidence: Evidence, parameters: Parameters, *, structured: bool, workers: Workers
) -> tuple[State, float]:
    """Posterior of every pattern under frozen parameters, and its part of the bound.

    Always from the cold state, so that objects of the fit and new objects with
    the same labels get the same answer to the last bit.
    """
    state = cold_state(evidence, parameters)
    statistics = e_step(
        evidence,
        parameters,
        state,
        structured=structured,
        sweeps=FINAL_SWEEPS,
        workers=workers,
        settled=SETTLED,
    )
    return state, statistics.bound
