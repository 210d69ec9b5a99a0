"""Time to draw runs of all sizes in a browser, and to navigate them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from benchmarks.row import Goal, Row
from benchmarks.servers import Servers
from blsnb.trace.spans import Trace
from blsnb.views.documents import wire
from blsnb.views.documents.document import whole_page
from blsnb.views.documents.host import hosted
from tests.browser import chromium
from tests.browser.view import View
from tests.views.samples import batch_run, invoice_run

ROUNDS, FRAMES = 5, 60
LONG = 10_000
DRAWN_MS = {27: 150, 1000: 150, LONG: 300, 100_000: 500}
"""Goals for the time from the parsed page to the painted view."""
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
FRAME_TIMES = """
async (tree, [frames, step]) => {
  const frame = () => new Promise(requestAnimationFrame);
  const {left, top, width} = tree.getBoundingClientRect();
  const at = {bubbles: true, clientX: left + width / 2, clientY: top + 20};
  const wheel = (how) => tree.dispatchEvent(new WheelEvent("wheel", {...at, ...how}));
  const back = (k) => (k < frames / 2 ? 1 : -1);
  const steps = {
    scroll: (k) => { tree.scrollTop += 220 * back(k); },
    pan: (k) => wheel({shiftKey: true, deltaX: 8 * back(k)}),
    zoom: (k) => wheel({ctrlKey: true, deltaY: -60 * back(k)}),
  };
  if (step === "pan") wheel({ctrlKey: true, deltaY: -1000});
  const times = [];
  let last = await frame();
  for (let k = 0; k < frames; k += 1) {
    steps[step](k);
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  return times;
}
"""
"""Durations between two frames; a screen shows one each 16.7 ms."""
AFTER = """
async ([element, event, value]) => {
  const start = performance.now();
  if (value !== null) element.value = value;
  element.dispatchEvent(event === "input" ? new Event(event)
    : new KeyboardEvent("keydown", {key: event, bubbles: true}));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}
"""
"""Time from an input event to the frame that shows its effect."""


def run(servers: Servers) -> list[Row]:
    """Measure saved pages, if there is a browser."""
    found = chromium.executable()
    if found is None:
        print("No Chromium here: nothing is drawn.")
        return []
    with page_of(found) as page, TemporaryDirectory() as folder:
        rows = []
        for calls, most in DRAWN_MS.items():
            trace = invoice_run() if calls == 27 else batch_run(calls)
            rows.append(_encoded(trace, calls))
            file = Path(folder, f"{calls}.html")
            file.write_text(_document(trace), encoding="utf-8")
            # The first page of a browser is not measured.
            drawn = _median([_drawn(page, file) for _ in range(ROUNDS + 1)][1:])
            goal = Goal(most, unit="ms")
            rows.append(Row(f"view of {calls:,} calls, drawn", drawn, "ms", goal=goal))
        _drawn(page, Path(folder, f"{LONG}.html"))
        return [*rows, *_explored(page)]


@contextmanager
def page_of(executable: str) -> Iterator[Page]:
    """Yield a page of a browser, which resolves `drawn` when a view is painted."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=chromium.ARGUMENTS
        )
        page = browser.new_page(viewport={"width": 1100, "height": 800})
        page.add_init_script(DRAWN)
        yield page
        browser.close()


def _document(trace: Trace) -> str:
    """Return a page with all calls, even those that a notebook would fold."""
    header, buffer = wire.assemble(trace)
    return whole_page("run", hosted(wire.page_id(trace), "", header, buffer))


def _encoded(trace: Trace, calls: int) -> Row:
    def took() -> float:
        start = time.perf_counter()
        wire.assemble(trace)
        return 1000 * (time.perf_counter() - start)

    measured = _median(took() for _ in range(ROUNDS))
    return Row(f"rows of {calls:,} calls to columns", measured, "ms")


def _drawn(page: Page, file: Path) -> float:
    page.goto(file.as_uri())
    drawn: float = page.evaluate("globalThis.drawn")
    return drawn


def _explored(page: Page) -> list[Row]:
    """Navigate the long run: folded, then with each call."""
    view = View(page)
    what = f"view of {LONG:,} calls"
    smooth = Goal(17.5, unit="ms")

    def frames(name: str, step: str) -> Row:
        times = view.tree.evaluate(FRAME_TIMES, [FRAMES, step])
        return Row(f"{what}, {name}", _median(times), "ms", goal=smooth)

    rows = [
        frames("a frame while panned", "pan"),
        frames("a frame while zoomed", "zoom"),
        Row(f"{what}, filtered", _after(view, "input", ">500us"), "ms"),
    ]
    _after(view, "input", "")
    rows.append(Row(f"{what}, a loop unfolded", _unfolded(view), "ms"))
    rows.append(frames("a frame while scrolled, one by one", "scroll"))
    elements = view.element.locator("*").count()
    return [*rows, Row(f"{what}, elements", elements, "", goal=Goal(1500, unit=" "))]


def _after(view: View, event: str, value: str | None = None) -> float:
    element = view.filter if event == "input" else view.tree
    handle = element.element_handle()
    took: float = view.tree.page.evaluate(AFTER, [handle, event, value])
    return took


def _unfolded(view: View) -> float:
    """Unfold the calls of the largest loop, one by one."""
    view.row("embedder").first.click()
    return _after(view, "ArrowRight")


def _median(times: Iterator[float] | list[float]) -> float:
    return statistics.median(list(times))
