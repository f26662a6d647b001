"""A fitted model and its input as a plain dictionary: everything that the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from bc3e.adapt import ConsensusClassifier
from bc3e.agreement import leading_class
from bc3e.errors import InputError, InputTypeError
from bc3e.estimator import BC3E
from bc3e.model.evidence import FloatArray
from bc3e.report.association import explained
from bc3e.report.case import Case, leading, read_case, sampled
from bc3e.report.changes import changed_most, moves
from bc3e.report.drifted import drift_panel
from bc3e.report.judged import judged
from bc3e.report.plain import number, numbers, text
from bc3e.report.provenance import context_lines, fingerprint, seed, settings, versions
from bc3e.report.verdict import verdict

LISTED = 300  # classes, clusterings or columns listed
CLASSIFIERS, CLUSTERINGS = 10, 30  # columns and rows of the heat map
COMPARED = 20_000  # objects that the heat map is measured on
BINS = 20  # of entropy
STEPS = 400  # iterations drawn


def summarize(
    model: BC3E | ConsensusClassifier,
    *,
    votes: Any = None,
    clusters: Any = None,
    ids: Any = None,
    truth: Any = None,
    drift: Any = None,
    context: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything that a report shows, as plain numbers, text, lists and dictionaries.

    Parameters
    ----------
    model : BC3E or ConsensusClassifier
        A fitted one.
    votes, clusters
        What was passed to ``fit``. A BC3E keeps no labels, so without them the parts that look
        at single objects stay empty; a ConsensusClassifier keeps those of its last target.
    ids : (N,) sequence, optional
        Names of the objects; by default the index of a data frame, or row numbers.
    truth : (N,) labels, optional
        True labels, missing where unknown: for accuracy and reliability.
    drift : DriftReport, Verdict or dict, optional
        By default that of the ConsensusClassifier.
    context : mapping, optional
        What to say of the run: input file and its hash, command line, timings.

    Returns
    -------
    dict
        It can be written as JSON. Its size does not grow with the number of objects.

    Examples
    --------
    >>> import bc3e
    >>> votes, clusters = [["a", "b"], ["a", "a"], ["b", "b"]], [[0], [0], [1]]
    >>> summary = summarize(bc3e.BC3E().fit(votes, clusters), votes=votes, clusters=clusters)
    >>> summary["verdict"]["sentence"]
    'No clustering predicted the votes well enough: the labels are those of the soft vote.'
    """
    consensus = _consensus_of(model)
    if votes is None and clusters is None and isinstance(model, ConsensusClassifier):
        votes, clusters = model._last_labels()
    case = None
    if votes is not None or clusters is not None:
        case = read_case(consensus, votes, clusters)
    elif truth is not None or ids is not None:
        raise InputError(
            "truth" if truth is not None else "ids",
            "given without the labels it belongs to",
            "Pass the votes and clusters of the fit, too.",
        )
    if drift is None:
        drift = getattr(model, "drift_", None)
    names = [text(label) for label in consensus.classes_.tolist()]
    panel = drift_panel(drift)
    summary: dict[str, Any] = {
        "model": type(model).__name__,
        "n_objects": consensus._sizes[0],
        "n_patterns": consensus._sizes[1],
        "n_classes": len(names),
        "n_classifiers": len(consensus.classifier_names_),
        "n_clusterings": len(consensus.clusterer_names_),
        "has_labels": case is not None,
        "changed": _changed(consensus, case),
        "trust": _trust(consensus, case),
        "shares": _shares(consensus, case, names, panel),
        "learning": _learning(consensus),
        "drift": panel,
        **_of_objects(case, consensus, names, ids, truth),
        "settings": settings(model),
        "seed": seed(model),
        "versions": versions(),
        "context": context_lines({**_timings(model), **(context or {})}),
    }
    return {"verdict": verdict(summary), **summary}


