"""How far the clusterings were believed, as a share of information.

The posterior of an object's class tendency y rests on two sources. Its votes
carry Fisher information R1 sum_i p_i (1 - p_i). Its cluster labels carry
A = sum_m w_m sum_i (phi_mi - t_i)^2 about theta: nothing when the profiles of all
classes are alike, much when a label speaks for one class. Of that, A / (1 + delta2 A)
reaches y. Trust is the share of the second in the sum of both, over all objects:
0 when the clusterings are ignored, 1 when there is nothing else to go by.
"""

from __future__ import annotations

import numpy as np

from bc3e.model.evidence import Evidence, FloatArray
from bc3e.model.inference import State, Workers
from bc3e.model.parameters import Parameters


def trust_shares(
    evidence: Evidence, parameters: Parameters, state: State, workers: Workers
) -> tuple[float, FloatArray]:
    """Trust in all clusterings together, and in each as if it stood alone."""
    from bc3e.model.evidence_kernels import information_block

    layout = evidence.layout
    hard, soft = layout.hard_columns, layout.soft_columns
    log_profiles = np.log(parameters.profiles)

    def run(first: int, last: int) -> FloatArray:
        totals = np.zeros(2 + layout.n_clusterings)
        information_block(
            first, last, evidence.votes, evidence.labels, evidence.evidence_weights[hard], hard,
            evidence.memberships, layout.membership_offsets, layout.offsets[soft],
            evidence.evidence_weights[soft], soft, evidence.weights, parameters.delta2,
            parameters.profiles, log_profiles, state.mean, state.tendency, totals,
        )  # fmt: skip
        return totals

    totals = np.sum(workers.blocks(evidence.n_patterns, run), axis=0)
    votes, together, alone = totals[0], totals[1], totals[2:]

    def share(information: FloatArray) -> FloatArray:
        whole = information + votes
        return np.where(whole > 0, information / np.where(whole > 0, whole, 1.0), 0.0)

    return float(share(np.array([together]))[0]), share(alone)
