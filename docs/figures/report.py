"""Photograph the report on the drifted digits of the demo, light and dark (needs chromium)."""

from __future__ import annotations

import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import bc3e
from bc3e.experiments.demo import build

IMAGES = Path(__file__).resolve().parents[1] / "images"
SHOTS = (("light", 1600, 1470), ("dark", 400, 1240))  # colour scheme, width and height


def main() -> None:
    target = build()
    model = bc3e.BC3E(random_state=0).fit(target.votes, target.clusters)
    page = model.report(target.votes, target.clusters, truth=target.truth).html
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme, width, height in SHOTS:
            tab = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                device_scale_factor=1 if width > 1000 else 1.5,
            )
            tab.set_content(page)
            path = IMAGES / f"report-{scheme}.png"
            tab.screenshot(path=path)
            picture = Image.open(path).convert("RGB")
            picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
                path, optimize=True
            )
        browser.close()


if __name__ == "__main__":
    main()
