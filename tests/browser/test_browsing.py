"""Specification of browsing a long run: the kernel is free, and the last call is shown."""

import re

import pytest

from .conftest import lab_of, page_of
from .lab import Lab
from .notebook7 import Notebook7
from .test_connection import LOOP, START
from .test_identity import DOUBLE
from .view import View

pytestmark = pytest.mark.browser

BIG = """server = blsnb.server()
big = blsnb.infer('loop', {'X': [100_000]})"""
KEEP = "blsnb.options.keep_calls = 100_100"
HELD_MS = 3000
REPEAT_MS = 33
HOLD = """async ([held, repeat]) => {
    const all = [...document.querySelectorAll(".blsnb-view")];
    const root = all.at(-1).shadowRoot;
    const tree = root.querySelector("[role=tree]");
    tree.focus();
    const press = () => tree.dispatchEvent(
        new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true, composed: true}));
    const began = performance.now();
    let late = 0, presses = 0;
    while (performance.now() - began < held) {
        const at = performance.now();
        press();
        presses += 1;
        late = Math.max(late, performance.now() - at);
        await new Promise((go) => setTimeout(go, Math.max(0, repeat - (performance.now() - at))));
    }
    const released = performance.now();
    const inspector = root.querySelector(".inspector");
    while (!inspector.querySelector(".tensors .tensor, .lacks") && performance.now() - released < 20000)
        await new Promise((go) => requestAnimationFrame(go));
    return [performance.now() - released, late, presses, inspector.textContent.slice(0, 300)];
}"""


@pytest.mark.parametrize("host", [Lab, Notebook7])
@pytest.mark.parametrize("keep", [KEEP, ""])
def test_measure(browser, lab_server, host, keep):
    with page_of(browser) as page, lab_of(page, lab_server, host) as lab:
        lab.write("browsing.ipynb", START + "\n" + keep, DOUBLE, LOOP, BIG, "import time; print(time.time())")
        lab.open("browsing.ipynb")
        for cell in range(4):
            lab.run_cell(cell)
        view = View(lab.cell(3))
        view.row("double").click()
        view.tree.press("ArrowRight")
        for _ in range(2):
            print(page.evaluate(HOLD, [HELD_MS, REPEAT_MS]))
        began = page.evaluate("Date.now() / 1000")
        page.evaluate(HOLD.replace("while (!insp", "while (false && !insp"), [HELD_MS, REPEAT_MS])
        began = page.evaluate("Date.now() / 1000")
        lab.run_cell(4)
        print(float(lab.cell(4).locator(".jp-OutputArea-output").inner_text()) - began)
