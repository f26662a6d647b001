"""The two halves of the E-step, for placements where labels and posteriors live apart.

:class:`LabelHolder` has cluster labels and profiles and answers tendencies with shares;
:class:`PosteriorHolder` has vote totals and posteriors and moves them by the summed shares.
Neither needs to see what the other holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, Workers, cold_posteriors
from bc3e.model.parameters import Parameters
from bc3e.model.rows import row_sum
from bc3e.model.statistics import Statistics

FOLDS = 3


def exact_sum(values: FloatArray) -> FloatArray:
    """Column sums whose bytes do not depend on the order of the rows.

    Each fold rounds the values to a grid so coarse that their sum is exact, and
    leaves the rest to the next fold; three folds keep more than double precision.

    Examples
    --------
    >>> values = np.array([[1e16], [1.0], [-1e16], [1e-9]])
    >>> exact_sum(values).tolist() == exact_sum(values[::-1]).tolist()
    True
    """
    from bc3e.model.split_kernels import fold_block  # compiled code is loaded on first use

    count, width = len(values), int(np.prod(values.shape[1:]))
    flat = np.ascontiguousarray(values, dtype=np.float64).reshape(count, width)
    total, grids = np.zeros(width), np.ones((FOLDS, width))
    for fold in range(FOLDS + 1):
        coarse, largest = np.zeros(width), np.zeros(width)
        fold_block(flat, grids[:fold], coarse, largest)
        total += coarse
        if fold < FOLDS:
            reach = np.ldexp(1.0, np.frexp(largest * 2.0 * max(count, 1))[1])
            grids[fold] = np.where(largest > 0, reach, 1.0)
    return total.reshape(values.shape[1:])


class LabelHolder:
    """Cluster labels of some objects; `evidence` carries no votes here."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.memberships = evidence.stacked(0, evidence.n_patterns)

    def shares(self, profiles: FloatArray, tendencies: FloatArray) -> FloatArray:
        """The part of s that these labels give for every object, (P, k)."""
        return self._exchange(profiles, tendencies, False)[0]

    def settle(self, profiles: FloatArray, tendencies: FloatArray) -> tuple[float, FloatArray]:
        """The label part of the bound, and the counts B (n_rows, k), at the end of the sweeps."""
        _, value, counts = self._exchange(profiles, tendencies, True)
        return value, counts

    def _exchange(
        self, profiles: FloatArray, tendencies: FloatArray, valued: bool
    ) -> tuple[FloatArray, float, FloatArray]:
        from bc3e.model.split_kernels import exchange_block

        evidence, layout = self.evidence, self.evidence.layout
        hard, soft = layout.hard_columns, layout.soft_columns
        shares, (counts, spread) = np.empty_like(tendencies), layout.empty_counts(profiles.shape[1])
        tendencies = tendencies.view()
        tendencies.flags.writeable = False  # as in a message: one compiled form for both
        value = exchange_block(
            evidence.labels,
            evidence.evidence_weights[hard],
            self.memberships,
            layout.membership_offsets,
            layout.offsets[soft],
            evidence.evidence_weights[soft],
            evidence.weights,
            layout.with_missing(profiles),
            np.log(profiles),
            tendencies,
            valued,
            shares,
            counts.reshape(-1),
            spread.reshape(-1),
        )
        return shares, value, layout.folded(counts, spread)


class PosteriorHolder:
    """Vote totals c (P, k), label weights R2 (P,) and posteriors of some objects."""

    def __init__(
        self, votes: FloatArray, label_weight: FloatArray, structured: bool, n_jobs: int | None = None
    ) -> None:
        self.votes, self.label_weight, self.structured = votes, label_weight, structured
        self.workers = Workers(n_jobs)
        self.state: State
        self.moving: NDArray[np.uint8]
        self.last: tuple[FloatArray, FloatArray, FloatArray]  # tendencies, s, how far s followed

    def begin(self, parameters: Parameters) -> None:
        """Bring every object to its cold state."""
        self.state = cold_posteriors(row_sum(self.votes), self.label_weight, parameters)

    def start_sweeps(self) -> None:
        """Let every object move again, and remember no step."""
        from bc3e.model.newton_kernels import UNSEEN

        count, tendency = len(self.votes), self.state.tendency
        self.moving = np.ones(count, dtype=np.uint8)
        self.last = tendency.copy(), np.zeros_like(tendency), np.full(count, UNSEEN)

    def step(self, shares: FloatArray, parameters: Parameters, settled: float) -> int:
        """Move every object that does not rest yet; returns how many still move."""
        from bc3e.model.split_kernels import step_block

        state = self.state

        def run(first: int, last: int) -> int:
            at = slice(first, last)
            return int(
                step_block(
                    self.votes[at], shares[at], self.label_weight[at], parameters.class_mean,
                    parameters.class_variance, parameters.delta2, self.structured,
                    *state.rows(first, last), settled, self.moving[at],
                    *(array[at] for array in self.last),
                )
            )  # fmt: skip

        return sum(self.workers.blocks(len(self.votes), run))

    def statistics(self, parameters: Parameters, label_bound: float) -> Statistics:
        """Statistics of these objects; `label_bound` is what the holders of labels add."""
        from bc3e.model.split_kernels import moments_block

        count, k = self.votes.shape
        squares, totals = np.empty((count, k)), np.empty((count, 3))
        moments_block(
            self.votes, self.label_weight, parameters.class_mean, parameters.class_variance,
            parameters.delta2, self.structured, self.state.mean, self.state.tendency,
            self.state.a, self.state.d, self.state.g, squares, totals,
        )  # fmt: skip
        first, second, (weight, gap, bound) = map(exact_sum, (self.state.mean, squares, totals))
        nothing = np.empty((0, k))
        return Statistics(float(weight), first, second, float(gap), nothing, float(bound) + label_bound)
