"""ConsensusClassifier: trained classifiers and target features in, refined predictions out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from bc3e.classifiers import named_classifiers
from bc3e.drift import LEVEL, LOOKED_AT, SourceSummary, Verdict, judge
from bc3e.ensembles import ClusterEnsemble
from bc3e.estimator import BC3E
from bc3e.model.evidence import FloatArray
from bc3e.probes import Probes, halves, train
from bc3e.reported import Reported
from bc3e.settings import random_source, share
from bc3e.summary import Summary
from bc3e.watching import Watching


class ConsensusClassifier(Reported, ClassifierMixin, Watching):  # type: ignore[misc]
    """Classifiers that go on working when the data has moved.

    ``adapt(X_target)`` asks the classifiers, clusters the target, and refines
    their answers with :class:`bc3e.BC3E`. Later objects are placed in the learned
    clusters, without a refit. ``drift_`` tells what differs from training.

    Parameters
    ----------
    classifiers : list of (name, classifier), mapping, list of classifiers, or None
        Trained ones (anything with `predict_proba` or `predict`) for
        ``adapt``, or untrained ones for ``fit``; a FrozenEstimator is never
        trained again. None is a forest, a logistic regression and a linear
        discriminant.
    clusterings : ClusterEnsemble or None
        How the target is clustered; None is ``ClusterEnsemble()``.
    consensus : BC3E or None
        How votes and clusterings are combined; None is ``BC3E()``.
    classes : sequence or None
        The class list, for classifiers that have no `classes_`.
    cross_fit : bool
        Whether ``fit`` also trains each classifier on either half of the data
        (twice the work), to learn from the other half how it speaks about
        objects it has not seen. Without it, drift can only be told from a
        reference batch.
    source_summary : SourceSummary or None
        What a ``fit`` elsewhere, or an earlier reference batch, has stored.
    warm_start : bool
        Whether ``adapt`` goes on from what earlier calls have learned.
    forgetting : float
        Share of earlier knowledge that each further ``adapt`` with
        `warm_start`, and each ``partial_adapt``, lets go; 1 keeps nothing.
    level : float
        Rate of false alarms of the drift test.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads for training, clusterings and refinement; None is 1, but the refinement, whose
        result does not depend on it, then uses all cores, as k-means does.
    verbose : bool
        Progress on standard error.

    Attributes
    ----------
    classes_ : (k,) array
    estimators_ : list
        The trained classifiers.
    labels_, probabilities_ : (N,) and (N, k) arrays
        Refined answers for the target of the last ``adapt``.
    drift_ : DriftReport
    source_summary_ : SourceSummary
        Small and shareable; the training data is not needed any more.
    consensus_ : BC3E
    clusterings_ : ClusterEnsemble
    timings_ : dict of str to float
        Seconds that the parts of the last ``adapt`` took.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from bc3e import ConsensusClassifier
    >>> X, y = make_blobs(600, centers=3, cluster_std=2.0, random_state=0)
    >>> model = ConsensusClassifier([("logit", LogisticRegression()), ("bayes", GaussianNB())],
    ...                             random_state=0)
    >>> model = model.fit(X[:300], y[:300]).adapt(X[300:] + 1.5)
    >>> model.predict(X[300:] + 1.5).shape
    (300,)
    >>> model.drift_.verdict
    'drift'
    """

    timings_: dict[str, float]
    clusterings_: ClusterEnsemble
    consensus_: BC3E
    _probes: Probes | None

    def __init__(
        self,
        classifiers: Any = None,
        *,
        clusterings: ClusterEnsemble | None = None,
        consensus: BC3E | None = None,
        classes: Sequence[Any] | None = None,
        cross_fit: bool = True,
        source_summary: SourceSummary | None = None,
        warm_start: bool = False,
        forgetting: float = 0.5,
        level: float = LEVEL,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.classifiers = classifiers
        self.clusterings = clusterings
        self.consensus = consensus
        self.classes = classes
        self.cross_fit = cross_fit
        self.source_summary = source_summary
        self.warm_start = warm_start
        self.forgetting = forgetting
        self.level = level
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- learning ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Train the classifiers and learn how they speak about objects they have not seen.

        Until ``adapt`` is called, the training data is the target.

        Parameters
        ----------
        X : array, sparse matrix, data frame or list of texts
        y : (N,) array
        """
        self._check_parameters()
        X, y = self._read_training(X, y)
        self._forget()
        members = named_classifiers(self.classifiers)
        self._members = train(members, X, y, self.n_jobs)
        self._given = self.classifiers
        self.estimators_ = [model for _, model in self._members]
        self.classes_ = np.unique(y)
        rng = np.random.default_rng(random_source(self.random_state).randint(2**31 - 1))
        half = halves(y, rng)
        if self.cross_fit and half is not None:
            self._probes = Probes.train(members, X, y, half, self.n_jobs)
            votes = self._probes.votes(X, 1 - half)
            self.source_summary_ = SourceSummary.learn(
                list(votes.values()),
                self.classes_.tolist(),
                list(votes),
                truth=np.searchsorted(self.classes_, y),
                probe=1 - half,
                X=X,
            )
        else:
            votes = self._votes(X)
        self._refine(X, votes)
        return self

    def adapt(self, X: Any, y: None = None, *, reference: Any = None) -> Self:
        """Cluster the target and refine what the classifiers say about it.

        Parameters
        ----------
        X : array, sparse matrix, data frame or list of texts
            Features of the target, as the classifiers want them.
        y : None
            Ignored: the target has no labels.
        reference : like X, optional
            Objects from before the drift that the classifiers have not learned
            from; ``drift_`` compares the target with them. Not needed after
            ``fit``, or with `source_summary`.
        """
        self._check_parameters()
        if reference is not None:
            self.remember(reference)
        return self._adapt(X, follow=10 if self.warm_start else 0)

    def _adapt(self, X: Any, follow: int) -> Self:
        begin = time.perf_counter()
        X, votes = self._read_target(X)
        asked = time.perf_counter() - begin
        self._refine(X, votes, follow=follow)
        self.timings_ = {"votes": asked, **self.timings_}
        begin = time.perf_counter()
        self.drift_ = self._report(X, votes)
        self.timings_["drift"] = time.perf_counter() - begin
        return self

    def partial_adapt(self, X: Any, y: None = None) -> Self:
        """Go on with the next batch of a stream: move the clusters and the profiles a little.

        What was learned before counts ``1 - forgetting`` as much as the last
        time. The say of each clustering stays as the first ``adapt`` decided.
        """
        self._check_parameters()
        if not hasattr(self, "consensus_"):
            return self.adapt(X)
        return self._adapt(X, follow=1)

    def remember(self, X: Any, y: Any = None) -> Self:
        """Store how the classifiers speak about a reference batch (labels are optional)."""
        X, votes = self._read_target(X)
        truth = None if y is None else self._class_numbers(y)
        self._probes = None
        self.source_summary_ = SourceSummary.learn(
            list(votes.values()), self.classes_.tolist(), list(votes), truth, X=X
        )
        return self

    # -- answers -----------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities; objects go to the learned clusters, nothing is refitted."""
        X, votes, clusters = self._place(X)
        return np.asarray(self.consensus_.predict_proba(votes, clusters))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels; objects go to the learned clusters, nothing is refitted."""
        winners = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def check_drift(self, X: Any) -> Verdict:
        """Quick test of whether new objects are spoken about like the source; adapts nothing."""
        X, votes = self._read_target(X, most=LOOKED_AT)
        summary = self._summary()
        if summary is None:
            raise NotFittedError(
                "Nothing is known of the source: call fit(X, y), or remember(X_reference) first."
            )
        return judge(summary, self._scores(X, votes), level=self.level)

    @property
    def labels_(self) -> NDArray[Any]:
        """Refined labels of the last target."""
        winners = self.probabilities_.argmax(axis=1)
        return np.asarray(self.classes_[winners])

    @property
    def probabilities_(self) -> FloatArray:
        """Refined probabilities of the last target."""
        self._check_adapted()
        return np.asarray(self.consensus_.probabilities_)

    def summary(self) -> Summary:
        """The refinement and the drift report in tables."""
        self._check_adapted()
        drift = self.drift_.summary().sections if hasattr(self, "drift_") else ()
        return Summary((*drift, *self.consensus_.summary().sections))

    # -- inside ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name in ("forgetting", "level"):
            share(name, getattr(self, name))

    def _forget(self) -> None:
        """Drop what an earlier fit has learned."""
        for name in ("drift_", "consensus_", "clusterings_", "source_summary_"):
            if hasattr(self, name):
                delattr(self, name)
        self._probes = None

    def _refine(self, X: Any, votes: dict[str, FloatArray], follow: int = 0) -> None:
        """Cluster and combine; `follow` > 0 moves the known clusters that many times instead."""
        begin = time.perf_counter()
        carried = follow > 0 and hasattr(self, "consensus_")
        if carried:
            clusters = self.clusterings_.follow(X, passes=follow, forgetting=self.forgetting)
        else:
            ensemble = ClusterEnsemble() if self.clusterings is None else clone(self.clusterings)
            ensemble.set_params(**self._inherited(ensemble))
            if ensemble.n_classes is None:
                ensemble.set_params(n_classes=len(self.classes_))
            clusters = ensemble.fit_predict(X)
            self.clusterings_ = ensemble
        middle = time.perf_counter()
        if carried:
            self.consensus_.partial_fit(votes, self._named(clusters), forgetting=self.forgetting)
        else:
            if hasattr(self, "consensus_"):
                del self.consensus_
            consensus = BC3E() if self.consensus is None else clone(self.consensus)
            consensus.set_params(classes=self.classes_.tolist(), **self._inherited(consensus))
            if consensus.n_jobs is None:  # like k-means, on all cores: the result is the same
                consensus.set_params(n_jobs=-1)
            self.consensus_ = consensus.fit(votes, self._named(clusters))
        self._clusters, self._target_votes = clusters, votes
        self.timings_ = {
            "clusterings": middle - begin,
            "consensus": time.perf_counter() - middle,
        }

    def _inherited(self, part: Any) -> dict[str, Any]:
        """Seed, threads and verbosity for a part that has none of its own."""
        mine = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        given = {name: value for name, value in mine.items() if getattr(part, name) is None}
        return given | {"verbose": part.verbose or self.verbose}

    def _named(self, clusters: NDArray[np.intp]) -> dict[str, NDArray[np.intp]]:
        """Clusterings by name; a cluster that had no object in the target says nothing: missing."""
        names = self.clusterings_.names_
        if not hasattr(self, "consensus_"):
            return dict(zip(names, clusters.T, strict=True))
        known = [np.array(values, dtype=np.intp) for values in self.consensus_._schema.clusters]
        return {
            name: np.where(np.isin(column, values), column, -1)
            for name, column, values in zip(names, clusters.T, known, strict=True)
        }

    def _last_labels(self) -> tuple[dict[str, FloatArray], dict[str, NDArray[np.intp]]]:
        """Votes and clusters of the last target, as the refinement got them."""
        return self._target_votes, self._named(self._clusters)

    def _place(self, X: Any) -> tuple[Any, dict[str, FloatArray], dict[str, NDArray[np.intp]]]:
        self._check_adapted()
        X, votes = self._read_target(X)
        return X, votes, self._named(self.clusterings_.predict(X))

    def _check_adapted(self) -> None:
        if not hasattr(self, "consensus_"):
            raise NotFittedError(
                "This ConsensusClassifier has not met a target yet: call adapt(X_target) first, "
                "or fit(X, y) to train the classifiers."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "consensus_")
