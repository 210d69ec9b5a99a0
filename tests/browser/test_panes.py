"""Specification of pointer, keys and borders: what is shown, and how much of it."""

import re

import pytest
from playwright.sync_api import expect
from views import samples

from blsnb.views.documents import document

from .view import View

pytestmark = pytest.mark.browser

WHOLE = "shows the whole run"
PART = re.compile(r"^shows [\d.]+ (ms|µs|s) to [\d.]+ ms$")
SET = "([element, name, value]) => document[element].setAttribute(name, value)"


@pytest.fixture
def view(page, tmp_path):
    """The sample of 27 calls, as a file."""
    file = tmp_path / "run.html"
    file.write_text(document.page(samples.invoice_run()), encoding="utf-8")
    page.goto(file.as_uri())
    view = View(page)
    view.rows.first.wait_for()
    return view


def shown(view, what):
    """Expect that the timeline shows the whole run, or a part."""
    expect(view.tree).to_have_attribute("aria-description", what)


def over(view, row, share):
    """A point of a row, so far between the beginning of the run and its end."""
    box = view.rows.nth(row).bounding_box()
    left = box["x"] + 232
    return left + share * (box["width"] - 232 - 74), box["y"] + 11


def test_a_drag_over_the_strip_zooms_a_click_moves_a_double_click_shows_all(view, page):
    """The strip always shows the whole run."""
    strip = view.element.locator("canvas.strip").bounding_box()
    y = strip["y"] + 13
    page.mouse.move(strip["x"] + 300, y)
    page.mouse.down()
    page.mouse.move(strip["x"] + 400, y)
    page.mouse.up()
    shown(view, PART)
    before = view.tree.get_attribute("aria-description")
    page.mouse.click(strip["x"] + 600, y)
    expect(view.tree).not_to_have_attribute("aria-description", before)
    shown(view, PART)
    page.mouse.dblclick(strip["x"] + 300, y)

    shown(view, WHOLE)


def test_the_plain_wheel_scrolls_and_never_zooms(view, page):
    """Ctrl with the wheel zooms, and Shift pans."""
    page.set_viewport_size({"width": 1100, "height": 400})
    page.mouse.move(*over(view, 0, 0.5))
    page.mouse.wheel(0, 150)
    page.wait_for_function("scrollY > 0")
    shown(view, WHOLE)
    page.mouse.move(*over(view, 4, 0.5))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    shown(view, PART)
    before = view.tree.get_attribute("aria-description")
    page.keyboard.down("Shift")
    page.mouse.wheel(0, 60)
    page.keyboard.up("Shift")

    expect(view.tree).not_to_have_attribute("aria-description", before)
    shown(view, PART)


def test_keys_zoom_pan_and_show_the_selected_call(view):
    """Another key shows the whole run."""
    view.row("llm_extract").click()
    view.tree.press("f")
    shown(view, re.compile(r"^shows 3[67]\.\d ms to 7[56]\.\d ms$"))
    before = view.tree.get_attribute("aria-description")
    view.tree.press("Shift+ArrowLeft")
    expect(view.tree).not_to_have_attribute("aria-description", before)
    view.tree.press("0")
    shown(view, WHOLE)
    view.tree.press("+")
    shown(view, PART)
    view.tree.press("-")
    shown(view, WHOLE)


def test_c_and_the_button_show_the_critical_path(view):
    """Either way it is one switch."""
    button = view.element.get_by_role("button", name="critical path")
    view.tree.press("c")
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


def test_a_click_on_the_triangle_folds_and_selects_nothing(view):
    """The selected call stays in view."""
    rerank = view.row("rerank")
    rerank.locator(".triangle").click()
    expect(rerank).to_have_attribute("aria-expanded", "false")
    expect(view.rows).to_have_count(10)
    rerank.locator(".triangle").click()
    expect(view.rows).to_have_count(11)

    expect(view.selected_rows).to_have_text([re.compile("^invoice_pipeline")])


