"""The report in one sentence, and what to keep in mind with it."""

from __future__ import annotations

from typing import Any


def verdict(summary: dict[str, Any]) -> dict[str, str]:
    """Sentence, caution and tone ("better", "worse" or "open") for a summary."""
    if not summary["n_classifiers"]:
        return {"tone": "open", "caution": "", "sentence": _without_votes(summary)}
    truth = summary["truth"]
    if truth is None:
        return {"tone": "open", "caution": _caution(summary), "sentence": _changes(summary)}
    gain = truth["gain"]
    tone = "better" if gain["low"] > 0 else "worse" if gain["high"] < 0 else "open"
    return {"tone": tone, "caution": _known(summary), "sentence": _accuracies(truth, gain)}


def _changes(summary: dict[str, Any]) -> str:
    changed, share = summary["changed"]["objects"], summary["changed"]["share"]
    total = summary["n_objects"]
    if not summary["n_clusterings"]:
        return "There were no clusterings: the labels are those of the soft vote."
    if not any(row["weight"] > 0 for row in summary["trust"]["clusterings"]):
        return "No clustering predicted the votes well enough: the labels are those of the soft vote."
    if share == 0:
        return f"The clusterings side with the soft vote: none of {total:,} labels changed."
    if changed is None:
        return f"The clusterings changed {share:.1%} of {total:,} labels of the soft vote."
    return f"The clusterings changed {changed:,} of {total:,} labels of the soft vote ({share:.1%})."


def _accuracies(truth: dict[str, Any], gain: dict[str, float]) -> str:
    found = _change(gain)
    return (
        f"Refined labels are right in {_interval(truth['refined'], '95% interval ')}, the soft vote in "
        f"{_interval(truth['soft_vote'])}: {found}."
    )


def _change(gain: dict[str, float]) -> str:
    points = f"{abs(100 * gain['gain']):.1f} points"
    limits = f"{_signed(gain['low'])} to {_signed(gain['high'])}"
    if gain["low"] > 0:
        return f"{points} gained ({limits})"
    if gain["high"] < 0:
        return f"{points} lost ({limits})"
    return f"no clear difference ({_signed(gain['gain'])} points, {limits})"


def _signed(share: float) -> str:
    """A difference in points, without a sign if it rounds to nothing."""
    points = round(100 * share, 1)
    return f"{points:+.1f}" if points else "0.0"


def _interval(score: dict[str, Any], words: str = "") -> str:
    low, high = 100 * score["low"], 100 * score["high"]
    return f"{score['accuracy']:.1%} ({words}{low:.1f} to {high:.1f})"


def _without_votes(summary: dict[str, Any]) -> str:
    groups = f"{summary['n_classes']} groups found by {summary['n_clusterings']} clusterings alone"
    if summary["truth"] is None:
        return f"There were no votes: the labels are {groups}."
    found = _interval(summary["truth"]["refined"], "95% interval ")
    return f"There were no votes: the labels are {groups}, right in {found}."


def _caution(summary: dict[str, Any]) -> str:
    if summary["changed"]["share"] == 0:
        return ""
    caution = "Without true labels nobody can say whether a change is right"
    return f"{caution}: look at some of them below." if summary["has_labels"] else f"{caution}."


def _known(summary: dict[str, Any]) -> str:
    changed, known = summary["changed"]["objects"], summary["truth"]["known"]
    return (
        f"{changed:,} of {summary['n_objects']:,} labels differ from the soft vote. "
        f"Accuracy is measured on {known:,} objects with a true label."
    )
