"""Starting points of the EM: who is probably what, before anything is learned.

A start is a table of responsibilities (P, k); the cluster profiles that it
implies are where the EM begins. All starts treat rows, columns and cluster
numbers alike: what is drawn at random is drawn in an order that the data
themselves define.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import Workers

SMOOTHING = 0.5  # votes that every object has besides its own, spread over the classes
RETAINED = 0.05  # share of the votes that each step of the diffusion feeds back
DIFFUSION_STEPS = 200


def vote_responsibilities(votes: FloatArray) -> FloatArray:
    """Smoothed shares of the votes; uniform where nobody voted."""
    k = votes.shape[1]
    smoothed: FloatArray = (votes + SMOOTHING / k) / (votes.sum(axis=1, keepdims=True) + SMOOTHING)
    return smoothed


def cluster_counts(
    evidence: Evidence, responsibilities: FloatArray, workers: Workers | None = None
) -> FloatArray:
    """Expected objects of each class in each cluster, stacked (n_rows, k)."""
    layout = evidence.layout
    k = responsibilities.shape[1]

    def run(first: int, last: int) -> FloatArray:
        rows = slice(first, last)
        mass = evidence.weights[rows, None] * responsibilities[rows]
        counts = np.zeros((layout.n_rows, k))
        for m, present, given in evidence.take(rows).assignments():
            if given.ndim == 2:
                layout.split(counts)[m][:] = given.T.astype(np.float64) @ mass
                continue
            cells = given[present, None] * np.intp(k) + np.arange(k)
            counts += np.bincount(
                cells.ravel(), weights=mass[present].ravel(), minlength=counts.size
            ).reshape(counts.shape)
        return counts

    nothing = np.zeros((layout.n_rows, responsibilities.shape[1]))
    return reduce(np.add, (workers or Workers(1)).blocks(evidence.n_patterns, run), nothing)


def incidence(evidence: Evidence) -> sparse.csr_array:
    """Objects by clusters: 1 or the membership where an object is in a cluster."""
    blocks = []
    for m, present, given in evidence.assignments():
        first, last = evidence.layout.offsets[m], evidence.layout.offsets[m + 1]
        if given.ndim == 2:
            blocks.append((m, sparse.csr_array(given.astype(np.float64))))
            continue
        rows = np.flatnonzero(present)
        entries = (np.ones(len(rows)), (rows, given[present] - first))
        blocks.append((m, sparse.csr_array(entries, shape=(evidence.n_patterns, last - first))))
    blocks.sort(key=lambda block: block[0])
    return sparse.csr_array(sparse.hstack([block for _, block in blocks], format="csr"))


def diffused_responsibilities(evidence: Evidence, anchor: FloatArray) -> FloatArray:
    """Spread `anchor` (P, k) over shared clusters until it changes no more.

    Each step replaces an object's responsibilities by the mean of its clusters'
    mean responsibilities, with a little of its own votes fed back. This reaches
    objects that share no cluster with a well-voted one but whose neighbours do:
    the two half-moons are the classical case.
    """
    if evidence.layout.n_clusterings == 0:
        return anchor
    member = incidence(evidence)
    sizes = member.T @ evidence.weights
    to_cluster = sparse.diags_array(1.0 / np.maximum(sizes, 1e-300)) @ member.T
    weighted = member @ sparse.diags_array(evidence.layout.per_row(evidence.evidence_weights))
    reach = np.asarray(weighted.sum(axis=1))
    alone = reach <= 0
    reach = np.where(alone, 1.0, reach)[:, None]
    current = anchor
    for _ in range(DIFFUSION_STEPS):
        spread = (weighted @ (to_cluster @ (evidence.weights[:, None] * current))) / reach
        spread[alone] = anchor[alone]
        following = RETAINED * anchor + (1.0 - RETAINED) * spread
        moved = float(np.abs(following - current).max())
        current = following
        if moved < 1e-9:
            break
    # Diffusion flattens every row towards the overall shares: bring the contrast back.
    contrast = current / np.maximum(np.average(current, axis=0, weights=evidence.weights), 1e-300)
    return sharpen(contrast)


def sharpen(scores: FloatArray) -> FloatArray:
    """Rows squared and scaled to sum to 1."""
    squared: FloatArray = scores**2
    squared /= squared.sum(axis=1, keepdims=True)
    return squared


def random_responsibilities(evidence: Evidence, rng: np.random.Generator) -> FloatArray:
    """Seed objects far apart in label agreement, diffused over shared clusters.

    Seeds are drawn as k-means++ does, with one minus the share of common labels
    as the distance.
    """
    k = evidence.n_classes
    if evidence.layout.n_clusterings == 0:
        return vote_responsibilities(evidence.votes)
    member = incidence(evidence)
    weighted = member @ sparse.diags_array(evidence.layout.per_row(evidence.evidence_weights))
    founders = exchangeable_groups(evidence)
    weight = np.bincount(founders, weights=evidence.weights)
    share = evidence.weights / np.maximum(weight, 1e-300)[founders]
    entries = (share, (founders, np.arange(len(founders))))
    profiles = sparse.csr_array(entries, shape=(len(weight), len(founders))) @ member
    similarity = np.zeros((evidence.n_patterns, k))
    distance = np.ones(evidence.n_patterns)
    full = max(float(np.asarray(weighted.sum(axis=1)).max()), 1e-300)
    for i in range(k):
        chance = np.bincount(founders, weights=evidence.weights * distance)
        if chance.sum() <= 0:
            chance = weight
        at = np.searchsorted(np.cumsum(chance), rng.random() * chance.sum(), side="right")
        seed = min(int(at), len(weight) - 1)
        common = np.asarray((weighted @ profiles[[seed]].T).todense()).ravel() / full
        similarity[:, i] = common
        distance = np.minimum(distance, 1.0 - common)
        distance[distance < 1e-9] = 0.0  # rounding must not found a class
    anchor = (similarity + 0.1 / k) / (similarity + 0.1 / k).sum(axis=1, keepdims=True)
    return diffused_responsibilities(evidence, anchor)


def exchangeable_groups(evidence: Evidence) -> NDArray[np.intp]:
    """Number each pattern in an order that no renumbering of rows or clusters changes.

    Patterns and clusters exchange signatures a few times, beginning with cluster
    sizes; patterns of one signature are, but for rare accidents, exchangeable and get one
    number. Without votes even exchangeable patterns must be told apart, or no
    class could begin: then they are ordered by their labels.
    """
    member = incidence(evidence)
    weighted = member @ sparse.diags_array(evidence.layout.per_row(evidence.evidence_weights))
    share = evidence.weights / evidence.weights.sum()
    cluster = member.T @ share
    votes = evidence.votes @ np.sqrt(np.arange(2.0, evidence.n_classes + 2.0))
    pattern = np.zeros(evidence.n_patterns)
    for _ in range(5):
        pattern = weighted @ np.sin(1.0 + 9.0 * cluster) + 0.1 * np.sin(votes)
        cluster = cluster + member.T @ (share * np.cos(5.0 * pattern))
    signature = np.round(pattern, 9)
    if evidence.ballots.any():
        return np.unique(signature, return_inverse=True)[1]
    rows = np.column_stack([signature, evidence.labels, *evidence.memberships])
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def canonical_order(evidence: Evidence) -> NDArray[np.intp]:
    """The patterns in the order of :func:`exchangeable_groups`."""
    return np.argsort(exchangeable_groups(evidence), kind="stable")
