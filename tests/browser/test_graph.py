"""Specification of the call graph: what boxes and edges say without being read."""

import re

import pytest
from asserting import every, some
from playwright.sync_api import expect
from views import samples

from blsnb.trace.events import CallFlag
from blsnb.views.documents import document
from blsnb.views.format import TIMES

from .view import View

pytestmark = pytest.mark.browser

DASHES = """(group) => [...group.querySelectorAll(".edge path")]
    .map((path) => getComputedStyle(path).strokeDasharray)"""
ON_SCREEN = """(text) => parseFloat(getComputedStyle(text).fontSize)
    * text.getScreenCTM().a"""


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


def pipeline(*models):
    """Return a script with a request to a model that may call these."""
    script = samples.Script()
    for name in ("pipeline", *models):
        script.model(name)
    script.call(None, "pipeline", 0, 5, 5, 90_000, 5)
    return script


def edge_labels(view):
    return view.graph.locator(".edge text")


def test_edges_of_calls_async_calls_and_streams_differ(show):
    """Solid, dashed, dotted; a number of calls, or of responses."""
    script = pipeline("plain", "later", "tokens")
    root = script.calls[0]
    for k in range(12):
        script.call(root, "later", 200 + 100 * k, 5, 5, 40, 5, CallFlag.ASYNC)
    script.call(root, "plain", 100, 5, 5, 50, 5)
    samples._stream(script.call(root, "tokens", 5000, 5, 5, 900, 5, CallFlag.DECOUPLED))
    view = show(script)

    expect(edge_labels(view)).to_have_text([f"{TIMES}12", "46 resp"])
    assert ["none", "5px, 3px", "1.5px, 3px"] == view.graph.evaluate(DASHES)
    legend = view.element.locator(".edges > span:not(.legend)")
    expect(legend).to_have_text(["call", "async", "stream"])


def test_few_failures_among_many_do_not_paint_the_graph(show):
    """Their number is shown; up to a twentieth of the calls is few."""
    script = pipeline("mostly_fine", "failing")
    for k in range(20):
        for model, failures in (("mostly_fine", 1), ("failing", 2)):
            call = script.call(script.calls[0], model, 100 + 900 * k, 5, 5, 90, 5)
            if k < failures:
                samples.fail(call, "refused")
    view = show(script)

    expect(view.box("mostly_fine")).to_contain_text("⚠ 1")
    expect(view.box("mostly_fine")).not_to_have_class(re.compile("failing"))
    expect(view.box("failing")).to_have_class(re.compile("failing"))
    expect(view.graph.locator(".edge.failing")).to_have_count(1)


def test_recursion_is_a_loop_above_the_box_and_within_the_pane(show):
    """Its label covers neither another label nor the box."""
    script = pipeline("reader")
    for k in range(3):
        call = script.call(script.calls[0], "reader", 100 + 900 * k, 5, 5, 500, 5)
        script.call(call, "reader", 200 + 900 * k, 5, 5, 90, 5)
    script.call(script.calls[0], "pipeline", 9000, 5, 5, 90, 5)
    script.call(script.calls[0], "pipeline", 9900, 5, 5, 90, 5)
    view = show(script)

    pane = view.graph.bounding_box()
    labels = [each.bounding_box() for each in edge_labels(view).all()]
    assert 3 == len(labels)
    assert every(label["y"] > pane["y"] for label in labels)
    for number, one in some(enumerate(labels)):
        for other in labels[number + 1 :]:
            beside = one["x"] + one["width"] <= other["x"]
            beside = beside or other["x"] + other["width"] <= one["x"]
            assert beside or abs(one["y"] - other["y"]) >= one["height"] - 2


