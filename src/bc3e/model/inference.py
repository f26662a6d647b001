"""The E-step over all objects: blocks of rows, shared among threads.

Blocks have a fixed size and are summed in their order, so the result has the
same bytes whatever the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np

from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.parameters import Parameters
from bc3e.model.statistics import Statistics

BLOCK = 4096

Result = TypeVar("Result")


@dataclass(frozen=True)
class State:
    """Posterior of every pattern; the arrays are updated in place by :func:`e_step`.

    See :mod:`bc3e.model.step_kernels` for the meaning of the precision parts a, d, g.
    """

    mean: FloatArray
    tendency: FloatArray
    a: FloatArray
    d: FloatArray
    g: FloatArray

    def covariances(self, structured: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """V11, V22 and V12 of every pattern and class, each (P, k)."""
        g = self.g[:, None]
        if not structured:
            return 1.0 / (self.a + g), 1.0 / (self.d + g), np.zeros_like(self.a)
        det = self.a * self.d + g * (self.a + self.d)
        return (self.d + g) / det, (self.a + g) / det, g / det


def label_weights(evidence: Evidence) -> FloatArray:
    """R2 of every pattern: the summed weights of the cluster labels it has."""
    total = np.zeros(evidence.n_patterns)
    for m, present, _ in evidence.assignments():
        total += evidence.evidence_weights[m] * present
    return total


def cold_state(evidence: Evidence, parameters: Parameters) -> State:
    """The start of every object: the prior mean, with the curvature found there.

    It depends on the object alone, which is why new objects get the same
    answer as objects that were part of the fit.
    """
    return cold_posteriors(evidence.votes, label_weights(evidence), parameters)


def cold_posteriors(votes: FloatArray, label_weight: FloatArray, parameters: Parameters) -> State:
    """:func:`cold_state` from vote totals c (P, k) and label weights R2 (P,) alone."""
    p, k = votes.shape
    mean = np.repeat(parameters.class_mean[None, :], p, axis=0)
    a = 1.0 / parameters.class_variance[None, :] + votes.sum(axis=1, keepdims=True) / k
    d = np.repeat(label_weight[:, None] / k, k, axis=1)
    return State(mean, mean.copy(), a, d, np.full(p, 1.0 / parameters.delta2))


class Workers:
    """Runs a function over blocks of rows with `n_jobs` threads."""

    def __init__(self, n_jobs: int | None = None) -> None:
        cores = os.cpu_count() or 1
        jobs = 1 if n_jobs is None else n_jobs
        self.threads = max(1, cores + 1 + jobs if jobs < 0 else jobs)

    def blocks(self, rows: int, run: Callable[[int, int], Result]) -> list[Result]:
        """Results of `run(first, last)` for consecutive blocks, in order."""
        edges = [(first, min(first + BLOCK, rows)) for first in range(0, rows, BLOCK)]
        if self.threads == 1 or len(edges) < 2:
            return [run(first, last) for first, last in edges]
        with ThreadPoolExecutor(min(self.threads, len(edges))) as pool:
            return list(pool.map(lambda edge: run(*edge), edges))


def e_step(
    evidence: Evidence,
    parameters: Parameters,
    state: State,
    *,
    structured: bool,
    sweeps: int,
    workers: Workers,
    settled: float = 0.0,
) -> Statistics:
    """Improve the posterior of every pattern in place and return the statistics.

    Each pattern takes at most `sweeps` safeguarded natural-gradient steps and
    rests early once a step is no larger than `settled`.
    """
    from bc3e.model.kernels import e_step_block  # compiled code is loaded on first use

    layout = evidence.layout
    hard, soft = layout.hard_columns, layout.soft_columns
    log_profiles = np.log(parameters.profiles)

    def run(first: int, last: int) -> Statistics:
        counts = np.zeros_like(parameters.profiles)
        moments = np.zeros((2, evidence.n_classes))
        totals = np.zeros(3)
        e_step_block(
            0,
            last - first,
            evidence.votes[first:last],
            evidence.labels[first:last],
            evidence.evidence_weights[hard],
            evidence.stacked(first, last),
            layout.membership_offsets,
            layout.offsets[soft],
            evidence.evidence_weights[soft],
            evidence.weights[first:last],
            parameters.class_mean,
            parameters.class_variance,
            parameters.delta2,
            parameters.profiles,
            log_profiles,
            structured,
            state.mean[first:last],
            state.tendency[first:last],
            state.a[first:last],
            state.d[first:last],
            state.g[first:last],
            sweeps,
            settled,
            counts,
            moments,
            totals,
        )
        return Statistics(totals[0], moments[0], moments[1], totals[1], counts, totals[2])

    return reduce(add, workers.blocks(evidence.n_patterns, run))
