"""Scores: every method on every case, as rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from benchmarks.accuracy import metrics
from benchmarks.accuracy.cases import Case, load, prepare
from benchmarks.accuracy.methods import Method, choose
from benchmarks.accuracy.specs import Spec


@dataclass(frozen=True)
class Row:
    """One method on one case.

    Attributes
    ----------
    group : str
        ordinary, spoilt, no-signal or misleading.
    gain : float
        Accuracy over that of the soft vote, in points.
    changed : float
        Share of the labels that differ from the soft vote.
    trust : float
        NaN for methods that have none.
    error : str
        Why there is no answer; the numbers are NaN then.
    """

    case: str
    family: str
    split: str
    group: str
    tags: tuple[str, ...]
    n_objects: int
    n_classes: int
    method: str
    accuracy: float
    gain: float
    changed: float
    log_loss: float
    log_loss_before: float
    calibration_error: float
    calibration_error_before: float
    trust: float
    seconds: float
    error: str = ""


def group(case: Case) -> str:
    for name in ("no-signal", "misleading", "spoilt"):
        if name in case.tags:
            return name
    return "ordinary"


def score(case: Case, name: str, method: Method) -> Row:
    """Run a method on a case."""
    before = metrics.soft_vote(case)
    start = time.perf_counter()
    error, trust = "", float("nan")
    after = np.full_like(before, np.nan)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = method(case)
        after, trust = outcome.probabilities, outcome.trust
        if after.shape != before.shape or not np.isfinite(after).all():
            error, after = "no class probabilities", np.full_like(before, np.nan)
    except Exception as problem:  # a rival that fails is a result, not the end of the run
        error = f"{type(problem).__name__}: {problem}"
    seconds = time.perf_counter() - start
    failed, nan = bool(error), float("nan")
    base = metrics.accuracy(before, case.truth)
    reached = nan if failed else metrics.accuracy(after, case.truth)
    return Row(
        case=case.name,
        family=case.family,
        split=case.split,
        group=group(case),
        tags=tuple(sorted(case.tags)),
        n_objects=len(case.truth),
        n_classes=case.n_classes,
        method=name,
        accuracy=reached,
        gain=100 * (reached - base),
        changed=nan if failed else float(np.mean(metrics.labels(before) != metrics.labels(after))),
        log_loss=nan if failed else metrics.log_loss(after, case.truth),
        log_loss_before=metrics.log_loss(before, case.truth),
        calibration_error=nan if failed else metrics.calibration_error(after, case.truth),
        calibration_error_before=metrics.calibration_error(before, case.truth),
        trust=trust,
        seconds=seconds,
        error=error,
    )


def score_all(wanted: Iterable[Spec], methods: Sequence[str], *, n_jobs: int = 2) -> list[Row]:
    """Every method on every case, built first where the cache has none."""
    wanted = list(wanted)
    prepare(wanted, n_jobs=n_jobs)
    jobs = [(spec, tuple(methods)) for spec in wanted]
    if n_jobs == 1:
        return [row for job in jobs for row in _score_case(job)]
    with ProcessPoolExecutor(n_jobs) as pool:
        done = track(
            pool.map(_score_case, jobs), "cases", total=len(jobs), transient=True, console=_console
        )
        return [row for rows in done for row in rows]


_console = Console(stderr=True)  # progress never mixes with the tables
_warm: set[str] = set()


def _score_case(job: tuple[Spec, tuple[str, ...]]) -> list[Row]:
    spec, names = job
    case = load(spec)
    # whole names are patterns of themselves
    methods, _ = choose(names)
    rows = []
    with threadpool_limits(1):
        for name, method in methods.items():
            if name not in _warm:  # loading compiled code is not the time of a fit
                score(case, name, method)
                _warm.add(name)
            rows.append(score(case, name, method))
    return rows
