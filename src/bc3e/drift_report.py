"""DriftReport: everything the target shows of what changed, with a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score

from bc3e.columns import plain_value
from bc3e.drift import NEW_CLASS, NO_DRIFT, Candidate, Scores, SourceSummary, Verdict
from bc3e.model.evidence import FloatArray
from bc3e.summary import Section, Summary

COMPARED = 20_000  # objects that the agreement of votes and clusterings is measured on
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Change:
    """An object whose label the refinement changed, and which clusterings asked for it.

    Attributes
    ----------
    row : int
        Position in the target.
    before, after : class labels
        Of the soft vote and of the refinement.
    confidence : float
        Refined probability of the new label.
    sided : list of str
        Clusterings in which the object's cluster is more typical of the new
        class than of the old one.
    """

    row: int
    before: Any
    after: Any
    confidence: float
    sided: list[str]


@dataclass(frozen=True)
class DriftReport:
    """What differs between source and target. ``print(report)`` shows it.

    Attributes
    ----------
    verdict : str
        "no drift", "drift", "drift with possible new class", or "unknown" when
        nothing is known of the source.
    p_value, level : float or None
        Of the test that the target speaks like the source.
    by_score : dict of str to float
        P-value of each score by itself.
    classes : list
    class_shares : dict of str to (k,) array
        "source" (true shares, or those predicted, if known), "before" (soft
        vote) and "after" (refined).
    disagreement : dict of str to float
        Mean share of the pairs of classifiers that differ: "source", "target".
    agreement : dict of str to float
        Adjusted mutual information of each clustering with the soft vote.
    trust : float
        How far the refinement believed the clusterings.
    candidates : list of Candidate
        Clusters that no classifier claims with confidence.
    movement : (k, k) array of int
        Objects by label before (rows) and after (columns).
    changed : (n,) array of int
        Rows of the objects whose label changed.
    """

    verdict: str
    p_value: float | None
    level: float
    by_score: dict[str, float]
    classes: list[Any]
    class_shares: dict[str, FloatArray]
    disagreement: dict[str, float]
    agreement: dict[str, float]
    trust: float
    candidates: list[Candidate]
    movement: NDArray[np.int64]
    changed: NDArray[np.intp]
    _before: NDArray[np.intp]
    _after: NDArray[np.intp]
    _confidence: FloatArray
    _sided: NDArray[np.bool_]

    @property
    def n_objects(self) -> int:
        return int(self.movement.sum())

    def changes(self, limit: int | None = 20) -> list[Change]:
        """Changed objects with the reasons, the most confident first."""
        order = np.argsort(-self._confidence, kind="stable")[:limit]
        names = list(self.agreement)
        return [
            Change(
                row=int(self.changed[i]),
                before=self.classes[self._before[i]],
                after=self.classes[self._after[i]],
                confidence=float(self._confidence[i]),
                sided=[name for name, side in zip(names, self._sided[i], strict=True) if side],
            )
            for i in order
        ]

    def sentence(self) -> str:
        """The verdict in one sentence."""
        moved = f"the refinement changed {len(self.changed):,} of {self.n_objects:,} labels"
        if self.p_value is None:
            return f"No source to compare with, so no verdict; {moved}."
        p = f"p = {self.p_value:.3f}"
        if self.verdict == NO_DRIFT:
            return f"No drift found ({p}); {moved}."
        if self.verdict == NEW_CLASS:
            count = sum(len(c.rows) for c in self.candidates)
            return f"Drift ({p}), with {count:,} objects that may be of a new class; {moved}."
        return f"Drift ({p}); {moved}."

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings, lists and dicts, changed objects as counts."""
        return {
            "verdict": self.verdict,
            "sentence": self.sentence(),
            "p_value": self.p_value,
            "level": self.level,
            "by_score": self.by_score,
            "classes": [plain_value(c) for c in self.classes],
            "class_shares": {name: shares.tolist() for name, shares in self.class_shares.items()},
            "disagreement": self.disagreement,
            "agreement": self.agreement,
            "trust": self.trust,
            "movement": self.movement.tolist(),
            "n_changed": len(self.changed),
            "candidates": [
                {
                    "clustering": list(self.agreement)[c.clustering],
                    "cluster": c.cluster,
                    "size": len(c.rows),
                    "unsure": c.unsure,
                    "claimed_as": [[plain_value(label), share] for label, share in c.claimed_as],
                }
                for c in self.candidates
            ],
        }

    def summary(self) -> Summary:
        """The report in tables."""
        sections = [
            Section("Drift", ("verdict", "p-value"), ((self.sentence(), _p_value(self.p_value)),)),
            Section("Drift test", ("score", "p-value, uncorrected"), tuple(_p_rows(self))),
            Section("Class shares", ("class", *self.class_shares), tuple(_share_rows(self))),
        ]
        moves = _movement_rows(self)
        if moves:
            sections.append(Section("Label changes", ("from", "to", "objects"), tuple(moves)))
        if self.agreement:
            rows = [(name, f"{value:.2f}") for name, value in self.agreement.items()]
            title = f"Agreement of clusterings and votes (trust {self.trust:.2f})"
            sections.append(Section(title, ("clustering", "adjusted mutual information"), tuple(rows)))
        if self.candidates:
            rows3 = [
                (
                    f"{list(self.agreement)[c.clustering]}, cluster {c.cluster}",
                    f"{len(c.rows):,}",
                    f"{c.unsure:.0%}",
                    ", ".join(f"{label} {share:.0%}" for label, share in c.claimed_as[:3]),
                )
                for c in self.candidates
            ]
            header = ("unclaimed cluster", "objects", "unsure", "claimed as")
            sections.append(Section("Perhaps a class never seen in training", header, tuple(rows3)))
        return Summary(tuple(sections))

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        return f"<DriftReport: {self.sentence()}>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def build_report(
    summary: SourceSummary | None,
    verdict: Verdict | None,
    votes: Sequence[FloatArray],
    refined: FloatArray,
    clusters: NDArray[np.intp],
    names: Sequence[str],
    profiles: Sequence[FloatArray],
    classes: Sequence[Any],
    trust: float,
    level: float,
) -> DriftReport:
    """Put the report together.

    Parameters
    ----------
    summary, verdict
        What is known of the source and the outcome of the test; None if nothing.
    votes : sequence of (N, k) arrays
        Of the target, one per classifier.
    refined : (N, k) array
        Refined probabilities.
    clusters : (N, r2) array
        Rows of `profiles`, -1 where missing.
    names : (r2,) sequence
    profiles : sequence of (k, k_m) arrays
    """
    k = len(classes)
    scores = Scores.of(votes)
    before, after = scores.predicted, refined.argmax(axis=1)
    movement = np.bincount(before * k + after, minlength=k * k).reshape(k, k)
    changed = np.flatnonzero(before != after)
    shares: dict[str, FloatArray] = {}
    disagreement = {"target": float(scores.disagreement.mean())}
    if summary is not None:
        predicted = np.bincount(summary.scores.predicted, minlength=k) / len(summary.scores.predicted)
        shares["source"] = predicted if summary.class_shares is None else summary.class_shares
        disagreement = {"source": float(summary.scores.disagreement.mean()), **disagreement}
    shares["before"] = np.bincount(before, minlength=k) / len(before)
    shares["after"] = np.bincount(after, minlength=k) / len(after)
    return DriftReport(
        verdict=UNKNOWN if verdict is None else verdict.verdict,
        p_value=None if verdict is None else verdict.p_value,
        level=level,
        by_score={} if verdict is None else verdict.by_score,
        classes=list(classes),
        class_shares=shares,
        disagreement=disagreement,
        agreement=_agreement(before, clusters, names),
        trust=trust,
        candidates=[] if verdict is None else verdict.candidates,
        movement=movement,
        changed=changed,
        _before=before[changed],
        _after=after[changed],
        _confidence=refined[changed, after[changed]],
        _sided=sided_with(clusters[changed], profiles, before[changed], after[changed]),
    )


