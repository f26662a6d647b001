"""The report as a reader meets it: in a browser, narrow and wide, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.report.cases import HOSTILE, hostile_case

Visit = Callable[..., Any]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
AA = 4.5  # least contrast of text in WCAG 2, level AA
SCHEMES = ("light", "dark")


def column(page: Any, table: str, number: int) -> list[str]:
    cells = page.locator(f"#{table} tbody tr:visible > :nth-child({number})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_hostile_labels_are_text(visit: Visit) -> None:
    page = visit()
    assert page.title().startswith("bc3e report: Refined labels are right in")
    assert page.locator("script").count() == 1
    assert HOSTILE in column(page, "table-classes", 1)
    assert any(HOSTILE in text for text in column(page, "table-objects", 1))
    drawn = page.locator("svg text").all_text_contents()
    assert "<script>alert(1)…" in drawn
    assert "$x^2$ \" ' & </sv…" in drawn
    assert page.evaluate("document.querySelectorAll('svg').length") == 7


def test_tables_sort(visit: Visit) -> None:
    page = visit()
    button = page.locator("#table-classes thead button", has_text="Refined")
    button.click()
    falling = [float(text.rstrip("%")) for text in column(page, "table-classes", 4)]
    assert falling == sorted(falling, reverse=True)
    assert page.locator("#table-classes th[aria-sort=descending]").inner_text().startswith("Refined")
    button.click()
    assert [float(text.rstrip("%")) for text in column(page, "table-classes", 4)] == falling[::-1]
    page.locator("#table-missing thead button", has_text="Column").click()
    starts = ["<!-- dbscan", "k-means", "logit", "plain", "tree", "ward & co"]
    names = column(page, "table-missing", 1)
    assert [name[: len(start)] for name, start in zip(names, starts, strict=True)] == starts


def test_every_sortable_heading_works(visit: Visit) -> None:
    page = visit()
    before = page.locator("tbody tr").count()
    for button in page.locator("table.sortable thead button").all():
        button.click()
        assert button.locator("xpath=..").get_attribute("aria-sort") in ("ascending", "descending")
    assert page.locator("tbody tr").count() == before


def test_tables_filter(visit: Visit) -> None:
    page = visit()
    tools = page.locator(".tools[data-for=table-missing]")
    assert tools.locator("output").inner_text() == "6 rows"
    tools.locator("input").fill("K-MEANS")
    assert column(page, "table-missing", 1) == [f"k-means {HOSTILE}"]
    assert tools.locator("output").inner_text() == "1 of 6 rows"
    tools.locator("input").fill("nothing like it")
    assert column(page, "table-missing", 1) == []
    tools.locator("input").fill("")
    assert len(column(page, "table-missing", 1)) == 6


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [400, 1600])
def test_contrast(visit: Visit, scheme: str, width: int) -> None:
    page = visit(width, scheme)
    found = page.evaluate(CONTRAST)
    assert len(found) > 300
    assert sum(one["svg"] for one in found) > 60
    weak = [one for one in found if one["ratio"] < AA]
    assert weak == []


def test_contrast_check_can_fail(visit: Visit) -> None:
    page = visit()
    root = "document.documentElement.style"
    page.evaluate(f"{root}.setProperty('--muted', '#999999')")
    weak = [one for one in page.evaluate(CONTRAST) if one["ratio"] < AA]
    assert {one["svg"] for one in weak} == {True, False}
    page.evaluate(f"{root}.removeProperty('--muted')")
    page.evaluate(
        f"for (let i = 0; i < 21; i++) {root}.setProperty(`--heat-ink-${{i}}`, `var(--heat-${{i}})`)"
    )
    weak = [one["text"] for one in page.evaluate(CONTRAST) if one["ratio"] < AA]
    assert len(weak) == 9  # the cells of the heat map
    assert all(0 <= float(text) <= 1 for text in weak)


@pytest.mark.parametrize("width", [320, 400, 768, 1600])
def test_nothing_runs_over(visit: Visit, width: int) -> None:
    page = visit(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = page.evaluate(
        """() => [...document.querySelectorAll('main *')].filter((e) => {
            if (e.closest('.scroll') || e.closest('svg')) return false;
            const box = e.getBoundingClientRect();
            return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5);
        }).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []


