"""What a drift report or verdict says, cut down to what the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bc3e.drift import Verdict
from bc3e.drift_report import DriftReport
from bc3e.errors import InputTypeError
from bc3e.report.plain import number, numbers, text

CANDIDATES = 20  # unclaimed clusters shown
SCORES = 60  # scores of the test shown


def drift_panel(drift: Any) -> dict[str, Any] | None:
    """The drift panel of a summary; None if nothing is known."""
    if drift is None:
        return None
    found = _as_dict(drift)
    scores = sorted(found.get("by_score", {}).items(), key=lambda item: item[1])
    shares = found.get("class_shares", {}).get("source")
    return {
        "verdict": text(found["verdict"]),
        "sentence": text(found.get("sentence", ""), 200),
        "p_value": found.get("p_value"),
        "level": found.get("level"),
        "scores": [{"name": text(name), "p_value": number(p)} for name, p in scores[:SCORES]],
        "disagreement": {text(k): number(v) for k, v in found.get("disagreement", {}).items()},
        "source_shares": None if shares is None else numbers(shares),
        "candidates": [_candidate(c) for c in found.get("candidates", [])[:CANDIDATES]],
    }


def _as_dict(drift: Any) -> Mapping[str, Any]:
    if isinstance(drift, DriftReport):
        return drift.to_dict()
    if isinstance(drift, Verdict):
        return {
            "verdict": drift.verdict,
            "sentence": f"{drift.verdict.capitalize()} (p = {drift.p_value:.3f}).",
            "p_value": drift.p_value,
            "level": drift.level,
            "by_score": drift.by_score,
            "candidates": [
                {
                    "clustering": f"clustering {c.clustering}",
                    "cluster": c.cluster,
                    "size": len(c.rows),
                    "unsure": c.unsure,
                    "claimed_as": c.claimed_as,
                }
                for c in drift.candidates
            ],
        }
    if isinstance(drift, Mapping) and "verdict" in drift:
        return drift
    raise InputTypeError(
        "drift", f"a {type(drift).__name__}", "Pass a DriftReport, a Verdict, or DriftReport.to_dict()."
    )


def _candidate(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "cluster": f"{text(found['clustering'])}, cluster {text(found['cluster'], 12)}",
        "objects": int(found["size"]),
        "unsure": float(found["unsure"]),
        "claimed_as": [[text(label), float(share)] for label, share in found["claimed_as"][:3]],
    }
