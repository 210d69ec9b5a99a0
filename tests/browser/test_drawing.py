"""What a real browser draws: positions, sizes and colours that jsdom cannot compute."""

import base64
import itertools
import re
from xml.etree import ElementTree

import pytest
from asserting import every, some
from playwright.sync_api import expect
from views import samples

from blsnb.views.documents import document

from .view import View

pytestmark = pytest.mark.browser

COLOURS = {"light": {"infer": "1b4f93"}, "dark": {"infer": "4593e0"}}
BAR_COLOURS = """([canvas, rows]) => rows.map(([top, name]) => {
  const ratio = canvas.width / canvas.clientWidth;
  const pen = canvas.getContext("2d");
  const middle = Math.round((top + 11) * ratio);
  const line = pen.getImageData(0, middle, canvas.width, 1).data;
  const found = new Map();
  for (let k = 0; k < line.length; k += 4) {
    const colour = [...line.subarray(k, k + 3)]
      .map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if (line[k + 3] === 255) found.set(colour, (found.get(colour) ?? 0) + 1);
  }
  return [name, Object.fromEntries(found)];
})"""


@pytest.fixture
def show(page, tmp_path):
    """Open a run as a file, as a saved page is read."""

    def shown(trace, scheme="light"):
        page.emulate_media(color_scheme=scheme)
        file = tmp_path / "run.html"
        file.write_text(document.page(trace), encoding="utf-8")
        page.goto(file.as_uri())
        view = View(page)
        view.rows.first.wait_for()
        return view

    return shown


def boxes_of(locator):
    return [each.bounding_box() for each in locator.all()]


def overlap(a, b):
    return (
        a["x"] < b["x"] + b["width"] - 1
        and b["x"] < a["x"] + a["width"] - 1
        and a["y"] < b["y"] + b["height"] - 1
        and b["y"] < a["y"] + a["height"] - 1
    )


def test_boxes_of_the_graph_are_apart_inside_their_pane_and_as_wide_as_their_name(show):
    """No text leaves its box."""
    view = show(samples.invoice_run())
    pane = view.graph.bounding_box()
    frames = boxes_of(view.graph.locator(".box .frame"))
    names = boxes_of(view.graph.locator(".box .name"))

    for k, frame in enumerate(some(frames)):
        assert pane["x"] <= frame["x"]
        assert frame["x"] + frame["width"] <= pane["x"] + pane["width"]
        assert pane["y"] <= frame["y"]
        assert not any(overlap(frame, other) for other in frames[:k])
        assert frame["x"] < names[k]["x"]
        assert names[k]["x"] + names[k]["width"] < frame["x"] + frame["width"]


def test_rows_follow_each_other_and_children_are_indented(show):
    """Each row is 22 pixels high, each level 12 pixels to the right."""
    view = show(samples.invoice_run())
    tops = [box["y"] for box in some(boxes_of(view.rows))]
    names = [
        view.row(name).locator(".name").first
        for name in ("invoice_pipeline", "embedder")
    ]
    left = [name.bounding_box()["x"] for name in names]

    assert every(22 == low - high for high, low in itertools.pairwise(tops))
    assert 24 == round(left[1] - left[0])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_have_the_colours_of_their_phases_and_lengths_of_their_durations(
    show, scheme
):
    """The bar of a call without child calls is mostly its inference."""
    view = show(samples.invoice_run(), scheme)
    canvas = view.tree.locator("canvas.bars")
    wanted = ["decode_image", "text_detector", "layout_model"]
    tops = [
        [view.row(name).bounding_box()["y"] - canvas.bounding_box()["y"], name]
        for name in wanted
    ]
    painted = dict(
        canvas.evaluate(f"(canvas, rows) => ({BAR_COLOURS})([canvas, rows])", tops)
    )
    infer = [painted[name][COLOURS[scheme]["infer"]] for name in wanted]

    # 2.9, 9.8 and 12.4 ms of inference on one axis.
    assert 9.8 / 2.9 == pytest.approx(infer[1] / infer[0], rel=0.1)
    assert 12.4 / 9.8 == pytest.approx(infer[2] / infer[1], rel=0.1)


def test_the_stacked_bar_is_divided_by_the_durations_of_the_phases(show):
    """Its parts are as wide as their share in the table below it."""
    view = show(samples.invoice_run())
    view.row("text_detector").click()
    stack = view.inspector.locator(".stack")
    expect(stack).to_have_attribute("aria-label", re.compile(r"^before the queue"))
    parts = boxes_of(stack.locator("i"))
    shares = [
        float(text.removesuffix(" %"))
        for text in view.inspector.locator(".phases td:last-child").all_inner_texts()
    ]
    whole = sum(part["width"] for part in parts)

    assert len(shares) == len(parts)
    for part, share in some(list(zip(parts, shares, strict=True))):
        assert share == pytest.approx(100 * part["width"] / whole, abs=1.5)


def test_a_slider_ends_with_its_axis_and_is_disabled_without_a_kernel(show):
    """A saved page has one slice of each tensor."""
    view = show(samples.invoice_run())
    view.row("text_detector").click()
    sliders = view.inspector.get_by_role("slider")
    found = sliders.evaluate_all("all => all.map(e => [e.min, e.max, e.disabled])")

    assert [["0", "2", True]] == found
    expect(view.inspector.get_by_text("Other slices are in the kernel")).to_be_visible()


def test_a_static_picture_draws_a_box_of_zero_time(page, tmp_path):
    """A model whose calls took no time has a box without a bar, and a row."""
    still = document.still(samples.instant_run())
    data = re.search(r"base64,([^\"]+)", still)[1]
    picture = ElementTree.fromstring(base64.b64decode(data))
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    (tmp_path / "still.html").write_text(still, encoding="utf-8")
    page.goto((tmp_path / "still.html").as_uri())
    image = page.locator("img")

    assert {"instant", "0 µs"} < set(texts)
    assert 960 == image.evaluate("image => image.naturalWidth")
    assert 100 < image.evaluate("image => image.naturalHeight")
