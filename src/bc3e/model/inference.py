"""The E-step over all objects: blocks of rows, shared among threads.

Blocks have a fixed size and are summed in their order, so the result has the
same bytes whatever the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bc3e.model.evidence import LANES, Evidence, FloatArray
from bc3e.model.parameters import Parameters
from bc3e.model.rows import row_sum
from bc3e.model.statistics import Statistics

BLOCK = 8192

Result = TypeVar("Result")
Rows = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]  # of a state


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

    @classmethod
    def room(cls, patterns: int, k: int) -> State:
        """Memory for the posteriors of so many patterns, with nothing in it yet."""
        mean, tendency, a, d = (np.empty((patterns, k)) for _ in range(4))
        return cls(mean, tendency, a, d, np.empty(patterns))

    def rows(self, first: int, last: int) -> Rows:
        """The arrays of some patterns, in the order of the fields."""
        at = slice(first, last)
        return self.mean[at], self.tendency[at], self.a[at], self.d[at], self.g[at]

    def lighter(self) -> State:
        """The same with part a in single precision: to be kept, not to be gone on from."""
        return replace(self, a=self.a.astype(np.float32))

    def covariances(self, structured: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """V11, V22 and V12 of every pattern and class, each (P, k)."""
        a, d, g = self.a.astype(np.float64), self.d, self.g[:, None]
        if not structured:
            return 1.0 / (a + g), 1.0 / (d + g), np.zeros_like(a)
        det = a * d + g * (a + d)
        return (d + g) / det, (a + g) / det, g / det


def label_weights(evidence: Evidence) -> FloatArray:
    """R2 of every pattern: the summed weights of the cluster labels it has."""
    if not evidence.memberships and evidence.labels.min(initial=0) >= 0:  # nothing is missing
        every = 0.0
        for weight in evidence.evidence_weights[evidence.layout.hard_columns]:
            every += float(weight)  # one by one, as below: an object must not mind its company
        return np.broadcast_to(np.float64(every), evidence.n_patterns)
    total = np.zeros(evidence.n_patterns)
    for m, present, _ in evidence.assignments():
        total += evidence.evidence_weights[m] * present
    return total


def cold_state(evidence: Evidence, parameters: Parameters) -> State:
    """The start of every object: the prior mean, with the curvature found there.

    It depends on the object alone, which is why new objects get the same
    answer as objects that were part of the fit.
    """
    spread = evidence.per_object(_spread(row_sum(evidence.ballots), evidence.n_classes))
    return _cold(spread, label_weights(evidence), parameters)


def cold_posteriors(vote_weight: FloatArray, label_weight: FloatArray, parameters: Parameters) -> State:
    """:func:`cold_state` from R1 (P,) and R2 (P,) alone."""
    return _cold(_spread(vote_weight, len(parameters.class_mean)), label_weight, parameters)


def _cold_ballots(ballots: FloatArray, parameters: Parameters) -> State:
    """The cold state of objects with these votes, and with a label weight of 1."""
    return _cold(_spread(row_sum(ballots), ballots.shape[1]), np.ones(len(ballots)), parameters)


def _cold(a: FloatArray, label_weight: FloatArray, parameters: Parameters) -> State:
    """The cold state of objects whose votes, spread evenly, are `a`, which becomes part of it."""
    a += 1.0 / parameters.class_variance
    mean = np.repeat(parameters.class_mean[None, :], len(a), axis=0)
    d = _spread(label_weight, len(parameters.class_mean))
    return State(mean, mean.copy(), a, d, np.full(len(a), 1.0 / parameters.delta2))


def _spread(weight: FloatArray, k: int) -> FloatArray:
    """Weights (n,) spread evenly over the classes, (n, k)."""
    return np.repeat(weight * (1.0 / k), k).reshape(-1, k)  # as kernels do: label weight times 1/k


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
    summed: bool = True,
    fresh: bool = False,
) -> Statistics:
    """Improve the posterior of every pattern in place and return the statistics.

    Each pattern takes at most `sweeps` safeguarded steps and rests early once a step is no
    larger than `settled`. If not `summed`, only the weight and the bound are added up. If `fresh`, every
    pattern begins in its cold state, and `state` is only where the result is put.
    """
    from bc3e.model.kernels import e_step_block  # compiled code is loaded on first use

    layout, k = evidence.layout, evidence.n_classes
    profiles, log_profiles = layout.with_missing(parameters.profiles), np.log(parameters.profiles)
    shared = fresh and evidence.vote_groups is not None
    cold = _cold_ballots(evidence.ballots, parameters) if shared else None

    def run(first: int, last: int) -> Statistics:
        counts, spread = layout.empty_counts(k)
        sums, totals = np.zeros((2 * k + 1, LANES)), np.zeros(2)
        ballots, ballot = _ballots(evidence, first, last)
        posteriors = state.rows(first, last)
        begin = posteriors
        if fresh:
            start = cold or _cold_ballots(ballots, parameters)
            begin = start.rows(0, len(ballots))
        e_step_block(
            0,
            last - first,
            ballots,
            ballot,
            *evidence.labels_for_kernels(first, last),
            evidence.weights[first:last],
            parameters.class_mean,
            parameters.class_variance,
            parameters.delta2,
            profiles,
            log_profiles,
            structured,
            *posteriors,
            fresh,
            *begin,
            sweeps,
            settled,
            summed,
            counts.reshape(-1),
            spread.reshape(-1),
            sums.reshape(-1),
            totals,
        )
        moments, weight, bound = sums.sum(axis=1), float(totals[0]), float(totals[1])
        gap, counts = float(moments[2 * k]), layout.folded(counts, spread)
        return Statistics(weight, moments[:k], moments[k : 2 * k], gap, counts, bound)

    return reduce(add, workers.blocks(evidence.n_patterns, run))


def _ballots(evidence: Evidence, first: int, last: int) -> tuple[FloatArray, NDArray[np.int32]]:
    """Ballots, and which of them each of some objects has."""
    if evidence.vote_groups is None:
        return evidence.ballots[first:last], np.arange(last - first, dtype=np.int32)
    return evidence.ballots, evidence.vote_groups[first:last]
