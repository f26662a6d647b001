"""The rivals under test, and small inputs in plain form for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bc3e.rivals import BGCM, C3E, LWE, BayesianClusterEnsemble, DawidSkene, MajorityVote, SoftVote

RIVALS: dict[str, Any] = {
    "MajorityVote": MajorityVote(),
    "SoftVote": SoftVote(),
    "BGCM": BGCM(),
    "BGCM, plain": BGCM(alpha=1.0, accelerate=False, max_iter=30),
    "LWE": LWE(),
    "LWE, Jaccard": LWE(similarity="jaccard", delta=0.2),
    "C3E": C3E(),
    "C3E, object": C3E(alpha=1.0, scaling="object"),
    "C3E, KL": C3E(loss="kl", alpha=0.1),
    "DawidSkene": DawidSkene(),
    "DawidSkene, auto": DawidSkene(evidence_weight="auto", tol=0.0, max_iter=20),
    "BayesianClusterEnsemble": BayesianClusterEnsemble(random_state=0, max_iter=40),
}
ITERATIVE = [name for name, model in RIVALS.items() if hasattr(model, "max_iter")]
FALLING = [name for name in ITERATIVE if name.startswith(("BGCM", "C3E"))]
VOTES_ONLY = ("MajorityVote", "SoftVote")


def rival(name: str, **parameters: Any) -> Any:
    """A fresh, unfitted rival."""
    model = RIVALS[name]
    return type(model)(**(model.get_params() | parameters))


def dense(column: Any, width: int) -> Any:
    """A column as shares (N, width): one-hot for labels, zeros where missing."""
    column = np.asarray(column)
    if column.ndim == 2:
        return np.nan_to_num(column)
    rows = np.zeros((len(column), width))
    present = column >= 0
    rows[np.flatnonzero(present), column[present]] = 1.0
    return rows


def columns_of(table: Any) -> list[Any]:
    return list(table.T) if isinstance(table, np.ndarray) else list(table)


def dense_blocks(data: Any) -> tuple[list[Any], list[Any]]:
    """Votes and clusterings of a generated input as lists of shares."""
    votes = [dense(column, len(data.classes)) for column in columns_of(data.votes)]
    clusters = []
    for column in columns_of(data.clusters):
        if column.ndim == 1:
            found = np.unique(column[column >= 0])
            column = np.where(column >= 0, np.searchsorted(found, np.maximum(column, 0)), -1)
            clusters.append(dense(column, max(len(found), 1)))
        else:
            clusters.append(dense(column, column.shape[1]))
    return votes, clusters


def weights_of(data: Any) -> Any:
    count = len(columns_of(data.votes)[0])
    return np.ones(count) if data.sample_weight is None else data.sample_weight
