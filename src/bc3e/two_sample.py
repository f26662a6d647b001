"""Do two samples come from one distribution? A permutation test over several scores at once.

A score of whole numbers is compared by the chi-square statistic of the two histograms,
any other score by the mean and the spread of its ranks. Which rows are called "reference" is then
shuffled many times: if both samples are alike, the true naming is one of many. The
smallest p-value over the scores is compared with the smallest ones of the shuffled
namings (Westfall and Young), so any number of scores, however dependent, keeps the level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bc3e.model.evidence import FloatArray

PERMUTATIONS = 999
CERTAINTY = 2.0  # standard errors by which the shuffles may mislead


@dataclass(frozen=True)
class TwoSample:
    """Outcome of the test.

    Attributes
    ----------
    p_value : float
        Upper limit (two standard errors of the shuffling) of the p-value over
        all scores: the verdict does not hang on the seed.
    by_score : dict of str to float
        P-value of each score by itself, not corrected for their number.
    """

    p_value: float
    by_score: dict[str, float]


def permutations_for(level: float) -> int:
    """Shuffles for a test at this level: some fifty of them beyond it by chance."""
    return max(PERMUTATIONS, int(np.ceil(50.0 / max(level, 1e-4))) - 1)


def two_sample_test(
    reference: Mapping[str, NDArray[Any]],
    target: Mapping[str, NDArray[Any]],
    rng: np.random.Generator,
    *,
    groups: tuple[NDArray[Any], NDArray[Any]] | None = None,
    permutations: int = PERMUTATIONS,
) -> TwoSample:
    """Compare two samples of scores.

    Parameters
    ----------
    reference, target : mapping from names to (m,) and (n,) arrays
        Whole numbers are categories, other numbers are ranked. A score that is
        constant says nothing and is left out.
    groups : pair of (m,) and (n,) arrays, optional
        Who scored each row. Names are shuffled within a group only, so that
        differences between the groups do not blur those between the samples.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> same = two_sample_test({"x": rng.normal(size=200)}, {"x": rng.normal(size=300)}, rng)
    >>> moved = two_sample_test({"x": rng.normal(size=200)}, {"x": rng.normal(1, size=300)}, rng)
    >>> same.p_value > 0.05, moved.p_value < 0.05
    (True, True)
    """
    pooled = {name: np.concatenate([reference[name], target[name]]) for name in reference}
    columns = {name: _columns(values) for name, values in pooled.items() if len(np.unique(values)) > 1}
    if not columns:
        return TwoSample(1.0, {})
    m = len(next(iter(reference.values())))
    n = len(next(iter(pooled.values())))
    scorer = np.zeros(n, dtype=np.intp) if groups is None else np.concatenate(groups)
    everything = _statistics(list(columns.values()), m, scorer, permutations, rng)
    ranks = _exceedance(everything)
    smallest = ranks.min(axis=1)
    p = float(np.mean(smallest <= smallest[0]))
    error = CERTAINTY * np.sqrt(p * (1.0 - p) / permutations)
    return TwoSample(float(min(1.0, p + error)), dict(zip(columns, ranks[0].tolist(), strict=True)))


def _columns(values: NDArray[Any]) -> FloatArray:
    """Columns whose summed squared group deviations are the statistic of a score, (n, c).

    For categories: one indicator each, divided by the root of its frequency
    (this gives chi-square); for numbers: the rank and its square.
    """
    if values.dtype.kind in "iub":
        _, codes = np.unique(values, return_inverse=True)
        member = np.eye(int(codes.max()) + 1)[codes]
        scaled: FloatArray = (member - member.mean(axis=0)) / np.sqrt(member.sum(axis=0))
        return scaled
    ranks = rankdata(values) - (len(values) + 1) / 2
    moments = np.stack([ranks, ranks**2], axis=1)  # where the sample lies, and how wide it is
    moments -= moments.mean(axis=0)
    scaled = moments / np.maximum(np.linalg.norm(moments, axis=0), 1e-300)
    return scaled


def _statistics(
    columns: list[FloatArray],
    m: int,
    scorer: NDArray[np.intp],
    permutations: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Statistic of each score under the true naming (first row) and under shuffled ones."""
    named = np.zeros((permutations + 1, len(scorer)))
    named[0, :m] = 1.0
    for group in np.unique(scorer):
        rows = np.flatnonzero(scorer == group)
        count = int(np.sum(rows < m))
        for naming in named[1:]:
            naming[rng.permutation(rows)[:count]] = 1.0
    # Deviations are from what the groups' shares lead to expect.
    expected = np.zeros(len(scorer))
    for group in np.unique(scorer):
        expected[scorer == group] = named[0, scorer == group].mean()
    named -= expected
    return np.stack([((named @ block) ** 2).sum(axis=1) for block in columns], axis=1)


def _exceedance(statistics: FloatArray) -> FloatArray:
    """Share of all namings whose statistic is at least as large, per naming and score."""
    ranks = np.empty_like(statistics)
    for column in range(statistics.shape[1]):
        values = statistics[:, column]
        rounded = np.round(values / max(float(values.max()), 1e-300), 12)
        ranks[:, column] = 1.0 - np.searchsorted(np.sort(rounded), rounded, side="left") / len(rounded)
    return ranks
