"""bc3e.compare: every consensus method on the same votes and clusters, in one table."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.utils import check_random_state

from bc3e.columns import Column, LabelColumn
from bc3e.errors import InputError, InputTypeError
from bc3e.intervals import paired_interval
from bc3e.labels import LabelTable, check_sample_weight
from bc3e.model.evidence import FloatArray
from bc3e.rivals.c3e import C3E
from bc3e.rivals.truth import accuracy, check_truth, label_codes
from bc3e.summary import Section, Summary

METHODS = (
    "MajorityVote",
    "SoftVote",
    "BC3E",
    "BGCM",
    "LWE",
    "C3E",
    "DawidSkene",
    "BayesianClusterEnsemble",
)
IDEAL = "C3E-Ideal"
BEST_SINGLE = "best single classifier"
WARM_UP_OBJECTS = 64  # enough to load and compile what a method needs


@dataclass(frozen=True)
class MethodScore:
    """One method on one set of objects; None where a figure does not apply.

    Attributes
    ----------
    method : str
    accuracy : float or None
        Share of right labels among the objects with a known true label.
    gain : float or None
        Accuracy less that of the soft vote.
    gain_low, gain_high : float or None
        95% interval of the gain by paired bootstrap.
    agreement : float or None
        Share of labels that equal the soft vote's.
    mean_entropy : float or None
        Mean entropy of the class probabilities, in nats.
    seconds : float or None
        Wall time of a fit, after a warm-up on a few objects.
    peak_megabytes : float or None
        Most memory that a second fit allocated through Python and NumPy, as
        traced by tracemalloc: the input is not counted.
    uses_truth : bool
        The row was chosen with the true labels: a reference, not a method.
    note : str
        Which setting or classifier was chosen, or why the method failed.
    failed : bool
    """

    method: str
    accuracy: float | None = None
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    agreement: float | None = None
    mean_entropy: float | None = None
    seconds: float | None = None
    peak_megabytes: float | None = None
    uses_truth: bool = False
    note: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Comparison:
    """Scores of several methods: ``print(comparison)``, or the last line of a notebook cell.

    Attributes
    ----------
    scores : tuple of MethodScore
        In the order asked for; references that use the truth come last.
    n_objects : int
    n_classifiers, n_clusterings, n_classes : int
    n_known : int or None
        Objects with a known true label; None without truth.
    n_bootstrap : int
    """

    scores: tuple[MethodScore, ...]
    n_objects: int
    n_classifiers: int
    n_clusterings: int
    n_classes: int
    n_known: int | None
    n_bootstrap: int

    def __getitem__(self, method: str) -> MethodScore:
        for score in self.scores:
            if score.method == method:
                return score
        raise KeyError(method)

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary per method, for a data frame or a file."""
        return [asdict(score) for score in self.scores]

    def to_dict(self) -> dict[str, Any]:
        """The whole comparison as plain values."""
        return asdict(self) | {"scores": self.records()}

    def summary(self) -> Summary:
        """The table in percent, and below it what was chosen and what failed.

        ``gain`` is the accuracy less that of the soft vote.
        """
        title = (
            f"{_count(self.n_objects, 'object')}, {self.n_classes} classes, "
            f"{_count(self.n_classifiers, 'classifier')}, {_count(self.n_clusterings, 'clustering')}"
        )
        if self.n_known is None:
            header: tuple[str, ...] = ("method", "like soft vote")
            cells: list[tuple[str, ...]] = [
                ("failed" if score.failed else _share(score.agreement),) for score in self.scores
            ]
        else:
            title += f", {_count(self.n_known, 'true label')}"
            header = ("method", "accuracy", "gain", "95% interval")
            cells = [_accuracy_cells(score) for score in self.scores]
        rows = tuple(
            (_name(score), *first, *_cost_cells(score))
            for score, first in zip(self.scores, cells, strict=True)
        )
        sections = [Section(title, (*header, "entropy", "time", "memory"), rows)]
        notes = tuple((_name(score), score.note) for score in self.scores if score.note)
        if any(score.uses_truth for score in self.scores):
            notes += (("*", "chosen with the true labels: a reference, not a method"),)
        if notes:
            sections.append(Section("Notes", ("method", "note"), notes))
        return Summary(tuple(sections))

    def __str__(self) -> str:
        return str(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def compare(
    votes: Any,
    clusters: Any = None,
    truth: Any = None,
    *,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    classes: Sequence[Any] | None = None,
    n_bootstrap: int = 1000,
    random_state: Any = 0,
) -> Comparison:
    """Fit several consensus methods to the same input and put their figures side by side.

    With true labels the table shows accuracy, its difference to the soft vote
    with a paired bootstrap interval, and two references that read the true
    labels: ``C3E-Ideal`` (:meth:`bc3e.rivals.C3E.ideal`) and the best single
    classifier. Without, it shows how many labels equal the soft vote's. Always:
    mean entropy, time and memory. A method that cannot handle the input shows
    its reason and stops nobody else.

    Parameters
    ----------
    votes, clusters, sample_weight
        As in :meth:`bc3e.BC3E.fit`.
    truth : (N,) labels, optional
        Missing ones are left out of the accuracy; labels outside the class
        list count as errors of every method.
    methods : sequence of names, or mapping from names to estimators, optional
        Names of :mod:`bc3e.rivals` and "BC3E"; all of them by default. A mapping
        may hold any estimators with BC3E's interface. They are cloned.
    classes : sequence, optional
        The class list, for methods given by name.
    n_bootstrap : int
        Resamples of the objects behind each interval.
    random_state : int, RandomState or None
        Seed of the bootstrap and of methods given by name.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import bc3e
    >>> votes = [["a", "a"], ["a", "b"], ["a", "a"], ["b", "b"], ["b", "b"], ["b", "b"]]
    >>> clusters = [[0], [0], [0], [1], [1], [1]]
    >>> table = bc3e.compare(votes, clusters, list("aaabbb"), methods=["SoftVote", "BGCM"])
    >>> [(score.method, score.accuracy) for score in table.scores]
    [('SoftVote', 1.0), ('BGCM', 1.0), ('C3E-Ideal', 1.0), ('best single classifier', 1.0)]
    """
    if isinstance(n_bootstrap, bool) or not isinstance(n_bootstrap, int) or n_bootstrap < 1:
        raise InputError("n_bootstrap", f"{n_bootstrap!r}", "Pass a whole number, 1 or larger.")
    chosen = _methods(methods, classes, random_state)
    table = LabelTable.read(votes, clusters, classes=classes)
    weights = check_sample_weight(sample_weight, table.n_objects, table.frame)
    known = None if truth is None else check_truth(truth, table.classes, table.n_objects)
    judge = _Judge(table, weights, known, n_bootstrap, random_state)
    few = _few_objects(table)
    scores = []
    for name, model in chosen.items():
        with suppress(Exception):  # what fails on a few objects may still work on all
            clone(model).fit(*few)
        fit = partial(_fit_clone, model, votes, clusters, sample_weight)
        scores.append(_measure(MethodScore(name), fit, judge))
    if known is not None and table.votes:
        ideal = partial(_fit_ideal, votes, clusters, truth, sample_weight, classes)
        scores.append(_measure(MethodScore(IDEAL, uses_truth=True), ideal, judge))
        scores.append(_best_single(judge))
    return Comparison(
        scores=tuple(scores),
        n_objects=table.n_objects,
        n_classifiers=len(table.votes),
        n_clusterings=len(table.clusters),
        n_classes=len(table.classes),
        n_known=None if known is None else int((known != -1).sum()),
        n_bootstrap=n_bootstrap,
    )


@dataclass(frozen=True)
class _Judge:
    """What answers are held against."""

    table: LabelTable
    weights: FloatArray | None
    truth: NDArray[np.intp] | None
    n_bootstrap: int
    random_state: Any

    @cached_property
    def soft_vote(self) -> NDArray[np.intp] | None:
        """Label of each object by soft vote; None if there is no classifier."""
        return np.argmax(self.table.soft_vote(), axis=1) if self.table.votes else None

    def score(
        self, row: MethodScore, winners: NDArray[np.intp], probabilities: FloatArray
    ) -> MethodScore:
        """Fill in what follows from the labels and probabilities of a method."""
        entropies = -np.sum(xlogy(probabilities, probabilities), axis=1)
        row = replace(row, mean_entropy=float(np.average(entropies, weights=self.weights)))
        if self.soft_vote is not None:
            same = winners == self.soft_vote
            row = replace(row, agreement=float(np.average(same, weights=self.weights)))
        if self.truth is None:
            return row
        row = replace(row, accuracy=accuracy(winners, self.truth, self.weights))
        if self.soft_vote is None:
            return row
        known = self.truth != -1
        difference = (winners[known] == self.truth[known]).astype(np.float64)
        difference -= self.soft_vote[known] == self.truth[known]
        weights = np.ones(len(difference)) if self.weights is None else self.weights[known]
        low, high = paired_interval(
            difference, weights, self.n_bootstrap, check_random_state(self.random_state)
        )
        gain = float(np.average(difference, weights=weights)) if weights.any() else float("nan")
        return replace(row, gain=gain, gain_low=low, gain_high=high)


def _measure(row: MethodScore, fit: Callable[[], Any], judge: _Judge) -> MethodScore:
    """Fit twice, once for the time and once for the memory, and score the answer."""
    try:
        begin = perf_counter()
        model = fit()
        seconds = perf_counter() - begin
        peak = _peak_megabytes(fit)
        classes = np.asarray(model.classes_)
        if classes.tolist() != judge.table.classes.tolist():
            raise InputError(
                "classes",
                f"the method has the classes {classes.tolist()[:8]}, the comparison others",
                "Give both the same classes=.",
            )
        winners = label_codes("labels", np.asarray(model.labels_), classes)
        probabilities = np.asarray(model.probabilities_, dtype=np.float64)
    except Exception as error:
        return replace(row, failed=True, note=f"failed: {error}".splitlines()[0])
    note = ""
    if hasattr(model, "ideal_parameters_"):
        note = ", ".join(f"{name}={value}" for name, value in model.ideal_parameters_.items())
    row = replace(row, seconds=seconds, peak_megabytes=peak, note=note)
    return judge.score(row, winners, probabilities)


def _peak_megabytes(action: Callable[[], Any]) -> float:
    """Most memory in use during the action beyond what was in use before."""
    ours = not tracemalloc.is_tracing()
    if ours:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        action()
        return (tracemalloc.get_traced_memory()[1] - before) / 2**20
    finally:
        if ours:
            tracemalloc.stop()


def _methods(
    methods: Sequence[str] | Mapping[str, Any] | None, classes: Any, random_state: Any
) -> dict[str, Any]:
    """Estimators by name, not yet fitted."""
    if isinstance(methods, Mapping):
        for name, model in methods.items():
            if not hasattr(model, "fit") or not hasattr(model, "get_params"):
                raise InputTypeError(
                    "methods", f"{name!r} is a {type(model).__name__}", "Pass unfitted estimators."
                )
        return {str(name): model for name, model in methods.items()}
    names = [methods] if isinstance(methods, str) else list(METHODS if methods is None else methods)
    return {name: _by_name(name, classes, random_state) for name in names}


def _by_name(name: str, classes: Any, random_state: Any) -> Any:
    if name not in METHODS:
        raise InputError("methods", f"unknown method {name!r}", f"Known are {', '.join(METHODS)}.")
    home = import_module("bc3e.estimator" if name == "BC3E" else "bc3e.rivals")
    model = getattr(home, name)(classes=classes)
    if "random_state" in model.get_params():
        model.set_params(random_state=random_state)
    return model


def _fit_clone(model: Any, votes: Any, clusters: Any, sample_weight: Any) -> Any:
    return clone(model).fit(votes, clusters, sample_weight=sample_weight)


def _fit_ideal(votes: Any, clusters: Any, truth: Any, sample_weight: Any, classes: Any) -> Any:
    return C3E.ideal(votes, clusters, truth, sample_weight=sample_weight, classes=classes)


def _few_objects(table: LabelTable) -> tuple[list[Any], list[Any]]:
    """The first rows in plain form, to warm up on."""
    few = table.take(np.arange(min(table.n_objects, WARM_UP_OBJECTS)))
    return [_plain(column) for column in few.votes], [_plain(column) for column in few.clusters]


def _plain(column: Column) -> NDArray[Any]:
    if isinstance(column, LabelColumn):
        values = np.array([*column.values, None], dtype=object)
        return np.asarray(values[column.codes])
    return np.where(column.scores.any(axis=1, keepdims=True), column.scores, np.nan)


def _best_single(judge: _Judge) -> MethodScore:
    """The classifier with the highest accuracy; an object without its vote counts as wrong."""
    assert judge.truth is not None
    table, k = judge.table, len(judge.table.classes)
    best: tuple[float, NDArray[np.intp], Column] | None = None
    for column in table.votes:
        if isinstance(column, LabelColumn):
            winners = column.codes.astype(np.intp)
        else:
            winners = np.where(column.scores.any(axis=1), np.argmax(column.scores, axis=1), -1)
        reached = accuracy(winners, judge.truth, judge.weights)
        if best is None or reached > best[0]:
            best = reached, winners, column
    assert best is not None
    _, winners, column = best
    if isinstance(column, LabelColumn):
        probabilities = np.eye(k + 1)[winners, :k]
    else:
        probabilities = np.asarray(column.scores, dtype=np.float64)
    probabilities = np.where((winners >= 0)[:, None], probabilities, 1.0 / k)
    row = MethodScore(BEST_SINGLE, uses_truth=True, note=column.name)
    return judge.score(row, winners, probabilities)


def _name(score: MethodScore) -> str:
    return score.method + (" *" if score.uses_truth else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2%}"


def _accuracy_cells(score: MethodScore) -> tuple[str, str, str]:
    if score.failed:
        return "failed", "", ""
    if score.gain is None or score.gain_low is None or score.gain_high is None:
        return _share(score.accuracy), "", ""
    interval = f"{100 * score.gain_low:+.2f} to {100 * score.gain_high:+.2f}"
    return _share(score.accuracy), f"{100 * score.gain:+.2f}", interval


def _cost_cells(score: MethodScore) -> tuple[str, str, str]:
    return (
        "" if score.mean_entropy is None else f"{score.mean_entropy:.3f}",
        "" if score.seconds is None else _duration(score.seconds),
        "" if score.peak_megabytes is None else f"{score.peak_megabytes:,.1f} MB",
    )


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
