"""Shared rules of the test suite.

With CI=true a skipped test is a failure, unless tests/allowed_skips.txt lists
it: a check that silently does not run is no check.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ALLOWED = Path(__file__).with_name("allowed_skips.txt")


def allowed_skips() -> list[str]:
    lines = (line.split("#")[0].strip() for line in ALLOWED.read_text().splitlines())
    return [line for line in lines if line]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    outcome = yield
    report = outcome.get_result()
    expected = any(item.nodeid.startswith(start) for start in allowed_skips())
    if os.environ.get("CI") == "true" and report.skipped and not expected:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and tests/allowed_skips.txt does not allow it"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Directory of the real data sets: BC3E_DATA, or ../shared/data beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("BC3E_DATA", beside))
    if not path.is_dir():
        pytest.skip("no BC3E_DATA directory")
    return path
