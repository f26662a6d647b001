"""How well a guess at hidden labels does: agreement, perplexity, and what chance would give.

The measure is the perplexity 2^(-(1/n) sum log2 p(true label | what was seen)): 1 if the labels are
fully known, the number of labels if nothing was learned of equally frequent ones.
An attack yields groups of objects. To turn groups into probabilities the attacker is told the true
labels of *all other* objects: that names its groups, and takes away the reward for groups of
one object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from bc3e.model.evidence import FloatArray

Labels = NDArray[np.intp]
STRENGTH = 1.0  # how many objects the prior counts for beside those of the group


@dataclass(frozen=True)
class Score:
    """Outcome of an attack on one column.

    Attributes
    ----------
    success : float
        Adjusted Rand index for clusterings, share of right guesses for votes,
        area under the ROC curve for membership.
    perplexity : float
        Of the true labels given what was seen.
    """

    success: float
    perplexity: float


def codes(labels: NDArray[np.generic]) -> Labels:
    """Labels as whole numbers from 0."""
    found: Labels = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.intp)
    return found


def leave_one_out(groups: Labels, truth: Labels, prior: FloatArray | None = None) -> FloatArray:
    """Probability of each label for each object, from the labels of the others in its group.

    Parameters
    ----------
    groups : (n,) codes
    truth : (n,) codes
    prior : (n, labels), optional
        What is believed of an object without its group; by default the shares of
        the labels among the other objects.
    """
    n, size = len(truth), int(truth.max()) + 1
    own = np.eye(size)[truth]
    if prior is None:
        prior = (own.sum(axis=0) - own + 1.0 / size) / n
    counts = np.zeros((int(groups.max()) + 1, size))
    np.add.at(counts, groups, own)
    others = counts[groups] - own
    believed: FloatArray = others + STRENGTH * prior
    believed /= believed.sum(axis=1, keepdims=True)
    return believed


def perplexity(probabilities: FloatArray, truth: Labels) -> float:
    """2^(-(1/n) sum log2 p(true label))."""
    right = probabilities[np.arange(len(truth)), truth]
    return float(2.0 ** -np.mean(np.log2(np.maximum(right, 1e-300))))


def adjusted_rand(one: Labels, other: Labels) -> float:
    """Adjusted Rand index: 1 for the same partition, 0 on average for unrelated ones.

    The same as in scikit-learn, without the checks that cost more than the sum.
    """
    table = np.zeros((int(one.max()) + 1, int(other.max()) + 1))
    np.add.at(table, (one, other), 1.0)
    together = (table * (table - 1)).sum()
    rows, columns = ((sums * (sums - 1)).sum() for sums in (table.sum(axis=0), table.sum(axis=1)))
    expected = rows * columns / (len(one) * max(len(one) - 1, 1))
    highest = (rows + columns) / 2
    return 1.0 if highest == expected else float((together - expected) / (highest - expected))


def distinct(partitions: Sequence[Labels]) -> list[Labels]:
    """Partitions without repetitions, whatever the names of their groups."""
    found: dict[bytes, Labels] = {}
    for groups in partitions:
        _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
        renamed = np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.intp)
        found.setdefault(renamed.tobytes(), renamed)
    return list(found.values())


def best_rand(partitions: Sequence[Labels], truth: Labels) -> float:
    """Highest adjusted Rand index of several guesses, at least 0."""
    return max((adjusted_rand(truth, groups) for groups in partitions), default=0.0)


def clustering_score(partitions: Sequence[Labels], truth: Labels) -> Score:
    """The best of several guesses at a clustering: a bound on an attacker who must choose one."""
    nothing = np.zeros(len(truth), dtype=np.intp)
    told = [perplexity(leave_one_out(groups, truth), truth) for groups in [nothing, *partitions]]
    return Score(max(best_rand(partitions, truth), 0.0), min(told))


def vote_score(beliefs: Sequence[tuple[Labels, FloatArray | None]], truth: Labels) -> Score:
    """The best of several guesses at a column of votes, each as groups and a prior."""
    nothing = np.zeros(len(truth), dtype=np.intp)
    best: Score | None = None
    for groups, prior in [(nothing, None), *beliefs]:
        believed = leave_one_out(groups, truth, prior)
        right = float(np.mean(believed.argmax(axis=1) == truth))
        told = perplexity(believed, truth)
        best = Score(right, told) if best is None else Score(
            max(best.success, right), min(best.perplexity, told)
        )  # fmt: skip
    assert best is not None
    return best


def membership_score(evidence: FloatArray, member: NDArray[np.bool_]) -> Score:
    """Area under the curve of a log-likelihood ratio, and the perplexity of "in or out".

    The ratio is turned into a probability by a logistic curve whose two numbers are fitted
    to the other half of the objects, so an overconfident ratio does not count against the attack.
    """
    from sklearn.linear_model import LogisticRegression

    area = float(roc_auc_score(member, evidence))
    score = np.arcsinh(evidence)[:, None]
    half = np.arange(len(member)) % 2 == 0
    half = half[np.argsort(np.argsort(member, kind="stable"), kind="stable")]
    believed = np.empty((len(member), 2))
    for here in (half, ~half):
        model = LogisticRegression().fit(score[~here], member[~here])
        believed[here] = model.predict_proba(score[here])
    return Score(area, perplexity(believed, member.astype(np.intp)))
