"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Directory of the real data sets: BC3E_DATA, or ../shared/data beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("BC3E_DATA", beside))
    if not path.is_dir():
        pytest.skip("no BC3E_DATA directory")
    return path
