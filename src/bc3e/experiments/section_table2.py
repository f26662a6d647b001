"""What the results page says of Table 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bc3e.experiments import figures, semi_supervised
from bc3e.experiments.markdown import anchor, cell, interval, listed, points, table
from bc3e.experiments.reproduce import Part
from bc3e.experiments.scores import Row, table2_rows

COLUMNS = ("Ensemble", "Best", "BGCM", "C3E", "published", "default")
HEADS = ("Ensemble", "Best", "BGCM", "C3E", "BC3E as published", "BC3E default")
WANTED_GAINS = 4  # data sets with at least the paper's gain
EVIDENCE: Mapping[str, Callable[[float], bool]] = {
    "clusterings not heard": lambda labels: labels == 0,
    "a quarter of a label or less": lambda labels: 0 < labels <= 0.25 + 1e-9,
    "more": lambda labels: labels > 0.25 + 1e-9,
}


def told(parts: list[Part], images: dict[str, bytes]) -> dict[str, Any]:
    """Tables and verdicts for the template; figures go into `images`."""
    rows = table2_rows(parts[0])
    printed = {setting.name: setting.paper for setting in semi_supervised.SETTINGS}
    paper = {row.key: printed[row.family][4][0] - printed[row.family][0][0] for row in rows}
    gain = {row.key: row.difference("default", "Ensemble") for row in rows}
    images["table2"] = figures.gains(
        rows,
        {"BGCM": "BGCM", "C3E": "C3E", "published": "BC3E as published", "default": "BC3E default"},
        "Ensemble",
        paper,
    )
    together = zip(parts[0].units, parts[0].results, strict=True)
    labelled = {unit.arguments["name"]: result["labelled"] for unit, result in together}
    main = [
        line
        for row in rows
        for line in (
            (anchor(row), str(labelled[row.family]), str(row.size), *(cell(row, m) for m in COLUMNS)),
            (
                "*in the paper*",
                "",
                "",
                *(f"*{mean:.2f} ± {sd:.2f}*" for mean, sd in printed[row.family]),
                "",
            ),
        )
    ]
    differences = [
        (
            row.title,
            interval(gain[row.key]),
            points(paper[row.key]),
            "yes" if gain[row.key].mean >= paper[row.key] else "no",
            interval(row.difference("default", "Majority")),
            points(row.mean("Ensemble") - printed[row.family][0][0]),
            points(row.mean("Majority") - printed[row.family][0][0]),
        )
        for row in rows
    ]
    reached = [row.title for row in rows if gain[row.key].mean >= paper[row.key]]
    negative = [row.title for row in rows if gain[row.key].mean < 0]
    sure = [row.title for row in rows if gain[row.key].high < 0]
    return {
        "trials": len(rows[0].accuracy["default"]),
        "table": table(("data", "labelled", "target", *HEADS), main),
        "differences": table(
            (
                "data",
                "BC3E default less Ensemble (95%)",
                "the paper's gain",
                "reached",
                "less majority vote (95%)",
                "our Ensemble less the paper's",
                "our majority vote less the paper's Ensemble",
            ),
            differences,
        ),
        "count": len(rows),
        "reached": len(reached),
        "reached_names": listed(reached),
        "enough": len(reached) >= WANTED_GAINS,
        "wanted": WANTED_GAINS,
        "negative": listed(negative),
        "never_negative": not negative,
        "surely_negative": listed(sure),
        "tried": _tried(rows, paper),
        "supported": _supported(parts[0], rows),
        "alone": _alone(parts[0], rows),
        "ahead": _ahead(rows, "default", ("Ensemble", "BGCM", "C3E", "published")),
        "majority_reached": sum(
            row.difference("default", "Majority").mean >= paper[row.key] for row in rows
        ),
    }


def _ahead(rows: Sequence[Row], method: str, rivals: Sequence[str]) -> list[dict[str, Any]]:
    """On how many rows a method is ahead of each rival, behind it, and by how much on average."""
    found = []
    for rival in rivals:
        differences = [row.mean(method) - row.mean(rival) for row in rows]
        found.append(
            {
                "rival": {"published": "BC3E as published"}.get(rival, rival),
                "ahead": sum(d > 0 for d in differences),
                "behind": sum(d < 0 for d in differences),
                "mean": sum(differences) / len(differences),
            }
        )
    return found


def _tried(rows: Sequence[Row], paper: Mapping[str, float]) -> str:
    """Gains of the default and of every other way over the votes it was given."""
    ways = {"default": "**the default**"} | semi_supervised.TRIED
    lines = []
    for way, title in ways.items():
        reference = "Majority" if way in semi_supervised.HARD else "Ensemble"
        gains = [row.difference(way, reference).mean for row in rows]
        reached = sum(g >= paper[row.key] for g, row in zip(gains, rows, strict=True))
        worst = min(float((row.accuracy[way] - row.accuracy[reference]).min()) for row in rows)
        lines.append((title, *(points(g) for g in gains), str(reached), points(worst)))
    paper_row = ("in the paper", *(points(paper[row.key]) for row in rows), "", "")
    head = ("way", *(row.title for row in rows), "paper's gain reached", "worst trial")
    return table(head, [*lines, paper_row])


def _supported(part: Part, rows: Sequence[Row]) -> str:
    """Gain of the default where it allowed more evidence, and where it did not."""
    lines = []
    for row in rows:
        evidence = _figures(part, row, "evidence")
        gain = row.accuracy["default"] - row.accuracy["Ensemble"]
        groups = [
            [g for g, e in zip(gain, evidence, strict=True) if keep(e)] for keep in EVIDENCE.values()
        ]
        cells = [f"{len(g)}: {points(sum(g) / len(g))}" if g else "never" for g in groups]
        lines.append((row.title, *cells))
    return table(("data", *EVIDENCE), lines)


def _alone(part: Part, rows: Sequence[Row]) -> str:
    """Accuracy of each classifier by itself, and how often the two linear ones agree."""
    lines = []
    for row in rows:
        agreement = _figures(part, row, "linear_agreement")
        cells = (cell(row, name) for name in semi_supervised.CLASSIFIERS)
        lines.append((row.title, *cells, f"{sum(agreement) / len(agreement):.1f}"))
    return table(("data", *semi_supervised.CLASSIFIERS, "the last two agree on"), lines)


def _figures(part: Part, row: Row, name: str) -> list[float]:
    """A figure of every trial of a row."""
    return [
        result[name]
        for unit, result in zip(part.units, part.results, strict=True)
        if unit.arguments["name"] == row.family
    ]
