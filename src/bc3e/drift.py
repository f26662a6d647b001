"""What changed between training and target, told without a label of the target.

`SourceSummary` remembers how the classifiers spoke about objects of the source that they
had not been trained on. `detect` compares the target with it: a permutation test over
what the classifiers say (:mod:`bc3e.two_sample`), the class shares before and after
refinement, who disagrees with whom, and clusters of the target that no classifier claims.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from scipy.stats import binom, hypergeom

from bc3e.columns import plain_value
from bc3e.errors import InputError
from bc3e.model.evidence import FloatArray
from bc3e.sketch import FeatureSketch
from bc3e.two_sample import permutations_for, two_sample_test

LEVEL = 0.05
REMEMBERED = 2_000  # objects of the source in a summary
LOOKED_AT = 4_000  # objects of the target that the test looks at
UNSURE = 0.1  # share of source objects that count as claimed without confidence
SMALLEST = 10  # objects that a candidate class has at least
APART = 3.0  # times that a candidate is unsure more often than is typical of the target
DIGITS = 3  # of the scores that are kept
FORMAT = "bc3e source summary 1"

NO_DRIFT, DRIFT, NEW_CLASS = "no drift", "drift", "drift with possible new class"


@dataclass(frozen=True)
class Scores:
    """What the classifiers say about each object, in a few numbers.

    Attributes
    ----------
    predicted : (N,) int
        Class with the largest mean vote.
    uncertainty : (N,) float
        Entropy of the mean vote, as a share of the largest possible.
    disagreement : (N,) float
        Share of the pairs of classifiers that choose different classes.
    each : (N, r1) float
        Confidence of each classifier in its own choice.
    probe : (N,) int
        Which set of classifiers spoke, where there is more than one.
    features : (N, q) float
        A few numbers that stand for the features, see :mod:`bc3e.sketch`.
    """

    predicted: NDArray[np.int64]
    uncertainty: FloatArray
    disagreement: FloatArray
    each: FloatArray
    probe: NDArray[np.int64]
    features: FloatArray

    @classmethod
    def of(
        cls,
        votes: Sequence[FloatArray],
        probe: NDArray[Any] | None = None,
        features: FloatArray | None = None,
    ) -> Scores:
        """Scores of votes, one (N, k) array of probabilities per classifier."""
        mean = np.mean(np.stack(votes), axis=0)
        choices = [np.argmax(vote, axis=1) for vote in votes]
        pairs = [choices[a] != choices[b] for a in range(len(votes)) for b in range(a)]
        different = np.mean(pairs, axis=0) if pairs else np.zeros(len(mean))
        return cls(
            predicted=mean.argmax(axis=1).astype(np.int64),
            uncertainty=entr(mean).sum(axis=1) / np.log(max(2, mean.shape[1])),
            disagreement=np.asarray(different, dtype=np.float64),
            each=np.stack([vote.max(axis=1) for vote in votes], axis=1),
            probe=np.zeros(len(mean), np.int64) if probe is None else probe.astype(np.int64),
            features=np.empty((len(mean), 0)) if features is None else features,
        )

    def take(self, rows: NDArray[np.intp]) -> Scores:
        """The scores of some objects."""
        return Scores(
            self.predicted[rows],
            self.uncertainty[rows],
            self.disagreement[rows],
            self.each[rows],
            self.probe[rows],
            self.features[rows],
        )

    def named(self, classifiers: Sequence[str]) -> dict[str, NDArray[Any]]:
        """One entry per score, as the test wants them."""
        named: dict[str, NDArray[Any]] = {
            "predicted class": self.predicted,
            "uncertainty": np.round(self.uncertainty, DIGITS),
            "disagreement": self.disagreement,
        }
        for i, name in enumerate(classifiers):
            named[f"confidence of {name}"] = np.round(self.each[:, i], DIGITS)
        for j, column in enumerate(self.features.T[:-1]):
            named[f"features {j + 1}"] = column
        for column in self.features.T[-1:]:
            named["missing values"] = column
        return named

    def unsure(self, threshold: float) -> NDArray[np.bool_]:
        """Objects that are claimed with little confidence."""
        return np.round(self.uncertainty, DIGITS) >= threshold


@dataclass(frozen=True)
class SourceSummary:
    """How the classifiers speak about objects of the source that they did not learn from.

    Small and shareable: at most 2,000 objects, of each only the scores of the
    votes to three digits and coarse bins of a few numbers that mix its features;
    no id, no order. The training data can be thrown away.

    Attributes
    ----------
    classes : list
    classifiers : tuple of str
    scores : Scores
    class_shares : (k,) array or None
        Shares of the true classes, if labels were there.
    accuracy : float or None
        Of the mean vote, if labels were there.
    n_objects : int
        How many objects were looked at.
    probes : int
        0 if the classifiers themselves spoke; 2 if the classifiers of a ``fit``
        that were trained on either half of its data did: then the summary
        belongs to that fitted model.
    sketch : FeatureSketch or None
        How the features of new objects become those numbers.
    """

    classes: list[Any]
    classifiers: tuple[str, ...]
    scores: Scores
    class_shares: FloatArray | None
    accuracy: float | None
    n_objects: int
    probes: int = 0
    sketch: FeatureSketch | None = None

    @classmethod
    def learn(
        cls,
        votes: Sequence[FloatArray],
        classes: Sequence[Any],
        classifiers: Sequence[str],
        truth: NDArray[np.intp] | None = None,
        probe: NDArray[np.intp] | None = None,
        X: Any = None,
        random_state: int = 0,
    ) -> SourceSummary:
        """Summarise votes on source objects, and their features `X`.

        `truth` are class numbers, `probe` tells which of several sets of
        classifiers spoke about each object, if there are several.
        """
        sketch = None if X is None else FeatureSketch.learn(X)
        scores = Scores.of(votes, probe, None if sketch is None else sketch.apply(X))
        rows = np.random.default_rng(random_state).permutation(len(scores.predicted))[:REMEMBERED]
        shares = accuracy = None
        if truth is not None:
            shares = np.bincount(truth, minlength=len(classes)) / len(truth)
            accuracy = float(np.mean(scores.predicted == truth))
        return cls(
            classes=[plain_value(c) for c in classes],
            classifiers=tuple(classifiers),
            scores=scores.take(rows),
            class_shares=shares,
            accuracy=accuracy,
            n_objects=len(scores.predicted),
            probes=0 if probe is None else int(probe.max()) + 1,
            sketch=sketch,
        )

    def save(self, path: str | Path) -> None:
        """Write the summary as JSON."""
        shares = self.class_shares
        content = {
            "format": FORMAT,
            "classes": self.classes,
            "classifiers": list(self.classifiers),
            "predicted": self.scores.predicted.tolist(),
            "uncertainty": np.round(self.scores.uncertainty, DIGITS).tolist(),
            "disagreement": np.round(self.scores.disagreement, 6).tolist(),
            "each": np.round(self.scores.each, DIGITS).tolist(),
            "probe": self.scores.probe.tolist(),
            "features": self.scores.features.tolist(),
            "sketch": None if self.sketch is None else self.sketch.to_dict(),
            "class_shares": None if shares is None else shares.tolist(),
            "accuracy": self.accuracy,
            "n_objects": self.n_objects,
            "probes": self.probes,
        }
        Path(path).write_text(json.dumps(content))

    @classmethod
    def load(cls, path: str | Path) -> SourceSummary:
        """Read a summary that :meth:`save` wrote."""
        try:
            content = json.loads(Path(path).read_text())
            if content["format"] != FORMAT:
                raise ValueError
            shares = content["class_shares"]
            return cls(
                classes=content["classes"],
                classifiers=tuple(content["classifiers"]),
                scores=Scores(
                    np.array(content["predicted"], dtype=np.int64),
                    np.array(content["uncertainty"], dtype=np.float64),
                    np.array(content["disagreement"], dtype=np.float64),
                    np.array(content["each"], dtype=np.float64).reshape(len(content["predicted"]), -1),
                    np.array(content["probe"], dtype=np.int64),
                    np.array(content["features"], dtype=np.float64).reshape(
                        len(content["predicted"]), -1
                    ),
                ),
                class_shares=None if shares is None else np.array(shares, dtype=np.float64),
                accuracy=content["accuracy"],
                n_objects=int(content["n_objects"]),
                probes=int(content["probes"]),
                sketch=None if content["sketch"] is None else FeatureSketch.from_dict(content["sketch"]),
            )
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "path", f"{str(path)!r} is not a source summary", "Pass a file that save() wrote."
            ) from None

    def check(self, classes: Sequence[Any], classifiers: Sequence[str], probes: int) -> None:
        """Refuse a summary that was made for other classes or classifiers."""
        if self.probes != probes:
            raise InputError(
                "source_summary",
                "made by a fit whose half-trained classifiers are not here",
                "Keep that fitted model, or call remember(X_reference) and save its summary.",
            )
        if self.classes != [plain_value(c) for c in classes] or self.classifiers != tuple(classifiers):
            raise InputError(
                "source_summary",
                f"made for the classifiers {list(self.classifiers)} and {len(self.classes)} classes",
                f"This model has {list(classifiers)} and {len(classes)} classes: make a new one.",
            )


@dataclass(frozen=True)
class Candidate:
    """A cluster of the target that no classifier claims: perhaps a class never seen in training.

    Attributes
    ----------
    clustering, cluster : int
        Column of the ensemble and number of the cluster.
    rows : (n,) array
        The objects.
    unsure : float
        Share of them that is claimed with less confidence than nine in ten
        source objects are.
    claimed_as : list of (class, share)
        What the classifiers take them for, the most frequent first.
    """

    clustering: int
    cluster: int
    rows: NDArray[np.intp]
    unsure: float
    claimed_as: list[tuple[Any, float]]


@dataclass(frozen=True)
class Verdict:
    """Whether the target differs from the source, and how sure that is."""

    verdict: str
    p_value: float
    level: float
    by_score: dict[str, float]
    unsure_source: float
    unsure_target: float
    candidates: list[Candidate]


def judge(
    summary: SourceSummary,
    scores: Scores,
    clusters: NDArray[np.intp] | None = None,
    *,
    level: float = LEVEL,
    random_state: int = 0,
) -> Verdict:
    """Test the target against the summary; with clusters, also look for unclaimed ones.

    Parameters
    ----------
    summary : SourceSummary
    scores : Scores
        Of the target.
    clusters : (N, r2) array, optional
        Cluster labels of the target, -1 where missing.
    level : float
        Rate of false alarms on targets that are like the source.
    random_state : int
        Seed of the sample and of the shuffles.
    """
    rng = np.random.default_rng(random_state)
    rows = rng.permutation(len(scores.predicted))[:LOOKED_AT]
    names, sample = summary.classifiers, scores.take(rows)
    reference, target = summary.scores.named(names), sample.named(names)
    # The most uncertain tenth of both samples together: a new class, or a broken part, ends up there.
    tail = rarely_reached(np.concatenate([reference["uncertainty"], target["uncertainty"]]))
    reference["very unsure"] = summary.scores.unsure(tail)
    target["very unsure"] = sample.unsure(tail)
    test = two_sample_test(
        reference,
        target,
        rng,
        groups=(summary.scores.probe, sample.probe),
        permutations=permutations_for(level),
    )
    threshold = rarely_reached(reference["uncertainty"])
    source, unsure = summary.scores.unsure(threshold), scores.unsure(threshold)
    drifted = test.p_value <= level
    candidates: list[Candidate] = []
    if drifted and clusters is not None and _more_often(unsure, source) <= level:
        k = len(summary.classes)
        predicted = summary.scores.predicted
        sizes = np.bincount(predicted, minlength=k)
        usual = np.bincount(predicted, weights=source, minlength=k) / np.maximum(sizes, 1)
        candidates = unclaimed_clusters(clusters, unsure, usual, scores, summary.classes, level)
    verdict = NEW_CLASS if candidates else DRIFT if drifted else NO_DRIFT
    return Verdict(
        verdict,
        test.p_value,
        level,
        test.by_score,
        float(source.mean()),
        float(unsure.mean()),
        candidates,
    )


def rarely_reached(uncertainty: NDArray[Any]) -> float:
    """The smallest uncertainty that at most a tenth of the objects reach; beyond all, if none is."""
    values, counts = np.unique(uncertainty, return_counts=True)
    reach = np.cumsum(counts[::-1])[::-1] / len(uncertainty)
    rare = values[reach <= UNSURE]
    return float(rare[0]) if len(rare) else float(values[-1]) + 1.0


def _more_often(target: NDArray[np.bool_], source: NDArray[np.bool_]) -> float:
    """P-value of Fisher's test that the target is unsure more often than the source."""
    hits, total = int(target.sum() + source.sum()), len(target) + len(source)
    return float(hypergeom.sf(int(target.sum()) - 1, total, hits, len(target)))


