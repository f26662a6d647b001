"""What BC3E's constructor may be given: checks, and the rules made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from bc3e.errors import InputError
from bc3e.model.evidence import FloatArray
from bc3e.model.parameters import VARIANCE_RANGE, InverseGamma, MeanRule, Normal, VarianceRule

if TYPE_CHECKING:
    from bc3e.estimator import BC3E

STARTS = ("votes", "diffusion", "random")
LARGEST = 1e9  # weights, pseudo-counts and class means beyond it are mistakes


def mean_rule(given: Any, k: int) -> MeanRule:
    """Rule of the class mean: a given value, "learn" or a Normal prior."""
    if isinstance(given, str):
        return MeanRule(np.zeros(k), 0.0)
    if isinstance(given, Normal):
        return MeanRule(np.full(k, given.mean), 1.0 / given.variance)
    return MeanRule(_per_class("class_mean", given, k), np.inf)


def variance_rule(name: str, given: Any, size: int) -> VarianceRule:
    """Rule of a variance: a given value, "learn" or an InverseGamma prior."""
    if isinstance(given, str):
        return VarianceRule(None)
    if isinstance(given, InverseGamma):
        return VarianceRule(None, given.shape, given.scale)
    return VarianceRule(_per_class(name, given, size))


def _per_class(name: str, given: Any, k: int) -> FloatArray:
    values = np.asarray(given, dtype=np.float64)
    if values.ndim == 0:
        return np.full(k, float(values))
    if values.shape != (k,):
        raise InputError(
            name, f"{values.size} values for {k} classes", "Pass one number, or one per class."
        )
    return values.copy()


def given_weights(given: Any, r2: int) -> FloatArray | None:
    """Evidence weights as the user gave them, None for "auto"."""
    if isinstance(given, str):
        return None
    weights = np.array(given, dtype=np.float64)
    if weights.ndim == 0:
        return np.full(r2, float(weights))
    if weights.shape != (r2,):
        raise InputError(
            "evidence_weight",
            f"{weights.size} weights for {r2} clusterings",
            "Pass one weight per clustering, one number, or 'auto'.",
        )
    return weights


def check_constructor(model: BC3E) -> None:
    """Refuse parameters that make no sense, before any work is done."""
    if model.posterior not in ("structured", "factorized"):
        raise InputError("posterior", f"{model.posterior!r}", "Use 'structured' or 'factorized'.")
    for name, prior in (
        ("delta2", InverseGamma),
        ("class_variance", InverseGamma),
        ("class_mean", Normal),
    ):
        _check_learnable(name, getattr(model, name), prior, positive=prior is InverseGamma)
    if np.ndim(model.delta2) if not isinstance(model.delta2, str | InverseGamma) else 0:
        raise InputError("delta2", "more than one number", "delta2 is one number for all classes.")
    _check_weights("evidence_weight", model.evidence_weight, word="auto")
    if model.vote_weight is not None:
        _check_positive("vote_weight", model.vote_weight, "Pass a positive number, or None.")
    if model.vote_calibration not in ("agreement", None):
        raise InputError("vote_calibration", f"{model.vote_calibration!r}", "Use 'agreement' or None.")
    if isinstance(model.profile_prior, str):
        if model.profile_prior != "marginal":
            raise InputError(
                "profile_prior",
                f"{model.profile_prior!r}",
                "Use 'marginal', a number of objects, or None.",
            )
    elif model.profile_prior is not None:
        _check_positive(
            "profile_prior", model.profile_prior, "Pass a positive number, 'marginal' or None."
        )
    names = [model.init] if isinstance(model.init, str) else model.init
    if not isinstance(names, list | tuple) or not names or any(name not in STARTS for name in names):
        raise InputError("init", f"{model.init!r}", f"Use one or several of {', '.join(STARTS)}.")
    for name in ("n_init", "max_iter"):
        whole_number(name, getattr(model, name))
    if not (_is_number(model.tol) and model.tol >= 0):
        raise InputError("tol", f"{model.tol!r}", "Pass a number, 0 or larger.")
    if model.n_jobs is not None and (
        not isinstance(model.n_jobs, int | np.integer) or model.n_jobs == 0
    ):
        raise InputError("n_jobs", f"{model.n_jobs!r}", "Pass None, -1 or a positive number of threads.")
    try:
        random_source(model.random_state)
    except ValueError:
        raise InputError(
            "random_state",
            f"{model.random_state!r}",
            "Pass None, a whole number, a RandomState or a Generator.",
        ) from None
    if model.callback is not None and not callable(model.callback):
        raise InputError("callback", f"{model.callback!r}", "Pass a function of one argument.")


def random_source(random_state: Any) -> np.random.RandomState:
    """The source of random numbers behind whatever the user passed."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**31 - 1))
    source: np.random.RandomState = check_random_state(random_state)
    return source


def whole_number(name: str, value: Any) -> int:
    """A whole number from 1 up, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(name, f"{value!r}", "Pass a whole number, 1 or larger.")
    return int(value)


def share(name: str, value: Any) -> float:
    """A number from 0 to 1, or an error."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise InputError(name, f"{value!r}", "Pass a number from 0 to 1.")
    return float(value)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and bool(np.isfinite(value))
    )


def _check_positive(name: str, value: Any, remedy: str) -> None:
    if not _is_number(value) or not 0 < value <= LARGEST:
        raise InputError(name, f"{value!r}", f"{remedy} Numbers end at {LARGEST:g}.")


def _check_learnable(name: str, value: Any, prior: type, *, positive: bool) -> None:
    if isinstance(value, prior):
        return
    low, high = VARIANCE_RANGE if positive else (-LARGEST, LARGEST)
    allowed = f"{'positive ' if positive else ''}numbers from {low:g} to {high:g}"
    remedy = f"Pass 'learn', {prior.__name__}(...), or {allowed}."
    if isinstance(value, str):
        if value != "learn":
            raise InputError(name, f"{value!r}", remedy)
        return
    try:
        numbers: NDArray[np.float64] = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(name, f"{value!r}", remedy) from None
    if numbers.size == 0 or not ((numbers >= low) & (numbers <= high)).all():
        raise InputError(name, f"{value!r}", remedy)


def _check_weights(name: str, value: Any, word: str) -> None:
    remedy = f"Pass {word!r}, one number or one per clustering, each positive and finite."
    if isinstance(value, str):
        if value != word:
            raise InputError(name, f"{value!r}", remedy)
        return
    try:
        numbers: NDArray[np.float64] = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(name, f"{value!r}", remedy) from None
    if numbers.ndim > 1 or not ((numbers > 0) & (numbers <= LARGEST)).all():
        raise InputError(name, f"{value!r}", remedy)
