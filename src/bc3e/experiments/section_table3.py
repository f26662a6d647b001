"""What the results page says of Table 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bc3e.experiments import figures, transfer
from bc3e.experiments.markdown import TITLES, cell, interval, listed, points, table
from bc3e.experiments.reproduce import Part
from bc3e.experiments.scores import Row, by_family, table3_rows

COLUMNS = ("k-NN", "BGCM", "LWE", "C3E-Ideal", "C3E", "BC3E")
HEADS = ("k-NN", "BGCM", "LWE", "C3E-Ideal *", "C3E default", "BC3E default")
WANTED_REMOVED, MOST_LOST = 25.0, -0.5  # errors removed in percent, points below k-NN
PAPER = transfer.PAPER
PAPER_REMOVED = 100 * (PAPER["BC3E"] - PAPER["k-NN"]) / (100 - PAPER["k-NN"])


def told(parts: list[Part], images: dict[str, bytes]) -> dict[str, Any]:
    """Tables and verdicts for the template; figures go into `images`."""
    groups, trials = parts
    rows = table3_rows(groups, trials)
    means = by_family(rows, TITLES)
    everything = means[-1]
    images["table3"] = figures.gains(
        [*rows, *means],
        {"BGCM": "BGCM", "LWE": "LWE", "C3E": "C3E", "BC3E": "BC3E default"},
        "k-NN",
        {"table3-all": PAPER["BC3E"] - PAPER["k-NN"]},
    )
    behind = {
        row.title: [m for m in ("BGCM", "LWE", "C3E") if row.mean("BC3E") <= row.mean(m)]
        for row in means[:-1]
    }
    lost = {row.key: row.difference("BC3E", "k-NN").mean for row in rows}
    ideal = [row.title for row in means[:-1] if row.mean("BC3E") > row.mean("C3E-Ideal")]
    removed = everything.removed("BC3E", "k-NN")
    return {
        "seeds": len(rows[0].accuracy["BC3E"]),
        "groups": len(rows),
        "sources": _sources(groups),
        "neighbours": transfer.NEIGHBOURS,
        "view": transfer.VIEW,
        "most_target": transfer.MOST_TARGET,
        "most_training": transfer.MOST_TRAINING,
        "table": _groups_table(rows, means),
        "removed": removed,
        "removed_mean": sum(row.removed("BC3E", "k-NN") for row in rows) / len(rows),
        "paper_removed": PAPER_REMOVED,
        "ideal_removed": everything.removed("C3E-Ideal", "k-NN"),
        "paper_ideal_removed": 100 * (PAPER["C3E-Ideal"] - PAPER["k-NN"]) / (100 - PAPER["k-NN"]),
        "enough": removed >= WANTED_REMOVED,
        "wanted": WANTED_REMOVED,
        "behind": listed([f"{listed(ms)} on {name}" for name, ms in behind.items() if ms]),
        "ahead": not any(behind.values()),
        "ideal": listed(ideal),
        "some_ideal": bool(ideal),
        "lost": listed([f"{key} ({points(d)})" for key, d in lost.items() if d < MOST_LOST]),
        "none_lost": all(d >= MOST_LOST for d in lost.values()),
        "worst": min(lost.values()),
        "gain": everything.difference("BC3E", "k-NN"),
        "tried": _tried(rows, means),
        "milliseconds": max(result["milliseconds"] for result in groups.results),
        "fast": max(result["milliseconds"] for result in groups.results) < 100,
    }


def _sources(groups: Part) -> str:
    lines = []
    for unit, found in zip(groups.units, groups.results, strict=True):
        neighbours, views = found["development"], found["views"]
        lines.append(
            (
                TITLES[unit.arguments["name"]],
                f"{found['early']:,}",
                f"{found['late']:,}",
                f"{found['new_words']:.0f}%",
                str(found["classes"]),
                str(len(found["groups"])),
                *(f"{neighbours[str(count)]:.1f}" for count in transfer.NEIGHBOURS_TRIED),
                *(points(views[view]) for view in ("words", "characters")),
            )
        )
    return table(
        (
            "data",
            "early titles",
            "late titles",
            "new words",
            "classes",
            "groups",
            *(f"dev. k-NN, {count}" for count in transfer.NEIGHBOURS_TRIED),
            "dev. gain, words",
            "characters",
        ),
        lines,
    )


def _groups_table(rows: Sequence[Row], means: Sequence[Row]) -> str:
    lines: list[Sequence[str]] = []
    for row in [*rows, *means]:
        group = bool(row.family)
        name = f"{TITLES[row.family]}: {row.title}" if group else f"**{row.title}, mean**"
        cells = [cell(row, m) if group else f"**{row.mean(m):.2f}**" for m in COLUMNS]
        removed = f"{row.removed('BC3E', 'k-NN'):.1f}%"
        gain = interval(row.difference("BC3E", "k-NN"))
        number = row.key.removeprefix("table3-")
        lines.append((f'<a id="{row.key}"></a>{number}', name, f"{row.size:,}", *cells, gain, removed))
    printed = [f"*{PAPER[m]:.2f}*" if m in PAPER else "" for m in COLUMNS]
    gain = points(PAPER["BC3E"] - PAPER["k-NN"])
    lines.append(
        ("", "*in the paper, ten groups*", "", *printed, f"*{gain}*", f"*{PAPER_REMOVED:.1f}%*")
    )
    head = ("group", "classes", "target", *HEADS, "BC3E less k-NN (95%)", "errors removed")
    return table(head, lines)


def _tried(rows: Sequence[Row], means: Sequence[Row]) -> str:
    lines = []
    ways = {"BC3E": "**the default**"} | transfer.TRIED
    ways |= {"published": "BC3E as published", "C3E-Ideal": "C3E-Ideal, tuned on the truth"}
    for way, title in ways.items():
        removed = [row.removed(way, "k-NN") for row in means]
        worst = min(row.difference(way, "k-NN").mean for row in rows)
        below = sum(row.difference(way, "k-NN").mean < MOST_LOST for row in rows)
        lines.append((title, *(f"{share:.1f}%" for share in removed), points(worst), str(below)))
    head = ("errors removed by", *(row.title for row in means), "worst group", "groups below -0.5")
    return table(head, lines)