@pytest.mark.parametrize("width", [400, 1600])
def test_drawings_are_legible_and_keep_their_text_inside(visit: Visit, width: int) -> None:
    page = visit(width)
    found = page.evaluate(
        """() => [...document.querySelectorAll('svg text')].map((t) => {
            const svg = t.closest('svg').getBoundingClientRect(), card = t.closest('.card').getBoundingClientRect();
            const box = t.getBoundingClientRect(), scale = svg.width / t.closest('svg').viewBox.baseVal.width;
            return [t.textContent, parseFloat(getComputedStyle(t).fontSize) * scale,
                    box.left >= card.left && box.right <= card.right && box.top >= card.top && box.bottom <= card.bottom];
        })"""
    )
    assert min(size for _, size, _ in found) >= 9
    assert [text for text, _, inside in found if not inside] == []


def test_lines_of_text_are_not_too_long_and_charts_stand_side_by_side(visit: Visit) -> None:
    page = visit(1600)
    boxes = [card.bounding_box() for card in page.locator(".columns > .card").all()]
    assert len({round(box["x"]) for box in boxes}) == 3
    assert page.locator(".hero h1").bounding_box()["width"] <= 1480


def test_the_button_changes_the_colours(visit: Visit) -> None:
    page = visit(scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.locator("#scheme").click()
    dark = page.evaluate(colour)
    assert dark != light
    page.locator("#scheme").click()
    assert page.evaluate(colour) == light


def test_print_is_light_and_whole(visit: Visit) -> None:
    page = visit(scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    assert not page.locator("#scheme").is_visible()
    cut = "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollHeight > e.clientHeight + 2).length"
    assert page.evaluate(cut) == 0
    assert len(page.pdf(format="A4")) > 10_000


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine, and what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    thread.join()
    server.server_close()


INTRUDER = """(address) => {
    const script = document.createElement('script');
    script.textContent = 'window.broken = true';
    const image = document.createElement('img');
    image.src = address + '/image';
    document.body.append(script, image);
    return fetch(address + '/fetch', { mode: 'no-cors' }).then(() => 'sent', () => 'stopped');
}"""


def test_the_policy_stops_other_scripts_and_requests(
    browser: Any, report_file: str, listener: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, asked = listener
    context = browser.new_context()
    page = context.new_page()
    page.goto(report_file)
    assert page.evaluate(INTRUDER, address) == "stopped"
    page.wait_for_timeout(200)
    assert page.evaluate("window.broken") is None
    assert asked == []
    (tmp_path / "open.html").write_text("<!doctype html><body>no policy")
    page.goto((tmp_path / "open.html").as_uri())
    assert page.evaluate(INTRUDER, address) == "sent"  # without the policy all of it works
    assert page.evaluate("window.broken") is True
    assert "/fetch" in asked
    context.close()


def test_in_a_notebook_the_page_lives_in_its_own_frame(browser: Any) -> None:
    model, arguments = hostile_case(80)
    shown = model.report(**arguments)._repr_html_()
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: (errors.append(dialog.message), dialog.dismiss()))
    style = "(() => { const s = getComputedStyle(document.getElementById('outside')); return JSON.stringify(Array.from(s).map((name) => s[name])) })()"
    page.set_content("<p id=outside>notebook</p>")
    alone = page.evaluate(style)
    page.set_content(f"<p id=outside>notebook</p>{shown}")
    frame = page.frame_locator("iframe")
    frame.locator("#table-classes thead button").first.click()
    assert frame.locator("#table-classes th[aria-sort]").count() == 1
    assert page.evaluate(style) == alone
    assert errors == []
    context.close()