def test_more_than_sixty_models_share_a_box_that_lists_the_small_ones(show, page):
    """Under the pointer it means their rows; a click leads to each of them."""
    names = [f"model_{k:02d}" for k in range(70)]
    script = pipeline(*names)
    for k, name in enumerate(names):
        script.call(script.calls[0], name, 100 + 1000 * k, 5, 5, 900 - 10 * k, 5)
    view = show(script)
    others = view.graph.get_by_role("button", name="+31 models")
    others.hover()
    expect(view.row("model_00")).to_have_class(re.compile("dim"))
    others.click()
    page.mouse.move(0, 0)
    expect(others).to_have_attribute("aria-pressed", "true")
    expect(view.subject).to_have_text("31 models")
    links = view.inspector.get_by_role("button")
    expect(links).to_have_count(31)
    expect(links.first).to_have_text(re.compile(r"^model_39"))
    links.last.click()

    expect(view.subject).to_have_text("model_69")
    expect(view.selected_rows).to_have_text(["model_69"])
    expect(others).to_have_attribute("aria-pressed", "true")


def test_a_small_graph_shows_only_names_and_larger(show):
    """The names of fourteen models in a row are readable."""
    script = samples.Script()
    caller = None
    for k in range(14):
        script.model(f"stage_{k}")
        caller = script.call(caller, f"stage_{k}", 30 * k, 5, 5, 200 * (14 - k), 5)
    view = show(script)
    box = view.box("stage_3")
    # From left to right they are larger than from top to bottom.
    assert box.bounding_box()["y"] == view.box("stage_13").bounding_box()["y"]

    expect(box.locator(".second").first).to_be_hidden()
    name = box.locator(".name")
    assert name.evaluate(ON_SCREEN) > 6.5
    inside, frame = name.bounding_box(), box.locator(".frame").bounding_box()
    assert inside["x"] >= frame["x"]
    assert inside["x"] + inside["width"] <= frame["x"] + frame["width"]


def test_the_graph_is_zoomed_dragged_and_fitted_again(show, page):
    """The plain wheel belongs to the page here, too."""
    script = pipeline("reader")
    script.call(script.calls[0], "reader", 100, 5, 5, 50, 5)
    view = show(script)
    box = view.box("reader")
    before = box.bounding_box()
    page.mouse.move(before["x"] - 60, before["y"] + 10)
    page.mouse.wheel(0, 50)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    larger = box.bounding_box()
    assert larger["width"] == pytest.approx(before["width"] * 1.49, rel=0.05)
    page.mouse.down()
    page.mouse.move(before["x"] - 100, before["y"] + 30)
    page.mouse.up()
    moved = box.bounding_box()
    assert (larger["x"] - 40, larger["y"] + 20) == (
        pytest.approx(moved["x"], abs=1.5),
        pytest.approx(moved["y"], abs=1.5),
    )
    view.element.get_by_role("button", name="zoom the graph out").click()
    assert box.bounding_box()["width"] < moved["width"]
    view.element.get_by_role("button", name="the graph into its pane").click()

    assert before == pytest.approx(box.bounding_box(), abs=1.5)


def test_the_legend_has_the_kinds_of_edges_and_leaves_room_for_the_buttons(show, page):
    """A narrow pane explains the phases there, too."""
    script = pipeline("later")
    for k in range(2):
        script.call(script.calls[0], "later", 100 + k, 5, 5, 40, 5, CallFlag.ASYNC)
    view = show(script)
    legend = view.element.locator(".edges")
    expect(legend).to_have_text("async", use_inner_text=True)
    page.set_viewport_size({"width": 720, "height": 800})
    expect(legend).to_contain_text("output", use_inner_text=True)

    # The graph is laid out anew once the page has told its width.
    page.evaluate("new Promise((r) => requestAnimationFrame(() => setTimeout(r)))")
    words = legend.get_by_text("output").bounding_box()
    buttons = view.element.locator(".zoom").bounding_box()
    assert words["x"] + words["width"] <= buttons["x"]
    box = view.box("later").bounding_box()
    assert box["y"] + box["height"] <= legend.bounding_box()["y"]
