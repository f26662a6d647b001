"""The page: escaped, self-contained, small, and the same each time."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import time
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bc3e
from bc3e.report import Report, render, summarize
from tests.generation import planted_table
from tests.report.cases import HOSTILE, hostile_case

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def page() -> str:
    model, arguments = hostile_case()
    return model.report(**arguments).html


class Tags(HTMLParser):
    """Every element with its attributes, ids, and text outside scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))


def test_hostile_names_never_become_markup(page: str) -> None:
    assert HOSTILE not in page
    assert page.count("<script") == 1
    assert "49 漢字" not in page  # no name is read as a template
    assert "漢字" in page
    assert html.escape(HOSTILE, quote=False) in page
    drawings = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(drawings) == 7
    assert any("&lt;script&gt;aler" in drawing for drawing in drawings)


def test_nothing_is_asked_of_the_network(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    for tag, attributes in tags.found:
        for name in ("src", "href", "xlink:href", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
    policy = next(
        a["content"] for t, a in tags.found if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "url(http" not in page
    assert "@import" not in page


def test_ids_are_unique_and_every_drawing_has_words(page: str) -> None:
    tags = Tags()
    tags.feed(page)
    ids = [attributes["id"] for _, attributes in tags.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    drawings = [attributes for tag, attributes in tags.found if tag == "svg"]
    for drawing in drawings:
        assert drawing["role"] == "img"
        assert all(name in ids for name in str(drawing["aria-labelledby"]).split())
    for name in re.findall(r"url\(#([^)]*)\)|href=\"#([^\"]*)\"", page):
        assert (name[0] or name[1]) in ids
    assert "#0101" not in page  # every stand-in colour was replaced
    assert not re.search(r"N\d{4}N", page)


def test_the_same_fit_gives_the_same_bytes(page: str) -> None:
    model, arguments = hostile_case()
    assert model.report(**arguments).html == page


def test_matplotlib_is_left_as_it_was() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    model, arguments = hostile_case(60)
    model.report(**arguments).html  # noqa: B018
    assert dict(matplotlib.rcParams) == before
    code = "import sys, bc3e.report; from bc3e import BC3E; m = BC3E().fit([[0], [1]], [[0], [1]]); m.report().html; print('matplotlib.pyplot' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_many_classes_columns_and_endless_labels_stay_small() -> None:
    rng = np.random.default_rng(0)
    n, k = 1500, 400
    names = np.array([f"<&\"'{i:04d}" + '"<&' * 400 for i in range(k)], dtype=object)
    truth = rng.integers(k, size=n)
    votes = {
        f"{i}{'<' * 500}": names[np.where(rng.random(n) < 0.12, truth, rng.integers(k, size=n))]
        for i in range(12)
    }
    clusters = {f"{i}{'&' * 500}": (truth + rng.integers(2, size=n)) % 200 for i in range(40)}
    model = bc3e.BC3E(evidence_weight=1.0, vote_calibration=None, profile_prior=None, max_iter=1).fit(
        votes, clusters
    )
    found = summarize(model, votes=votes, clusters=clusters, truth=names[truth], ids=names[truth])
    assert found["changed_most"]
    page = render(found)
    assert len(page.encode()) <= MEGABYTE
    assert "The 300 largest of 400 classes" in page


def test_a_million_objects() -> None:
    """Below 1 MB and below 3 s of processor time, whatever else the machine does."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    pick = rng.integers(20_000, size=n)
    votes, clusters, truth = (part[pick] for part in planted_table(0, n=20_000, vote_noise=0.55))
    model = bc3e.BC3E(random_state=0).fit(votes, clusters)
    begin = time.process_time()
    page = render(summarize(model, votes=votes, clusters=clusters, truth=truth, ids=np.arange(n)))
    seconds = time.process_time() - begin
    assert len(page.encode()) < MEGABYTE
    assert seconds < 3.0


def test_saved_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = bc3e.BC3E().fit([["a"], ["b"]], [[0], [1]])
    report = model.report()
    path = report.save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == report.html
    assert str(report) == report.summary["verdict"]["sentence"]
    monkeypatch.setattr("bc3e.report.page.render", lambda summary: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Report(report.summary).save(tmp_path / "other.html")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_notebooks_show_model_and_report_alike() -> None:
    model = bc3e.BC3E().fit([["<b>x</b>"], ["y"]], [[0], [1]])
    shown = model._repr_mimebundle_()["text/html"]
    assert shown == model.report()._repr_html_()
    assert shown.startswith('<iframe title="bc3e report" sandbox="allow-scripts" srcdoc="&lt;!doctype')
    assert html.unescape(shown.split('srcdoc="')[1].split('"')[0]) == model.report().html


def test_the_wheel_has_the_templates(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    here = (ROOT / "src" / "bc3e" / "report" / "templates").iterdir()
    assert {f"bc3e/report/templates/{file.name}" for file in here} <= inside
