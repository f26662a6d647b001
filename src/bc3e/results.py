"""What a fitted model hands out besides labels and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bc3e.agreement import leading_class
from bc3e.consensus import Answer
from bc3e.labels import LabelTable
from bc3e.model.calibration import BLOCK
from bc3e.model.evidence import FloatArray
from bc3e.model.rows import row_argmax
from bc3e.summary import Section, Summary

if TYPE_CHECKING:
    from bc3e.estimator import BC3E


@dataclass(frozen=True)
class Posterior:
    """Gaussian posterior of each object's class tendency y and cluster tendency theta.

    Attributes
    ----------
    y_mean, y_var : (N, k) arrays
    theta_mean, theta_var : (N, k) arrays
    covariance : (N, k) array
        Covariance of y and theta per class; zero in the factorized family.
    """

    y_mean: FloatArray
    y_var: FloatArray
    theta_mean: FloatArray
    theta_var: FloatArray
    covariance: FloatArray


@dataclass(frozen=True)
class LearnedParameters:
    """Parameters of a fitted model.

    Attributes
    ----------
    class_mean, class_variance : (k,) arrays
    delta2 : float
    cluster_profiles : list of (k, k_m) arrays
        Probability of each cluster in each class, one array per clustering.
    """

    class_mean: FloatArray
    class_variance: FloatArray
    delta2: float
    cluster_profiles: list[FloatArray]


def class_shares(
    table: LabelTable, answer: Answer, weights: FloatArray
) -> tuple[list[float], list[float], float]:
    """Weighted class shares by soft vote and after refinement, and the share of changed labels.

    `table` has one row, of the given weight, for each pattern of the answer.
    """
    k = answer.probabilities.shape[1]
    moved = np.zeros(k * k)  # from a class by soft vote to one after refinement
    for first in range(0, len(weights), BLOCK):  # a block at a time: no copy of the whole table
        rows = slice(first, first + BLOCK)
        was = leading_class(table.votes_per_class(rows))
        now = row_argmax(answer.probabilities[rows])
        moved += np.bincount(was * k + now, weights=weights[rows], minlength=k * k)
    mass, total = moved.reshape(k, k), weights.sum()
    before, after = mass.sum(axis=1) / total, mass.sum(axis=0) / total
    np.fill_diagonal(mass, 0.0)
    return before.tolist(), after.tolist(), float(mass.sum() / total)


def fit_summary(model: BC3E) -> Summary:
    """A fit in three tables: what was learned, the classes, the clusterings."""
    objects, patterns = model._sizes
    before, after, changed = model._shares
    fit_rows = (
        ("objects", f"{objects:,}"),
        ("distinct label patterns", f"{patterns:,}"),
        ("classifiers", str(len(model.classifier_names_))),
        ("clusterings", str(len(model.clusterer_names_))),
        ("posterior", model.posterior),
        ("EM iterations", f"{model.n_iter_} of at most {model.max_iter}"),
        ("lower bound", f"{model.lower_bound_:.6g}"),
        ("delta2", f"{model.delta2_:.4g}"),
        ("trust in the clusterings", f"{model.trust_:.3f}"),
        ("labels changed from the soft vote", f"{changed:.1%}"),
    )  # fmt: skip
    voted = bool(model.classifier_names_)
    classes = tuple(
        (str(label), f"{was:.1%}" if voted else "no votes", f"{now:.1%}")
        for label, was, now in zip(model.classes_.tolist(), before, after, strict=True)
    )
    clusterings = tuple(
        (name, str(len(profile)), f"{trust:.3f}")
        for name, profile, trust in zip(
            model.clusterer_names_, model._profiles, model.clusterer_trust_, strict=True
        )
    )
    return Summary(
        (
            Section("BC3E", ("quantity", "value"), fit_rows if voted else fit_rows[:-1]),
            Section("Class shares", ("class", "soft vote", "refined"), classes),
            Section("Clusterings", ("name", "clusters", "trust"), clusterings),
        )
    )
