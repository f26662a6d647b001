"""ClusterEnsemble: several clusterings of the target, which also place later objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances_argmin
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from bc3e.errors import InputError, InputTypeError
from bc3e.features import FeatureView, as_features, n_columns
from bc3e.model.evidence import FloatArray
from bc3e.settings import random_source, whole_number

Labels = NDArray[np.intp]

CLUSTERINGS = 10
FEWEST_MEMBERS = 10  # objects per cluster, on average, that the finest clustering must leave
FINEST = 12  # clusters per class of the finest clustering
LARGE = 50_000  # objects beyond which k-means works on mini-batches
BATCH = 4096
DENDROGRAM = 2_000  # objects that agglomerative clustering looks at: it needs all pairs
MIXTURE_DIMENSIONS = 10


def spread_of_clusters(n_objects: int, n_classes: int, count: int) -> list[int]:
    """Numbers of clusters of `count` clusterings, evenly spread on the log scale.

    From one cluster per class to twelve, as long as a cluster keeps ten objects on
    average. Coarse clusterings carry a vote far, fine ones respect the borders
    between classes. How flat the result is around these numbers is in
    docs/adapt.md.

    Examples
    --------
    >>> spread_of_clusters(2000, 5, 4)
    [5, 11, 26, 60]
    """
    low = max(2, min(n_classes, n_objects // FEWEST_MEMBERS))
    high = max(low, min(FINEST * n_classes, n_objects // FEWEST_MEMBERS))
    return [round(k) for k in np.geomspace(low, high, count)] if count > 1 else [high]


class Assigner(Protocol):
    """A clustering that was learned and tells where new objects belong."""

    def assign(self, space: FloatArray) -> Labels: ...


@dataclass
class _Centres:
    """The nearest centre, in a space that is seen through a projection.

    ``mass`` is how many objects each centre stands for, which is what keeps it in
    its place when it follows a stream.
    """

    centres: FloatArray
    mass: FloatArray
    projection: FloatArray | None = None
    unit_length: bool = False

    def assign(self, space: FloatArray) -> Labels:
        seen = _seen(space, self.projection, self.unit_length)
        return np.asarray(pairwise_distances_argmin(seen, self.centres), dtype=np.intp)

    def follow(self, space: FloatArray, passes: int, forgetting: float) -> None:
        """Move each centre to the mean of its new objects and of what it stood for."""
        seen = _seen(space, self.projection, self.unit_length)
        old, kept = self.centres, (1.0 - forgetting) * self.mass
        counts = kept
        for _ in range(passes):
            labels = pairwise_distances_argmin(seen, self.centres)
            arrived = np.bincount(labels, minlength=len(old)).astype(np.float64)
            entries = (np.ones(len(labels)), (labels, np.arange(len(labels))))
            sums = sparse.csr_array(entries, shape=(len(old), len(labels))) @ seen
            counts = kept + arrived
            mean = (kept[:, None] * old + sums) / np.maximum(counts, 1e-300)[:, None]
            self.centres = np.where(counts[:, None] > 0, mean, old)
        self.mass = counts


@dataclass(frozen=True)
class _Predictor:
    """A clusterer that can tell by itself."""

    clusterer: Any
    projection: FloatArray | None = None

    def assign(self, space: FloatArray) -> Labels:
        return np.asarray(self.clusterer.predict(_seen(space, self.projection)), dtype=np.intp)


class _Neighbour:
    """The label of the nearest object of the target; -1 if that was noise."""

    def __init__(self, space: FloatArray, labels: Labels) -> None:
        self.index = NearestNeighbors(n_neighbors=1).fit(space)
        self.labels = labels

    def assign(self, space: FloatArray) -> Labels:
        nearest = self.index.kneighbors(space, return_distance=False)[:, 0]
        return np.asarray(self.labels[nearest], dtype=np.intp)


def _seen(space: FloatArray, projection: FloatArray | None, unit_length: bool = False) -> FloatArray:
    seen = space if projection is None else space @ projection
    return np.asarray(normalize(seen)) if unit_length else seen


Learned = tuple[Assigner, Labels]


def _kmeans(space: FloatArray, k: int, seed: int) -> Any:
    """K-means, on mini-batches if the target is large."""
    k = min(k, len(space))
    if len(space) > LARGE:
        return MiniBatchKMeans(k, n_init=1, batch_size=BATCH, random_state=seed).fit(space)
    return KMeans(k, n_init=1, max_iter=100, random_state=seed).fit(space)


def plain(space: FloatArray, k: int, seed: int) -> Learned:
    """K-means on all features."""
    return _around_centres(_kmeans(space, k, seed))


def spherical(space: FloatArray, k: int, seed: int) -> Learned:
    """K-means on rows of unit length: directions matter, sizes do not."""
    return _around_centres(_kmeans(_seen(space, None, True), k, seed), unit_length=True)


def subspace(space: FloatArray, k: int, seed: int) -> Learned:
    """K-means on a random half of the features."""
    d = space.shape[1]
    chosen = np.random.default_rng(seed).permutation(d)[: max(1, (d + 1) // 2)]
    return _projected(space, np.eye(d)[:, np.sort(chosen)], k, seed)


def projection(space: FloatArray, k: int, seed: int) -> Learned:
    """K-means on random Gaussian combinations of the features, half as many."""
    d = space.shape[1]
    drawn = np.random.default_rng(seed).standard_normal((d, max(1, (d + 1) // 2)))
    return _projected(space, drawn / np.sqrt(drawn.shape[1]), k, seed)


def _projected(space: FloatArray, matrix: FloatArray, k: int, seed: int) -> Learned:
    return _around_centres(_kmeans(space @ matrix, k, seed), matrix)


def _around_centres(
    model: Any, projection: FloatArray | None = None, unit_length: bool = False
) -> Learned:
    mass = np.bincount(model.labels_, minlength=len(model.cluster_centers_)).astype(np.float64)
    return _Centres(model.cluster_centers_, mass, projection, unit_length), model.labels_


def mixture(space: FloatArray, k: int, seed: int) -> Learned:
    """A Gaussian mixture with diagonal covariances in at most ten random directions."""
    d, matrix = space.shape[1], None
    if d > MIXTURE_DIMENSIONS:
        drawn = np.random.default_rng(seed).standard_normal((d, MIXTURE_DIMENSIONS))
        matrix = drawn / np.sqrt(d)
    seen = _seen(space, matrix)
    model = GaussianMixture(
        min(k, len(space)),
        covariance_type="diag",
        max_iter=50,
        tol=1e-2,
        reg_covar=1e-4,
        random_state=seed,
    )
    rows = np.random.default_rng(seed).permutation(len(seen))[:LARGE]
    learned = _Predictor(model.fit(seen[np.sort(rows)]), matrix)
    return learned, learned.assign(space)


def agglomerative(space: FloatArray, k: int, seed: int) -> Learned:
    """Ward's clustering of a sample; every object goes to the nearest centre."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(space))[:DENDROGRAM])
    labels = AgglomerativeClustering(min(k, len(rows))).fit_predict(space[rows])
    centres = np.stack([space[rows][labels == j].mean(axis=0) for j in range(labels.max() + 1)])
    learned = _Centres(centres, np.bincount(labels).astype(np.float64))
    return learned, learned.assign(space)


