"""Specification of the inspector: texts keep their lines, and lists their order."""

import re

import numpy as np
import pytest
from asserting import some
from playwright.sync_api import expect
from views import samples

from blsnb.trace.events import LogLine
from blsnb.views.documents import document
from blsnb.views.format import TIMES

from .view import View

pytestmark = pytest.mark.browser

LINES = "of another shape:\n  expected [3]\n  actual   [2]\nReshape it."


@pytest.fixture
def show(page, tmp_path):
    """Open a run as a file, the way a saved page is read."""

    def shown(script):
        file = tmp_path / "run.html"
        file.write_text(document.page(script.trace()), encoding="utf-8")
        page.goto(file.as_uri())
        view = View(page)
        view.rows.first.wait_for()
        return view

    return shown


@pytest.fixture
def script():
    """A run of a model that calls another one."""
    script = samples.Script()
    script.model("pipeline")
    script.model("reader")
    script.call(None, "pipeline", 0, 5, 5, 900, 5)
    script.call(script.calls[0], "reader", 100, 5, 5, 90, 5)
    return script


def test_notes_and_errors_keep_their_lines(show, script, page):
    """Tables in plain text stay aligned."""
    script.calls[1].notes = [LINES]
    samples.fail(script.calls[1], LINES)
    view = show(script)
    view.row("reader").click()

    assert LINES == view.inspector.locator(".note").inner_text()
    assert LINES == view.inspector.get_by_role("note").locator(".code").inner_text()
    box = view.rows.nth(1).bounding_box()
    page.mouse.move(box["x"] + 290, box["y"] + 11)
    tip = view.element.get_by_role("tooltip")
    assert tip.inner_text().endswith(LINES)


def test_logged_errors_stand_in_line_with_other_lines(show, script):
    """A line has a time, a level and a text, each below that of the line before."""
    levels = ["PRINT", "INFO", "WARNING", "ERROR", "VERBOSE"]
    start = script.calls[0].request_start_ns
    script.calls[0].logs = [LogLine(start, level, "x = 3\ny = 4") for level in levels]
    view = show(script)

    lines = view.inspector.get_by_role("group", name="Log lines").locator("> div")
    places = {
        tuple(
            round(part.bounding_box()["x"], 1) for part in line.locator("> span").all()
        )
        for line in lines.all()
    }
    assert 1 == len(places)
    assert levels == [line.locator(".level").inner_text() for line in lines.all()]
    assert "x = 3\ny = 4" == lines.first.locator("> span").last.inner_text()


def test_few_values_are_numbers_on_the_colours_of_the_heatmap(show, script):
    """A vector is wrapped; the tooltip has a rounded number in full."""
    long = 0.12345678901234567
    script.calls[0].outputs = (
        samples.tensor("SUMS", "FP64", np.array([1, 2, 3, 4, 5, 6, long, np.nan])),
    )
    view = show(script)
    cells = view.inspector.get_by_role("group", name=f"SUMS, 1 {TIMES} 8").locator(
        "span"
    )
    expect(cells).to_have_text(
        ["1.0", "2.0", "3.0", "4.0", "5.0", "6.0", "0.12346", "nan"]
    )

    expect(cells.nth(6)).to_have_attribute("title", f"[6] {long}")
    assert cells.nth(6).bounding_box()["y"] > cells.nth(5).bounding_box()["y"]
    expect(view.picture("SUMS")).to_have_count(0)
    expect(cells.nth(5)).to_have_css("background-color", "rgb(254, 232, 56)")
    expect(cells.nth(5)).to_have_css("color", "rgb(0, 0, 0)")


def test_a_table_with_more_numbers_is_drawn_no_higher_than_it_needs(show, script):
    """Its scale shows the numbers of the colours."""
    values = np.arange(100.0).reshape(2, 50)
    script.calls[0].outputs = (samples.tensor("WIDE", "FP32", values),)
    view = show(script)

    expect(view.inspector.get_by_role("group", name="WIDE")).to_have_count(0)
    picture = view.picture(f"WIDE, 2 {TIMES} 50")
    assert 30 < picture.bounding_box()["height"] < 60
    expect(view.inspector.locator(".scale")).to_be_visible()
    expect(view.inspector.locator(".slice")).to_contain_text(f"2 {TIMES} 500 … 99")


