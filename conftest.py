"""With CI=true a skipped test is a failure, unless tests/allowed_skips.txt lists it.

A check that silently does not run is no check. This holds for single tests, for
whole files that skip themselves, and for doctests.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ALLOWED = Path(__file__).parent / "tests" / "allowed_skips.txt"


def pytest_configure() -> None:
    """Ctrl-C stops what tests start, also in the background of a shell, which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def allowed_skips() -> list[str]:
    lines = (line.split("#")[0].strip() for line in ALLOWED.read_text().splitlines())
    return [line for line in lines if line]


def refuse_skip(nodeid: str, report: Any) -> None:
    if hasattr(report, "wasxfail"):  # it ran and failed as stated; strict, so it may not pass
        return
    allowed = any(nodeid.startswith(start) for start in allowed_skips())
    if os.environ.get("CI") == "true" and report.skipped and not allowed:
        report.outcome = "failed"
        report.longrepr = f"{nodeid} was skipped, and tests/allowed_skips.txt does not allow it"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    refuse_skip(item.nodeid, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report = yield
    refuse_skip(collector.nodeid, report)
    return report
