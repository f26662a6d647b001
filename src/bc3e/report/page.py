"""Report: a summary that can be saved as a page and shows itself in notebooks."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from bc3e.report.html import render

HEIGHT = 720  # of the frame in a notebook, in pixels


@dataclass(frozen=True)
class Report:
    """A report on a fit: ``report.save("report.html")``, or the last line of a notebook cell.

    Attributes
    ----------
    summary : dict
        Everything that the page shows, as plain values (:func:`bc3e.report.summarize`).
    html : str
        The page: one self-contained file.
    """

    summary: dict[str, Any]

    @cached_property
    def html(self) -> str:
        return render(self.summary)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all, and return its path; an older file is replaced."""
        target = Path(path)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(self.html)
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return target

    def __str__(self) -> str:
        return str(self.summary["verdict"]["sentence"])

    def __repr__(self) -> str:
        return f"<Report: {self}>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own: neither its style nor its script reach the notebook."""
        return (
            f'<iframe title="bc3e report" sandbox="allow-scripts" srcdoc="{escape(self.html)}" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid #8884;border-radius:8px"></iframe>'
        )
