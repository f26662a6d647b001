"""Ensembles: votes of trained classifiers and clusterings of the target.

Nothing here is ever given the true classes of the target.

A recipe names its classifiers, separated by spaces: ``tree lda knn``. A name
followed by ``!`` votes with hard labels, by ``~`` with calibrated
probabilities. A name that occurs more than once is trained on a bootstrap
sample each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler, normalize
from sklearn.tree import DecisionTreeClassifier

from bc3e.experiments.domains import Features, FloatArray, IntArray

MOST_VOCABULARY = 8000
TEXT_DIMENSIONS = 50
LARGEST_DENDROGRAM = 2000
"""Agglomerative clustering needs all pairs: beyond this many objects k-means takes its place."""


@dataclass(frozen=True)
class Recipe:
    """Which classifiers vote, which clusterings there are, and what spoils them.

    Attributes
    ----------
    classifiers : str
        Names with their marks, see the module.
    clusterings : str
        A plan and how many, such as ``kmeans:10``; see `PLANS` and `NO_SIGNAL`.
    spoil : str
        Names from `SPOILS` separated by spaces, applied in order.
    """

    classifiers: str
    clusterings: str
    spoil: str = ""

    @property
    def plan(self) -> str:
        return self.clusterings.split(":")[0]

    @property
    def count(self) -> int:
        return int(self.clusterings.split(":")[1])


@dataclass(frozen=True)
class Ensemble:
    """Votes and clusterings of the target, see `benchmarks.accuracy.cases.Case`."""

    votes: list[Any]
    clusters: IntArray


def ensemble(
    train: Features,
    labels: IntArray,
    target: Features,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    images: bool = False,
) -> Ensemble:
    """Train on the source, cluster the target, spoil what is to be spoilt.

    Features of `images` are not standardised.
    """
    k = int(labels.max()) + 1
    if recipe.plan in ("nuisance", "misleading"):
        hint = labels if recipe.plan == "misleading" else None
        train, _ = _with_nuisance(train, rng, hint)
        target, space = _with_nuisance(target, rng)
    else:
        space = _cluster_space(target, recipe.plan, images, rng)
    view = _view(train, images)
    votes = _votes(view.fit_transform(train), labels, view.transform(target), recipe.classifiers, k, rng)
    if recipe.plan == "random":
        clusters = _random_clusterings(len(space), recipe.count, k, rng)
    else:
        cluster = PLANS.get(recipe.plan, kmeans)
        clusters = np.stack([cluster(space, k, i, rng) for i in range(recipe.count)], axis=1)
    made = Ensemble(votes, clusters.astype(np.int64))
    for name in recipe.spoil.split():
        made = SPOILS[name](made, rng)
    return made


# -- votes ---------------------------------------------------------------------------------------


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _table_classifier(name: str, rows: int, seed: int) -> Any:
    neighbours = max(1, min(5, rows // 4))
    return {
        "tree": DecisionTreeClassifier(criterion="entropy", random_state=seed),
        "stump": DecisionTreeClassifier(criterion="entropy", max_depth=2, random_state=seed),
        "lda": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "logreg": LogisticRegression(max_iter=300),
        "knn": KNeighborsClassifier(neighbours),
        "gnb": GaussianNB(var_smoothing=1e-3),
        "forest": RandomForestClassifier(60, random_state=seed),
    }[name]


def _text_classifier(name: str, rows: int, seed: int) -> Any:
    return {
        "knn": KNeighborsClassifier(max(1, min(7, rows // 4)), metric="cosine"),
        "nb": MultinomialNB(alpha=0.1),
        "logreg": LogisticRegression(C=5.0, max_iter=60, tol=1e-3),
        "sgd": SGDClassifier(loss="log_loss", alpha=1e-4, max_iter=30, random_state=seed),
        "tree": DecisionTreeClassifier(criterion="entropy", max_depth=60, random_state=seed),
    }[name]


def _view(train: Features, images: bool) -> Any:
    """How classifiers see the features; to be fitted on the source alone."""
    if train.dtype == object:
        return _vectorizer()
    return FunctionTransformer() if images else StandardScaler()


def _votes(
    seen: Any, labels: IntArray, asked: Any, names: str, k: int, rng: np.random.Generator
) -> list[Any]:
    make = _text_classifier if issparse(seen) else _table_classifier
    words = names.split()
    plain = [word.strip("!~") for word in words]
    votes = []
    for word, name in zip(words, plain, strict=True):
        rows = np.arange(len(labels))
        if plain.count(name) > 1:
            rows = _bootstrap(labels, rng)
        model = make(name, len(rows), _seed(rng))
        if "~" in word:
            model = CalibratedClassifierCV(model, method="sigmoid", cv=3)
        model = clone(model).fit(seen[rows], labels[rows])
        votes.append(_hard(model, asked) if "!" in word else _soft(model, asked, k))
    return votes


def _bootstrap(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """A bootstrap sample within each class, so that no class is lost."""
    classes = [np.flatnonzero(labels == code) for code in range(labels.max() + 1)]
    return np.concatenate([rng.choice(members, len(members)) for members in classes])


def _soft(model: Any, target: Any, k: int) -> FloatArray:
    votes = np.zeros((target.shape[0], k))
    votes[:, model.classes_] = model.predict_proba(target)
    return votes / votes.sum(axis=1, keepdims=True)


def _hard(model: Any, target: Any) -> IntArray:
    return np.asarray(model.predict(target), dtype=np.int64)


def _vectorizer() -> TfidfVectorizer:
    return TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5, max_features=MOST_VOCABULARY)


# -- clusterings ---------------------------------------------------------------------------------


def _with_nuisance(
    X: FloatArray, rng: np.random.Generator, hint: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Features plus four columns with several modes each that have nothing to do with the class.

    A `hint`, the classes of training data, makes most of the objects follow
    their class there: classifiers learn a shortcut that the target does not keep.
    """
    kinds = 3 if hint is None else max(3, int(hint.max()) + 1)
    modes = rng.integers(kinds, size=(len(X), 4))
    if hint is not None:
        modes = np.where(rng.random(len(X))[:, None] < 0.7, hint[:, None], modes)
    nuisance = float(X.std()) * (modes + 0.2 * rng.standard_normal(modes.shape))
    return np.hstack([X, nuisance]), nuisance


