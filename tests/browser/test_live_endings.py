"""Specification of live views where a stop, a death or a scroll comes between."""

import re

import pytest
from playwright.sync_api import expect
from waiting import until

from .lab import IDLE
from .test_live import (
    CELL,
    ENDED,
    INFER,
    KEPT,
    STEP,
    TENS_OF_CALLS,
    WALK,
)
from .view import View

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(180)]

STROLL = WALK.replace("triton_model walk", "triton_model stroll")
BOTH = """import threading
import blsnb
x = [[[1.0]]]
threads = [threading.Thread(target=blsnb.infer, args=(name, {"X": x}))
           for name in ("walk", "stroll")]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
STUBBORN = (
    WALK.partition("class ")[0]
    + """
class TritonPythonModel:
    def execute(self, requests):
        while not Path("enough").exists():
            try:
                time.sleep(0.05)
                pb_utils.InferenceRequest(
                    model_name="step", requested_output_names=["Y"],
                    inputs=requests[0].inputs()).exec()
            except BaseException:
                pass
"""
)
RUNNING = "print(blsnb.server().model('walk').running, 6 * 7)"
STOP = '.jp-Toolbar-item[data-jp-item-name="interrupt"]'
MORTAL = STEP.replace("    def execute", "    count = 0\n\n    def execute").replace(
    "        x = ",
    "        import os\n        self.count += 1\n"
    "        if self.count == 40: os._exit(1)\n        x = ",
)
LONG = ["\n".join(f"# Line {line}\n" for line in range(60))] * 3
SCROLL_TO = """index => jupyterapp.shell.currentWidget.content
    .scrollToItem(index, "start")"""
IS_OUT = """() => document.querySelector(".blsnb-run")
    .getBoundingClientRect().bottom < 0"""


@pytest.fixture
def opened(lab):
    """Open a notebook with these cells and start to run them."""
    files = []

    def open_(*cells):
        notebook = lab.write("endings.ipynb", "%load_ext blsnb", *cells)
        files.append(notebook.with_name("enough"))
        files[0].unlink(missing_ok=True)
        lab.open("endings.ipynb")
        lab.start()
        return files[0]

    yield open_
    for file in files:
        file.touch()


def test_the_stop_button_leaves_what_had_happened(opened, lab):
    """The run is shown as cancelled, with its error, and the view stays."""
    opened(STEP, WALK, INFER)
    view = View(lab.cell(CELL))
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)
    lab.command("notebook:interrupt-kernel")

    expect(view.element).to_contain_text("cancelled")
    expect(lab.cell(CELL)).to_contain_text("KeyboardInterrupt")
    lab.wait_for(ENDED)
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)
    expect(view.inspector).to_contain_text("interrupted")


def test_the_toolbars_stop_button_ends_a_model_that_swallows_it(opened, lab):
    """It is pressed twice; the view shows the end, and the next cell runs."""
    opened(STEP, STUBBORN, INFER, RUNNING)
    view = View(lab.cell(CELL))
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)
    stop = lab.page.locator(STOP)
    stop.click()
    stop.click()

    expect(view.element).to_contain_text("cancelled")
    expect(lab.cell(CELL)).to_contain_text("KeyboardInterrupt")
    lab.wait_for(ENDED)
    expect(view.inspector).to_contain_text("interrupted")
    after = lab.cell(CELL + 1)
    # Jupyter drops cells that it receives shortly after an error.
    lab.wait_for(IDLE)

    def has_run() -> bool:
        lab.command("notebook:run-cell")
        return "() 42" in (after.text_content() or "")

    assert until(has_run)


def test_a_view_of_a_dead_kernel_says_that_the_kernel_is_gone(opened, lab):
    """The calls received so far stay."""
    opened(MORTAL, WALK, INFER)
    view = View(lab.cell(CELL))
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)

    expect(view.element).to_contain_text("the kernel is gone")
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)


def test_runs_of_worker_threads_are_live_at_once(opened, lab):
    """The main thread is blocked; each ends as its own document."""
    enough = opened(STEP, WALK, STROLL, BOTH)
    cell = lab.cell(4)
    views = cell.locator(".blsnb-view")
    expect(views).to_have_count(2)
    for view in views.all():
        expect(view.get_by_role("tree")).to_contain_text(TENS_OF_CALLS)
    enough.touch()
    lab.wait_until_run()

    for view in views.all():
        expect(view).not_to_contain_text("running")
    for model in ("walk", "stroll"):
        expect(View(cell).box(model)).to_have_count(1)


def test_an_output_beside_the_notebook_is_live_too(opened, lab):
    """Each of the two stays in place when the output is replaced."""
    enough = opened(STEP, WALK, INFER)
    view = View(lab.cell(CELL))
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)
    lab.command("notebook:create-output-view")
    views = lab.page.locator(".blsnb-view")
    expect(views).to_have_count(2)
    for each in views.all():
        expect(each.get_by_role("tree")).to_contain_text(TENS_OF_CALLS)
        expect(each).to_contain_text("running")
    enough.touch()

    for each in views.all():
        expect(each).not_to_contain_text("running")
    expect(views).to_have_count(2)


def test_a_run_that_ends_out_of_view_is_complete_when_it_is_shown_again(opened, lab):
    """JupyterLab neither lays out nor paints cells that are scrolled away."""
    enough = opened(STEP, WALK, INFER, *LONG)
    view = View(lab.cell(CELL))
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)
    view.row("step").click()
    lab.page.evaluate(SCROLL_TO, CELL + 3)
    lab.wait_for(IS_OUT)
    lab.wait_for(KEPT)
    enough.touch()
    lab.wait_until_run()
    lab.wait_for(ENDED)
    view = View(lab.cell(CELL))

    expect(view.element).to_have_count(1)
    expect(view.element).not_to_contain_text("running")
    expect(view.row("step")).to_contain_text(re.compile(TENS_OF_CALLS))
    expect(view.subject).to_have_text("step")
