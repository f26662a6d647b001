"""Debian's chromium, driven by playwright. Without it the tests here are skipped (with CI=true: fail)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.report.cases import hostile_case


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium on the PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield found
        found.close()


@pytest.fixture(scope="session")
def report_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report with every panel and hostile names everywhere, as a file."""
    model, arguments = hostile_case()
    path = model.report(**arguments).save(tmp_path_factory.mktemp("report") / "report.html")
    return path.as_uri()


@pytest.fixture
def visit(browser: Any, report_file: str) -> Iterator[Callable[..., Any]]:
    """Open the report; at the end nothing may have been said on the console or asked of the network."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_page(width: int = 1600, scheme: str = "light", address: str = report_file) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
