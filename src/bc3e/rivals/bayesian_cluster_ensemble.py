"""Bayesian cluster ensemble: mixed membership of objects in consensus clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln, polygamma
from sklearn.utils import check_random_state

from bc3e.consensus import Answer
from bc3e.errors import InputError
from bc3e.labels import LabelTable
from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.starts import canonical_order, cluster_counts, random_responsibilities
from bc3e.objects import Objects
from bc3e.rivals.base import IterativeRival, Trace, check_count, check_number
from bc3e.rivals.groups import Block, Patterns, read_patterns

START_PATTERNS = 20_000  # starts are tried on so many patterns at most
NEWTON_STEPS = 50


class BayesianClusterEnsemble(IterativeRival):
    """Consensus clusters of the clusterings alone, named by the votes afterwards.

    **Model.** Object n belongs to the k consensus clusters in shares theta_n ~
    Dirichlet(a). For each clustering m it picks a consensus cluster z_nm ~ theta_n,
    and its label is drawn from that cluster's profile, beta_m[z_nm]. Missing
    labels are left out; memberships w_j stand for prod_j beta_mij^w_j.

    **Objective**, maximised: the variational lower bound of the log-likelihood
    with q(theta_n) = Dirichlet(g_n) and q(z_nm) = f_nm, plus the smoothing of the
    profiles as a prior, s sum log beta. With psi the digamma function and
    e_n = psi(g_n) - psi(sum g_n), at the best f the bound of an object is

        log G(sum a) - sum log G(a) - log G(sum g) + sum log G(g) + (a - g) . e
            + sum_m log sum_i beta_mi[label] exp(e_i),   G the gamma function.

    **Update**, each of them the best for the others:

        f_nmi  proportional to  beta_mi[label of n] exp(psi(g_ni))
        g_n = a + sum_m f_nm
        beta_mij  proportional (over j) to  s + sum of f_nmi over the n with label j
        a by Newton's method

    The answer is the posterior mean g_n / sum g_n, with the consensus clusters
    given to the classes one to one such that they agree most with the mean votes
    (the assignment problem). Votes play no other part; without any, consensus
    cluster i is called class i.

    Parameters
    ----------
    classes : sequence, optional
        The class list and its order. Found in the votes by default.
    n_classes : int, optional
        Number of consensus clusters of a fit without votes.
    smoothing : float
        s, in objects per cell: 1e-6, as in the Pepelka toolbox's copy of the
        authors' code.
    n_init : int
        Starts: profiles of objects that are far apart in label agreement, drawn
        at random. The one with the best final bound is kept; in a set of more
        than 20,000 label patterns that is found out on so many of them, and only
        the winner goes on with all. (The authors start from random profiles.)
    max_iter : int
        Iterations at most; the authors' code stops at 500.
    tol : float
        Stop when an iteration raises the bound by no more than this per object
        (the authors' code stops when the profiles change by one percent).
    random_state : int, RandomState or None
        Seed of the starts.

    Attributes
    ----------
    labels_, probabilities_, classes_
        As in :class:`bc3e.BC3E`.
    concentration_ : (k,) array
        a, by class.
    profiles_ : list of (k, clusters) arrays
        beta of each clustering, by class.
    objectives_ : (n_iter_ + 1,) array
        The bound of the last run; it never falls.
    n_iter_, converged_

    References
    ----------
    Wang, Shan, Banerjee: Bayesian Cluster Ensembles, Statistical Analysis and
    Data Mining 4(1), 2011.

    Examples
    --------
    >>> from bc3e.rivals import BayesianClusterEnsemble
    >>> votes = [["a"], ["a"], ["b"], ["b"], ["b"], ["a"]]
    >>> clusters = [[0, 2], [0, 2], [0, 2], [1, 0], [1, 0], [1, 0]]
    >>> model = BayesianClusterEnsemble(random_state=0).fit(votes, clusters)
    >>> model.labels_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        n_classes: int | None = None,
        smoothing: float = 1e-6,
        n_init: int = 3,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.classes = classes
        self.n_classes = n_classes
        self.smoothing = smoothing
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("smoothing", self.smoothing, positive=True)
        check_count("n_init", self.n_init)

    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        if not table.clusters:
            raise InputError(
                "clusters",
                "no clustering, but BayesianClusterEnsemble combines clusterings only",
                "Pass clusters, or use SoftVote.",
            )
        patterns = read_patterns(table, weights)
        best = self._best_fit(table, patterns)
        members = best.shares / best.shares.sum(axis=1, keepdims=True)
        cluster_of_class = _align(members, patterns)
        self._record(best.trace)
        self.concentration_ = best.concentration[cluster_of_class]
        self.profiles_ = [profile.T[cluster_of_class] for profile in best.profiles]
        return Answer(members[:, cluster_of_class], patterns.inverse)

    def _best_fit(self, table: LabelTable, patterns: Patterns) -> _Fit:
        """Try the starts on a sample of the patterns, and finish the best on all."""
        evidence = Objects.of(table).table.evidence(evidence_weights=np.ones(len(table.clusters)))
        silent = replace(evidence, ballots=np.zeros_like(evidence.ballots), weights=patterns.weights)
        rows = _sample(silent)
        sample = patterns if rows is None else patterns.take(rows)
        rng = check_random_state(self.random_state)
        flat = np.full(patterns.n_classes, 1.0 / patterns.n_classes)
        fits = []
        for _ in range(self.n_init):
            seed = np.random.default_rng(rng.randint(2**31 - 1))
            fits.append(self._run(sample, _start_profiles(silent, rows, seed), flat))
        best = max(fits, key=lambda fit: fit.trace.objectives[-1])
        return best if rows is None else self._run(patterns, best.profiles, best.concentration)

    def _run(self, patterns: Patterns, profiles: list[FloatArray], concentration: FloatArray) -> _Fit:
        """Coordinate ascent from given profiles (clusters, k) and concentration."""
        k, total = patterns.n_classes, float(patterns.weights.sum())
        labels = np.sum([block.present for block in patterns.clusters], axis=0)
        shares = concentration + labels[:, None] / k
        logs = _mean_logs(shares)
        objectives: list[float] = []
        converged = False
        while True:
            picked, counts, evidence = _pick(patterns, profiles, np.exp(logs))
            bound = evidence + _log_beta(shares) + np.sum((concentration - shares) * logs, axis=1)
            objectives.append(
                float(patterns.weights @ bound)
                - total * float(_log_beta(concentration[None])[0])
                + self.smoothing * sum(float(np.log(profile).sum()) for profile in profiles)
            )
            converged = len(objectives) > 1 and objectives[-1] - objectives[-2] <= self.tol * total
            if converged or len(objectives) > self.max_iter:
                break
            shares = concentration + picked
            profiles = [
                (count + self.smoothing) / (count + self.smoothing).sum(axis=0) for count in counts
            ]
            logs = _mean_logs(shares)
            concentration = _fit_dirichlet(concentration, patterns.weights @ logs / total)
        return _Fit(shares, concentration, profiles, Trace(objectives, converged))


@dataclass(frozen=True)
class _Fit:
    shares: FloatArray
    concentration: FloatArray
    profiles: list[FloatArray]
    trace: Trace


def _mean_logs(shares: FloatArray) -> FloatArray:
    """E[log theta] under Dirichlet(shares), row by row."""
    found: FloatArray = digamma(shares) - digamma(shares.sum(axis=1, keepdims=True))
    return found


def _log_beta(shares: FloatArray) -> FloatArray:
    """Logarithm of the normalising constant of Dirichlet(shares), row by row."""
    found: FloatArray = gammaln(shares).sum(axis=1) - gammaln(shares.sum(axis=1))
    return found


def _likelihoods(block: Block, profile: FloatArray) -> FloatArray:
    """Profile entry of each pattern's label, (P, k); zero where it is missing."""
    if block.codes is not None:
        return block.spread(profile)
    found: FloatArray = np.exp(block.spread(np.log(profile)))
    found[~block.present] = 0.0
    return found


def _pick(
    patterns: Patterns, profiles: list[FloatArray], leaning: FloatArray
) -> tuple[FloatArray, list[FloatArray], FloatArray]:
    """All f at once: their sum over clusterings, their counts per cluster, their evidence."""
    picked = np.zeros_like(leaning)
    evidence = np.zeros(len(leaning))
    counts = []
    for block, profile in zip(patterns.clusters, profiles, strict=True):
        joint = _likelihoods(block, profile)
        joint *= leaning
        total = joint.sum(axis=1)
        there = total > 0
        evidence[there] += np.log(total[there])
        joint /= np.where(there, total, 1.0)[:, None]
        picked += joint
        joint *= patterns.weights[:, None]
        counts.append(block.totals(joint))
    return picked, counts, evidence


def _fit_dirichlet(start: FloatArray, mean_logs: FloatArray) -> FloatArray:
    """The parameters a that maximise log G(sum a) - sum log G(a) + sum (a - 1) mean_logs.

    Newton's method; the Hessian is a diagonal plus a constant, so a step is
    linear in k (Minka, Estimating a Dirichlet distribution, 2000). Steps are
    halved until they stay positive and do not lower the objective.
    """

    def objective(a: FloatArray) -> float:
        return float(gammaln(a.sum()) - gammaln(a).sum() + a @ mean_logs)

    current, height = start, objective(start)
    for _ in range(NEWTON_STEPS):
        slope = digamma(current.sum()) - digamma(current) + mean_logs
        bend = -polygamma(1, current)
        common = float(polygamma(1, current.sum()))
        level = np.sum(slope / bend) / (1.0 / common + np.sum(1.0 / bend))
        step = -(slope - level) / bend
        size = 1.0
        while size > 1e-9:
            tried = current + size * step
            if tried.min() > 0 and objective(tried) >= height:
                break
            size /= 2.0
        else:
            return current
        gain, current = objective(tried) - height, tried
        height += gain
        if gain <= 1e-12 * max(abs(height), 1.0):
            break
    return current


def _sample(evidence: Evidence) -> NDArray[np.intp] | None:
    """Patterns to try starts on, spread over a large set; None for all of a small one."""
    if evidence.n_patterns <= START_PATTERNS:
        return None
    some = np.linspace(0, evidence.n_patterns - 1, START_PATTERNS).astype(np.intp)
    return canonical_order(evidence)[some]


def _start_profiles(
    evidence: Evidence, rows: NDArray[np.intp] | None, rng: np.random.Generator
) -> list[FloatArray]:
    """Profiles (clusters, k) of objects drawn far apart among the given rows."""
    part = evidence if rows is None else evidence.take(rows)
    counts = cluster_counts(part, random_responsibilities(part, rng))
    # One more object with average labels: no cluster is impossible at the start.
    sizes = cluster_counts(evidence, np.ones((evidence.n_patterns, 1)))
    counts += sizes / float(evidence.weights.sum()) + 1e-9
    return [block / block.sum(axis=0) for block in evidence.layout.split(counts)]


def _align(members: FloatArray, patterns: Patterns) -> Any:
    """For each class the consensus cluster that gets its name."""
    votes = patterns.vote_totals()
    if not votes.any():
        return np.arange(patterns.n_classes)
    votes /= np.maximum(votes.sum(axis=1, keepdims=True), 1e-300)
    together = votes.T @ (patterns.weights[:, None] * members)
    return linear_sum_assignment(together, maximize=True)[1]
