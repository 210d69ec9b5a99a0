"""How fast a browser draws the interactive view of a long run, and pans it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from benchmarks.goal import Goal
from benchmarks.recorded import run_of, server
from benchmarks.rounds import medians
from benchmarks.row import Row
from benchmarks.sides import Sides
from blsnb.views.document import page as document
from tests.browser import chromium
from tests.browser.view import View

CALLS, ROUNDS, FRAMES = 10_000, 3, 120
DRAWN = """
globalThis.drawn = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".blsnb-view")) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now()
      - performance.getEntriesByType("navigation")[0].domInteractive)));
  }).observe(document, {childList: true, subtree: true});
});
"""
"""From the parsed page until the view is painted: its code and rows are unpacked
in between."""
PANNED = """
async (tree, frames) => {
  const frame = () => new Promise(requestAnimationFrame);
  const {left, top, width} = tree.getBoundingClientRect();
  const at = {bubbles: true, clientX: left + width / 2, clientY: top + 20};
  tree.dispatchEvent(new WheelEvent("wheel", {...at, ctrlKey: true, deltaY: -1000}));
  const times = [];
  let last = await frame();
  for (let k = 0; k < frames; k += 1) {
    const deltaX = k < frames / 2 ? 8 : -8;
    tree.dispatchEvent(new WheelEvent("wheel", {...at, shiftKey: true, deltaX}));
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  return times;
}
"""


def run(sides: Sides) -> list[Row]:
    """Measure a saved page with ten thousand calls; nothing where no browser is."""
    found = chromium.executable()
    if found is None:
        print("No Chromium here: nothing is drawn.")
        return []
    with server("tensors") as ours:
        text = document(run_of(ours, CALLS).keep().trace)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "run.html")
        file.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=found, args=chromium.ARGUMENTS
        )
        page = browser.new_page(viewport={"width": 1100, "height": 800})
        page.add_init_script(DRAWN)
        drawn = medians({"": lambda: _drawn(page, file)}, ROUNDS)[""]
        frame = medians({"": lambda: _panned(page)}, ROUNDS)[""]
        browser.close()
    what = f"view of {CALLS:,} calls"
    return [
        Row(f"{what}, drawn", drawn, "ms", goal=Goal(300, unit="ms")),
        # A screen of 60 frames a second, and how well a frame can be timed.
        Row(f"{what}, a frame while panned", frame, "ms", goal=Goal(17.5, unit="ms")),
    ]


def _drawn(page: Page, file: Path) -> list[float]:
    page.goto(file.as_uri())
    return [page.evaluate("globalThis.drawn")]


def _panned(page: Page) -> list[float]:
    tree = View(page).tree
    return tree.evaluate(PANNED, FRAMES)
