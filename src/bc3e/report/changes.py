"""Which labels changed, and for the objects that changed most, who said what."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.alignment import cluster_values
from bc3e.columns import Column, LabelColumn
from bc3e.drift_report import sided_with
from bc3e.errors import InputError
from bc3e.estimator import BC3E
from bc3e.report.case import Case, leading
from bc3e.report.plain import text

OBJECTS = 50  # objects shown
SPEAKERS = 10  # classifiers and clusterings shown with each
SHORT = 24  # longest name in a row, in characters
MOVES = 40  # pairs of classes shown


def moves(case: Case, names: list[str]) -> list[dict[str, Any]]:
    """Pairs of classes between which labels moved, the most frequent first."""
    changed = case.changed
    pairs = case.before[changed] * len(names) + case.after[changed]
    kinds, where = np.unique(pairs, return_inverse=True)
    counts = np.bincount(where, weights=case.counts[changed], minlength=len(kinds))
    order = np.argsort(-counts, kind="stable")[:MOVES]
    return [
        {
            "before": names[int(kinds[i]) // len(names)],
            "after": names[int(kinds[i]) % len(names)],
            "objects": int(counts[i]),
        }
        for i in order
    ]


def changed_most(case: Case, model: BC3E, names: list[str], ids: Any) -> list[dict[str, Any]]:
    """Objects with a new label whose probabilities moved most, one of each label pattern."""
    shown = np.flatnonzero(case.changed)
    shown = shown[np.argsort(-case.moved[shown], kind="stable")[:OBJECTS]]
    rows = case.rows[shown]
    few = case.table.take(rows)
    before, after = case.before[shown], case.after[shown]
    clusters = [leading(column) for column in few.clusters]
    stacked = np.stack(clusters, axis=1) if clusters else np.empty((len(rows), 0), dtype=np.intp)
    sided = sided_with(stacked.astype(np.intp), [p.T for p in model._profiles], before, after)
    heard = model.evidence_weights_ > 0
    called = _ids(case, ids, rows)
    first = np.argsort(-model.evidence_weights_, kind="stable")[:SPEAKERS]
    return [
        {
            "id": called[i],
            "alike": int(case.counts[shown[i]]),
            "before": names[before[i]],
            "after": names[after[i]],
            "confidence_before": float(case.certainty[0, shown[i]]),
            "confidence_after": float(case.certainty[1, shown[i]]),
            "moved": float(case.moved[shown[i]]),
            "votes": [_vote(column, i, names) for column in few.votes[:SPEAKERS]],
            "clusters": [_cluster(few.clusters[m], i, bool(sided[i, m]), bool(heard[m])) for m in first],
            "sided": int((sided[i] & heard).sum()),
        }
        for i in range(len(rows))
    ]


def _vote(column: Column, i: int, names: list[str]) -> dict[str, Any]:
    code = int(leading(column)[i])
    sure = None if isinstance(column, LabelColumn) or code < 0 else float(column.scores[i, code])
    return {
        "name": text(column.name, SHORT),
        "label": names[code] if code >= 0 else None,
        "probability": sure,
    }


def _cluster(column: Column, i: int, sided: bool, heard: bool) -> dict[str, Any]:
    code = int(leading(column)[i])
    values = cluster_values(column)
    label = text(values[code], SHORT) if code >= 0 else None
    return {"name": text(column.name, SHORT), "label": label, "sided": sided, "heard": heard}


def _ids(case: Case, ids: Any, rows: NDArray[np.intp]) -> list[str]:
    """Names of some objects: ids as given, else the index of the data frame, else row numbers."""
    if ids is None and case.table.frame is not None:
        ids = case.table.frame.index
    if ids is None:
        return [str(row) for row in rows.tolist()]
    if len(ids) != case.table.n_objects:
        raise InputError(
            "ids", f"{len(ids)} ids for {case.table.n_objects} objects", "Pass one id per object."
        )
    at = ids.iloc if hasattr(ids, "iloc") else ids
    return [text(at[row]) for row in rows.tolist()]
