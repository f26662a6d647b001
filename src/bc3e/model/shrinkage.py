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

from dataclasses import dataclass, replace

import numpy as np

from bc3e.model.evidence import Evidence, FloatArray, Layout
from bc3e.model.inference import Workers
from bc3e.model.rows import by_class, class_sum, weighed_sum

STRENGTHS = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4])
EMPTY_CLUSTER = 1e-3  # pseudo-count that keeps every cluster possible in every class


def marginal_frequencies(counts: FloatArray, layout: Layout) -> FloatArray:
    """Overall frequency of each cluster within its clustering, (n_rows,)."""
    sizes = counts.sum(axis=1)
    frequency: FloatArray = sizes / np.maximum(layout.per_row(layout.totals(sizes)), 1e-300)
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
        Labels of the objects.
    responsibilities : (G, k) array
        Responsibilities R, for each ballot.
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
    layout = evidence.layout
    frequency, sums_in = marginal_frequencies(counts, layout), by_class(counts)
    class_totals = layout.totals(counts)

    def run(first: int, last: int) -> FloatArray:
        rows = first + np.flatnonzero(evidence.weights[first:last])
        shares, weights = by_class(responsibilities.take(rows, axis=0)), evidence.weights[rows]
        sums = np.zeros((2, layout.n_clusterings, len(STRENGTHS)))
        for m, present, given in evidence.take(rows).assignments():
            here = np.flatnonzero(present) if given.ndim == 1 else np.arange(len(rows))
            if not len(here):
                continue
            own, mass = shares.take(here, axis=1), weights[here]
            others = np.maximum(class_totals[m][:, None] - unit * own, 0.0)
            if given.ndim == 1:
                at = given.take(here)
                inside = np.maximum(sums_in.take(at, axis=1) - unit * own, 0.0) / frequency[at]
                gain = _log_ratios(own, inside, others, unit)
            else:
                gain = np.zeros((len(STRENGTHS), len(rows)))
                for j, row in enumerate(range(layout.offsets[m], layout.offsets[m + 1])):
                    if frequency[row] > 0.0:
                        part = given[:, j] * own
                        inside = np.maximum(counts[row][:, None] - unit * part, 0.0) / frequency[row]
                        gain += _log_ratios(part, inside, others, unit)
            sums[:, m] = weighed_sum(mass, gain.T), weighed_sum(mass, gain.T**2)
        return sums

    total: FloatArray = np.sum(workers.blocks(evidence.n_patterns, run), axis=0) / unit
    return total


def _log_ratios(own: FloatArray, inside: FloatArray, others: FloatArray, unit: float) -> FloatArray:
    """sum_i own_i log [(inside_i + s) / (others_i + s)] at each strength s, of each object of (k, n).

    Strengths are in objects, sums in weights: an object weighs `unit`.
    """
    gain = np.empty((len(STRENGTHS), own.shape[1]))
    for g, s in enumerate(STRENGTHS * unit):
        ratio = inside + s
        ratio /= others + s
        np.log(ratio, out=ratio)
        ratio *= own
        gain[g] = class_sum(ratio)
    return gain


def _cells(evidence: Evidence, responsibilities: FloatArray) -> tuple[Evidence, FloatArray]:
    """One object for each vote group and cluster that meet, in place of all that are alike in both.

    The gain of a label depends on nothing else. Where objects have nearly as many different votes
    as there are objects nothing is put together.
    """
    met, layout = evidence.meetings(), evidence.layout
    if met is None or not met.any():
        return evidence, evidence.per_object(responsibilities)
    cluster, group = np.nonzero(met.T)  # by cluster: few clusterings to a block
    labels = np.full((len(group), evidence.labels.shape[1]), -1, dtype=layout.label_type)
    column = np.searchsorted(layout.offsets, cluster, side="right") - 1
    labels[np.arange(len(group)), column] = cluster
    mass, groups = met[group, cluster], group.astype(np.int32)
    together = replace(evidence, labels=labels, weights=mass, vote_groups=groups)
    return together, responsibilities.take(group, axis=0)


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


def prior_counts(
    layout: Layout, counts: FloatArray, strengths: FloatArray, unit: float = 1.0
) -> FloatArray:
    """Dirichlet pseudo-counts s_m p_mj + 1e-3 for every class, (n_rows, k); an object weighs `unit`."""
    frequency = marginal_frequencies(counts, layout)
    rows = (layout.per_row(strengths) * frequency + EMPTY_CLUSTER) * unit
    return np.repeat(rows[:, None], counts.shape[1], axis=1)
