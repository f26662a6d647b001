"""Figures as SVG that belong to the page: its colours, its fonts, its names as plain text.

Matplotlib draws with stand-ins. Colours such as ``INK`` become CSS variables, so that
a figure follows the colour scheme of the page. Names that come from data (classes,
columns) are tokens while matplotlib works and are set, escaped, into the finished
drawing: no font has to know their letters, and no markup in them is ever read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape
from threading import Lock
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 380  # in pixels of the page at scale 1: legible on a telephone
FONT = 11.5
HEAT_STEPS = 20

INK, MUTED, GRID, SURFACE = "#010101", "#010102", "#010103", "#010104"
BEFORE, AFTER, SOURCE = "#010105", "#010106", "#010107"
_VARIABLES = {
    INK: "ink", MUTED: "muted", GRID: "grid", SURFACE: "surface",
    BEFORE: "before", AFTER: "after", SOURCE: "source",
}  # fmt: skip
_VARIABLES |= {f"#0102{i:02x}": f"heat-{i}" for i in range(HEAT_STEPS + 1)}
_VARIABLES |= {f"#0103{i:02x}": f"heat-ink-{i}" for i in range(HEAT_STEPS + 1)}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bc3e",
    "font.size": FONT,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "grid.color": GRID,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
}
_LOCK = Lock()  # matplotlib's settings are global: one figure at a time


def heat(value: float) -> tuple[str, str]:
    """Colours of a cell and of the text in it, for a value from 0 to 1."""
    step = round(min(max(value, 0.0), 1.0) * HEAT_STEPS)
    return f"#0102{step:02x}", f"#0103{step:02x}"


class Drawing:
    """One figure: axes in pixels, names as tokens, SVG at the end."""

    def __init__(self, height: float) -> None:
        self.height = height
        self.figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72, facecolor="none")
        self.names: list[str] = []

    def axes(self, left: float, top: float, right: float, bottom: float) -> Axes:
        """Axes with these margins, without a frame."""
        width, height = WIDTH - left - right, self.height - top - bottom
        axes = self.figure.add_axes(
            (left / WIDTH, bottom / self.height, width / WIDTH, height / self.height)
        )
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0)
        return axes

    def name(self, name: str, most: int = 17) -> str:
        """A token for a name from the data, cut to what fits."""
        self.names.append(name if len(name) <= most else name[: most - 1] + "…")
        return f"N{len(self.names) - 1:04d}N"

    def tokens(self, names: Iterable[str], most: int = 17) -> list[str]:
        """Tokens for several names."""
        return [self.name(name, most) for name in names]

    def svg(self, key: str, title: str, alt: str) -> str:
        """The figure for the page.

        Parameters
        ----------
        key : str
            Start of all ids in it.
        title, alt : str
            Name of the figure, and in words what it shows.
        """
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        self.figure.savefig(file, format="svg", metadata=nothing)
        body = file.getvalue()
        body = body[body.index("<svg") : body.rindex("</svg>") + len("</svg>")]
        body = _cleaned(body, key)
        body = re.sub(r"N(\d{4})N", lambda token: escape(self.names[int(token[1])]), body)
        head = (
            f'<svg viewBox="0 0 {WIDTH} {self.height:g}" role="img" '
            f'aria-labelledby="{key}-title {key}-alt">'
            f'<title id="{key}-title">{escape(title)}</title><desc id="{key}-alt">{escape(alt)}</desc>'
        )
        return head + body[body.index(">") + 1 :]


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's settings for our figures, and back."""
    with _LOCK, matplotlib.rc_context(_STYLE):
        yield


def _cleaned(svg: str, key: str) -> str:
    """Without what the page does not need: own styles, fonts, unused ids, digits; with its colours."""
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    used = set(re.findall(r"#([\w.-]+)\)|href=\"#([\w.-]+)\"", svg))
    kept = {name for pair in used for name in pair if name}
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{key}-{m[1]}"' if m[1] in kept else "", svg)
    svg = re.sub(r"url\(#", f"url(#{key}-", svg)
    svg = re.sub(r'(?:xlink:)?href="#', f'href="#{key}-', svg)
    svg = re.sub(r"<[^>]+>", lambda tag: _short_tag(tag[0]), svg)
    return re.sub(r"\s+", " ", svg).replace("> <", "><")


def _short_tag(tag: str) -> str:
    tag = re.sub(r"#[0-9a-f]{6}", lambda colour: _variable(colour[0]), tag)
    tag = re.sub(r"(\d\.\d\d)\d+", r"\1", tag)
    return re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", tag)


def _variable(colour: str) -> str:
    return f"var(--{_VARIABLES[colour]})" if colour in _VARIABLES else colour
