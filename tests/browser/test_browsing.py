"""Specification of browsing a long run: the last call is shown, the kernel is free."""

import pytest

from .conftest import lab_of, page_of
from .lab import Lab
from .notebook7 import Notebook7
from .test_connection import LOOP, START
from .test_identity import DOUBLE
from .view import View

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

LONG = "blsnb.infer('loop', {'X': [100_000]})"
KEEP = "\nblsnb.options.keep_calls = 100_100"
NEXT = "import time\nprint(time.time())"
HELD_MS, REPEAT_MS = 3000, 33
MAX_MS = 100
SLACK = 4
"""Tolerance for a machine with other work; alone, both goals are met (70 to 95 ms)."""
TRIES = 3
"""Such a machine may also pause for longer: one of several tries counts."""
_HOLD = """async ([held, repeat]) => {
    const root = [...document.querySelectorAll(".blsnb-view")].at(-1).shadowRoot;
    const tree = root.querySelector("[role=tree]");
    const inspector = root.querySelector(".inspector");
    tree.focus();
    const down = {key: "ArrowDown", bubbles: true, composed: true};
    const rest = (ms) => new Promise((go) => setTimeout(go, ms));
    const frame = () => new Promise((go) => requestAnimationFrame(go));
    const began = performance.now();
    for (let at = began; at - began < held; at = performance.now()) {
        tree.dispatchEvent(new KeyboardEvent("keydown", down));
        await rest(Math.max(0, repeat - (performance.now() - at)));
    }
    const released = performance.now();
    const isShown = () => inspector.querySelector(".tensors .tensor, .tensors .lacks");
    while (!isShown() && performance.now() - released < 20_000) await frame();
    return [performance.now() - released, inspector.textContent];
}"""


@pytest.mark.parametrize("host", [Lab, Notebook7])
def test_a_held_key_ends_at_tensors_and_the_next_cell_starts_at_once(
    browser, lab_server, host
):
    """The run has 100,000 kept calls."""
    with page_of(browser) as page, lab_of(page, lab_server, host) as lab:
        lab.write("browsing.ipynb", START + KEEP, DOUBLE, LOOP, LONG, NEXT)
        lab.open("browsing.ipynb")
        for cell in range(4):
            lab.run_cell(cell)
        view = View(lab.cell(3))
        view.row("double").click()
        view.tree.press("ArrowRight")
        # The first calls are embedded: hold the key until others are selected.
        page.evaluate(_HOLD, [HELD_MS, REPEAT_MS])
        for _ in range(TRIES):
            shown_ms, text = page.evaluate(_HOLD, [HELD_MS, REPEAT_MS])
            pressed = page.evaluate("Date.now() / 1000")
            lab.run_cell(4)
            output = lab.cell(4).locator(".jp-OutputArea-output")
            started_ms = (float(output.inner_text()) - pressed) * 1000
            if max(shown_ms, started_ms) < SLACK * MAX_MS:
                break

    assert max(shown_ms, started_ms) < SLACK * MAX_MS, (shown_ms, started_ms)
    assert "Outputs" in text
