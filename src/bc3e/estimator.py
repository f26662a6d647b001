"""BC3E: Bayesian combination of classifier and cluster ensembles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from bc3e.consensus import Answer, ConsensusEstimator
from bc3e.errors import InputError
from bc3e.labels import LabelTable, soft_vote
from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, Workers
from bc3e.model.parameters import (
    InverseGamma,
    Normal,
    Parameters,
    Rules,
    VarianceRule,
    normalize_profiles,
)
from bc3e.model.schedule import Fit, Progress, infer, run_em
from bc3e.model.shrinkage import learned_strengths, shrinkage_counts
from bc3e.model.starts import (
    cluster_counts,
    diffused_responsibilities,
    random_responsibilities,
    vote_responsibilities,
)
from bc3e.model.trust import trust_shares
from bc3e.progress import FitProgress
from bc3e.settings import check_constructor, mean_rule, variance_rule
from bc3e.summary import Section, Summary


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


class BC3E(ConsensusEstimator):
    """Refine class votes with clusterings of the same objects.

    Each object n has a class tendency y_n ~ Normal(mu, diag(sigma2)); its votes
    are draws from softmax(y_n). Its cluster labels see theta_n ~ Normal(y_n,
    delta2 I): each is drawn from the profile of a class that is itself drawn
    from softmax(theta_n). Variational EM learns the profiles and, as far as
    asked, mu, sigma2 and delta2; the answer is softmax(E[y_n]).

    Parameters
    ----------
    classes : sequence, optional
        The class list and its order. Found in the votes by default.
    n_classes : int, optional
        Number of classes of a fit without votes (a plain cluster ensemble).
    posterior : {"structured", "factorized"}
        Whether the posterior keeps the covariance of y and theta (a tighter
        bound at the same cost) or not (the paper).
    delta2 : float, "learn" or InverseGamma
        How far the clusterings may stray from the classifiers: given, learned,
        or learned under a prior.
    class_mean : float, (k,) array, "learn" or Normal
        Mean class tendency mu.
    class_variance : float, (k,) array, "learn" or InverseGamma
        Its variance sigma2.
    vote_weight : float or None
        The votes of an object count as this many in all; None counts each as one.
    evidence_weight : "auto", float or (r2,) array
        How much a label of each clustering counts. "auto" is min(1, 3 / r2):
        clusterings of the same data are not independent witnesses, so together
        they count as three.
    profile_prior : "marginal", float or None
        Prior of the cluster profiles: a Dirichlet around the cluster
        frequencies whose strength is learned per clustering ("marginal"),
        given in objects, or absent (None).
    init : {"votes", "diffusion", "random"} or a sequence of them
        Where the EM starts: profiles of the votes, of the votes diffused over
        shared clusters, or of random seed objects. Of several starts the one
        with the highest final lower bound is kept (the first, if equal). Without
        votes every start is random.
    n_init : int
        How many random starts "random" stands for.
    max_iter : int
        EM iterations at most. The default is small on purpose: the first
        iterations sharpen the profiles, later ones may carry classes away.
    tol : float
        Stop when an iteration raises the bound by less than this per object.
    random_state : int, RandomState or None
        Seed of the random starts.
    n_jobs : int or None
        Threads; None is 1, -1 all cores. Does not change the result.
    verbose : bool
        Show a progress bar with bound and delta2.
    callback : callable, optional
        Called after each iteration with a :class:`Progress`; a true return
        value stops the fit there.

    Attributes
    ----------
    labels_, probabilities_ : (N,) and (N, k)
        Refined labels and class probabilities; in pandas, polars or pyarrow if
        the input was.
    classes_ : (k,) array
    delta2_ : float
    trust_ : float
        Share, in [0, 1], of the information on the objects' classes that came
        from the clusterings.
    clusterer_trust_ : (r2,) array
        The same for each clustering as if it were the only one.
    parameters_ : LearnedParameters
    posterior_ : Posterior
    lower_bounds_ : (n_iter_,) array
        The bound at each iteration; it never falls.
    lower_bound_ : float
        The bound at the returned posterior.
    n_iter_, converged_, start_
        Iterations, whether `tol` was reached, and which start was kept.
    classifier_names_, clusterer_names_ : tuple of str
    profile_strengths_ : (r2,) array
        Strength of the profile prior in objects, per clustering.

    References
    ----------
    Acharya, Hruschka, Ghosh, Sarwar, Ruvini: Probabilistic Combination of
    Classifier and Cluster Ensembles for Non-transductive Learning, SDM 2013.

    Examples
    --------
    Two of three classifiers are wrong about the last object; the clusterings
    know its company.

    >>> import bc3e
    >>> votes = [["a", "a", "a"], ["a", "a", "b"], ["a", "a", "a"], ["b", "b", "b"],
    ...          ["b", "b", "b"], ["b", "b", "b"], ["b", "b", "b"], ["b", "a", "a"]]
    >>> clusters = [[0, 1], [0, 1], [0, 1], [2, 0], [2, 0], [2, 0], [2, 0], [2, 0]]
    >>> model = bc3e.BC3E(delta2=0.1, profile_prior=None).fit(votes, clusters)
    >>> model.labels_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b', 'b', 'b']
    >>> model.predict([["a", "b", None]], [[2, 0]]).tolist()
    ['b']
    """

    def __init__(
        self,
        *,
        classes: Sequence[Any] | None = None,
        n_classes: int | None = None,
        posterior: str = "structured",
        delta2: float | str | InverseGamma = 1.0,
        class_mean: float | Sequence[float] | FloatArray | str | Normal = 0.0,
        class_variance: float | Sequence[float] | FloatArray | str | InverseGamma = 1.0,
        vote_weight: float | None = 3.0,
        evidence_weight: float | str | Sequence[float] | FloatArray = "auto",
        profile_prior: float | str | None = "marginal",
        init: str | Sequence[str] = "votes",
        n_init: int = 4,
        max_iter: int = 6,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        self.classes = classes
        self.n_classes = n_classes
        self.posterior = posterior
        self.delta2 = delta2
        self.class_mean = class_mean
        self.class_variance = class_variance
        self.vote_weight = vote_weight
        self.evidence_weight = evidence_weight
        self.profile_prior = profile_prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @classmethod
    def as_published(cls, **overrides: Any) -> Self:
        """The model of the paper with its misprints put right and nothing added.

        Factorized posterior, every parameter learned without priors, every vote
        and every cluster label counted as one.
        """
        published: dict[str, Any] = {
            "posterior": "factorized",
            "delta2": "learn",
            "class_mean": "learn",
            "class_variance": "learn",
            "vote_weight": None,
            "evidence_weight": 1.0,
            "profile_prior": None,
            "max_iter": 100,
        }
        return cls(**(published | overrides))

    def predict_proba(self, votes: Any, clusters: Any = None) -> Any:
        """Class probabilities of new objects under the learned parameters, without a refit."""
        table, answer = self._infer(votes, clusters)
        return table.answer_table(answer.expand(answer.probabilities))

    def predict(self, votes: Any, clusters: Any = None) -> Any:
        """Labels of new objects under the learned parameters, without a refit."""
        table, answer = self._infer(votes, clusters)
        return table.answer_labels(answer.expand(np.argmax(answer.probabilities, axis=1)))

    def _infer(self, votes: Any, clusters: Any) -> tuple[LabelTable, Answer]:
        self._fitted_answer()
        table = LabelTable.read_like(votes, clusters, self._schema)
        evidence, inverse = table.evidence(
            evidence_weights=self._evidence_weights, vote_weight=self.vote_weight
        )
        state, _ = infer(evidence, self._learned, structured=self._structured, workers=self._workers())
        return table, Answer(_softmax(state.mean), inverse)

    def _consensus(self, table: LabelTable, weights: FloatArray | None) -> Answer:
        workers = self._workers()
        evidence, inverse = table.evidence(
            evidence_weights=self._resolve_evidence_weights(len(table.clusters)),
            sample_weight=weights,
            vote_weight=self.vote_weight,
        )
        unit = float(evidence.weights.sum()) / table.n_objects
        rules, starts = self._prepare(evidence, unit, workers)
        fit = self._best_fit(evidence, rules, starts, workers)
        state, bound = infer(evidence, fit.parameters, structured=self._structured, workers=workers)
        row_weights = evidence.layout.per_row(evidence.evidence_weights)

        self._schema = table.schema
        self._learned = fit.parameters
        self._evidence_weights = evidence.evidence_weights
        self._state = state
        self._profiles = evidence.layout.split(fit.parameters.profiles)
        self._sizes = (table.n_objects, evidence.n_patterns)
        self._shares = _class_shares(evidence, state)
        self.delta2_ = fit.parameters.delta2
        self.lower_bounds_ = np.array(fit.lower_bounds)
        self.delta2_path_ = np.array(fit.delta2_path)
        self.lower_bound_ = bound + rules.log_prior(fit.parameters, row_weights)
        self.n_iter_ = len(fit.lower_bounds)
        self.converged_ = fit.converged
        self.start_ = fit.start
        self.trust_, self.clusterer_trust_ = trust_shares(evidence, fit.parameters, state, workers)
        return Answer(_softmax(state.mean), inverse)

    def _best_fit(
        self, evidence: Evidence, rules: Rules, starts: dict[str, FloatArray], workers: Workers
    ) -> Fit:
        """One EM run per start (given as cluster counts); the highest final bound wins."""
        fits: list[Fit] = []
        with FitProgress(bool(self.verbose), self.max_iter) as bar:

            def observe(step: Progress) -> bool:
                bar.show(step)
                return bool(self.callback(step)) if self.callback is not None else False

            for name, counts in starts.items():
                start = Parameters(
                    class_mean=rules.class_mean.mean,
                    class_variance=_initial_variance(rules.class_variance, evidence.n_classes),
                    delta2=float(_initial_variance(rules.delta2, 1)[0]),
                    profiles=normalize_profiles(counts + rules.profile_counts, evidence.layout),
                )
                fits.append(
                    run_em(
                        evidence,
                        start,
                        rules,
                        structured=self._structured,
                        max_iter=self.max_iter,
                        tol=self.tol,
                        workers=workers,
                        name=name,
                        observe=observe,
                    )
                )
        return max(fits, key=lambda fit: fit.lower_bounds[-1])

    def _prepare(
        self, evidence: Evidence, unit: float, workers: Workers
    ) -> tuple[Rules, dict[str, FloatArray]]:
        """Rules of the M-step, and for each start the cluster counts it implies.

        Responsibilities live only as long as they are needed: they are as large
        as the votes. Without votes every start is random, and the profile prior
        is fitted to the first of them.
        """
        names = [self.init] if isinstance(self.init, str) else list(self.init)
        anchor = vote_responsibilities(evidence.votes)
        voted = bool(evidence.votes.any())
        rules = self._rules(evidence, anchor, unit, workers) if voted else None
        names = names if voted else ["random"]
        rng = check_random_state(self.random_state)
        starts: dict[str, FloatArray] = {}
        for name in names:
            if name == "random":
                for i in range(self.n_init):
                    draws = np.random.default_rng(rng.randint(2**31 - 1))
                    drawn = random_responsibilities(evidence, draws)
                    rules = rules or self._rules(evidence, drawn, unit, workers)
                    starts[f"random {i + 1}"] = cluster_counts(evidence, drawn)
            else:
                diffuse = name == "diffusion"
                given = diffused_responsibilities(evidence, anchor) if diffuse else anchor
                starts[name] = cluster_counts(evidence, given)
        assert rules is not None
        return rules, starts

    def _rules(self, evidence: Evidence, anchor: FloatArray, unit: float, workers: Workers) -> Rules:
        """Rules of the M-step; the profile prior is fitted to the `anchor` responsibilities."""
        k = evidence.n_classes
        counts = cluster_counts(evidence, anchor)
        if self.profile_prior is None:
            self.profile_strengths_ = np.zeros(evidence.layout.n_clusterings)
            profile_counts = np.zeros_like(counts)
        else:
            if isinstance(self.profile_prior, str):
                self.profile_strengths_ = learned_strengths(evidence, anchor, unit, workers)
            else:
                self.profile_strengths_ = np.full(
                    evidence.layout.n_clusterings, float(self.profile_prior)
                )
            profile_counts = shrinkage_counts(evidence, counts, self.profile_strengths_)
        return Rules(
            class_mean=mean_rule(self.class_mean, k),
            class_variance=variance_rule("class_variance", self.class_variance, k),
            delta2=variance_rule("delta2", self.delta2, 1),
            profile_counts=profile_counts,
        )

    def _resolve_evidence_weights(self, r2: int) -> FloatArray:
        if isinstance(self.evidence_weight, str):
            return np.full(r2, min(1.0, 3.0 / max(r2, 1)))
        weights = np.asarray(self.evidence_weight, dtype=np.float64)
        if weights.ndim == 0:
            return np.full(r2, float(weights))
        if weights.shape != (r2,):
            raise InputError(
                "evidence_weight",
                f"{weights.size} weights for {r2} clusterings",
                "Pass one weight per clustering, one number, or 'auto'.",
            )
        return weights

    @property
    def _structured(self) -> bool:
        return self.posterior == "structured"

    def _workers(self) -> Workers:
        return Workers(self.n_jobs)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_constructor(self)

    @property
    def posterior_(self) -> Posterior:
        """Posterior of every object, built when asked for: five (N, k) arrays."""
        expand = self._fitted_answer().expand
        y_var, theta_var, covariance = self._state.covariances(self._structured)
        parts = (self._state.mean, y_var, self._state.tendency, theta_var, covariance)
        return Posterior(*(expand(part) for part in parts))

    @property
    def parameters_(self) -> LearnedParameters:
        """Learned parameters; cluster profiles as one (k, k_m) array per clustering."""
        self._fitted_answer()
        found = self._learned
        return LearnedParameters(
            found.class_mean,
            found.class_variance,
            found.delta2,
            [block.T.copy() for block in self._profiles],
        )

    def summary(self) -> Summary:
        """The fit in three tables: what was learned, the classes, the clusterings."""
        self._fitted_answer()
        objects, patterns = self._sizes
        before, after, changed = self._shares
        fit_rows = (
            ("objects", f"{objects:,}"),
            ("distinct label patterns", f"{patterns:,}"),
            ("classifiers", str(len(self.classifier_names_))),
            ("clusterings", str(len(self.clusterer_names_))),
            ("posterior", self.posterior),
            ("EM iterations", f"{self.n_iter_} ({'settled' if self.converged_ else 'stopped early'})"),
            ("lower bound", f"{self.lower_bound_:.6g}"),
            ("delta2", f"{self.delta2_:.4g}"),
            ("trust in the clusterings", f"{self.trust_:.3f}"),
            ("labels changed from the soft vote", f"{changed:.1%}"),
        )  # fmt: skip
        classes = tuple(
            (str(label), f"{was:.1%}", f"{now:.1%}")
            for label, was, now in zip(self.classes_.tolist(), before, after, strict=True)
        )
        clusterings = tuple(
            (name, str(len(profile)), f"{trust:.3f}")
            for name, profile, trust in zip(
                self.clusterer_names_, self._profiles, self.clusterer_trust_, strict=True
            )
        )
        return Summary(
            (
                Section("BC3E", ("quantity", "value"), fit_rows),
                Section("Class shares", ("class", "soft vote", "refined"), classes),
                Section("Clusterings", ("name", "clusters", "trust"), clusterings),
            )
        )

    def _repr_html_(self) -> str:
        if not self.__sklearn_is_fitted__():
            return str(super()._repr_html_())
        return self.summary()._repr_html_()


def _softmax(values: FloatArray) -> FloatArray:
    shares: FloatArray = np.exp(values - values.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _initial_variance(rule: VarianceRule, size: int) -> FloatArray:
    return np.ones(size) if rule.fixed is None else rule.fixed


def _class_shares(evidence: Evidence, state: State) -> tuple[list[float], list[float], float]:
    """Weighted class shares by soft vote and after refinement, and the share of changed labels."""
    total = evidence.weights.sum()
    before, after = np.argmax(soft_vote(evidence.votes), axis=1), np.argmax(state.mean, axis=1)
    shares = [
        (np.bincount(winners, weights=evidence.weights, minlength=evidence.n_classes) / total).tolist()
        for winners in (before, after)
    ]
    return shares[0], shares[1], float(evidence.weights[before != after].sum() / total)
