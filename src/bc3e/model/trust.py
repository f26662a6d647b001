"""How far the clusterings were believed: the labels they decided, and their share of information.

Trust in all clusterings together is what came of it: the share of the objects
whose refined label is not that of the votes, or that had no votes at all; a tie
of m classes counts as the chance, 1 - 1/m, that a draw would have ended elsewhere. It
is 0 when the clusterings are ignored and 1 when there is nothing else to go by.

A single clustering decides no label alone, but it carries information. The
votes of an object carry Fisher information R1 sum_i p_i (1 - p_i) about its class
tendency y. Its cluster labels carry A = sum_m w_m sum_i (phi_mi - t_i)^2 about
theta: nothing when the profiles of all classes are alike, much when a label
speaks for one class. Of that, A / (1 + delta2 A) reaches y. Trust in a clustering
is its part in the sum of both, over all objects, as if it were the only one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bc3e.model.calibration import BLOCK
from bc3e.model.evidence import LANES, Evidence, FloatArray
from bc3e.model.inference import State, Workers
from bc3e.model.parameters import Parameters
from bc3e.model.rows import by_class, class_sum, row_max, row_sum, weighed_sum

NEARLY = 1e-9  # votes or tendencies that differ by less are equal


def decided_share(evidence: Evidence, state: State, kept: NDArray[np.bool_] | None = None) -> float:
    """Share of the objects whose label the clusterings decided, those with `kept` votes left out."""
    total = float(evidence.weights.sum())
    if not (evidence.evidence_weights > 0).any() or total <= 0:
        return 0.0
    decided, apart = 0.0, evidence.vote_groups is None
    together = None if apart else by_class(_kept_by_chance(evidence.ballots))
    for first in range(0, evidence.n_patterns, BLOCK):  # a block at a time: no copy of the whole table
        rows = slice(first, first + BLOCK)
        refined = by_class(state.mean[rows])
        leads = refined >= refined.max(axis=0) - NEARLY
        hit = np.zeros(refined.shape[1])
        if together is None:
            hit += class_sum(leads * by_class(_kept_by_chance(evidence.ballots[rows])))
        else:
            for lead, chance in zip(leads, together, strict=True):
                hit += lead * evidence.per_object(chance, rows)
        changed = 1.0 - hit
        if kept is not None:
            changed[kept[rows]] = 0.0
        decided += float(weighed_sum(evidence.weights[rows], changed))
    return decided / total


def _kept_by_chance(ballots: FloatArray) -> FloatArray:
    """Chance that a draw among the classes that lead the votes hits each; 0 without votes, (G, k)."""
    most = row_max(ballots)[:, None]
    leaders = (ballots >= most - NEARLY) & (most > 0)
    chance: FloatArray = leaders / np.maximum(leaders.sum(axis=1), 1)[:, None]
    return chance


def information_shares(
    evidence: Evidence, parameters: Parameters, state: State, workers: Workers
) -> FloatArray:
    """Trust in each clustering as if it stood alone, (r2,)."""
    return shares_alone(information(evidence, parameters, state, workers))


def information(
    evidence: Evidence, parameters: Parameters, state: State, workers: Workers
) -> FloatArray:
    """Information of the votes, then of each clustering alone: sums over objects, (1 + r2,)."""
    from bc3e.model.trust_kernels import information_block  # compiled code is loaded on first use

    log_profiles, voted = np.log(parameters.profiles), row_sum(evidence.ballots)
    layout = evidence.layout
    profiles = layout.with_missing(parameters.profiles)
    order = np.concatenate([[0], 1 + layout.hard_columns, 1 + layout.soft_columns])

    def run(first: int, last: int) -> FloatArray:
        rows, sums = slice(first, last), np.zeros((1 + layout.n_clusterings, LANES))
        information_block(
            *evidence.labels_for_kernels(first, last),
            evidence.per_object(voted, rows),
            evidence.weights[rows],
            profiles,
            log_profiles,
            parameters.delta2,
            state.mean[rows],
            state.tendency[rows],
            sums.reshape(-1),
        )
        totals = np.empty(1 + layout.n_clusterings)
        totals[order] = sums.sum(axis=1)
        return totals

    sums: FloatArray = np.sum(workers.blocks(evidence.n_patterns, run), axis=0)
    return sums


def shares_alone(totals: FloatArray) -> FloatArray:
    """:func:`information_shares` from the sums of :func:`information`."""
    votes, alone = totals[0], totals[1:]
    whole = votes + alone
    return np.where(whole > 0, alone / np.where(whole > 0, whole, 1.0), 0.0)
