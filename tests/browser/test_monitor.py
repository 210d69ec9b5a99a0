"""Specification of the server's live view in a page."""

import re

import pytest
from playwright.sync_api import expect

from blsnb.views.live.monitor_view import CODE
from blsnb.views.live.overview import ModelRow, Overview

from .axe import violations
from .lab import IDLE

pytestmark = pytest.mark.browser

MODEL = """%%triton_model {name} --input X:FP32[-1] --output Y:FP32[-1] --quiet
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        {line}
        x = requests[0].inputs()[0].as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x * 2)])]
"""
LOAD = "%load_ext blsnb"
DOUBLE = MODEL.format(name="double", line="")
FAILING = MODEL.format(name="failing", line='raise ValueError("no")')
GONE = DOUBLE.replace("triton_model double", "triton_model gone")
# On a thread, until the tests have seen enough.
CLIENT = """import threading, time
import blsnb
blsnb.options.show = False
server = blsnb.server()
def ask():
    while True:
        time.sleep(0.01)
        server.infer("double", {"X": [1.0]})
        try:
            server.infer("failing", {"X": [1.0]})
        except blsnb.InferenceError:
            pass
client = threading.Thread(target=ask, daemon=True)
client.start()
"""
MONITOR = "%triton monitor"
# The same as the bar of a bench: the kernel answers nothing as long as it runs.
BUSY = """from pathlib import Path
while not Path("enough").exists():
    time.sleep(0.01)
"""
CLOSE = "server.monitor().close()"
CELLS = [LOAD, DOUBLE, FAILING, GONE, "%triton unload gone", CLIENT, MONITOR]
SHOWN, OCCUPIED, CLOSED = range(6, 9)
# The notebook's own copy has been given newer numbers than those of its beginning.
KEPT = f"""() => /[1-9][\\d,]* requests|, [1-9][\\d.,]* requests/.test(
    jupyterapp.shell.currentWidget.content.widgets[{SHOWN}].model.outputs.get(0)
        .data["text/plain"])"""
UNKNOWN = "\N{EN DASH}"
SEVERAL = re.compile(r"^[1-9][\d,]*$")


class Board:
    """The live view, found by roles and names."""

    def __init__(self, inside):
        self.element = inside.locator(".blsnb-monitor")
        self.models = self.element.get_by_role("region", name="Models")

    def row(self, model):
        return self.models.get_by_role("row", name=re.compile(rf"^{model}\b"))

    def cell(self, model, column):
        return self.row(model).locator(f".of-{column}")

    def head(self, column):
        return self.models.get_by_role("columnheader", name=column, exact=True)

    def names(self):
        return self.models.locator("tbody .name").all_text_contents()


@pytest.fixture(scope="module")
def notebook(module_lab):
    """A notebook whose models receive requests as long as its kernel lives."""
    file = module_lab.write("monitor.ipynb", *CELLS, BUSY, CLOSE)
    file.with_name("enough").unlink(missing_ok=True)
    module_lab.open("monitor.ipynb")
    for cell in range(SHOWN):
        module_lab.run_cell(cell)
    return module_lab


@pytest.fixture
def live(notebook):
    """The notebook with a live view, shown anew."""
    notebook.run_cell(SHOWN)
    return notebook


def moves(locator):
    """Wait until a text is another one."""
    before = locator.text_content()
    expect(locator).not_to_have_text(before)


def test_numbers_move_while_requests_are_made(live):
    """Server and models show rates and errors."""
    board = Board(live.cell(SHOWN))
    expect(board.element).to_contain_text("live")
    expect(board.cell("double", "state")).to_have_text("READY")
    expect(board.cell("double", "requests")).to_have_text(SEVERAL)
    expect(board.cell("double", "per_second")).to_have_text(re.compile("[1-9]"))
    expect(board.cell("double", "p95_us")).to_have_text(re.compile(r"\d (µs|ms)"))
    expect(board.cell("failing", "failed")).to_have_text(re.compile("^▲ [1-9]"))
    expect(board.cell("failing", "p50_us")).to_have_text(UNKNOWN)
    moves(board.cell("double", "requests"))
    moves(board.cell("failing", "failed"))


