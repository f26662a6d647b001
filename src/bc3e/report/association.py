"""How much the clusterings tell about the votes of each classifier.

The measure is the share of the uncertainty (entropy) of a classifier's votes that
knowing the cluster removes, less what chance removes:

    (I(vote; cluster) - E) / (H(vote) - E)

with E the mean mutual information with shuffled clusters. It is 0 if the clusters
say nothing about the votes and 1 if each cluster holds one vote, however many clusters
there are. This is the adjusted mutual information with the entropy of the votes
in place of the mean of both: a clustering need not be as coarse as the classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from bc3e.model.evidence import FloatArray

SHUFFLES = 5  # for E: with thousands of objects one shuffle is nearly the mean
LEAST = 1e-9  # votes of less entropy have nothing to explain


def explained(votes: NDArray[np.intp], clusters: NDArray[np.intp]) -> float | None:
    """Share of the votes' entropy that the clusters explain beyond chance; None if there is none.

    Parameters
    ----------
    votes, clusters : (N,) arrays
        Codes, -1 where missing.

    Examples
    --------
    >>> votes = np.array([0, 0, 1, 1, 2, 2] * 50)
    >>> explained(votes, np.array([0, 1, 2, 3, 4, 4] * 50))
    1.0
    >>> abs(explained(votes, np.arange(300) // 60)) < 0.05
    True
    """
    both = (votes >= 0) & (clusters >= 0)
    if both.sum() < 2:
        return None
    given = np.unique(votes[both], return_inverse=True)[1]
    placed = np.unique(clusters[both], return_inverse=True)[1]
    whole = _entropy(np.bincount(given))
    rng = np.random.default_rng(0)
    chance = float(np.mean([_information(given, rng.permutation(placed)) for _ in range(SHUFFLES)]))
    if whole - chance <= LEAST:
        return None
    return min(1.0, (_information(given, placed) - chance) / (whole - chance))


def _information(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    """Mutual information in nats."""
    width = int(b.max()) + 1
    joint = np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width)
    return _entropy(np.bincount(a)) + _entropy(np.bincount(b)) - _entropy(joint)


def _entropy(counts: NDArray[np.intp]) -> float:
    total = counts.sum()
    shares: FloatArray = counts[counts > 0] / total
    return float(-xlogy(shares, shares).sum())