def test_escape_clears_filter_and_selection(view):
    """Nothing is paler than anything else."""
    view.filter.fill("gpu:1")
    expect(view.row("decode_image")).to_have_class(re.compile("dim"))
    view.tree.press("Escape")

    expect(view.filter).to_have_value("")
    expect(view.row("decode_image")).not_to_have_class(re.compile("dim"))
    expect(view.selected_rows).to_have_count(0)
    expect(view.inspector).to_have_text("Select a model or a call.")


def test_a_pointer_over_a_bar_shows_its_phases_and_dims_other_boxes(view, page):
    """Over a fold it means the nearest call."""
    tip = view.element.get_by_role("tooltip")
    page.mouse.move(*over(view, 2, 0.1))
    expect(tip).to_contain_text("text_detector  11.4 ms")
    expect(tip).to_contain_text("infer9.80 ms86.1 %")
    expect(view.box("rerank")).to_have_class(re.compile("dim"))
    expect(view.box("invoice_pipeline")).not_to_have_class(re.compile("dim"))
    page.mouse.move(*over(view, 4, 0.25))
    expect(tip).to_contain_text("crop_recognizer · 1 of 12")
    expect(tip).to_contain_text("async")
    page.mouse.move(*over(view, 7, 0.8))
    expect(tip).to_contain_text("46 responses · the first after 2.44 ms")
    page.mouse.move(5, 5)

    expect(tip).to_be_hidden()
    expect(view.box("rerank")).not_to_have_class(re.compile("dim"))


@pytest.mark.parametrize(
    ("label", "by", "key"),
    [
        ("Width of the inspector", (-60, 0), "ArrowLeft"),
        ("Height of the call graph", (0, 40), "ArrowDown"),
    ],
)
def test_borders_are_dragged_or_moved_by_keys(view, page, label, by, key):
    """The panes beside them grow and shrink."""
    border = view.element.get_by_role("separator", name=label)
    pane = view.inspector if by[0] else view.graph
    side = "width" if by[0] else "height"
    size = pane.bounding_box()[side]
    box = border.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1])
    page.mouse.up()
    dragged = pane.bounding_box()[side]
    assert dragged == pytest.approx(size + abs(sum(by)), abs=2)
    border.press(key)

    assert pane.bounding_box()[side] == pytest.approx(dragged + 16, abs=2)


@pytest.mark.parametrize(
    ("element", "name", "dark", "light"),
    [
        ("body", "data-vscode-theme-kind", "vscode-dark", "vscode-light"),
        ("body", "data-jp-theme-light", "false", "true"),
        ("documentElement", "theme", "dark", "light"),
        ("body", "style", "background: #202020", "background: #fafafa"),
    ],
)
def test_the_theme_of_each_host_is_applied(view, page, element, name, dark, light):
    """VS Code, JupyterLab, Colab, any page; whatever the reader's system prefers."""
    frame = view.element.locator(".view")
    for preferred, value, theme in [("light", dark, "dark"), ("dark", light, "light")]:
        page.emulate_media(color_scheme=preferred)
        page.evaluate(SET, [element, name, value])
        expect(frame).to_have_attribute("data-theme", theme)


def test_the_inspector_shows_the_lines_of_the_call_and_marks_it(view):
    """The lines are those of the calling model."""
    view.row("rerank").click()

    source = view.inspector.get_by_role("group", name="Source of the call")
    expect(view.inspector).to_contain_text("Called by invoice_pipeline")
    expect(source.locator("> div")).to_have_count(3)
    here = source.locator("[aria-current=location]")
    expect(here).to_contain_text("7")
    expect(here).to_contain_text("return [self.answer(page) for page in pages]")


def test_the_inspector_shows_logs_and_notes_of_a_call_and_of_no_other(view):
    """Each line with its time and level."""
    log = view.inspector.get_by_role("group", name="Log lines")
    expect(log.locator("> div")).to_have_count(2)
    expect(log).to_contain_text("71 msWARNINGtotal_due failed, trying again")
    note = "12 calls waited for the only instance of crop_recognizer."
    expect(view.inspector).to_contain_text(note)
    view.row("rerank").click()

    expect(log).to_have_count(0)
    expect(view.inspector).not_to_contain_text(note)


