"""With true labels: accuracy with intervals, and how far probabilities can be relied on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bc3e.intervals import interval_of_kinds, wilson
from bc3e.model.evidence import FloatArray
from bc3e.report.case import Case
from bc3e.report.plain import text
from bc3e.rivals.truth import check_truth

BINS = 10  # of confidence
RESAMPLES = 1000


def judged(case: Case, truth: Any) -> dict[str, Any]:
    """Accuracy of refined labels, soft vote and each classifier; gain; reliability."""
    known = check_truth(truth, case.table.classes, case.table.n_objects)
    seen = known != -1
    right = {
        "refined": case.expand(case.after)[seen] == known[seen],
        "soft_vote": case.expand(case.before)[seen] == known[seen],
    }
    scores = {name: _share(hits) for name, hits in right.items()}
    voted = bool(case.table.votes)
    return {
        "known": int(seen.sum()),
        "refined": scores["refined"],
        "soft_vote": scores["soft_vote"] if voted else None,
        "gain": _gain(right["refined"], right["soft_vote"]) if voted else None,
        "classifiers": [
            {"name": text(column.name), **_voted_share(codes, known)}
            for column, codes in zip(case.table.votes, case.votes, strict=True)
        ],
        "reliability": {
            name: _reliability(case.expand(case.certainty[i])[seen], right[name])
            for i, name in enumerate(("soft_vote", "refined"))
            if name == "refined" or voted
        },
    }


def _share(hits: NDArray[np.bool_]) -> dict[str, Any]:
    count, total = int(hits.sum()), len(hits)
    low, high = wilson(count, total)
    return {"accuracy": count / total if total else None, "low": low, "high": high, "objects": total}


def _voted_share(codes: NDArray[Any], known: NDArray[np.intp]) -> dict[str, Any]:
    """Accuracy of one classifier on the objects that it voted on."""
    seen = (known != -1) & (codes >= 0)
    return _share(codes[seen] == known[seen])


def _gain(refined: NDArray[np.bool_], voted: NDArray[np.bool_]) -> dict[str, float]:
    """Accuracy gained over the soft vote, with a paired bootstrap interval."""
    difference = refined.astype(np.int8) - voted.astype(np.int8)
    counts = np.bincount(difference + 1, minlength=3)
    kinds: FloatArray = np.array([-1.0, 0.0, 1.0])
    low, high = interval_of_kinds(kinds, np.ones(3), counts, RESAMPLES, np.random.RandomState(0))
    return {"gain": float(counts @ kinds / counts.sum()), "low": low, "high": high}


def _reliability(confidence: FloatArray, hits: NDArray[np.bool_]) -> dict[str, Any]:
    """Bins of equal width: mean confidence and share of right labels; and the mean gap of both."""
    which = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    counts = np.bincount(which, minlength=BINS)
    sums = np.bincount(which, weights=confidence, minlength=BINS)
    found = np.bincount(which, weights=hits, minlength=BINS)
    gap = float(np.abs(sums - found).sum() / max(len(hits), 1))
    bins = [
        {
            "objects": int(n),
            "confidence": float(total / n),
            "right": float(count / n),
            "interval": list(wilson(float(count), float(n))),
        }
        for n, total, count in zip(counts, sums, found, strict=True)
        if n
    ]
    return {"bins": bins, "calibration_error": gap}