def _agreement(
    labels: NDArray[np.intp], clusters: NDArray[np.intp], names: Sequence[str]
) -> dict[str, float]:
    step = max(1, len(labels) // COMPARED)
    rows = np.arange(0, len(labels), step)
    found = {}
    for m, name in enumerate(names):
        placed = rows[clusters[rows, m] >= 0]
        shared = adjusted_mutual_info_score(labels[placed], clusters[placed, m]) if len(placed) else 0.0
        found[name] = float(shared)
    return found


def sided_with(
    clusters: NDArray[np.intp],
    profiles: Sequence[FloatArray],
    before: NDArray[np.intp],
    after: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """Whether each object's cluster is more typical of the class after than of the one before, (n, r2).

    `clusters` are columns of the (k, k_m) `profiles`, -1 where missing.
    """
    sided = np.zeros(clusters.shape, dtype=bool)
    for m, profile in enumerate(profiles):
        label = clusters[:, m]
        sided[:, m] = (label >= 0) & (profile[after, label] > profile[before, label])
    return sided


def _p_value(p: float | None) -> str:
    return "unknown" if p is None else f"{p:.3f}"


def _p_rows(report: DriftReport) -> list[tuple[str, str]]:
    rows = [(name, f"{p:.3f}") for name, p in report.by_score.items()]
    return rows or [("no source summary", "")]


def _share_rows(report: DriftReport) -> list[tuple[str, ...]]:
    return [
        (str(label), *(f"{shares[i]:.1%}" for shares in report.class_shares.values()))
        for i, label in enumerate(report.classes)
    ]


def _movement_rows(report: DriftReport, limit: int = 10) -> list[tuple[str, str, str]]:
    moved = report.movement.copy()
    np.fill_diagonal(moved, 0)
    order = np.argsort(-moved, axis=None, kind="stable")[:limit]
    pairs = [divmod(int(i), len(report.classes)) for i in order]
    return [
        (str(report.classes[a]), str(report.classes[b]), f"{moved[a, b]:,}")
        for a, b in pairs
        if moved[a, b]
    ]
