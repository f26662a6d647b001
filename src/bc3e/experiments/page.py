"""The results page: tables, figures, and sentences that follow from the numbers."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any

from bc3e.experiments import section_privacy, section_table2, section_table3
from bc3e.experiments.markdown import points
from bc3e.experiments.reproduce import Part
from bc3e.experiments.units import versions

MARK = "<!-- Written by bc3e reproduce. Change the experiments or the template, not this page. -->"


def render(
    parts: Mapping[str, list[Part] | None], *, seed: int, quick: bool
) -> tuple[str, dict[str, bytes]]:
    """The page as Markdown, and its figures by name.

    Parameters
    ----------
    parts : mapping from the experiments' names to their results
        None for one that was not run.
    seed : int
    quick : bool
        Whether the run was too small to mean anything; the page then says so.
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
    for name, section in sections.items():
        found = parts.get(name)
        told[name] = None if not found else section.told(found, images)
    page = environment.get_template("results.md").render(
        mark=MARK, quick=quick, seed=seed, machine=machine(), **told
    )
    return page, images


def machine() -> dict[str, str]:
    """What the figures were made on; nothing that changes from run to run."""
    from bc3e import __version__

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "bc3e": __version__,
        "versions": ", ".join(versions()),
        "platform": f"{platform.system()} {platform.machine()}, {cores} cores",
    }