def _consensus_of(model: Any) -> BC3E:
    if isinstance(model, BC3E):
        model._fitted_answer()
        return model
    if not isinstance(model, ConsensusClassifier):
        raise InputTypeError(
            "model", f"a {type(model).__name__}", "Pass a fitted BC3E or ConsensusClassifier."
        )
    if not hasattr(model, "consensus_"):
        raise NotFittedError("This ConsensusClassifier has not met a target: call adapt(X) first.")
    return model.consensus_


def _of_objects(
    case: Case | None, model: BC3E, names: list[str], ids: Any, truth: Any
) -> dict[str, Any]:
    """The parts that need the labels of the fit; None or empty without."""
    if case is None:
        empty: dict[str, Any] = dict.fromkeys(
            ("agreement", "entropy", "truth", "missing", "labels_sha256")
        )
        return empty | {"moves": [], "changed_most": [], "classifiers": []}
    return {
        "agreement": _agreement(case, model),
        "entropy": _entropy(case),
        "truth": None if truth is None else judged(case, truth),
        "missing": _missing(case),
        "labels_sha256": fingerprint(case.table),
        "moves": moves(case, names),
        "changed_most": changed_most(case, model, names, ids),
        "classifiers": _classifiers(case, model),
    }


def _changed(model: BC3E, case: Case | None) -> dict[str, Any]:
    """Labels that differ from those of the soft vote, and objects that had no vote."""
    total = model._sizes[0]
    if case is None:  # the model knows the share alone, by the weights of the fit
        share = model._shares[2] if model.classifier_names_ else 0.0
        return {"objects": None, "share": share, "without_votes": None}
    count = int(case.counts[case.changed].sum())
    silent = int(case.counts[~case.voted].sum())
    return {"objects": count, "share": count / total, "without_votes": silent}


def _trust(model: BC3E, case: Case | None) -> dict[str, Any]:
    """How far the clusterings were believed, together and each."""
    told = [None] * len(model.clusterer_names_) if case is None else _told(case)
    rows: list[dict[str, Any]] = [
        {
            "name": text(name),
            "clusters": len(profile),
            "weight": float(weight),
            "trust": float(trust),
            "explains": told[m],
        }
        for m, (name, profile, weight, trust) in enumerate(
            zip(
                model.clusterer_names_,
                model._profiles,
                model.evidence_weights_,
                model.clusterer_trust_,
                strict=True,
            )
        )
    ]
    rows.sort(key=lambda row: -row["trust"])
    return {"overall": float(model.trust_), "clusterings": rows[:LISTED]}


def _told(case: Case) -> list[float | None]:
    """Share of the soft vote's uncertainty that each clustering explains."""
    few = sampled(case.table, COMPARED)
    votes = few.votes_per_class()
    given = np.where(votes.any(axis=1), leading_class(votes), -1)
    return [
        explained(given, leading(column)) if m < LISTED else None
        for m, column in enumerate(few.clusters)
    ]


def _agreement(case: Case, model: BC3E) -> dict[str, Any]:
    """The heat map: what each clustering tells about each classifier's votes."""
    few = sampled(case.table, COMPARED)
    best = np.argsort(-model.clusterer_trust_, kind="stable")[:CLUSTERINGS]
    voters = [(text(column.name), leading(column)) for column in few.votes[:CLASSIFIERS]]
    placed = [(text(few.clusters[m].name), leading(few.clusters[m])) for m in best]
    return {
        "measure": "share of the uncertainty (entropy) of a classifier's votes that the clusters "
        "explain, beyond what shuffled clusters explain",
        "objects": few.n_objects,
        "classifiers": [name for name, _ in voters],
        "clusterings": [name for name, _ in placed],
        "values": [[explained(votes, codes) for _, votes in voters] for _, codes in placed],
    }


