"""Attack on sums over objects: tell whether an object was among those added up.

The attacker knows the labels of a candidate object and, like the party that adds up, the parameters of
every iteration. So it can compute what the candidate would have added to each sum. If the
candidate was in, the sum less its part is a sum over n - 1 other objects; if not, the whole sum is one
over n others. A sum over many objects is nearly Gaussian with the mean and covariance that a
reference population tells, which gives the likelihood ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import Workers, cold_state, e_step
from bc3e.model.parameters import Parameters
from bc3e.model.schedule import PASSING, SWEEPS

KEPT = 1e-9  # directions with less than this share of the variance tell only rounding


def contributions(
    evidence: Evidence, parameters: Sequence[Parameters], structured: bool = True
) -> FloatArray:
    """What each object adds to the sums of each iteration, (objects, iterations, sums).

    The sums are S1, S2, D and the expected class counts of the clusters, in this order.
    """
    workers = Workers()
    parts = []
    for n in range(evidence.n_patterns):
        one = _only(evidence, n)
        state = cold_state(one, parameters[0])
        told = []
        for current in parameters:
            sums = e_step(
                one,
                current,
                state,
                structured=structured,
                sweeps=SWEEPS,
                workers=workers,
                settled=PASSING,
            )
            told.append(np.concatenate([sums.first, sums.second, [sums.gap], sums.counts.ravel()]))
        parts.append(told)
    return np.array(parts)


def _only(evidence: Evidence, row: int) -> Evidence:
    return replace(evidence.take(slice(row, row + 1)), weights=np.ones(1))


def likelihood_ratios(
    sums: FloatArray, size: int, candidates: FloatArray, reference: FloatArray
) -> FloatArray:
    """Log-likelihood ratio of "was in" against "was not" for each candidate.

    Parameters
    ----------
    sums : (q,)
        All sums that were seen, in one row.
    size : int
        How many objects they run over.
    candidates : (c, q)
        What each candidate would add.
    reference : (r, q)
        What objects of the same population add; gives mean and covariance.
    """
    mean = reference.mean(axis=0)
    _, spread, axes = np.linalg.svd(reference - mean, full_matrices=False)
    variance = spread**2 / max(1, len(reference) - 1)
    # More directions than a third of the reference objects cannot be estimated.
    kept = np.flatnonzero(variance > KEPT * variance.max(initial=0.0))[: max(1, len(reference) // 3)]
    if not len(kept):
        return np.zeros(len(candidates))
    scale = axes[kept] / np.sqrt(variance[kept])[:, None]
    whole = scale @ (sums - size * mean)
    rest = whole[None, :] - (candidates - mean) @ scale.T
    others = max(size - 1, 1)
    out = -0.5 * np.sum(whole**2) / size - 0.5 * len(kept) * np.log(size)
    ratio: FloatArray = -0.5 * np.sum(rest**2, axis=1) / others - 0.5 * len(kept) * np.log(others) - out
    return ratio