def _cluster_space(target: Features, plan: str, images: bool, rng: np.random.Generator) -> FloatArray:
    """Where the target is clustered: its own standardised features, or for text its own topics."""
    if plan == "noise":  # features that say nothing about the class
        return rng.standard_normal((len(target), 6))
    if target.dtype == object:
        words = _vectorizer().fit_transform(target)
        topics = min(TEXT_DIMENSIONS, words.shape[1] - 1, words.shape[0] - 1)
        space = normalize(TruncatedSVD(topics, random_state=_seed(rng)).fit_transform(words))
    else:
        space = target if images else StandardScaler().fit_transform(target)
        if space.shape[1] > TEXT_DIMENSIONS:  # faster, and as good as all of the pixels
            space = PCA(TEXT_DIMENSIONS, random_state=_seed(rng)).fit_transform(space)
    if plan == "permuted":  # real cluster shapes, handed to the wrong objects
        space = space[rng.permutation(len(space))]
    return np.asarray(space, dtype=np.float64)


def _between(low: float, high: float, rows: int, rng: np.random.Generator) -> int:
    """A number of clusters, drawn evenly on the log scale, with five objects each on average."""
    drawn = round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))
    return max(2, min(drawn, rows // 5))


def _kmeans(space: FloatArray, clusters: int, rng: np.random.Generator) -> IntArray:
    model = KMeans(clusters, n_init=1, max_iter=100, random_state=_seed(rng))
    return np.asarray(model.fit_predict(space), dtype=np.int64)


def kmeans(space: FloatArray, k: int, index: int, rng: np.random.Generator) -> IntArray:
    """K-means with k to 4k clusters."""
    return _kmeans(space, _between(k, 4 * k, len(space), rng), rng)


def coarse(space: FloatArray, k: int, index: int, rng: np.random.Generator) -> IntArray:
    """K-means with as many clusters as classes."""
    return _kmeans(space, k, rng)


def fine(space: FloatArray, k: int, index: int, rng: np.random.Generator) -> IntArray:
    """K-means with 5k to 12k clusters."""
    return _kmeans(space, _between(5 * k, 12 * k, len(space), rng), rng)


def spread(space: FloatArray, k: int, index: int, rng: np.random.Generator) -> IntArray:
    """K-means from k to 12k clusters: small and large ones in one ensemble."""
    return _kmeans(space, _between(k, 12 * k, len(space), rng), rng)


def subspace(space: FloatArray, k: int, index: int, rng: np.random.Generator) -> IntArray:
    """K-means in a random half of the features."""
    d = space.shape[1]
    columns = rng.permutation(d)[: max(1, (d + 1) // 2)]
    return _kmeans(space[:, columns], _between(k, 5 * k, len(space), rng), rng)


def linkage(space: FloatArray, k: int, index: int, rng: np.random.Generator) -> IntArray:
    """Agglomerative clustering with the linkages in turn: single, average, ward."""
    if len(space) > LARGEST_DENDROGRAM:
        return spread(space, k, index, rng)
    kind = ("single", "average", "ward")[index % 3]
    clusters = _between(k, 8 * k, len(space), rng)
    model = AgglomerativeClustering(clusters, linkage=kind)
    return np.asarray(model.fit_predict(space), dtype=np.int64)


def mixture(space: FloatArray, k: int, index: int, rng: np.random.Generator) -> IntArray:
    """A Gaussian mixture in at most ten random directions."""
    d = space.shape[1]
    if d > 10:
        space = space @ rng.standard_normal((d, 10)) / np.sqrt(d)
    model = GaussianMixture(
        _between(k, 4 * k, len(space), rng),
        covariance_type="diag",
        max_iter=50,
        reg_covar=1e-4,
        random_state=_seed(rng),
    )
    return np.asarray(model.fit_predict(space), dtype=np.int64)


def mixed(space: FloatArray, k: int, index: int, rng: np.random.Generator) -> IntArray:
    """All of the above in turn."""
    every = (kmeans, fine, subspace, linkage, mixture)
    return every[index % len(every)](space, k, index // len(every), rng)


Clusterer = Callable[[FloatArray, int, int, np.random.Generator], IntArray]

PLANS: dict[str, Clusterer] = {
    plan.__name__: plan for plan in (kmeans, coarse, fine, spread, subspace, linkage, mixture, mixed)
}

NO_SIGNAL = ("random", "permuted", "noise", "nuisance")
"""Plans whose clusterings say nothing about the class.

Random labels; clusters of other objects; clusters of noise; clusters of
features that mean nothing but that the classifiers have seen.

A fifth kind, ``misleading``, is worse: the classifiers have learnt to use the
meaningless features, so the clusterings go with their errors. Nothing in votes
and clusterings tells this from clusterings that are right, hence these few
cases are reported by themselves.
"""


def _random_clusterings(rows: int, count: int, k: int, rng: np.random.Generator) -> IntArray:
    """Labels drawn at random; every second clustering has clusters of very unequal sizes."""
    columns = []
    for i in range(count):
        sizes = rng.dirichlet(np.full(_between(k, 8 * k, rows, rng), 0.5 if i % 2 else 1e3))
        columns.append(rng.choice(len(sizes), rows, p=sizes))
    return np.stack(columns, axis=1)


# -- what spoils them ----------------------------------------------------------------------------


def _half_random(made: Ensemble, rng: np.random.Generator) -> Ensemble:
    """Every second clustering is shuffled over the objects."""
    clusters = made.clusters.copy()
    clusters[:, ::2] = rng.permuted(clusters[:, ::2], axis=0)
    return Ensemble(made.votes, clusters)


def _constant(made: Ensemble, rng: np.random.Generator) -> Ensemble:
    """Three clusterings more that put all objects into one cluster."""
    constant = np.zeros((len(made.clusters), 3), dtype=np.int64)
    return Ensemble(made.votes, np.hstack([made.clusters, constant]))


def _copied(made: Ensemble, rng: np.random.Generator) -> Ensemble:
    """The last clustering comes ten times."""
    copies = np.repeat(made.clusters[:, -1:], 9, axis=1)
    return Ensemble(made.votes, np.hstack([made.clusters, copies]))


def _random_copied(made: Ensemble, rng: np.random.Generator) -> Ensemble:
    """A shuffled clustering comes ten times."""
    shuffled = rng.permuted(made.clusters[:, :1], axis=0)
    return Ensemble(made.votes, np.hstack([made.clusters, np.repeat(shuffled, 10, axis=1)]))


def _missing_clusters(made: Ensemble, rng: np.random.Generator) -> Ensemble:
    """30% of the cluster labels are missing."""
    clusters = np.where(rng.random(made.clusters.shape) < 0.3, -1, made.clusters)
    return Ensemble(made.votes, clusters)


def _missing_votes(made: Ensemble, rng: np.random.Generator) -> Ensemble:
    """30% of the votes are missing, but of every object one remains.

    An object without any vote would let each method gain by guessing, which is
    not what the harness measures.
    """
    rows, r1 = len(made.clusters), len(made.votes)
    missing = rng.random((rows, r1)) < 0.3
    missing[np.arange(rows), rng.integers(r1, size=rows)] = False
    votes = []
    for column, gone in zip(made.votes, missing.T, strict=True):
        blank = -1 if column.ndim == 1 else np.nan
        votes.append(np.where(gone if column.ndim == 1 else gone[:, None], blank, column))
    return Ensemble(votes, made.clusters)


SPOILS: dict[str, Callable[[Ensemble, np.random.Generator], Ensemble]] = {
    "half-random": _half_random,
    "constant": _constant,
    "copied": _copied,
    "random-copied": _random_copied,
    "missing-clusters": _missing_clusters,
    "missing-votes": _missing_votes,
}
