"""How a target differs from the source: the drift test and its report, for ConsensusClassifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.consulting import Consulting
from bc3e.drift import Scores, SourceSummary, judge
from bc3e.drift_report import DriftReport, build_report
from bc3e.ensembles import ClusterEnsemble
from bc3e.estimator import BC3E
from bc3e.model.evidence import FloatArray
from bc3e.probes import Probes


class Watching(Consulting):
    """Base of ConsensusClassifier: what is known of the source is compared with the target."""

    clusterings_: ClusterEnsemble
    consensus_: BC3E
    level: float
    source_summary: SourceSummary | None
    _clusters: NDArray[np.intp]
    _probes: Probes | None

    def _summary(self) -> SourceSummary | None:
        summary = getattr(self, "source_summary_", self.source_summary)
        if summary is not None:
            probes = 0 if self._probes is None else len(self._probes.sets)
            summary.check(self.classes_.tolist(), [name for name, _ in self._members], probes)
        return summary

    def _report(self, X: Any, votes: dict[str, FloatArray]) -> DriftReport:
        summary = self._summary()
        verdict = None
        if summary is not None:
            scores = self._scores(X, votes)
            verdict = judge(summary, scores, self._clusters, level=self.level)
        return build_report(
            summary,
            verdict,
            list(votes.values()),
            self.probabilities_,
            self._profile_rows(),
            self.clusterings_.names_,
            self.consensus_.parameters_.cluster_profiles,
            self.classes_.tolist(),
            float(self.consensus_.trust_),
            self.level,
        )

    def _profile_rows(self) -> NDArray[np.intp]:
        """Clusters of the target as columns of the learned profiles, which know no empty cluster."""
        rows = np.empty_like(self._clusters)
        for m, values in enumerate(self.consensus_._schema.clusters):
            lookup = np.full(max(int(self._clusters[:, m].max()), *(int(v) for v in values), 0) + 2, -1)
            lookup[[int(v) for v in values]] = np.arange(len(values))
            rows[:, m] = lookup[self._clusters[:, m]]  # -1 reads the last entry, which is -1
        return rows

    def _scores(self, X: Any, votes: dict[str, FloatArray]) -> Scores:
        """Scores for the test: by the same classifiers that spoke about the source.

        Half of the objects, drawn at random, is put to either set of probes,
        exactly as with the source.
        """
        summary = self._summary()
        sketch = None if summary is None else summary.sketch
        features = None if sketch is None else sketch.apply(X)
        if self._probes is None:
            return Scores.of(list(votes.values()), features=features)
        which = np.random.default_rng(0).permutation(X.shape[0]) % 2
        return Scores.of(list(self._probes.votes(X, which).values()), which, features)
