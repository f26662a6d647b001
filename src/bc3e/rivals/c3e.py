"""C3E: consensus between classification and clustering ensembles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import xlogy
from sklearn.model_selection import ParameterGrid

from bc3e.consensus import Answer
from bc3e.errors import InputError
from bc3e.labels import LabelTable, check_sample_weight, soft_vote
from bc3e.model.evidence import FloatArray
from bc3e.rivals.base import IterativeRival, Trace, check_choice, check_number, need_votes
from bc3e.rivals.bipartite import Bipartite, as_probabilities, minimise
from bc3e.rivals.groups import Patterns, read_patterns, stack
from bc3e.rivals.truth import accuracy, check_truth, label_codes

SMALLEST_LOG = -700.0  # exp of it is still a number
IDEAL_ALPHAS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class C3E(IterativeRival):
    """Mean votes, smoothed over objects that the clusterings put together.

    **Model.** pi_n is the mean vote of object n, s_nm the share of the r2
    clusterings that put n and m into the same cluster (for memberships, the sum
    of their products; a clustering without a label for n or m adds nothing, r2
    stays). The answer y_n is near pi_n and near the y_m of similar objects. b_n
    is 1, or 0 for an object without votes, which follows its company alone.

    **Objective**, minimised. Squared loss, over all ordered pairs:

        J = 1/2 sum_n b_n ||y_n - pi_n||^2  +  alpha/2 sum_n sum_m s_nm ||y_n - y_m||^2

    and its I-divergence form (``loss="kl"``), which needs two copies l and r of
    each y because a Bregman divergence is convex in its first argument only:

        J = sum_n b_n d(pi_n, r_n) + alpha sum_n sum_m s_nm d(l_n, r_m) + lambda sum_n d(l_n, r_n)

    with d(p, q) = sum_i p_i log(p_i / q_i) + q_i - p_i and both copies kept on the
    simplex, where d is the Kullback-Leibler divergence. Pairs n = m are in
    both sums: they are nothing in the first, and in the second they tie the
    copies of an object a little more.

    **Update.** Squared loss, with d_n = sum_m s_nm:

        y_n = (b_n pi_n + 2 alpha sum_m s_nm y_m) / (b_n + 2 alpha d_n)

    KL: an arithmetic and a (normalised) geometric mean in turn,

        r_n = (b_n pi_n + alpha sum_m s_nm l_m + lambda l_n) / (b_n + alpha d_n + lambda)
        log l_n = (alpha sum_m s_nm log r_m + lambda log r_n) / (alpha d_n + lambda) + const

    from equal values, as in the paper; the answer is (l + r) / 2. The
    similarities act through cluster sums, sum_m s_nm y_m = 1/r2 sum over n's
    clusters of the sum of their y: an iteration is linear in the number of
    objects and of clusterings. The squared loss is solved with conjugate
    steps over those cluster sums (`accelerate`).

    Parameters
    ----------
    classes : sequence, optional
        The class list and its order. Found in the votes by default.
    n_classes : int, optional
        Number of classes, as a check.
    loss : {"squared", "kl"}
        Which objective.
    alpha : float
        Weight of the clusterings. 0.001 is the value in the squared-loss code
        that one of the authors published, for raw similarities. The paper of
        BC3E calls C3E with the alpha that fits the true labels best C3E-Ideal,
        see :meth:`ideal`.
    lambda_ : float
        lambda, how strongly the two copies of the KL form are tied. The papers
        only ask for a positive number; 1 lets an object's other copy count
        as much as its votes.
    scaling : {"pair", "object"}
        What alpha counts. "pair", as published: one similar object, so that the
        clusterings gain weight as the data grow. "object": all similar objects
        of an average object together, whatever their number (alpha is divided
        by the mean of d_n).
    max_iter : int
        Iterations at most.
    tol : float
        Squared loss: stop when an iteration would change no cluster mean by more
        than this share of the spread of the answers. KL: stop when an iteration
        lowers J by no more than this per object. (The published code stops
        after a given number of sweeps.)
    accelerate : bool
        For the squared loss: conjugate steps (default), or the plain update.

    Attributes
    ----------
    labels_, probabilities_, classes_
        As in :class:`bc3e.BC3E`.
    objectives_ : (n_iter_ + 1,) array
        J at the start and after each iteration; it never rises.
    n_iter_, converged_

    References
    ----------
    Acharya, Hruschka, Ghosh, Acharyya: C3E: A Framework for Combining Ensembles
    of Classifiers and Clusterers, Multiple Classifier Systems 2011; Transfer
    Learning with Cluster Ensembles, JMLR W&CP 27, 2012; An Optimization
    Framework for Combining Ensembles of Classifiers and Clusterers, ACM
    Transactions on Knowledge Discovery from Data 9(1), 2014. Coletta, Hruschka,
    Acharya, Ghosh: A Differential Evolution Algorithm to Optimise the
    Combination of Classifier and Cluster Ensembles, International Journal of
    Bio-Inspired Computation 7(2), 2015 (the squared loss with one copy).

    Examples
    --------
    >>> from bc3e.rivals import C3E
    >>> votes = [["a"], ["a"], ["b"], ["b"], ["b"], ["b"], ["a"]]
    >>> clusters = [[0, 0], [0, 0], [0, 0], [1, 1], [1, 1], [1, 1], [1, 1]]
    >>> C3E(alpha=1.0).fit(votes, clusters).labels_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b', 'b']
    """

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        n_classes: int | None = None,
        loss: str = "squared",
        alpha: float = 0.001,
        lambda_: float = 1.0,
        scaling: str = "pair",
        max_iter: int = 1000,
        tol: float = 1e-8,
        accelerate: bool = True,
    ) -> None:
        self.classes = classes
        self.n_classes = n_classes
        self.loss = loss
        self.alpha = alpha
        self.lambda_ = lambda_
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate

    @classmethod
    def ideal(
        cls,
        votes: Any,
        clusters: Any,
        truth: Any,
        *,
        grid: Mapping[str, Sequence[Any]] | None = None,
        sample_weight: Any = None,
        **parameters: Any,
    ) -> Self:
        """The fit whose settings suit the true labels best: C3E-Ideal.

        Not a method for use: it reads the labels that a user wants to have. It
        is the upper reference of the tables in the paper of BC3E.

        Parameters
        ----------
        votes, clusters, sample_weight
            As in :meth:`fit`.
        truth : (N,) labels
            Missing ones are left out of the score; labels outside the class
            list count as errors.
        grid : mapping from parameter names to values, optional
            What to try. The default is alpha from 0 to 100 per object (ten
            values, ``scaling="object"``).
        **parameters
            Other parameters of every fit.

        Returns
        -------
        C3E
            The fitted winner (the first, if equal), with ``ideal_accuracy_`` and
            ``ideal_parameters_``.
        """
        if grid is None:
            grid = {"alpha": IDEAL_ALPHAS, "scaling": ("object",)}
        empty = [name for name, values in grid.items() if len(values) == 0]
        if empty:
            raise InputError("grid", f"no value for {empty[0]!r}", "Give every parameter some values.")
        best: Self | None = None
        for setting in ParameterGrid(dict(grid)):
            model = cls(**(parameters | setting))
            model.fit(votes, clusters, sample_weight=sample_weight)
            labels = np.asarray(model.labels_)
            known = check_truth(truth, model.classes_, len(labels))
            weights = check_sample_weight(sample_weight, len(labels))
            model.ideal_accuracy_ = accuracy(
                label_codes("labels", labels, model.classes_), known, weights
            )
            model.ideal_parameters_ = dict(setting)
            if best is None or model.ideal_accuracy_ > best.ideal_accuracy_:
                best = model
        assert best is not None
        return best

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, ("squared", "kl"))
        check_choice("scaling", self.scaling, ("pair", "object"))
        check_number("alpha", self.alpha)
        check_number("lambda_", self.lambda_, positive=True)

    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        need_votes(table, "C3E")
        patterns = read_patterns(table, weights)
        problem = self._problem(patterns)
        if self.loss == "kl":
            answer, trace = _alternate_copies(problem, self.lambda_, self.max_iter, self.tol)
        else:
            answer, trace = self._solve_squared(problem)
        self._record(trace)
        return Answer(as_probabilities(answer), patterns.inverse)

    def _problem(self, patterns: Patterns) -> _Smoothing:
        votes = patterns.vote_totals()
        members = stack(patterns.clusters, patterns.n_patterns)
        sizes = members.T @ patterns.weights
        per_clustering = max(len(patterns.clusters), 1)
        alpha = float(self.alpha)
        if self.scaling == "object":
            mean_degree = float(sizes @ sizes) / per_clustering / float(patterns.weights.sum())
            alpha /= mean_degree if mean_degree > 0 else 1.0
        return _Smoothing(
            members=members,
            weights=patterns.weights,
            sizes=sizes,
            pull=alpha / per_clustering,
            voted=(votes.sum(axis=1) > 0).astype(np.float64),
            votes=soft_vote(votes),
        )

    def _solve_squared(self, problem: _Smoothing) -> tuple[FloatArray, Trace]:
        """Through the cluster means, with which the pairs of a cluster become edges to it.

        sum of ||y_n - y_m||^2 over the pairs of a cluster is 2 size times the sum of
        ||y_n - mean||^2, and the mean is what minimises that.
        """
        n_clusters, k = problem.members.shape[1], problem.votes.shape[1]
        bipartite = Bipartite(
            members=problem.members,
            weights=problem.weights,
            pulls=problem.pull * problem.sizes,
            object_trust=0.5 * problem.voted,
            object_prior=problem.votes,
            group_trust=np.zeros(n_clusters),
            group_prior=np.zeros((n_clusters, k)),
        )
        found = minimise(
            bipartite,
            np.full((n_clusters, k), 1.0 / k),
            max_iter=self.max_iter,
            tol=self.tol,
            accelerate=self.accelerate,
        )
        return found.objects, found.trace


@dataclass(frozen=True)
class _Smoothing:
    """What both losses need: votes, who has any, and similarities in factored form.

    alpha times the similarities is ``pull * members @ members.T``.
    """

    members: sparse.csr_array
    weights: FloatArray
    sizes: FloatArray
    pull: float
    voted: FloatArray
    votes: FloatArray

    def neighbours(self, values: FloatArray) -> FloatArray:
        """Sum over m of alpha s_nm v_m for every n, each m as often as it occurs, (P, k)."""
        sums = self.members.T @ (self.weights[:, None] * values)
        found: FloatArray = self.pull * (self.members @ sums)
        return found

    def degrees(self) -> FloatArray:
        """Sum over m of alpha s_nm for every n, (P, 1)."""
        found: FloatArray = self.pull * (self.members @ self.sizes)
        return found[:, None]


def _alternate_copies(
    problem: _Smoothing, tie: float, max_iter: int, tol: float
) -> tuple[FloatArray, Trace]:
    """Minimise the KL form by turns over its right and left copies."""
    degrees, voted = problem.degrees(), problem.voted[:, None]
    left = np.full_like(problem.votes, 1.0 / problem.votes.shape[1])
    log_right = np.log(left)
    near_log = problem.neighbours(log_right)
    objectives = [_divergence(problem, degrees, tie, left, log_right, near_log)]
    per_object = float(problem.weights.sum())
    right, converged = left, False
    for _ in range(max_iter):
        right = voted * problem.votes + problem.neighbours(left) + tie * left
        right /= voted + degrees + tie
        log_right = np.log(right)
        near_log = problem.neighbours(log_right)
        left = _normalised_exp((near_log + tie * log_right) / (degrees + tie))
        objectives.append(_divergence(problem, degrees, tie, left, log_right, near_log))
        converged = objectives[-2] - objectives[-1] <= tol * per_object
        if converged:
            break
    return 0.5 * (left + right), Trace(objectives, converged)


def _divergence(
    problem: _Smoothing,
    degrees: FloatArray,
    tie: float,
    left: FloatArray,
    log_right: FloatArray,
    near_log: FloatArray,
) -> float:
    """J of the KL form. Rows sum to 1, so the q - p of the divergence cancels."""
    votes = problem.votes
    to_votes = problem.voted * np.sum(xlogy(votes, votes) - votes * log_right, axis=1)
    entropy = (degrees[:, 0] + tie) * np.sum(left * np.log(left), axis=1)
    cross = np.sum(left * (near_log + tie * log_right), axis=1)
    return float(problem.weights @ (to_votes + entropy - cross))


def _normalised_exp(logs: FloatArray) -> FloatArray:
    logs -= logs.max(axis=1, keepdims=True)
    shares: FloatArray = np.exp(np.maximum(logs, SMALLEST_LOG))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
