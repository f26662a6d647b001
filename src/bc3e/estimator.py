"""BC3E: Bayesian combination of classifier and cluster ensembles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bc3e.agreement import guarded_answer, kept_labels, leading_by_class, times_chosen
from bc3e.consensus import Answer, ConsensusEstimator
from bc3e.labels import LabelTable
from bc3e.learning import Learned, Learner
from bc3e.model.calibration import BLOCK, blended_by_class, second_opinion, softmax, softmax_by_class
from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, Workers
from bc3e.model.parameters import InverseGamma, Normal
from bc3e.model.rows import by_class, weighed_sum
from bc3e.model.schedule import Fit, Progress, infer
from bc3e.model.trust import decided_share, information_shares
from bc3e.objects import Objects, check_counts
from bc3e.refined import RefinedShares
from bc3e.reported import Reported
from bc3e.results import LearnedParameters, Posterior, class_shares, fit_summary
from bc3e.settings import check_constructor
from bc3e.streams import go_on
from bc3e.summary import Summary


class BC3E(Reported, ConsensusEstimator):
    """Refine class votes with clusterings of the same objects.

    Each object n has a class tendency y_n ~ Normal(mu, diag(sigma2)); its votes
    are draws from softmax(y_n). Its cluster labels see theta_n ~ Normal(y_n,
    delta2 I): each is drawn from the profile of a class that is itself drawn
    from softmax(theta_n). Variational EM learns the profiles and, as far as
    asked, mu, sigma2 and delta2; the answer is softmax(E[y_n]), calibrated.

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
    vote_calibration : {"agreement", None}
        Make the votes as confident as any two classifiers agree, an estimate of
        how often they are right, and answer with a mean of the votes as given and
        the refined shares; where nothing supports more than 0.25 labels, as confident as the
        votes and with what the clusters say alone. Where the clusterings count more, or their
        weight is given, each classifier is weighed by its
        agreement with the others.
        None takes the votes as they are and answers softmax(E[y]).
    evidence_weight : "auto", float or (r2,) array
        How much a label of each clustering counts. "auto" ignores clusterings that do not predict
        the votes significantly, or that mix what classifiers keep apart, or stand beside only two
        that agree far less often than they are sure, and lets the others share 0.25 labels in all,
        over the number of classifiers, which (unless `vote_calibration` is None) decide only
        between labels that equally many classifiers choose; or as many labels as clusters are
        worth, up to 2, if they explain what classifiers have in common (up to one each, if they
        err apart from each other); or 1 if hidden classifiers support that
        (:mod:`bc3e.selection`).
    profile_prior : "marginal", float or None
        Prior of the cluster profiles: a Dirichlet around the cluster
        frequencies whose strength is learned per clustering ("marginal"),
        given in objects, or absent (None).
    init : {"votes", "diffusion", "random"} or a sequence of them
        Where the EM starts: profiles of the votes, of the votes diffused over
        shared clusters, or of random seed objects. Of several starts the one
        with the highest final lower bound is kept (the first, if equal to 1e-6). Without
        votes every start is random.
    n_init : int
        How many random starts "random" stands for.
    max_iter : int
        EM iterations at most. The default is small on purpose: the first
        iterations sharpen the profiles, later ones carry classes away from the
        meaning that the votes gave them.
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
        Share, in [0, 1], of the objects whose label the clusterings decided: it
        differs from that of the votes, or there were no votes. 0 if the
        clusterings were ignored.
    clusterer_trust_ : (r2,) array
        For each clustering as if it were the only one, its share in the
        information on the objects' classes.
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
    evidence_weights_ : (r2,) array
        How much a label of each clustering counted; 0 for one that was ignored.
    classifier_weights_ : (r1,) array
        How much a vote of each classifier counted, against that of the one that
        agrees best with the others.
    vote_exponent_, answer_exponent_ : float
        Powers that the votes and softmax(E[y]) were raised to by the calibration.

    References
    ----------
    Acharya, Hruschka, Ghosh, Sarwar, Ruvini: Probabilistic Combination of
    Classifier and Cluster Ensembles for Non-transductive Learning, SDM 2013.

    Examples
    --------
    Two of three classifiers are wrong about the last object; the clusterings
    know its company. (Eight objects are too few for the default to trust a
    clustering, so their weight is given.)

    >>> import bc3e
    >>> votes = [["a", "a", "a"], ["a", "a", "b"], ["a", "a", "a"], ["b", "b", "b"],
    ...          ["b", "b", "b"], ["b", "b", "b"], ["b", "b", "b"], ["b", "a", "a"]]
    >>> clusters = [[0, 1], [0, 1], [0, 1], [2, 0], [2, 0], [2, 0], [2, 0], [2, 0]]
    >>> model = bc3e.BC3E(delta2=0.1, profile_prior=None, evidence_weight=1.0).fit(votes, clusters)
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
        vote_calibration: str | None = "agreement",
        evidence_weight: float | str | Sequence[float] | FloatArray = "auto",
        profile_prior: float | str | None = "marginal",
        init: str | Sequence[str] = "votes",
        n_init: int = 4,
        max_iter: int = 2,
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
        self.vote_calibration = vote_calibration
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
            "vote_calibration": None,
            "evidence_weight": 1.0,
            "profile_prior": None,
            "max_iter": 100,
        }
        return cls(**(published | overrides))

    def fit(
        self, votes: Any, clusters: Any = None, *, sample_weight: Any = None, counts: Any = None
    ) -> Self:
        """Combine the votes and clusterings of a set of objects.

        Parameters
        ----------
        votes : array, data frame, list, mapping or None
            Class labels (N, r1) of any type; or a list with one item per
            classifier, each labels (N,) or probabilities (N, k); or a mapping
            from names to such items. Missing: None, NaN, NA, a row of NaN
            probabilities, and -1 among whole numbers.
        clusters : array, data frame, list, mapping or None
            Cluster labels (N, r2) or memberships, in the same forms.
        sample_weight : (N,) array, optional
            How much each object counts.
        counts : (N,) array, optional
            How many objects alike each row stands for, as ``GROUP BY`` with ``count(*)``
            tells it: the result is that of a table with each row so often.

        Returns
        -------
        self
        """
        return self._fit(votes, clusters, sample_weight, partial(self._consensus, counts=counts))

    def partial_fit(
        self, votes: Any, clusters: Any = None, *, sample_weight: Any = None, forgetting: float = 0.5
    ) -> Self:
        """Go on learning from the next objects of a stream; the first call is a fit.

        The cluster profiles learned so far enter as a prior that counts
        ``1 - forgetting`` of the objects behind it. Calibration and the say of
        each clustering stay as the first fit decided. ``labels_`` and
        ``probabilities_`` are those of the new objects.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(votes, clusters, sample_weight=sample_weight)
        return go_on(self, votes, clusters, sample_weight, forgetting)

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
        objects = Objects.of(table)
        evidence = objects.table.evidence(
            evidence_weights=self.evidence_weights_,
            classifier_weights=self.classifier_weights_,
            vote_weight=self._vote_weight,
            vote_exponent=self.vote_exponent_,
        )
        state, _ = infer(evidence, self._learned, structured=self._structured, workers=self._workers())
        return table, Answer(self._answer_of(state, objects.table), objects.inverse)

    def _answer_of(
        self, state: State, table: LabelTable, shares: RefinedShares | None = None
    ) -> FloatArray:
        """Class probabilities of a posterior: softmax(E[y]), calibrated and blended with the votes."""
        if self.vote_calibration is None:
            return softmax(state.mean)
        told = shares or RefinedShares(state.mean)
        answer = told.room()

        def run(first: int, last: int) -> None:
            rows, (refined, labels) = slice(first, last), told.block(first, last, self.answer_exponent_)
            given = table.votes_per_class(rows)
            if self._frequencies is None:
                answer[rows] = blended_by_class(by_class(given), refined, labels).T
            else:
                plain = np.ascontiguousarray(refined.T)
                second = second_opinion(plain, state, self._frequencies, rows)
                counts = times_chosen(table.take(rows))
                answer[rows] = guarded_answer(counts, given, plain, second, labels)

        self._workers().blocks(len(answer), run)
        return answer

    def _consensus(self, table: LabelTable, weights: FloatArray | None, counts: Any = None) -> Answer:
        copies = check_counts(counts, table.n_objects)
        if weights is not None and copies is not None:
            weights = weights * copies
        objects = Objects.of(table, weights, copies)
        self._counts = None if copies is None else objects.counts
        found = Learner(self).learn(objects)
        study, state = found.study, found.state
        self._adopt(table, found)
        self._keep(objects, study.evidence, found.fit, state, found.bound)
        confidence, voted = study.confidence, study.voted
        del found, study  # the evidence is large, and done with
        state = self._state = state.lighter()
        self.answer_exponent_, shares = 1.0, RefinedShares(state.mean)
        if self.vote_calibration is not None and voted:
            self.answer_exponent_ = shares.power_for(objects.weights, confidence, self._workers())
        return self._answer_for(objects, state, shares)

    def _adopt(self, table: LabelTable, found: Learned) -> None:
        """Take over how votes are to be read from here on."""
        self._schema = table.schema
        self._structured = self.posterior == "structured"
        self._vote_weight = self.vote_weight
        self.classifier_weights_ = found.study.classifier_weights
        self.vote_exponent_ = found.study.vote_exponent
        self.profile_strengths_ = found.profile_strengths
        self._frequencies = found.frequencies  # None unless labels have to stay

    def _keep(
        self,
        objects: Objects,
        evidence: Evidence,
        fit: Fit,
        state: State,
        bound: float,
    ) -> None:
        """Remember what a fit has learned."""
        self._remember(evidence, fit, state, bound)
        self._sizes = (objects.n_objects, evidence.n_patterns)
        self.trust_ = decided_share(evidence, state, self._kept_patterns(objects.table, state))
        self.clusterer_trust_ = information_shares(evidence, fit.parameters, state, self._workers())

    def _remember(self, evidence: Evidence, fit: Fit, state: State, bound: float) -> None:
        """Remember what can be told without a look at the objects."""
        self._learned = fit.parameters
        self.evidence_weights_ = evidence.evidence_weights
        self._state = state
        self._profiles = evidence.layout.split(fit.parameters.profiles)
        self.delta2_ = fit.parameters.delta2
        self.lower_bounds_ = np.array(fit.lower_bounds)
        self.delta2_path_ = np.array(fit.delta2_path)
        self.lower_bound_ = bound
        self.n_iter_ = len(fit.lower_bounds)
        self.converged_ = fit.converged
        self.start_ = fit.start

    def _kept_patterns(self, table: LabelTable, state: State) -> NDArray[np.bool_] | None:
        """Which patterns keep the label of their votes; None if no label has to stay."""
        if self._frequencies is None:
            return None
        kept = []
        for first in range(0, len(state.mean), BLOCK):
            rows = slice(first, first + BLOCK)
            refined = leading_by_class(softmax_by_class(state.mean[rows]))
            counts = times_chosen(table.take(rows))
            kept.append(kept_labels(counts, table.votes_per_class(rows), refined))
        return np.concatenate(kept)

    def _answer_for(self, objects: Objects, state: State, shares: RefinedShares | None = None) -> Answer:
        """The answer of a posterior, and the class shares that it leads to."""
        answer = Answer(self._answer_of(state, objects.table, shares), objects.inverse)
        self._shares = class_shares(objects.table, answer, objects.weights)
        self._class_mass = weighed_sum(objects.weights, answer.probabilities)
        return answer

    def _workers(self) -> Workers:
        return Workers(self.n_jobs)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_constructor(self)

    @property
    def posterior_(self) -> Posterior:
        """Posterior of every object, built when asked for: five (N, k) arrays.

        Means are exact, variances right to seven digits: part of them is kept in single precision.
        """
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
            found.class_mean.copy(),
            found.class_variance.copy(),
            found.delta2,
            [block.T.copy() for block in self._profiles],
        )

    def summary(self) -> Summary:
        """The fit in three tables: what was learned, the classes, the clusterings."""
        self._fitted_answer()
        return fit_summary(self)