KINDS = {
    "kmeans": plain,
    "spherical": spherical,
    "subspace": subspace,
    "projection": projection,
    "mixture": mixture,
    "agglomerative": agglomerative,
}


class ClusterEnsemble(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Several clusterings of one target, as :class:`bc3e.BC3E` wants them.

    Parameters
    ----------
    clusterers : str, clusterer, or sequence of them
        "kmeans" (mini-batches beyond 50,000 objects), "spherical", "subspace",
        "projection", "mixture", "agglomerative" (on a sample of 2,000), or
        scikit-learn clusterers. Names share `n_clusterings` among them and come
        in turn; a clusterer that is handed over counts once. Clusterers
        without `predict`, such as DBSCAN, give later objects the label of the
        nearest object of the target. Label -1, noise, is a missing label.
    n_clusterings : int
        How many clusterings the names stand for together.
    n_clusters : int, sequence of int or None
        Numbers of clusters; None spreads them by :func:`spread_of_clusters`.
    n_classes : int or None
        Number of classes that the clusterings are to help with; None is 5.
    view : transformer or None
        Turns the features into the numbers to be clustered; None is
        :class:`bc3e.features.FeatureView`. Fitted on the target.
    random_state : int, RandomState or None
    n_jobs : int or None
        Clusterings that are learned at the same time; None is 1.
    verbose : bool
        Show a progress bar on standard error.

    Attributes
    ----------
    labels_ : (N, r2) array of int
        -1 where an object is in no cluster.
    names_ : list of str
    n_clusters_ : list of int
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from bc3e import ClusterEnsemble
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(m, 1, (50, 2)) for m in (0, 8)])
    >>> clusters = ClusterEnsemble(["kmeans", "mixture"], n_clusterings=4, n_classes=2, random_state=0)
    >>> clusters.fit_predict(X).shape
    (100, 4)
    >>> clusters.names_
    ['kmeans 2', 'mixture 3', 'kmeans 6', 'mixture 10']
    >>> clusters.predict([[0.0, 0.0], [8.0, 8.0]]).shape
    (2, 4)
    """

    def __init__(
        self,
        clusterers: Any = "kmeans",
        *,
        n_clusterings: int = CLUSTERINGS,
        n_clusters: int | Sequence[int] | None = None,
        n_classes: int | None = None,
        view: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.clusterers = clusterers
        self.n_clusterings = n_clusterings
        self.n_clusters = n_clusters
        self.n_classes = n_classes
        self.view = view
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the target; `y` is ignored."""
        from joblib import Parallel, delayed

        X = as_features(X)
        named, handed = self._plan(X.shape[0])
        self.view_ = FeatureView() if self.view is None else clone(self.view)
        space = _dense(self.view_.fit_transform(X))
        source = random_source(self.random_state)
        seeds = source.randint(2**31 - 1, size=len(named) + len(handed)).tolist()
        jobs = [
            delayed(KINDS[kind])(space, k, seed) for (kind, k), seed in zip(named, seeds, strict=False)
        ] + [
            delayed(_handed)(clusterer, space, seed)
            for clusterer, seed in zip(handed, seeds[len(named) :], strict=True)
        ]
        runs = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(jobs)
        learned = list(_watched(runs, len(jobs), self.verbose))
        self._assigners = [assigner for assigner, _ in learned]
        self.labels_ = np.stack([_coded(labels) for _, labels in learned], axis=1)
        self.n_clusters_ = (self.labels_.max(axis=0) + 1).tolist()
        kinds = [kind for kind, _ in named] + [type(clusterer).__name__.lower() for clusterer in handed]
        self.names_ = _distinct([f"{kind} {k}" for kind, k in zip(kinds, self.n_clusters_, strict=True)])
        self.n_features_in_ = n_columns(X)
        return self

    def fit_predict(self, X: Any, y: Any = None, **_: Any) -> Labels:
        """Cluster the target and return ``labels_``."""
        return self.fit(X).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []  # cluster labels are whole numbers
        return tags

    def predict(self, X: Any) -> Labels:
        """Clusters of later objects, (N, r2); -1 for none."""
        if not hasattr(self, "_assigners"):
            raise NotFittedError("This ClusterEnsemble has not been fitted: call fit(X) first.")
        X = as_features(X)
        check_width(X, self.n_features_in_, "ClusterEnsemble")
        space = _dense(self.view_.transform(X))
        return np.stack([_coded(a.assign(space)) for a in self._assigners], axis=1)

    def follow(self, X: Any, *, passes: int = 1, forgetting: float = 0.5) -> Labels:
        """Let the clusters follow a stream, and return the clusters of its next objects.

        Centres move towards the new objects; what they stood for before counts
        ``1 - forgetting`` as much. Clusters keep their numbers. Clusterings
        without centres stay where they are.
        """
        self.predict(X)  # checks X
        space = _dense(self.view_.transform(as_features(X)))
        for assigner in self._assigners:
            if isinstance(assigner, _Centres):
                assigner.follow(space, passes, forgetting)
        self.labels_ = np.stack([_coded(a.assign(space)) for a in self._assigners], axis=1)
        return self.labels_

    def transform(self, X: Any) -> Labels:
        """The same as :meth:`predict`, for pipelines and ``set_output``."""
        return self.predict(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the clusterings."""
        return np.array([f"cluster_{name.replace(' ', '_')}" for name in self.names_], dtype=object)

    def _plan(self, n_objects: int) -> tuple[list[tuple[str, int]], list[Any]]:
        """Kinds and numbers of clusters of the named clusterings, and the clusterers handed over."""
        given = self.clusterers
        items = list(given) if isinstance(given, list | tuple) else [given]
        names = [item for item in items if isinstance(item, str)]
        handed = [item for item in items if not isinstance(item, str)]
        for name in names:
            if name not in KINDS:
                raise InputError("clusterers", f"{name!r}", f"Use one of {', '.join(KINDS)}.")
        for item in handed:
            if not hasattr(item, "fit_predict") and not hasattr(item, "fit"):
                raise InputTypeError(
                    "clusterers", f"a {type(item).__name__}", "Pass names or scikit-learn clusterers."
                )
        if not items:
            raise InputError("clusterers", "an empty list", f"Use one of {', '.join(KINDS)}.")
        count = whole_number("n_clusterings", self.n_clusterings) if names else 0
        sizes = self._sizes(n_objects, count)
        return [(names[i % len(names)], sizes[i]) for i in range(count)], handed

    def _sizes(self, n_objects: int, count: int) -> list[int]:
        if count == 0:
            return []
        if self.n_clusters is None:
            k = 5 if self.n_classes is None else whole_number("n_classes", self.n_classes)
            return spread_of_clusters(n_objects, k, count)
        given = self.n_clusters
        sizes = [given] * count if np.ndim(given) == 0 else list(given)  # type: ignore[arg-type]
        if len(sizes) != count:
            raise InputError(
                "n_clusters",
                f"{len(sizes)} numbers for {count} clusterings",
                "Pass one for each, or one.",
            )
        return [whole_number("n_clusters", size) for size in sizes]


def check_width(X: Any, known: int, who: str) -> None:
    """Refuse objects with another number of features than the model knows."""
    if n_columns(X) != known:
        raise InputError(
            "X",
            f"X has {n_columns(X)} features, but {who} is expecting {known} features as input",
            "Pass the columns that the model was fitted on, in the same order.",
        )


def _handed(clusterer: Any, space: FloatArray, seed: int) -> Learned:
    """A clusterer of the user's, with the seed if it has none of its own."""
    model = clone(clusterer)
    parameters = model.get_params(deep=False)
    if "random_state" in parameters and parameters["random_state"] is None:
        model.set_params(random_state=seed)
    labels = np.asarray(
        model.fit_predict(space) if hasattr(model, "fit_predict") else model.fit(space).labels_
    )
    if labels.shape != (len(space),):
        raise InputError(
            "clusterers",
            f"{type(model).__name__} gave labels of shape {labels.shape}",
            "One per object.",
        )
    labels = labels.astype(np.intp)
    return (_Predictor(model) if hasattr(model, "predict") else _Neighbour(space, labels)), labels


def _coded(labels: Any) -> Labels:
    """Whole numbers with every kind of noise as -1."""
    return np.maximum(np.asarray(labels, dtype=np.intp), -1)


def _dense(space: Any) -> FloatArray:
    dense = space.toarray() if hasattr(space, "toarray") else np.asarray(space, dtype=np.float64)
    return np.ascontiguousarray(dense, dtype=np.float64)


def _watched(runs: Any, count: int, verbose: bool) -> Any:
    columns = (TextColumn("clusterings"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not verbose) as bar:
        yield from bar.track(runs, total=count)


def _distinct(names: list[str]) -> list[str]:
    """Names with a number where one occurs twice."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
