"""Dawid-Skene: a confusion matrix for every column, classifier or clustering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bc3e.consensus import Answer
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.evidence import FloatArray
from bc3e.rivals.base import IterativeRival, Trace, check_number, need_votes
from bc3e.rivals.groups import Patterns, offsets, read_patterns, stack


class DawidSkene(IterativeRival):
    """Classes as hidden causes of all labels, those of classifiers and clusterings.

    **Model.** Object n has one true class z_n with P(z_n = i) = rho_i. Given it,
    the label of column m (a classifier or a clustering) is drawn from its
    confusion matrix: P(label j | class i) = theta_mij, independently. Soft
    columns count as fractions a_nmj of labels; missing labels are left out.

    **Objective**, maximised: the log-likelihood with Dirichlet priors of
    strength s (`smoothing`),

        sum_n log sum_i rho_i prod_m prod_j theta_mij^(v_m a_nmj)
            + s sum_i log rho_i  +  s sum_m v_m sum_ij log theta_mij

    with v_m = 1 for classifiers and the evidence weight for clusterings.

    **Update** (EM), from the mean votes:

        r_ni  proportional to  rho_i prod_mj theta_mij^(v_m a_nmj)
        rho_i  proportional to  s + sum_n r_ni
        theta_mij  proportional (over j) to  s + sum_n r_ni a_nmj

    Parameters
    ----------
    classes : sequence, optional
        The class list and its order. Found in the votes by default.
    n_classes : int, optional
        Number of classes, as a check.
    evidence_weight : float or "auto"
        How much a label of a clustering counts. 1, as in the paper, takes all
        columns for independent witnesses; "auto" is min(1, 3 / r2), the default
        of :class:`bc3e.BC3E`.
    smoothing : float
        s, in objects per cell. The paper has none; 0.01 keeps an unseen label
        from being impossible and moves nothing else.
    max_iter : int
        EM iterations at most.
    tol : float
        Stop when an iteration raises the objective by no more than this per
        object. 100 iterations are crowd-kit's limit as well; its tolerance is
        1e-5 for the whole set.

    Attributes
    ----------
    labels_, probabilities_, classes_
        As in :class:`bc3e.BC3E`.
    class_shares_ : (k,) array
        rho.
    confusions_ : list of (k, labels) arrays
        theta of each column, classifiers first.
    objectives_ : (n_iter_ + 1,) array
        The objective; it never falls.
    n_iter_, converged_

    References
    ----------
    Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates Using the
    EM Algorithm, Applied Statistics 28(1), 1979. Cluster columns are ours: the
    model never asks what a label means.

    Examples
    --------
    The third classifier calls every b an a; its confusion matrix knows.

    >>> from bc3e.rivals import DawidSkene
    >>> votes = [["a", "a", "a"]] * 4 + [["b", "b", "a"]] * 3 + [["b", "a", "a"]]
    >>> clusters = [[0]] * 4 + [[1]] * 4
    >>> DawidSkene().fit(votes, clusters).labels_.tolist()
    ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b']
    """

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        n_classes: int | None = None,
        evidence_weight: float | str = 1.0,
        smoothing: float = 0.01,
        max_iter: int = 100,
        tol: float = 1e-9,
    ) -> None:
        self.classes = classes
        self.n_classes = n_classes
        self.evidence_weight = evidence_weight
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.evidence_weight != "auto":
            check_number("evidence_weight", self.evidence_weight)
        check_number("smoothing", self.smoothing, positive=True)

    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        need_votes(table, "DawidSkene")
        patterns = read_patterns(table, weights)
        blocks = (*patterns.votes, *patterns.clusters)
        members = stack(blocks, patterns.n_patterns)
        first = offsets(blocks)
        trust = np.repeat(self._column_weights(patterns), np.diff(first))[:, None]
        responsibilities, trace = self._run(patterns, members, first[:-1], trust)
        self._record(trace)
        self.confusions_ = [block.T.copy() for block in np.split(self._confusions, first[1:-1])]
        return Answer(responsibilities, patterns.inverse)

    def _run(
        self, patterns: Patterns, members: sparse.csr_array, first: Any, trust: FloatArray
    ) -> tuple[FloatArray, Trace]:
        """EM; the last step is an E-step, so that the answer belongs to the parameters."""
        responsibilities = soft_vote(patterns.vote_totals())
        objectives: list[float] = []
        converged = False
        while not converged and len(objectives) <= self.max_iter:
            weighted = patterns.weights[:, None] * responsibilities
            shares = weighted.sum(axis=0) + self.smoothing
            shares /= shares.sum()
            confusions = members.T @ weighted + self.smoothing
            sizes = np.diff(np.append(first, len(confusions)))
            confusions /= np.repeat(np.add.reduceat(confusions, first, axis=0), sizes, axis=0)
            log_confusions = trust * np.log(confusions)
            logs = members @ log_confusions
            logs += np.log(shares)
            evidence = _softmax_in_place(logs)
            prior = self.smoothing * (np.log(shares).sum() + log_confusions.sum())
            objectives.append(float(patterns.weights @ evidence + prior))
            gain = objectives[-1] - objectives[-2] if len(objectives) > 1 else np.inf
            converged = gain <= self.tol * float(patterns.weights.sum())
            responsibilities = logs
        self.class_shares_, self._confusions = shares, confusions
        return responsibilities, Trace(objectives, converged)

    def _column_weights(self, patterns: Patterns) -> FloatArray:
        r1, r2 = len(patterns.votes), len(patterns.clusters)
        weight = min(1.0, 3.0 / max(r2, 1)) if self.evidence_weight == "auto" else self.evidence_weight
        return np.concatenate([np.ones(r1), np.full(r2, float(weight))])


def _softmax_in_place(logs: FloatArray) -> FloatArray:
    """Turn rows of logarithms into shares; returns the logarithm of each row's sum."""
    top = logs.max(axis=1, keepdims=True)
    logs -= top
    np.exp(logs, out=logs)
    total = logs.sum(axis=1, keepdims=True)
    logs /= total
    log_sum: FloatArray = np.log(total[:, 0]) + top[:, 0]
    return log_sum