def test_numbers_move_while_a_cell_runs(live):
    """A cell that measures is an example."""
    board = Board(live.cell(SHOWN))
    expect(board.cell("double", "requests")).to_have_text(SEVERAL)
    prompt = live.cell(OCCUPIED).locator(".jp-InputPrompt").first
    live.page.evaluate("void jupyterapp.commands.execute('notebook:run-cell')")
    expect(prompt).to_contain_text("[*]")
    live.cell(SHOWN)
    moves(board.cell("double", "requests"))
    expect(board.element).to_contain_text("live")
    moves(board.cell("double", "requests"))
    expect(prompt).to_contain_text("[*]")
    (live.server.notebooks / "enough").touch()
    live.wait_for(IDLE)


def test_a_closed_monitor_becomes_a_table(live):
    """A saved notebook shows the same table."""
    live.run_cell(CLOSED)
    shown = live.cell(SHOWN)

    expect(shown.locator("table")).to_contain_text("double")
    expect(shown.locator(".blsnb-monitor")).to_have_count(0)


def served(board):
    """Return the models that have had requests, in the order of their rows."""
    return [name for name in board.names() if name != "gone"]


def test_models_are_ordered_by_keyboard_and_no_cell_is_deleted(live):
    """The head of a column is a button; JupyterLab's shortcuts do not reach it."""
    board = Board(live.cell(SHOWN))
    expect(board.cell("failing", "failed")).to_have_text(re.compile("^▲ [1-9]"))
    count = live.cell_count
    board.head("failed").get_by_role("button").focus()
    live.page.keyboard.press("Enter")
    expect(board.head("failed")).to_have_attribute("aria-sort", "descending")
    assert ["failing", "double"] == served(board)
    live.page.keyboard.press("Enter")
    expect(board.head("failed")).to_have_attribute("aria-sort", "ascending")
    assert ["double", "failing"] == served(board)
    for key in ("d", "d", "x"):
        live.page.keyboard.press(key)

    assert count == live.cell_count


def test_no_rule_of_wcag_is_broken(live, axe):
    """Ready, failed and removed models are checked, in light and dark."""
    board = Board(live.cell(SHOWN))
    expect(board.cell("gone", "state")).to_contain_text("unloaded")
    expect(board.cell("failing", "failed")).to_have_text(re.compile("^▲ [1-9]"))
    for theme in ("Dark", "Light"):
        live.theme(theme)
        expect(board.element.locator(".view")).to_have_attribute(
            "data-theme", theme.lower()
        )
        assert [] == violations(live.page, axe, ".blsnb-monitor")


def test_saved_while_it_is_live_it_is_a_table_with_the_numbers_of_then(live):
    """A later reader has neither kernel nor widget."""
    expect(Board(live.cell(SHOWN)).cell("double", "requests")).to_have_text(SEVERAL)
    live.wait_for(KEPT)
    expect(Board(live.cell(SHOWN)).element).to_have_count(1)
    live.save()
    path = live.server.notebooks / "monitor.ipynb"
    live.put("reopened.ipynb", path.read_text(encoding="utf-8"))
    live.open_without_kernel("reopened.ipynb")
    shown = live.cell(SHOWN)

    assert not live.has_kernel
    expect(shown.get_by_role("row", name=re.compile("^double 1 READY"))).to_be_visible()
    expect(shown.get_by_role("cell", name=SEVERAL).first).to_be_visible()
    expect(shown).not_to_contain_text("model not found")


