"""The charts of the report: each takes a summary and gives a titled SVG, or None if there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bc3e.report.drawing import AFTER, BEFORE, GRID, INK, MUTED, SOURCE, Drawing, heat, styled

BARS = 16  # classes or clusterings drawn
LINE = 21  # height of a row of a chart
LETTER = 6.6  # width of a letter, about


@dataclass(frozen=True)
class Chart:
    """A drawing with its name and what to read from it."""

    key: str
    title: str
    note: str
    svg: str


def draw(summary: dict[str, Any]) -> dict[str, Chart]:
    """All charts that the summary has figures for, by name."""
    with styled():
        found = [make(summary) for make in _CHARTS]
    return {chart.key: chart for chart in found if chart is not None}


def class_shares(summary: dict[str, Any]) -> Chart | None:
    """Shares of the classes: soft vote and refined, and the source if known."""
    rows = summary["shares"][:BARS]
    marks = [("source", SOURCE, "D", "in training")] if rows[0]["source"] is not None else []
    marks += [("before", BEFORE, "o", "soft vote")] if rows[0]["before"] is not None else []
    marks += [("after", AFTER, "s", "refined")]
    drawing, axes = _rows([row["name"] for row in rows], legend=len(marks) > 1)
    for y, row in enumerate(rows):
        values = [row[key] for key, *_ in marks]
        axes.plot([min(values), max(values)], [y, y], color=GRID, linewidth=3, zorder=1)
    for key, colour, shape, label in marks:
        hollow = {"markerfacecolor": "none"} if key == "before" else {"markersize": 5}
        values = [row[key] for row in rows]
        axes.plot(values, range(len(rows)), shape, color=colour, label=label, **hollow)
    axes.set_xlim(left=0)
    _percent(axes)
    axes.set_xlabel("share of objects")
    if len(marks) > 1:
        _legend(axes, len(marks))
    title = "Class shares before and after" if len(marks) > 1 else "Class shares"
    note = _drawn(len(rows), summary["n_classes"], "largest classes")
    shown = "; ".join(f"{row['name']}: {_shares_in_words(row)}" for row in rows)
    return Chart("shares", title, note, drawing.svg("shares", title, f"Dot chart. {shown}."))


def trust(summary: dict[str, Any]) -> Chart | None:
    """Trust in each clustering."""
    rows = summary["trust"]["clusterings"][:BARS]
    if not rows:
        return None
    drawing, axes = _rows([row["name"] for row in rows])
    axes.barh(range(len(rows)), [row["trust"] for row in rows], height=0.55, color=AFTER)
    axes.set_xlim(0, max(0.05, 1.1 * max(row["trust"] for row in rows)))
    _percent(axes)
    axes.set_xlabel("share of the information, as if alone")
    title = "Trust in each clustering"
    note = _drawn(len(rows), summary["n_clusterings"], "most trusted clusterings")
    alt = "; ".join(f"{row['name']} {row['trust']:.1%}" for row in rows)
    return Chart("trust", title, note, drawing.svg("trust", title, f"Bar chart. {alt}."))


def agreement(summary: dict[str, Any]) -> Chart | None:
    """Heat map: what each clustering tells about the votes of each classifier."""
    found = summary["agreement"]
    if not found or not found["classifiers"] or not found["clusterings"]:
        return None
    rows, columns = found["clusterings"], found["classifiers"]
    left = _margin(rows)
    top = 14 + 0.62 * LETTER * min(17, max(len(name) for name in columns))
    drawing = Drawing(top + 23 * len(rows) + 8)
    axes = drawing.axes(left, top, 60, 8)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    axes.spines["bottom"].set_visible(False)
    for y, values in enumerate(found["values"]):
        for x, value in enumerate(values):
            fill, ink = (GRID, INK) if value is None else heat(value)
            axes.add_patch(Rectangle((x + 0.02, y + 0.04), 0.96, 0.92, facecolor=fill, linewidth=0))
            shown = "n/a" if value is None else f"{max(value, 0.0):.2f}"
            axes.text(x + 0.5, y + 0.52, shown, color=ink, ha="center", va="center", fontsize=11)
    axes.set_yticks([y + 0.5 for y in range(len(rows))], drawing.tokens(rows))
    axes.xaxis.tick_top()
    axes.set_xticks([x + 0.4 for x in range(len(columns))], drawing.tokens(columns), rotation=35)
    for label in axes.get_xticklabels():
        label.set(ha="left", rotation_mode="anchor", color=INK)
    axes.tick_params(pad=4)
    title = "Agreement of classifiers and clusterings"
    note = (
        f"Each cell: {found['measure']}. 0 is chance, 1 is a clustering that decides the votes. "
        f"Measured on {found['objects']:,} objects."
    )
    alt = f"Heat map of {len(columns)} classifiers by {len(rows)} clusterings. " + "; ".join(
        f"{name}: " + ", ".join("none" if v is None else f"{v:.2f}" for v in values)
        for name, values in zip(rows, found["values"], strict=True)
    )
    return Chart("agreement", title, note, drawing.svg("agreement", title, alt))


def entropy(summary: dict[str, Any]) -> Chart | None:
    """Histogram of the uncertainty of the objects before and after."""
    found = summary["entropy"]
    if not found:
        return None
    drawing = Drawing(230)
    axes = drawing.axes(46, 28, 14, 42)
    if found["after"] is not None:
        axes.stairs(found["after"], found["edges"], color=AFTER, alpha=0.35, fill=True)
        axes.stairs(found["after"], found["edges"], color=AFTER, linewidth=1.5, label="refined")
    if found["before"] is not None:
        axes.stairs(
            found["before"],
            found["edges"],
            color=BEFORE,
            linewidth=1.5,
            linestyle="--",
            label="soft vote",
        )
    axes.set(xlabel=f"entropy, nats (at most {found['maximum']:.2f})", ylabel="")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0%}"))
    axes.tick_params(axis="y", labelcolor=MUTED)
    axes.grid(axis="y", linewidth=0.6)
    _legend(axes, 2)
    before, after = found["mean_before"], found["mean_after"]
    means = f"Mean entropy: {_nats(before)} before, {_nats(after)} after."
    note = f"How unsure each object is; vertical: share of objects. {means}"
    svg = drawing.svg("entropy", "Uncertainty of the objects", f"Histogram. {means}")
    return Chart("entropy", "Uncertainty of the objects", note, svg)


def accuracy(summary: dict[str, Any]) -> Chart | None:
    """Accuracy of refined labels, soft vote and classifiers, with intervals."""
    truth = summary["truth"]
    if truth is None:
        return None
    rows = [("refined", truth["refined"], AFTER, "s")]
    rows += [("soft vote", truth["soft_vote"], BEFORE, "o")] if truth["soft_vote"] else []
    rows += [(row["name"], row, MUTED, "o") for row in truth["classifiers"][:BARS] if row["objects"] > 0]
    drawing, axes = _rows([name for name, *_ in rows])
    for y, (_, score, colour, shape) in enumerate(rows):
        axes.plot([score["low"], score["high"]], [y, y], color=colour, linewidth=1.5)
        axes.plot([score["accuracy"]], [y], shape, color=colour, markersize=6)
    _percent(axes)
    axes.set_xlabel("right labels, with 95% interval")
    title = "Accuracy"
    alt = "; ".join(
        f"{name} {s['accuracy']:.1%}, {s['low']:.1%} to {s['high']:.1%}" for name, s, *_ in rows
    )
    note = f"On {truth['known']:,} objects with a true label; a classifier on those it voted on."
    return Chart("accuracy", title, note, drawing.svg("accuracy", title, f"Interval chart. {alt}."))


def reliability(summary: dict[str, Any]) -> Chart | None:
    """Confidence against the share of right labels."""
    truth = summary["truth"]
    if truth is None:
        return None
    drawing = Drawing(270)
    axes = drawing.axes(46, 28, 14, 42)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=":")
    named = {"soft_vote": ("soft vote", BEFORE, "o"), "refined": ("refined", AFTER, "s")}
    errors = []
    for key, found in truth["reliability"].items():
        name, colour, shape = named[key]
        for one in found["bins"]:
            axes.plot([one["confidence"]] * 2, one["interval"], color=colour, linewidth=1)
        points = [(one["confidence"], one["right"]) for one in found["bins"]]
        axes.plot(
            *zip(*points, strict=True), shape, linestyle="-", color=colour, label=name, markersize=5
        )
        errors.append(f"{name} {found['calibration_error']:.3f}")
    axes.set(xlabel="probability of the label, mean of the bin", xlim=(0, 1), ylim=(0, 1.02))
    axes.tick_params(axis="y", labelcolor=MUTED)
    axes.tick_params(pad=6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.0%}"))
    axes.grid(linewidth=0.6)
    _legend(axes, 2)
    note = (
        "Vertical: share of right labels, with 95% interval. On the dotted line probabilities mean what "
        f"they say. Mean distance to it: {', '.join(errors)}."
    )
    title = "Reliability of the probabilities"
    return Chart("reliability", title, note, drawing.svg("reliability", title, f"Line chart. {note}"))


def learning(summary: dict[str, Any]) -> Chart | None:
    """Bound and delta2 over the iterations."""
    found, n = summary["learning"], summary["n_objects"]
    if not found["iterations"]:
        return None
    drawing = Drawing(250)
    upper, lower = drawing.axes(64, 24, 14, 140), drawing.axes(64, 146, 14, 40)
    bounds: list[Any] = [None if value is None else value / n for value in found["bounds"]]
    style: dict[str, Any] = {"color": AFTER, "linewidth": 1.5, "markersize": 5}
    shape = "o" if len(bounds) <= 30 else ""
    upper.plot(found["iterations"], bounds, marker=shape, **style)
    lower.plot(found["iterations"], found["delta2"], marker=shape, **style)
    for axes, name in ((upper, "lower bound, nats per object"), (lower, "delta2")):
        axes.set_title(name, loc="left", fontsize=11.5, color=MUTED)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.5g}"))
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.tick_params(axis="y", labelcolor=MUTED)
        axes.grid(axis="y", linewidth=0.6)
        axes.margins(x=0.06, y=0.2)
    upper.set_xticklabels([])
    lower.set_xlabel("EM iteration")
    note = "The bound must never fall. delta2: how far the clusterings may stray from the votes."
    alt = f"Two line charts over {found['iterations'][-1]} iterations: {_path('bound', bounds)}; "
    alt += f"{_path('delta2', found['delta2'])}."
    return Chart("learning", "Learning", note, drawing.svg("learning", "Learning", alt))


def _rows(names: list[str], legend: bool = False) -> tuple[Drawing, Any]:
    """A drawing with one row per name."""
    top = 26 if legend else 6
    drawing = Drawing(top + LINE * max(len(names), 2) + 40)
    axes = drawing.axes(_margin(names), top, 18, 40)
    axes.set_yticks(range(len(names)), drawing.tokens(names))
    axes.tick_params(axis="y", pad=7)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", linewidth=0.6)
    return drawing, axes


def _margin(names: list[str]) -> float:
    return 16 + LETTER * min(17, max((len(name) for name in names), default=0))


def _percent(axes: Any) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    low, high = axes.get_xlim()
    digits = 0 if high - low > 0.04 else 1 if high - low > 0.004 else 2
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.{digits}%}"))


def _legend(axes: Any, columns: int) -> None:
    height = axes.get_window_extent().height
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.02, 1 + 2 / height), ncols=columns, frameon=False,
        labelcolor=INK, borderpad=0, borderaxespad=0, handlelength=1.6, columnspacing=1.4,
    )  # fmt: skip


def _drawn(shown: int, total: int, what: str) -> str:
    return "" if shown >= total else f"The {shown} {what} of {total:,}; the table has more."


def _shares_in_words(row: dict[str, Any]) -> str:
    after = f"{row['after']:.1%} refined"
    return after if row["before"] is None else f"{row['before']:.1%} by soft vote, {after}"


def _nats(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f} nats"


def _path(name: str, values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{name} from {known[0]:.5g} to {known[-1]:.5g}" if known else f"{name} unknown"


_CHARTS: tuple[Callable[[dict[str, Any]], Chart | None], ...] = (
    accuracy, class_shares, trust, agreement, entropy, reliability, learning,
)  # fmt: skip