def test_calls_of_one_batch_are_marked_in_the_timeline(show, script):
    """They belong to the selected call; the filter finds all batched calls."""
    script.model("encoder")
    for k, (execution, batch) in enumerate([(2, 3), (2, 3), (3, 1), (2, 3)]):
        call = script.call(script.calls[0], "encoder", 200 + k, 5, 5, 90, 5)
        call.execution, call.batch = execution, batch
    view = show(script)
    view.row("encoder").locator(".triangle").click()
    view.rows.filter(has_text="encodercall 2").click()
    mates = view.tree.locator(".row.mate")
    expect(mates).to_have_text(["encodercall 2", "encodercall 3", "encodercall 5"])
    view.rows.filter(has_text="encodercall 4").click()
    expect(mates).to_have_count(0)

    view.filter.fill("batched")
    alone = view.rows.filter(has_text="encodercall 4")
    expect(alone).to_have_class(re.compile("dim"))
    batched = view.rows.filter(has_text="encodercall 5")
    expect(batched).not_to_have_class(re.compile("dim"))


def test_a_page_without_a_kernel_explains_its_disabled_sliders(show, script):
    """A tensor with one slice has no such text."""
    script.calls[0].outputs = (
        samples.tensor("MANY", "FP32", samples.noise((2, 16, 16))),
        samples.tensor("ONE", "FP32", samples.noise((1, 16, 16))),
    )
    view = show(script)

    expect(view.slider(0)).to_be_disabled()
    expect(view.inspector).to_contain_text("run.widget() can show them")
    view.tensor("MANY").click()
    view.tensor("ONE").click()
    expect(view.picture("ONE")).to_be_visible()
    expect(view.inspector).not_to_contain_text("run.widget()")


def test_a_tensor_without_elements_has_a_note_and_is_not_opened_first(show, script):
    """An input is open if no output has values."""
    script.calls[0].inputs = (samples.tensor("PAGE", "FP32", [1, 2, 3]),)
    script.calls[0].outputs = (
        samples.strings("LINES"),
        samples.tensor("BOXES", "FP32", np.zeros((0, 4))),
    )
    view = show(script)
    expect(view.tensor("PAGE")).to_have_attribute("aria-expanded", "true")
    view.tensor("PAGE").click()
    view.tensor("LINES").click()
    view.tensor("BOXES").click()

    details = view.inspector.locator(".detail")
    expect(details).to_have_text(["It has no elements.", "It has no elements."])


def test_a_slider_reaches_from_the_first_slice_to_the_last(show, script):
    """One for each leading axis; its place is written beside it."""
    values = samples.noise((3, 5, 16, 16))
    script.calls[0].outputs = (samples.tensor("MANY", "FP32", values),)
    view = show(script)

    for axis, last in ((0, "2"), (1, "4")):
        slider = view.slider(axis)
        expect(slider).to_have_attribute("min", "0")
        expect(slider).to_have_attribute("max", last)
        expect(slider).to_have_value("0")
        expect(slider.locator("xpath=..")).to_contain_text(f"0 / {last}")


def test_the_bar_of_phases_has_a_part_for_each_as_wide_as_it_took(show, script):
    """The parts are in order; one is the time in child calls."""
    script.calls[:] = []
    root = script.call(None, "pipeline", 0, 100, 50, 800, 40)
    script.call(root, "reader", 200, 0, 0, 395, 0)
    view = show(script)
    bar = view.inspector.get_by_role("img", name=re.compile("^before the queue"))

    took = {"queue": 100, "input": 50, "infer": 400, "child": 400, "output": 40}
    shown = {
        part.get_attribute("class").removeprefix("back-"): part.bounding_box()["width"]
        for part in bar.locator("i").all()
        if part.get_attribute("class") != "back-fg3"
    }
    assert [*took] == [*shown]
    for part, us in some(took.items()):
        assert shown[part] / shown["infer"] == pytest.approx(us / 400, abs=0.02)
    expect(bar).to_have_attribute(
        "aria-label",
        re.compile("queue 100 µs, compute input 50 µs, compute infer 400 µs"),
    )


SOURCE = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        asked = pb_utils.InferenceRequest(
            model_name="reader",
        )
        return [asked.exec()]
"""


def test_the_source_is_shown_around_the_line_of_the_call(show, script):
    """The caller's, whole statements, without its indentation; the line is marked."""
    script.model("pipeline", source=SOURCE)
    script.calls[:] = []
    root = script.call(None, "pipeline", 0, 5, 5, 900, 5)
    script.call(root, "reader", 100, 5, 5, 90, 5, line=8)
    view = show(script)
    view.row("reader").click()

    source = view.inspector.get_by_role("group", name="Source of the call")
    expect(view.inspector).to_contain_text("Called by pipelinemodel.py:8")
    expect(source.locator("> div")).to_have_text(
        [
            "6asked = pb_utils.InferenceRequest(",
            '7    model_name="reader",',
            "8)",
            "9return [asked.exec()]",
        ]
    )
    expect(source.locator("[aria-current=location] .number")).to_have_text("8")
