"""The documentation site: built strictly, every link checked, nothing asked of the network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def build(config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(out)],
        cwd=config.parent, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    run = build(ROOT / "mkdocs.yml", out)
    assert run.returncode == 0, run.stdout + run.stderr
    return out


def test_the_site_is_there(site: Path) -> None:
    for page in ("index", "adapt", "report", "federation", "method-model", "rivals", "api"):
        assert (site / f"{page}.html").is_file()
    api = (site / "api.html").read_text()
    for name in (
        "estimator.BC3E.fit",
        "adapt.ConsensusClassifier.adapt",
        "comparison.compare",
        "federation.fit",
    ):
        assert f'id="bc3e.{name}"' in api
    assert ":class:" not in re.sub(r"<pre.*?</pre>", "", api, flags=re.DOTALL)


def test_links_to_source_lead_to_the_source(site: Path) -> None:
    text = (site / "method-model.html").read_text()
    (target,) = set(re.findall(r'href="([^"]*reference\.py\.html)"', text))
    assert "def object_bounds(" in re.sub("<[^>]*>", "", (site / target).read_text())


def test_no_page_asks_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not re.findall(r'<(?:script|img|iframe)[^>]*src="?(?:https?:)?//', text), page.name
        assert not re.findall(
            r'<link[^>]*rel="?(?:stylesheet|preconnect|preload)"?[^>]*https?://', text
        ), page.name


@pytest.mark.parametrize(
    "broken",
    ["[x](nowhere.md)", "[x](index.md#nowhere)", "[x](../src/bc3e/nowhere.py)", "::: bc3e.nowhere"],
)
def test_a_broken_link_fails(broken: str, tmp_path: Path) -> None:
    """A small site with the same configuration: the check can fail."""
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "hooks.py", tmp_path / "docs" / "hooks.py")
    text = (ROOT / "mkdocs.yml").read_text()
    text = re.sub(r"\nnav:\n.*?\n\n", "\n", text, flags=re.DOTALL)
    (tmp_path / "mkdocs.yml").write_text(text)
    index = tmp_path / "docs" / "index.md"
    index.write_text("# Start\n\nFine.\n")
    assert build(tmp_path / "mkdocs.yml", tmp_path / "out").returncode == 0
    index.write_text(f"# Start\n\n{broken}\n")
    assert build(tmp_path / "mkdocs.yml", tmp_path / "out").returncode != 0
