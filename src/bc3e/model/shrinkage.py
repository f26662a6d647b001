"""How strongly cluster profiles are held at the cluster frequencies.

A Dirichlet prior with mean p_m (the overall cluster frequencies) and strength
s_m pulls the profiles of all classes together. A clustering that says nothing
about the classes is best described with an infinite strength: its profiles
become equal and it drops out of the model. The strength is chosen per
clustering by empirical Bayes: the value that best predicts the cluster label
of each object from the profiles of all *other* objects,

    sum_n sum_i R_ni log [(S_mji - R_ni + s p_mj) / (N_mi - R_ni + s)],

where R are vote responsibilities, S_mji their sum in cluster j of object n and
N_mi their sum over the clustering.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bc3e.model.evidence import Evidence, FloatArray, Layout
from bc3e.model.inference import Workers

STRENGTHS = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4])
EMPTY_CLUSTER = 1e-3  # pseudo-count that keeps every cluster possible in every class


def marginal_frequencies(counts: FloatArray, layout: Layout) -> FloatArray:
    """Overall frequency of each cluster within its clustering, (n_rows,)."""
    sizes = counts.sum(axis=1)
    totals = np.array([block.sum() for block in layout.split(sizes)])
    frequency: FloatArray = sizes / np.maximum(layout.per_row(totals), 1e-300)
    return frequency


@dataclass(frozen=True)
class Shrinkage:
    """What empirical Bayes finds for each clustering.

    Attributes
    ----------
    strengths : (r2,)
        Strength of the profile prior, in objects.
    significance : (r2,)
        How many standard errors the profiles predict cluster labels better
        than the overall frequencies do; 0 or less if they do not.
    """

    strengths: FloatArray
    significance: FloatArray


def learn_shrinkage(
    evidence: Evidence, responsibilities: FloatArray, counts: FloatArray, unit: float, workers: Workers
) -> Shrinkage:
    """Strength and significance of every clustering.

    Parameters
    ----------
    evidence : Evidence
        Labels of the objects; responsibilities are equal in each of its vote groups.
    responsibilities : (P, k) array
        Responsibilities R.
    counts : (n_rows, k) array
        Their sums per cluster.
    unit : float
        Mean weight of an object: what leaving one object out takes away.
    workers : Workers
        Threads that share the objects.
    """
    layout = evidence.layout
    if layout.n_clusterings == 0:
        return Shrinkage(np.empty(0), np.empty(0))
    sums = prediction_gains(*_cells(evidence, responsibilities), counts, unit, workers)
    return choose_strengths(sums, float(evidence.weights.sum()) / unit)


def prediction_gains(
    evidence: Evidence,
    responsibilities: FloatArray,
    counts: FloatArray,
    unit: float,
    workers: Workers,
) -> FloatArray:
    """What profiles predict better than frequencies do: sums of gains and squares.

    The sums, (2, r2, strengths), are over the objects of `evidence`, while `counts` (n_rows, k) may
    be those of more objects, of which these are a part.
    """
    from bc3e.model.evidence_kernels import left_out_gains

    layout = evidence.layout
    frequency = marginal_frequencies(counts, layout)
    class_totals = np.stack([block.sum(axis=0) for block in layout.split(counts)])
    hard, soft = layout.hard_columns, layout.soft_columns

    def run(first: int, last: int) -> FloatArray:
        sums = np.zeros((2, layout.n_clusterings, len(STRENGTHS)))
        left_out_gains(
            0, last - first, responsibilities[first:last], evidence.weights[first:last], unit,
            evidence.labels[first:last], hard, evidence.stacked(first, last),
            layout.membership_offsets, layout.offsets[soft], soft, counts, class_totals, frequency,
            STRENGTHS, sums[0], sums[1],
        )  # fmt: skip
        return sums

    total: FloatArray = np.sum(workers.blocks(evidence.n_patterns, run), axis=0) / unit
    return total


def _cells(evidence: Evidence, responsibilities: FloatArray) -> tuple[Evidence, FloatArray]:
    """One object for each vote group and cluster that meet, in place of all that are alike in both.

    The gain of a label depends on nothing else. Where objects have nearly as many different votes
    as there are objects nothing is put together.
    """
    groups, layout = evidence.vote_groups, evidence.layout
    if groups is None or len(layout.soft_columns):
        return evidence, responsibilities
    row = np.empty(int(groups.max()) + 1, dtype=np.intp)
    row[groups] = np.arange(len(groups))
    if 2 * len(row) * layout.n_rows > evidence.labels.size:
        return evidence, responsibilities
    where = groups * layout.n_rows
    numbers, columns, mass = [], [], []
    for h in range(evidence.labels.shape[1]):
        column = evidence.labels[:, h]
        present = column >= 0
        met = np.bincount((where + column)[present], weights=evidence.weights[present])
        cells = np.flatnonzero(met)
        numbers.append(cells)
        columns.append(np.full(len(cells), h))
        mass.append(met[cells])
    cell, column = np.concatenate(numbers), np.concatenate(columns)
    if len(cell) == 0:  # no label at all
        return evidence, responsibilities
    labels = np.full((len(cell), evidence.labels.shape[1]), -1, dtype=np.int32)
    labels[np.arange(len(cell)), column] = cell % layout.n_rows
    rows = row[cell // layout.n_rows]
    met_evidence = Evidence(
        votes=evidence.votes[rows],
        labels=labels,
        memberships=(),
        weights=np.concatenate(mass),
        evidence_weights=evidence.evidence_weights,
        layout=layout,
    )
    return met_evidence, responsibilities[rows]


def choose_strengths(sums: FloatArray, objects: float) -> Shrinkage:
    """Strength and significance from the gains and squares of all `objects` together."""
    gains, squares = sums
    # Equal gains (an empty or constant clustering) go to the strongest shrinkage.
    best = len(STRENGTHS) - 1 - np.argmax(gains[:, ::-1], axis=1)
    each = np.arange(len(gains))
    spread = np.sqrt(np.maximum(squares[each, best] - gains[each, best] ** 2 / objects, 0.0))
    real = gains[each, best] > 1e-9 * objects  # less is rounding
    significance = np.where(real, gains[each, best] / np.maximum(spread, 1e-300), 0.0)
    return Shrinkage(STRENGTHS[best], significance)


def shrinkage_counts(evidence: Evidence, counts: FloatArray, strengths: FloatArray) -> FloatArray:
    """Dirichlet pseudo-counts s_m p_mj + 1e-3 for every class, (n_rows, k)."""
    return prior_counts(evidence.layout, counts, strengths)


def prior_counts(layout: Layout, counts: FloatArray, strengths: FloatArray) -> FloatArray:
    """:func:`shrinkage_counts` where there are counts but no objects."""
    frequency = marginal_frequencies(counts, layout)
    rows = layout.per_row(strengths) * frequency + EMPTY_CLUSTER
    return np.repeat(rows[:, None], counts.shape[1], axis=1)