HOSTILE = "<img src=x onerror=document.title='ran'></script>\u202e"
ODD = Overview(
    2,
    1234.5,
    (
        ModelRow("double", 1, "READY", "", 1, 2, 3, 1234.5, 98.0, 2400.0, 56789),
        ModelRow(HOSTILE, 1, "READY", HOSTILE, 0, 1, 0, 1.0, 1.0, 1.0, 9, 9, 9),
        ModelRow("gone" * 20, 2, "UNAVAILABLE", "unloaded"),
        ModelRow("broken", 1, "UNAVAILABLE", "Internal: No module\nand more"),
    ),
    (1.0, 5.0, 3.0),
)
# What anywidget does with the code, on a page without a kernel.
SHOW = """async ([code, overview]) => {
    const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
    const { default: widget } = await import(url);
    const heard = {}, sent = [];
    const model = {
        get: () => overview,
        send: (said) => sent.push(said.type),
        on: (event, call) => { heard[event] = call; },
        off: (event) => { delete heard[event]; },
    };
    globalThis.show = (next) => { overview = next; heard["change:overview"](); };
    globalThis.sent = sent;
    globalThis.heard = heard;
    globalThis.end = widget.render({ model, el: document.body });
}"""


@pytest.fixture
def board(page, tmp_path):
    """The view on a page of its own, with models of unusual names."""
    blank = tmp_path / "blank.html"
    blank.write_text('<!doctype html><html lang="en"><title>blank</title><body>')
    page.goto(blank.as_uri())
    code = CODE.read_text(encoding="utf-8")
    page.evaluate(SHOW, [code, ODD.wire()])
    return Board(page.locator("body"))


def test_hostile_names_stay_text(board, page):
    """Nothing runs, nothing is fetched, nothing is hidden."""
    expect(board.models).to_contain_text("<img src=x onerror=document.title='ran'>")
    expect(board.models).to_contain_text("⟨U+202E⟩")
    assert 0 == board.element.locator("img, script").count()
    assert "blank" == page.title()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_narrow_page_breaks_no_rule_either(board, page, axe, theme):
    """At 500 pixels, with unusual values, light and dark."""
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": 500, "height": 800})
    expect(board.element.locator(".view")).to_have_attribute("data-theme", theme)

    assert [] == violations(page, axe, ".blsnb-monitor")
    width = "document.documentElement.scrollWidth"
    assert 500 >= page.evaluate(width)


def test_it_shows_whether_the_numbers_are_current(board, page):
    """It distinguishes outdated, live and closed."""
    expect(board.element).to_contain_text("no news since")
    page.evaluate("each => show(each)", ODD._replace(looks=2).wire())
    expect(board.element).to_contain_text("live")
    page.evaluate("each => show(each)", ODD._replace(ended=True).wire())
    expect(board.element).to_contain_text("closed")


def test_it_reports_that_it_is_watched_and_removes_everything_when_closed(board, page):
    """Python's thread rests when it hears nothing."""
    assert ["watching"] == page.evaluate("sent")
    page.evaluate("end()")

    expect(board.element).to_have_count(0)
    assert [] == page.evaluate("Object.keys(heard)")


def test_failures_of_long_ago_do_not_alarm(board, page):
    """Those of the last seconds do."""
    failed = board.element.locator(".figure").filter(has_text="failed")
    expect(failed).to_have_class(re.compile("failing"))
    calm = [each._replace(failed_lately=0) for each in ODD.rows]
    page.evaluate("each => show(each)", ODD._replace(rows=calm).wire())

    expect(failed).not_to_have_class(re.compile("failing"))
    expect(failed).to_contain_text("9")


def test_a_row_that_stays_is_the_same_element(board, page):
    """Selected text stays selected; a new row is in its place."""
    row = board.row("double").element_handle()
    more = (*ODD.rows, ModelRow("another", 1, "READY"))
    page.evaluate("each => show(each)", ODD._replace(rows=more).wire())
    expect(board.row("another")).to_have_count(1)

    assert row.evaluate("each => each.isConnected")
    assert ["another", "broken", "double"] == board.names()[1:4]


def test_a_server_without_models_has_a_note(board, page):
    """A server is empty at first."""
    expect(board.element.get_by_text("There are no models yet.")).to_be_hidden()
    page.evaluate("each => show(each)", ODD._replace(rows=()).wire())

    expect(board.element.get_by_text("There are no models yet.")).to_be_visible()
