"""The figures of the results page, as SVG that is the same for the same numbers."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np

from bc3e.experiments.scores import Exposure, Row

COLOURS = {"plain": "#D55E00", "masked": "#0072B2"}
METHODS = {
    "BGCM": "#999999",
    "LWE": "#009E73",
    "C3E": "#E69F00",
    "published": "#CC79A7",
    "default": "#0072B2",
    "BC3E": "#0072B2",
}
STYLE: Any = {"svg.hashsalt": "bc3e", "svg.fonttype": "none", "font.size": 9}


def _svg(draw: Any) -> bytes:
    """What `draw` puts on a figure; no date, no random ids."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure = Figure(layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def gains(
    rows: Sequence[Row], methods: Mapping[str, str], reference: str, paper: Mapping[str, float]
) -> bytes:
    """Gain over a reference with its 95% interval, a line per row; the paper's as a diamond.

    Parameters
    ----------
    rows : sequence of Row
    methods : mapping from the names of methods in the rows to those in the legend
    reference : str
    paper : mapping from the keys of rows to the gains of the paper
    """

    def draw(figure: Any) -> None:
        figure.set_size_inches(8.5, 1.2 + 0.42 * len(rows))
        axis = figure.subplots()
        places = np.arange(len(rows))
        for at, (method, name) in enumerate(methods.items()):
            found = [row.difference(method, reference) for row in rows]
            middle = np.array([d.mean for d in found])
            reach = np.array([[d.mean - d.low, d.high - d.mean] for d in found]).T
            reach = np.where(np.isfinite(reach), reach, 0.0)
            shift = places + 0.6 * ((at + 0.5) / len(methods) - 0.5)
            marker = {"fmt": "o", "ms": 4, "lw": 1.2, "color": METHODS[method], "label": name}
            axis.errorbar(middle, shift, xerr=reach, **marker)
        told = [(paper[row.key], at) for at, row in enumerate(rows) if row.key in paper]
        if told:
            x, y = zip(*told, strict=True)
            axis.plot(x, y, "D", ms=5, mfc="none", color="black", label="BC3E in the paper")
        axis.axvline(0.0, color="#888888", lw=0.8)
        axis.set_yticks(places, [_short(row.title) for row in rows])
        axis.invert_yaxis()
        axis.set_xscale("symlog", linthresh=5.0)
        ticks = [-50, -20, -5, -2, 0, 2, 5, 20, 50]
        low, high = axis.get_xlim()
        shown = [tick for tick in ticks if low <= tick <= high]
        axis.set_xticks(shown, [f"{tick:+d}" if tick else "0" for tick in shown])
        axis.minorticks_off()
        axis.set_xlabel("gain in points of accuracy with its 95% interval; logarithmic beyond 5")
        axis.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside lower center", ncols=5, frameon=False)

    return _svg(draw)


def privacy(rows: Sequence[Exposure], titles: Mapping[str, str]) -> bytes:
    """What is left of the uncertainty about labels, by the number of sites; a panel per data set."""
    families = list(dict.fromkeys(row.family for row in rows))

    def draw(figure: Any) -> None:
        figure.set_size_inches(3.1 * max(len(families), 2), 4.8)
        axes = figure.subplots(2, len(families), sharey=True, squeeze=False)
        for column, family in enumerate(families):
            mine = [row for row in rows if row.family == family]
            central = next(row.accuracy for row in mine if row.split == "central")
            split = [row.accuracy for row in mine if row.split != "central"]
            axes[0, column].set_title(
                f"{titles.get(family, family)}: accuracy {central:.1f}\n"
                f"in one place, {_range(split)} split",
                fontsize=9,
            )
            for line, attack in enumerate(("votes", "clusters")):
                _panel(axes[line, column], mine, attack)
        for line, what in enumerate(("votes", "cluster labels")):
            axes[line, 0].set_ylabel(f"uncertainty left:\n{what}")
        for axis in axes[1]:
            axis.set_xlabel("sites")
        names = axes[0, 0].get_legend_handles_labels()
        figure.legend(*names, loc="outside lower center", ncols=3, frameon=False)

    return _svg(draw)


def _panel(axis: Any, rows: Sequence[Exposure], attack: str) -> None:
    axis.plot([1], [0], "s", ms=5, color="black", label="one place")
    for messages, colour in COLOURS.items():
        for split, line in (("column", "o-"), ("arbitrary", "^--")):
            mine = [
                r for r in rows if r.split == split and r.messages == messages and attack in r.attacks
            ]
            points = [(r.sites, r.kept(attack)) for r in mine]
            if points:
                x, y = zip(*points, strict=True)
                axis.plot(x, y, line, ms=4, lw=1.2, color=colour, label=f"{split}, {messages}")
    axis.set_ylim(-0.05, 1.05)
    axis.set_xscale("log", base=2)
    axis.set_xticks([1, 2, 3, 6, 12], ["1", "2", "3", "6", "12"])
    axis.minorticks_off()
    axis.spines[["top", "right"]].set_visible(False)


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"


def _short(text: str) -> str:
    return text if len(text) <= 45 else text[:44] + "…"