def test_a_stream_shows_the_time_of_its_first_response(view):
    """The other responses have their durations."""
    view.row("llm_extract").click()

    expect(view.inspector).to_contain_text("Responses46 responses")
    expect(view.inspector).to_contain_text("first2.44 msgap693 µsmax gap693 µs")


def test_in_a_narrower_view_the_inspector_can_be_made_wide_all_the_same(view, page):
    """In an even narrower view it leaves room for the other panes."""
    page.set_viewport_size({"width": 900, "height": 800})
    expect(view.inspector).to_have_css("width", "288px")
    border = view.element.get_by_role("separator", name="Width of the inspector")
    for _ in range(6):
        border.press("ArrowLeft")
    expect(view.inspector).to_have_css("width", "384px")
    page.set_viewport_size({"width": 740, "height": 800})

    expect(view.inspector).to_have_css("width", re.compile(r"^36[2-9](\.\d+)?px$"))


def test_the_first_key_acts_on_what_is_selected_from_the_start(view):
    """A key has an effect at the first press."""
    view.tree.press("ArrowLeft")
    expect(view.rows).to_have_count(1)
    view.tree.press("ArrowRight")
    view.tree.press("ArrowDown")

    expect(view.selected_rows).to_have_text(["decode_image"])


def test_keys_of_the_whole_view_work_in_every_pane(view, page):
    """Escape leads from the inspector back to the rows, and there it clears."""
    button = view.element.get_by_role("button", name="critical path")
    for pane in (view.inspector, view.box("rerank"), view.tensor("RESULT")):
        pane.focus()
        page.keyboard.press("c")
        expect(button).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("c")
        expect(button).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("n")
    expect(view.selected_rows).to_have_text(["crop_recognizercall 13error"])
    expect(view.inspector).to_be_focused()
    page.keyboard.press("Escape")
    expect(view.tree).to_be_focused()
    expect(view.selected_rows).to_have_count(1)
    page.keyboard.press("Escape")
    expect(view.selected_rows).to_have_count(0)


def test_what_is_typed_into_the_filter_is_no_command(view, page):
    """Each of these letters is a key of the view elsewhere."""
    view.filter.press_sequentially("cn0f?/")

    expect(view.filter).to_have_value("cn0f?/")
    button = view.element.get_by_role("button", name="critical path")
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(view.subject).to_have_text("invoice_pipeline")


def test_a_wide_view_has_room_for_long_names(page, tmp_path):
    """Short names are whole even in a narrower view."""
    script = samples.Script()
    script.model("preprocess_scanned_documents_v2")
    call = script.call(None, "preprocess_scanned_documents_v2", 0, 5, 5, 900, 5)
    call.notes = ["It waited."]
    file = tmp_path / "run.html"
    file.write_text(document.page(script.trace()), encoding="utf-8")
    page.set_viewport_size({"width": 1600, "height": 800})
    page.goto(file.as_uri())
    row = View(page).rows.first
    cut = "each => each.scrollWidth > each.clientWidth"
    assert not row.locator(".name").evaluate(cut)
    page.set_viewport_size({"width": 1000, "height": 800})
    expect(row.locator(".names")).to_have_css("width", "232px")

    assert row.locator(".name").evaluate(cut)
    assert not row.locator(".badge").evaluate(cut)


def test_a_click_on_a_row_at_the_edge_does_not_move_the_rows(view):
    """The row is visible, and the pointer is on it."""
    view.tree.evaluate("(tree) => { tree.style.maxHeight = '100px'; }")
    view.tree.evaluate("(tree) => tree.scrollTo(0, 30)")
    view.tree.click(position={"x": 60, "y": 4})

    expect(view.tree.locator(".row.selected")).to_have_count(1)
    assert 30 == view.tree.evaluate("(tree) => tree.scrollTop")
