"""BGCM: bipartite graph-based consensus maximisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bc3e.consensus import Answer
from bc3e.labels import LabelTable
from bc3e.model.evidence import FloatArray
from bc3e.rivals.base import IterativeRival, check_number, need_votes
from bc3e.rivals.bipartite import Bipartite, as_probabilities, minimise
from bc3e.rivals.groups import Patterns, read_patterns, stack


class BGCM(IterativeRival):
    """Agreement on the graph between objects and the groups they are put into.

    **Model.** Every class of every classifier and every cluster of every
    clustering is a group j; a_nj is 1 if object n is in it (or the probability or
    membership, for soft columns; 0 for a missing label). Objects have class
    probabilities u_n, groups q_j. The group of class i of a classifier is
    labelled: y_j has its 1 at i and k_j = 1. Clusters have no label, k_j = 0.

    **Objective**, minimised:

        sum_n sum_j a_nj ||u_n - q_j||^2  +  alpha sum_j k_j ||q_j - y_j||^2

    **Update**, in turn:

        u_n = sum_j a_nj q_j / sum_j a_nj
        q_j = (sum_n a_nj u_n + alpha k_j y_j) / (sum_n a_nj + alpha k_j)

    The start is q_j = y_j for labelled groups and equal values for clusters. The
    label of a group weighs alpha against the size of the group, so plain
    alternation needs a number of steps that grows with the number of objects;
    `accelerate` turns the same steps into conjugate gradients, which reach the
    minimum of the same objective in tens of steps. The minimum is flat in a
    large set (u differs from 1/k by about alpha / N): trust its order, not its
    size. An object without any label has equal probabilities.

    Parameters
    ----------
    classes : sequence, optional
        The class list and its order. Found in the votes by default.
    n_classes : int, optional
        Number of classes, as a check.
    alpha : float
        Weight of the labels of the classifiers' groups. 2 is the value of the
        authors' experiments; the paper of BC3E reports BGCM with 1 ("unity") and
        found that it matters little.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when an alternation would change no group by more than this share of
        the spread of the object values (ours; the paper stops when u changes
        little, which in a large set is at once).
    accelerate : bool
        Conjugate steps (default), or the plain alternation as printed.

    Attributes
    ----------
    labels_, probabilities_, classes_
        As in :class:`bc3e.BC3E`.
    group_probabilities_ : list of arrays
        q of each column, (groups, k): classifiers first, then clusterings.
    objectives_ : (n_iter_ + 1,) array
        The objective; it never rises.
    n_iter_, converged_

    References
    ----------
    Gao, Liang, Fan, Sun, Han: Graph-based Consensus Maximization among Multiple
    Supervised and Unsupervised Models, NIPS 2009; and IEEE Transactions on
    Knowledge and Data Engineering 25(1), 2013.

    Examples
    --------
    >>> from bc3e.rivals import BGCM
    >>> votes = [["a"], ["a"], ["a"], ["b"], ["b"], ["b"], ["b"], ["a"]]
    >>> clusters = [[0, 0, 0]] * 4 + [[1, 1, 1]] * 4
    >>> BGCM().fit(votes, clusters).labels_.tolist()
    ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b']
    """

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        n_classes: int | None = None,
        alpha: float = 2.0,
        max_iter: int = 1000,
        tol: float = 1e-9,
        accelerate: bool = True,
    ) -> None:
        self.classes = classes
        self.n_classes = n_classes
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, positive=True)

    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        need_votes(table, "BGCM")
        patterns = read_patterns(table, weights)
        problem, start = self._problem(patterns)
        found = minimise(
            problem, start, max_iter=self.max_iter, tol=self.tol, accelerate=self.accelerate
        )
        self._record(found.trace)
        sizes = [block.n_groups for block in (*patterns.votes, *patterns.clusters)]
        self.group_probabilities_ = np.split(found.groups, np.cumsum(sizes)[:-1])
        return Answer(as_probabilities(found.objects), patterns.inverse)

    def _problem(self, patterns: Patterns) -> tuple[Bipartite, FloatArray]:
        k = patterns.n_classes
        members = stack((*patterns.votes, *patterns.clusters), patterns.n_patterns)
        n_groups, n_labelled = members.shape[1], k * len(patterns.votes)
        labelled = np.arange(n_groups) < n_labelled
        labels = np.vstack([np.tile(np.eye(k), (len(patterns.votes), 1)),
                            np.full((n_groups - n_labelled, k), 1.0 / k)])  # fmt: skip
        problem = Bipartite(
            members=members,
            weights=patterns.weights,
            # A cluster whose members all have weight zero is not there.
            pulls=np.where(labelled | (members.T @ patterns.weights > 0), 1.0, 0.0),
            object_trust=np.zeros(patterns.n_patterns),
            object_prior=np.zeros((patterns.n_patterns, k)),
            group_trust=np.where(labelled, float(self.alpha), 0.0),
            group_prior=labels,
        )
        return problem, labels
