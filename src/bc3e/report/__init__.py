"""A fit as a page: ``summarize`` makes a plain dictionary, ``render`` one self-contained HTML file."""

from __future__ import annotations

from bc3e.report.html import render
from bc3e.report.page import Report
from bc3e.report.summarize import summarize

__all__ = ["Report", "render", "summarize"]
