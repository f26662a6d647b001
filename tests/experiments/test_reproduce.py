"""``bc3e reproduce --quick`` as a user runs it: a page, the same again, and on after a stop."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bc3e.experiments.page import MARK

SCRIPT = str(Path(sys.executable).with_name("bc3e"))
PATIENCE = 300


def start(home: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The command in a folder of its own, without any data folder."""
    home.mkdir(exist_ok=True)
    known = {k: v for k, v in os.environ.items() if k not in ("BC3E_DATA", "BC3E_CACHE")}
    return subprocess.Popen(
        [SCRIPT, "reproduce", *arguments, "--out", "."], cwd=home, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=known | {"OMP_NUM_THREADS": "1"}, start_new_session=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out.decode(), err.decode()


def written(home: Path) -> dict[str, bytes]:
    """Page and figures, without the one figure that depends on the machine."""
    pages = [home / "results-quick.md", *sorted((home / "images").iterdir())]
    return {path.name: re.sub(rb"took [0-9.]+ ms per title", b"", path.read_bytes()) for path in pages}


def units(home: Path) -> dict[str, tuple[int, bytes]]:
    folder = home / ".cache" / "reproduce"
    return {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(folder.glob("*.json"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick run of everything in one process."""
    home = tmp_path_factory.mktemp("whole")
    code, out, err = finish(start(home, "all", "--quick", "--jobs", "1"))
    assert (code, err) == (0, ""), err
    assert out.startswith("Written: results-quick.md, ")
    return home


def test_the_page_has_every_part(whole: Path) -> None:
    page = (whole / "results-quick.md").read_text()
    assert page.startswith(MARK)
    assert "Not run" not in page
    for row in (
        "table2-moons",
        "table2-wine",
        "table3-generated-1",
        "table3-all",
        "privacy-wine-column-3-masked",
    ):
        assert f'<a id="{row}"></a>' in page
    for image in re.findall(r"\((images/[^)]+)\)", page):
        assert (whole / image).read_bytes().startswith(b"<?xml")
    assert not re.search(r"\bnan\b|\binf\b", page)
    assert re.search(r"scikit-learn \d", page)
    assert not list(whole.glob(".*.part"))


def test_a_second_run_computes_nothing_and_writes_the_same(whole: Path) -> None:
    before, stored = written(whole), units(whole)
    code, _, err = finish(start(whole, "table2", "--quick"))
    assert (code, err) == (0, "")
    assert written(whole) == before  # the parts not asked for are on the page, too
    assert units(whole) == stored


def test_stopped_and_resumed_with_more_processes_it_writes_the_same(whole: Path, tmp_path: Path) -> None:
    process = start(tmp_path, "all", "--quick", "--jobs", "2")
    wait = time.monotonic() + PATIENCE
    while len(units(tmp_path)) < 3 and time.monotonic() < wait:
        assert process.poll() is None, finish(process)
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGTERM)  # Ctrl-C ends in the same place, if it is not ignored
    code, _, err = finish(process)
    assert code == 130, err
    assert "the same command goes on" in err
    assert not (tmp_path / "results-quick.md").exists()
    done = units(tmp_path)
    assert len(done) >= 3
    code, _, err = finish(start(tmp_path, "all", "--quick", "--jobs", "2"))
    assert (code, err) == (0, ""), err
    assert written(tmp_path) == written(whole)
    assert {name: units(tmp_path)[name] for name in done} == done  # none was computed again


def test_another_seed_gives_other_figures(whole: Path, tmp_path: Path) -> None:
    code, _, err = finish(start(tmp_path, "table2", "--quick", "--seed", "1", "--jobs", "1"))
    assert (code, err) == (0, ""), err
    page = (tmp_path / "results-quick.md").read_text()
    assert "Not run: `bc3e reproduce table3`" in page
    rows = [line for line in page.splitlines() if "table2-moons" in line]
    assert rows
    assert rows[0] not in (whole / "results-quick.md").read_text()
