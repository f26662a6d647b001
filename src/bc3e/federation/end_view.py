"""The strongest attacks on what is left in the end: last totals, answers, parameters, own profiles.

A run hands out totals and tendencies in every sweep. Whether that is more than a role must be given in
the end can only be told by an attacker who makes the most of the end. These attacks do; they take
seconds and not milliseconds, so an audit makes them only if it is asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bc3e.estimator import BC3E
from bc3e.federation.answer_reading import Powers
from bc3e.federation.from_answers import Known, OwnColumn, Reading, read_answers
from bc3e.federation.messages import Message
from bc3e.federation.one_total import taken_apart
from bc3e.federation.planning import Plan, RowBlock, client
from bc3e.federation.result import Result
from bc3e.federation.scoring import Labels
from bc3e.federation.views import View
from bc3e.model.evidence import FloatArray
from bc3e.model.parameters import Parameters
from bc3e.selection import CAUTIOUS

NEARLY = 1e-9  # weights that are shared out add up to their total but for rounding

# True labels of a clustering of the attacker's own site, for the objects of a block.
OwnLabels = Callable[[RowBlock, str], Labels]


def from_last_totals(shown: View, starts: int) -> list[Labels]:
    """Partitions by the clusterings in the totals of the last sweep, where the node adds up."""
    if not shown.steps or shown.steps[-1].shares is None or shown.weight <= 0:
        return []
    last = shown.steps[-1]
    assert last.shares is not None
    heard = last.shares.total.sum(axis=1) / shown.weight
    clusterings = round(float(heard.max()))
    full = np.abs(heard - clusterings) < 1e-6  # objects that miss no label
    found = taken_apart(
        last.tendency[full], last.shares.total[full], clusterings, shown.weight, starts=starts
    )
    if found is None:
        return []
    return [_spread(part, full) for part in found.partitions]


def _spread(part: Labels, where: np.ndarray) -> Labels:
    """Groups of some objects, and a group of its own for every other."""
    groups = int(part.max()) + 1 + np.arange(len(where), dtype=np.intp)
    groups[where] = part
    return groups


def from_answers(
    shown: View, result: Result, model: BC3E, own: Sequence[OwnColumn], starts: int
) -> Reading | None:
    """Clusterings and votes of the other sites, from a site's answers and what it has itself."""
    if shown.answer is None or model.posterior != "structured" or result.evidence_weight <= 0:
        return None
    nothing = np.empty((0, shown.answer.shape[1]))
    parameters = Parameters(result.class_mean, result.class_variance, result.delta2, nothing)
    weight = None if model.vote_weight is None else float(model.vote_weight)
    calibrated = model.vote_calibration is not None
    classifiers = sum(len(names) for _, names in shown.block.votes)
    listed = sum(len(names) for _, names in shown.block.clusters)
    # How many clusterings count is not known where weights are shared out: try.
    for clusterings in range(listed, len(own), -1):
        shared = model.evidence_weight == "auto" and result.evidence_weight * clusterings
        guarded = calibrated and 0.0 < shared <= CAUTIOUS + NEARLY
        powers = Powers(result.vote_exponent, result.answer_exponent, weight, calibrated, guarded)
        known = Known(own, classifiers, clusterings, result.evidence_weight, parameters, powers)
        found = read_answers(shown.answer, known, starts)
        if found is not None:
            return found
    return None


def own_columns(
    shown: View, plan: Plan, seen: Sequence[Message], labels: OwnLabels
) -> list[OwnColumn] | None:
    """The attacker's own clusterings of a block that count; None if a label of them is missing."""
    site = shown.node.site
    assert site is not None
    codes = {m.sender: m for m in seen if m.kind == "codes" and m.recipient == client(site)}
    found = []
    for group in plan.groups_of(site):
        if group.address not in codes:
            continue
        at, numbers = 0, codes[group.address].arrays["codes"]
        for column in group.clusters:
            counted = [b for b in plan.blocks_of(site) if column in dict(b.clusters).get(site, ())]
            used = np.unique(np.concatenate([labels(block, column) for block in counted]))
            used = used[used >= 0]
            table, at = numbers[at : at + len(used)], at + len(used)
            if shown.block not in counted or shown.weights.get(column, 0.0) <= 0:
                continue
            given = labels(shown.block, column)
            if given.min() < 0:
                return None
            rows = table[np.searchsorted(used, given)].astype(np.intp)
            found.append(OwnColumn(rows, np.log(_final(shown, column))))
    return found


def _final(shown: View, column: str) -> FloatArray:
    """The profile of an own clustering in the end."""
    version = max(number for name, number in shown.profiles if name == column)
    if shown.steps and (column, shown.steps[-1].version) in shown.profiles:
        version = shown.steps[-1].version
    return shown.profiles[column, version]