def unclaimed_clusters(
    clusters: NDArray[np.intp],
    unsure: NDArray[np.bool_],
    usual: FloatArray,
    scores: Scores,
    classes: Sequence[Any],
    level: float = LEVEL,
) -> list[Candidate]:
    """Clusters whose objects are mostly unsure, and far more often so than is typical here.

    Of all clusterings, the one that separates unsure from sure objects best is
    used. What is typical is the share of unsure objects in the cluster of the
    median object, so under a drift that makes everything unsure nothing stands
    out. A cluster must also be unsure twice as often as the source was about the
    classes that it is taken for (`usual`, per class), so that more objects of a
    difficult class do not look like a new one, and by more than chance over all clusters.
    """
    best, kept = 0, []
    examined = sum(int(column.max()) + 1 for column in clusters.T)
    expected_each = usual[scores.predicted]
    for m in range(clusters.shape[1]):
        labels = clusters[:, m]
        placed = labels >= 0
        if not placed.any():
            continue
        sizes = np.bincount(labels[placed])
        hits = np.bincount(labels[placed], weights=unsure[placed])
        least = max(SMALLEST, len(labels) // 100)
        shares = hits / np.maximum(sizes, 1)
        typical = float(np.median(shares[labels[placed]]))
        expected = np.bincount(labels[placed], weights=expected_each[placed]) / np.maximum(sizes, 1)
        chance = binom.sf(hits - 1, sizes, np.maximum(np.maximum(expected, typical), 1e-9))
        stands_out = (shares > max(0.5, APART * typical)) & (shares > 2 * expected)
        mostly = np.flatnonzero((sizes >= least) & stands_out & (chance <= level / max(examined, 1)))
        separated = int((2 * hits - sizes)[mostly].sum())
        if separated > best:
            best, kept = separated, [(m, int(j)) for j in mostly]
    found = [_candidate(m, j, clusters, unsure, scores, classes) for m, j in kept]
    return sorted(found, key=lambda c: -len(c.rows) * c.unsure)


def _candidate(
    m: int,
    j: int,
    clusters: NDArray[np.intp],
    unsure: NDArray[np.bool_],
    scores: Scores,
    classes: Sequence[Any],
) -> Candidate:
    rows = np.flatnonzero(clusters[:, m] == j)
    counts = np.bincount(scores.predicted[rows], minlength=len(classes))
    order = np.argsort(-counts, kind="stable")
    claimed = [(classes[i], float(counts[i] / len(rows))) for i in order if counts[i]]
    return Candidate(m, j, rows, float(unsure[rows].mean()), claimed)
