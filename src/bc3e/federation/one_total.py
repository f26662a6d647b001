"""Every clustering from one total per object: a fit that finds some profiles, and algebra for the rest.

:class:`bc3e.federation.mixture_fit.MixtureFit` rarely finds all profiles. It does not need to. Once some
are exact, an object that is not explained yet has, for every way to choose its other labels, one profile
that would explain it. A profile that explains two objects to the last digit is no accident.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bc3e.federation.mixture_fit import MixtureFit
from bc3e.federation.recovery import equal_rows, equal_values
from bc3e.federation.scoring import Labels, codes
from bc3e.model.evidence import FloatArray

TOLERANCE = 1e-7
SIZE = 4  # profiles of a clustering that the fit looks for; others are found later
MOST_COMBINATIONS = 300  # of labels, in the fit
MOST_FITTED = 120  # distinct objects of the fit, the most common: rare ones lead it astray
MOST_PATTERNS = 5_000  # of labels, in the algebra
SEEDS = 6  # objects that must be exact before the rest is worth a try
STARTS, ENOUGH = 120, 0.97

Profiles = list[FloatArray]  # logarithms, (k_m, k) for each clustering


@dataclass(frozen=True)
class Solution:
    """Clusterings that explain totals.

    Attributes
    ----------
    profiles : list of (k_m, k)
        Logarithms, up to a constant of each row.
    labels : (n, clusterings) codes
        Objects that are not explained are groups of their own.
    explained : float
        Share of the distinct objects that are explained to the last digit.
    """

    profiles: Profiles
    labels: Labels
    explained: float

    @property
    def partitions(self) -> list[Labels]:
        return [codes(part) for part in self.labels.T]


def taken_apart(
    tendency: FloatArray,
    totals: FloatArray,
    clusterings: int,
    weight: float,
    *,
    starts: int = STARTS,
    tolerance: float = TOLERANCE,
) -> Solution | None:
    """The clusterings behind the totals of a single sweep; None if nothing is explained exactly.

    Parameters
    ----------
    tendency, totals : (n, k)
    clusterings : int
        How many add to the totals.
    weight : float
        What each counts.
    starts : int
        Random starts; the search ends early once nearly all objects are explained.
    tolerance : float
        How exact the totals are.
    """
    if clusterings < 1 or SIZE**clusterings > MOST_COMBINATIONS or not totals.any():
        return None
    groups = equal_rows(np.hstack([tendency, totals]), tolerance / 100.0)
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    e, s = tendency[first], totals[first]
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_FITTED])
    fit = MixtureFit(e[common], s[common], [SIZE] * clusterings, weight)
    rng = np.random.default_rng(0)
    best: Solution | None = None
    for _ in range(starts):
        profiles, good = fit.exact(fit.run(fit.start(rng)), tolerance)
        if good.sum() < min(SEEDS, len(e)):
            continue
        profiles = _extended(e, s, weight, profiles, tolerance)
        profiles = _pruned(e, s, weight, profiles, tolerance)
        labels, off = _explain(e, s, weight, profiles)
        explained = float(np.mean(off < tolerance))
        if best is None or explained > best.explained:
            best = Solution(profiles, _alone(labels, off >= tolerance)[groups], explained)
        if explained >= ENOUGH:
            break
    return best


def _parts(e: FloatArray, weight: float, profiles: Profiles) -> list[FloatArray]:
    return [weight * softmax(e[:, None, :] + known[None], axis=2) for known in profiles]


def _sums(parts: list[FloatArray]) -> tuple[Labels, FloatArray]:
    """All combinations of labels, and the total that each gives to each object."""
    choices = np.array(list(product(*(range(part.shape[1]) for part in parts))), dtype=np.intp)
    totals: FloatArray = sum(part[:, column] for part, column in zip(parts, choices.T, strict=True))  # type: ignore[assignment]
    return choices, totals


def _explain(
    e: FloatArray, s: FloatArray, weight: float, profiles: Profiles
) -> tuple[Labels, FloatArray]:
    """Labels that come closest to each total, and how far off they are."""
    choices, totals = _sums(_parts(e, weight, profiles))
    off = np.abs(s[:, None] - totals).max(axis=2)
    return choices[off.argmin(axis=1)], off.min(axis=1)


def _extended(
    e: FloatArray, s: FloatArray, weight: float, profiles: Profiles, tolerance: float
) -> Profiles:
    """Profiles and those that the objects left over have in common, the most common first."""
    left = _explain(e, s, weight, profiles)[1] >= tolerance
    while np.prod([len(known) for known in profiles]) <= MOST_PATTERNS:
        found = [_wanted(e[left], s[left], weight, profiles, m, tolerance) for m in range(len(profiles))]
        support = [count for count, _ in found]
        at = int(np.argmax(support))
        if support[at] < 2:
            break
        more = [np.vstack([p, found[m][1]]) if m == at else p for m, p in enumerate(profiles)]
        still = _explain(e, s, weight, more)[1] >= tolerance
        if still.sum() > left.sum() - 2:  # equal by accident: it explains nothing
            break
        profiles, left = more, still
    return profiles


def _wanted(
    e: FloatArray, s: FloatArray, weight: float, profiles: Profiles, m: int, tolerance: float
) -> tuple[int, FloatArray]:
    """The profile of clustering m that explains most of these objects, and how many."""
    nothing = 0, np.zeros(e.shape[1])
    if len(e) < 2:
        return nothing
    _, others = _sums(_parts(e, weight, profiles[:m] + profiles[m + 1 :]))
    rest = s[:, None] - others
    who, _ = np.nonzero((rest > 1e-9).all(axis=2))
    if len(who) < 2:
        return nothing
    told = np.log(rest[(rest > 1e-9).all(axis=2)]) - e[who]
    told -= told[:, -1:]
    direction = np.random.default_rng(2).normal(size=told.shape[1])
    same = equal_values(told @ direction, 10.0 * tolerance)
    pairs = np.unique(np.stack([same, who], axis=1), axis=0)[:, 0]  # each object counts once
    counts = np.bincount(pairs)
    largest = int(counts.argmax())
    return int(counts[largest]), np.median(told[same == largest], axis=0)


def _pruned(
    e: FloatArray, s: FloatArray, weight: float, profiles: Profiles, tolerance: float
) -> Profiles:
    """Profiles less those without which as many objects are explained, the rarest first."""
    if np.prod([len(known) for known in profiles]) > MOST_PATTERNS:
        return profiles
    labels, off = _explain(e, s, weight, profiles)
    good = off < tolerance
    kept = [np.ones(len(known), dtype=bool) for known in profiles]
    uses = [np.bincount(labels[good, m], minlength=len(known)) for m, known in enumerate(profiles)]
    for _, m, row in sorted((n, m, j) for m, counts in enumerate(uses) for j, n in enumerate(counts)):
        kept[m][row] = False
        if kept[m].any():
            fewer = [known[some] for known, some in zip(profiles, kept, strict=True)]
            if np.sum(_explain(e, s, weight, fewer)[1] < tolerance) >= np.sum(good):
                continue
        kept[m][row] = True
    return [known[some] for known, some in zip(profiles, kept, strict=True)]


def _alone(labels: Labels, unexplained: NDArray[np.bool_]) -> Labels:
    """Labels with a group of its own for each object that is not explained."""
    found = labels.copy()
    found[unexplained] = MOST_PATTERNS + np.arange(int(unexplained.sum()))[:, None]
    return found
