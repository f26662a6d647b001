"""The rule of the root conftest.py: with CI=true nothing is skipped in silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    "a single test": "import pytest\ndef test_one():\n    pytest.skip('no reason')\n",
    "a whole file": "import pytest\npytest.importorskip('no_such_module')\ndef test_one():\n    pass\n",
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("allowed", [False, True])
def test_a_skip_fails_in_ci_unless_it_is_listed(kind: str, allowed: bool, tmp_path: Path) -> None:
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "allowed_skips.txt").write_text("test_it.py  # known" if allowed else "# none")
    (tmp_path / "test_it.py").write_text(FILES[kind] + "def test_two():\n    pass\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(tmp_path / "test_it.py"),
    ]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"CI": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode == 0) == (allowed and kind == "a single test") or run.returncode == 5, (
        run.stdout
    )
    assert ("does not allow it" in run.stdout) != allowed, run.stdout