def _shares(
    model: BC3E, case: Case | None, names: list[str], panel: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Share of each class before and after, the largest first."""
    k = len(names)
    if case is None:
        before, after = np.array(model._shares[0]), np.array(model._shares[1])
    else:
        voted = np.where(case.voted, case.counts, 0)
        before = np.bincount(case.before, weights=voted, minlength=k) / max(int(voted.sum()), 1)
        after = np.bincount(case.after, weights=case.counts, minlength=k) / case.counts.sum()
    known = bool(model.classifier_names_)
    source: FloatArray | None = None
    if panel is not None and len(panel["source_shares"] or ()) == k:
        source = np.array(panel["source_shares"])
    order = np.argsort(-np.maximum(before, after), kind="stable")[:LISTED]
    return [
        {
            "name": names[i],
            "before": float(before[i]) if known else None,
            "after": float(after[i]),
            "source": None if source is None else float(source[i]),
        }
        for i in order
    ]


def _entropy(case: Case) -> dict[str, Any]:
    """Histograms of the entropy before and after, over objects."""
    most = float(np.log(len(case.table.classes)))
    edges = np.linspace(0.0, max(most, 1e-9), BINS + 1)
    found: dict[str, Any] = {"edges": edges.tolist(), "maximum": most}
    for name, values, seen in (
        ("before", case.entropy[0], case.voted),
        ("after", case.entropy[1], np.ones_like(case.voted)),
    ):
        mass = np.where(seen, case.counts, 0)
        which = np.clip(values * (BINS / edges[-1]), 0, BINS - 1).astype(np.intp)
        counts = np.bincount(which, weights=mass, minlength=BINS)
        total = mass.sum()
        found[name] = (counts / total).tolist() if total else None
        found[f"mean_{name}"] = float(values @ mass / total) if total else None
    return found


def _missing(case: Case) -> dict[str, Any]:
    """Missing labels of each column, and objects that lack all votes or all cluster labels."""
    table = case.table
    rows: list[dict[str, Any]] = []
    placed = np.zeros(table.n_objects, dtype=bool)
    for kind, columns, codes in (
        ("classifier", table.votes, case.votes),
        ("clustering", table.clusters, case.clusters),
    ):
        for column, labels in zip(columns, codes, strict=True):
            there = labels >= 0
            if kind == "clustering":
                placed |= there
            count = int(table.n_objects - there.sum())
            share = count / table.n_objects
            rows.append({"kind": kind, "name": text(column.name), "missing": count, "share": share})
    cells = table.n_objects * len(rows)
    return {
        "columns": sorted(rows, key=lambda row: -row["missing"])[:LISTED],
        "share": sum(row["missing"] for row in rows) / cells,
        "without_votes": int(case.counts[~case.voted].sum()) if table.votes else None,
        "without_clusters": int((~placed).sum()) if table.clusters else None,
    }


def _classifiers(case: Case, model: BC3E) -> list[dict[str, Any]]:
    """How much each classifier counts, and how often it agrees with the soft vote."""
    rows = []
    before = case.expand(case.before)
    columns = zip(case.table.votes, case.votes, model.classifier_weights_, strict=True)
    for column, codes, weight in islice(columns, LISTED):
        voted = codes >= 0
        same = float((codes == before)[voted].mean()) if voted.any() else None
        rows.append({"name": text(column.name), "weight": float(weight), "like_soft_vote": same})
    return rows


def _learning(model: BC3E) -> dict[str, Any]:
    """Bound and delta2 of each iteration, thinned if there are very many."""
    steps = np.unique(np.linspace(0, model.n_iter_ - 1, min(model.n_iter_, STEPS)).astype(int))
    return {
        "iterations": (steps + 1).tolist(),
        "bounds": numbers(model.lower_bounds_[steps]),
        "delta2": numbers(model.delta2_path_[steps]),
        "final_bound": number(model.lower_bound_),
        "converged": bool(model.converged_),
        "start": text(model.start_),
    }


def _timings(model: Any) -> dict[str, Any]:
    found = getattr(model, "timings_", None)
    return {} if found is None else {"seconds": {name: round(s, 3) for name, s in found.items()}}
