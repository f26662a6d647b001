"""The results page: tables, figures, and sentences that follow from the numbers."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from bc3e.experiments import section_privacy, section_table2, section_table3
from bc3e.experiments.markdown import points
from bc3e.experiments.reproduce import Part
from bc3e.experiments.units import versions

MARK = "<!-- Written by bc3e reproduce. Change the experiments or the template, not this page. -->"


def render(
    parts: Mapping[str, list[Part] | None], *, seed: int, quick: bool, name: str = "results"
) -> tuple[str, dict[str, bytes]]:
    """The page as Markdown, and its figures by experiment.

    Parameters
    ----------
    parts : mapping from the experiments' names to their results
        None for one that was not run.
    seed : int
    quick : bool
        Whether the run was too small to mean anything; the page then says so.
    name : str
        Of the page; its figures are expected as ``images/<name>-<experiment>.svg``.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bc3e.experiments", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # Markdown of our own numbers and of class names of known files: nothing to escape
    environment.filters["points"] = points
    sections: dict[str, Any] = {
        "table2": section_table2,
        "table3": section_table3,
        "privacy": section_privacy,
    }
    images: dict[str, bytes] = {}
    told: dict[str, Any] = {}
    for part, section in sections.items():
        found = parts.get(part)
        told[part] = None if not found else section.told(found, images)
    page = environment.get_template("results.md").render(
        mark=MARK, name=name, quick=quick, seed=seed, machine=machine(), **told
    )
    return page, images


def machine() -> dict[str, str]:
    """What the figures were made on; nothing that changes from run to run."""
    from joblib import cpu_count

    from bc3e import __version__

    return {
        "bc3e": __version__,
        "versions": ", ".join(versions()),
        "platform": f"{platform.system()} {platform.machine()}, {cpu_count()} cores",
    }
