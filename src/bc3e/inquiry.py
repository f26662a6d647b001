"""What learning asks of its objects: sums over all of them.

Everything that :class:`bc3e.learning.Learner` wants to know of the objects is asked here. The
objects of :class:`Inquiry` are in the memory of this machine; an engine that keeps them elsewhere
(:mod:`bc3e.engines.spark`) asks the same questions of its parts and adds up the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bc3e.agreement import agreement_rate, class_votes, classifier_weights
from bc3e.model.calibration import exponent_for, mean_confidence, tempered
from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, Workers
from bc3e.model.parameters import Parameters, Rules
from bc3e.model.schedule import PASSING, SETTLED, Fit, LocalPlacement, Progress, alternate, settle
from bc3e.model.shrinkage import Shrinkage, learn_shrinkage
from bc3e.model.starts import (
    cluster_counts,
    diffused_responsibilities,
    random_responsibilities,
    vote_responsibilities,
)
from bc3e.objects import Objects


class Inquiry:
    """Questions to objects in the memory of this machine.

    Parameters
    ----------
    structured : bool
        Whether posteriors keep the covariance of y and theta.
    workers : Workers
        Threads that share the objects.
    """

    def __init__(self, structured: bool, workers: Workers) -> None:
        self.structured, self.workers = structured, workers
        self._local: LocalPlacement

    def classifier_weights(self, objects: Objects) -> FloatArray:
        """How much a vote of each classifier counts by its agreement with the others, (r1,)."""
        return classifier_weights(objects.table, objects.weights)

    def agreement_rate(self, objects: Objects) -> float | None:
        """How often two classifiers choose the same class; None without two votes to compare."""
        return agreement_rate(objects.table, objects.weights)

    def class_frequencies(self, objects: Objects) -> FloatArray:
        """How often the votes as given choose each class, (k,)."""
        sums = self.class_votes(objects)
        frequencies: FloatArray = sums / sums.sum()
        return frequencies

    def class_votes(self, objects: Objects) -> FloatArray:
        """Shares of the votes per class, summed over the objects that have votes, (k,)."""
        return class_votes(objects.table, objects.weights)

    def evidence(self, objects: Objects, counted: FloatArray, vote_weight: float | None) -> Evidence:
        """Arrays for the model, with classifiers that count as given and clusterings that count one."""
        return objects.table.evidence(
            evidence_weights=np.ones(len(objects.table.clusters)),
            weights=objects.weights,
            classifier_weights=counted,
            vote_weight=vote_weight,
        )

    def voted(self, evidence: Evidence) -> bool:
        """Whether there is a vote for any object."""
        return bool(evidence.ballots.any())

    def confidence(self, evidence: Evidence) -> float:
        """Mean share of the strongest class of the votes."""
        return mean_confidence(evidence.ballots, evidence.ballot_weights(), workers=self.workers)

    def exponent(self, evidence: Evidence, confidence: float) -> float:
        """The power at which the mean confidence of the votes is `confidence`."""
        return exponent_for(evidence.ballots, evidence.ballot_weights(), confidence, self.workers)

    def tempered(self, evidence: Evidence, exponent: float) -> Evidence:
        """The same objects with votes raised to a power."""
        return replace(evidence, ballots=tempered(evidence.ballots, exponent))

    def vote_counts(self, evidence: Evidence) -> FloatArray:
        """Votes in each cluster, (n_rows, k)."""
        met = evidence.meetings()
        if met is None:
            return cluster_counts(evidence, vote_responsibilities(evidence.votes), self.workers)
        return met.T @ vote_responsibilities(evidence.ballots)

    def shrinkage(self, evidence: Evidence, counts: FloatArray, unit: float) -> Shrinkage:
        """Strength and significance of every clustering, where `counts` are those of the votes."""
        anchor = vote_responsibilities(evidence.ballots)
        return learn_shrinkage(evidence, anchor, counts, unit, self.workers)

    def diffused_counts(self, evidence: Evidence) -> FloatArray:
        """Votes in each cluster after they were diffused over shared clusters, (n_rows, k)."""
        spread = diffused_responsibilities(evidence, vote_responsibilities(evidence.votes))
        return cluster_counts(evidence, spread, self.workers)

    def random_counts(
        self, evidence: Evidence, draws: np.random.Generator, unit: float | None
    ) -> tuple[FloatArray, Shrinkage | None]:
        """Objects around random seeds in each cluster, (n_rows, k), and with `unit` their shrinkage."""
        drawn = random_responsibilities(evidence, draws)
        counts = cluster_counts(evidence, drawn, self.workers)
        if unit is None:
            return counts, None
        # Objects with equal votes are drawn apart.
        return counts, learn_shrinkage(evidence.apart(), drawn, counts, unit, self.workers)

    def climb(
        self,
        evidence: Evidence,
        start: Parameters,
        rules: Rules,
        *,
        max_iter: int,
        tol: float,
        name: str,
        observe: Callable[[Progress], bool],
        passing: float = PASSING,
    ) -> Fit:
        """EM from a start."""
        self._local = LocalPlacement(evidence, structured=self.structured, workers=self.workers)
        beginning = Fit(start, (), (), False, name)
        return alternate(
            self._local,
            beginning,
            rules,
            max_iter=max_iter,
            tol=tol,
            observe=observe,
            passing=passing,
        )

    def settle(self, evidence: Evidence, parameters: Parameters, settled: float) -> tuple[State, float]:
        """Posteriors after the last climb under frozen parameters, and their part of the bound.

        Where they need not settle as an answer does, they go on from where the climb left them.
        """
        assert self._local.evidence is evidence
        bound = settle(self._local, parameters, settled, cold=settled <= SETTLED)
        return self._local.state, bound
