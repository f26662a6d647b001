"""A summary as one self-contained page."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

HEAT = {"light": ((255, 255, 255), (0, 84, 140)), "dark": ((22, 27, 34), (140, 205, 245))}


def render(summary: dict[str, Any]) -> str:
    """The page of a summary: HTML with style, script and drawings inside, no address outside.

    Every text of the summary is escaped, and the page's own policy lets no other
    script run and no request leave it.

    Parameters
    ----------
    summary : dict
        From :func:`bc3e.report.summarize`, or read back from its JSON.
    """
    from bc3e.report.charts import draw  # matplotlib takes long to load

    script = _asset("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _environment().get_template("page.html").render(
        s=summary,
        charts=draw(summary),
        style=Markup(_asset("style.css") + heat_style()),
        script=Markup(script),
        script_hash=digest,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("bc3e.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["percent"] = _percent
    found.filters["count"] = lambda value: f"{value:,}"
    found.filters["svg"] = Markup  # drawings are ours; names in them are escaped where they are set
    return found


@cache
def _asset(name: str) -> str:
    return (files("bc3e.report") / "templates" / name).read_text(encoding="utf-8")


def _percent(value: float | None, digits: int = 1) -> str:
    return "n/a" if value is None else f"{value:.{digits}%}"


@cache
def heat_style() -> str:
    """Colours of the heat map: from the page's surface to blue, with the better of black and white."""
    from bc3e.report.drawing import HEAT_STEPS

    lines = []
    for step in range(HEAT_STEPS + 1):
        fills = [_blend(*ends, step / HEAT_STEPS) for ends in HEAT.values()]
        inks = ["#000" if _luminance(fill) > 0.179 else "#fff" for fill in fills]
        shown = ["#" + "".join(f"{part:02x}" for part in fill) for fill in fills]
        lines.append(f"--heat-{step}: light-dark({shown[0]}, {shown[1]});")
        lines.append(f"--heat-ink-{step}: light-dark({inks[0]}, {inks[1]});")
    return ":root {" + " ".join(lines) + "}\n"


def _blend(low: tuple[int, ...], high: tuple[int, ...], share: float) -> tuple[int, ...]:
    return tuple(round(a + share * (b - a)) for a, b in zip(low, high, strict=True))


def _luminance(colour: tuple[int, ...]) -> float:
    """Relative luminance as WCAG defines it: black contrasts better above 0.179."""
    parts = [c / 255 for c in colour]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
