"""Specification of a finished run's document in a page that has nothing else."""

import re
from functools import partial
from pathlib import Path

import pytest
from asserting import every
from playwright.sync_api import expect
from views import samples
from views.encoded import html_with
from waiting import until

from blsnb.trace.facts import Batching
from blsnb.trace.triton.trace_file import read_traces
from blsnb.views.documents import document
from blsnb.views.format import TIMES

from .view import View

pytestmark = pytest.mark.browser

RECORDED = Path(__file__).parents[1] / "trace" / "golden" / "triton_2.51.0.json"
RUN = samples.invoice_run()
MODELS = [model.name for model in RUN.models]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def show(page, folder):
    """Open a run as a file, the way a saved page is read."""
    return partial(opened, page, folder)


def opened(page, folder, trace=RUN):
    """Open a run in a page, and return its view."""
    file = folder / "run.html"
    file.write_text(document.page(trace), encoding="utf-8")
    page.goto(file.as_uri())
    return View(page)


def test_the_view_takes_the_place_of_the_picture(show, page):
    """Readers with scripts see the three panes in place of the picture."""
    view = show()

    expect(view.rows).to_have_count(11)
    assert [1] * 9 == [view.box(model).count() for model in MODELS]
    expect(view.subject).to_have_text("invoice_pipeline")
    expect(page.get_by_role("img", name="invoice_pipeline · request")).to_have_count(0)


def test_a_click_on_a_box_selects_in_all_panes(show):
    """The box is pressed, its row is selected, the inspector is about it."""
    view = show()
    view.box("text_detector").click()

    expect(view.box("text_detector")).to_have_attribute("aria-pressed", "true")
    expect(view.box("invoice_pipeline")).to_have_attribute("aria-pressed", "false")
    expect(view.selected_rows).to_have_text(["text_detector"])
    expect(view.subject).to_have_text("text_detector")
    expect(view.inspector).to_contain_text("compute infer9.80 ms")


def test_a_click_on_a_row_selects_in_all_panes(show):
    """A click in the timeline makes the same selection."""
    view = show()
    view.row("rerank").click()

    expect(view.selected_rows).to_have_text(["rerank"])
    expect(view.box("rerank")).to_have_attribute("aria-pressed", "true")
    expect(view.subject).to_have_text("rerank")


def test_a_box_of_several_calls_is_about_all_of_them(show):
    """A model that was called often shows its latencies, and its failures as links."""
    view = show()
    view.box("crop_recognizer").click()
    expect(view.inspector).to_contain_text("12 calls")
    view.inspector.get_by_role("button", name="call 13 at").first.click()

    expect(view.selected_rows).to_have_text([re.compile("crop_recognizercall 13error")])
    expect(view.inspector).to_contain_text("INVALID_ARG")


def test_a_tensor_opens_to_statistics_histogram_and_picture(show):
    """Outputs of a call are readable without a kernel."""
    view = show()
    view.box("text_detector").click()

    expect(view.tensor("SCORE_MAP")).to_have_attribute("aria-expanded", "true")
    expect(view.inspector).to_contain_text(re.compile(r"max1\.\d+"))
    expect(view.picture("Histogram of values")).to_be_visible()
    expect(view.picture("SCORE_MAP, 128")).to_be_visible()
    view.tensor("SCORE_MAP").click()
    expect(view.tensor("SCORE_MAP")).to_have_attribute("aria-expanded", "false")


def test_a_filter_dims_rows_and_keeps_their_places(show):
    """Rows that do not match are dimmed, not removed."""
    view = show()
    view.filter.fill("gpu:1")

    expect(view.rows).to_have_count(11)
    expect(view.row("llm_extract")).not_to_have_class(re.compile("dim"))
    expect(view.row("decode_image")).to_have_class(re.compile("dim"))
    view.filter.press("Escape")
    expect(view.row("decode_image")).not_to_have_class(re.compile("dim"))


def test_arrow_keys_move_unfold_and_fold(show, page):
    """The tree is walked as every tree is."""
    view = show()
    view.row("crop_recognizer").click()
    view.tree.press("ArrowRight")
    expect(
        view.rows.filter(has_text=re.compile("crop_recognizercall"))
    ).not_to_have_count(0)
    view.tree.press("ArrowDown")
    expect(view.selected_rows).to_have_text(["crop_recognizercall 4"])
    view.tree.press("ArrowLeft")
    expect(view.selected_rows).to_have_text([f"crop_recognizer{TIMES}121 error"])
    view.tree.press("ArrowLeft")
    expect(view.rows).to_have_count(11)
    view.tree.press("Home")
    expect(view.selected_rows).to_have_text([re.compile("^invoice_pipeline")])
    view.tree.press("End")
    expect(view.selected_rows).to_have_text(["schema_check"])
    view.tree.press("PageUp")
    expect(view.selected_rows).to_have_text([re.compile("^invoice_pipeline")])
    view.tree.press("PageDown")

    expect(view.selected_rows).to_have_text(["schema_check"])


def test_n_selects_the_next_error_and_unfolds_its_path(show):
    """Failures are found without looking for them."""
    view = show()
    view.tree.press("n")
    expect(view.selected_rows).to_have_text(["crop_recognizercall 13error"])
    view.tree.press("n")

    expect(view.selected_rows).to_have_text(["schema_checkerror"])


def test_keys_lead_to_filter_help_and_inspector_and_back(show, page):
    """No pane needs a mouse."""
    view = show()
    view.tree.press("/")
    expect(view.filter).to_be_focused()
    page.keyboard.press("Enter")
    expect(view.tree).to_be_focused()
    page.keyboard.press("?")
    expect(view.element.get_by_role("dialog", name="Keyboard help")).to_be_focused()
    page.keyboard.press("Escape")
    expect(view.tree).to_be_focused()
    page.keyboard.press("Enter")

    expect(view.inspector).to_be_focused()


def test_arrow_keys_move_between_boxes(show, page):
    """The graph is one stop of the Tab key; arrows go to the nearest box."""
    view = show()
    view.box("invoice_pipeline").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    expect(view.subject).not_to_have_text("invoice_pipeline")
    assert 1 == view.graph.locator('[role=button][tabindex="0"]').count()


def test_hostile_text_stays_text(own_page, folder):
    """Markup in names, errors and values neither runs nor becomes an element."""
    page, dialogs = own_page, []
    page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.dismiss()))
    view = opened(page, folder, samples.hostile_run())
    for row in view.rows.all():
        row.click()
        expect(row).to_have_attribute("aria-selected", "true")

    expect(view.element).to_contain_text("<img src=x onerror=alert(1)>")
    assert 0 == page.locator("img, iframe, object, [onload], [onerror]").count()
    assert 2 == page.locator("script").count()
    assert [] == dialogs


def test_without_scripts_there_are_picture_and_table(browser, folder):
    """A host that strips or forbids scripts still shows the run."""
    file = folder / "still.html"
    file.write_text(document.page(RUN), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())

    picture = page.get_by_role("img", name="invoice_pipeline · request 7f3a, 76.2 ms")
    expect(picture).to_be_visible()
    assert picture.bounding_box()["height"] > 200
    page.get_by_text("Models", exact=True).click()
    expect(page.get_by_role("row", name="crop_recognizer 12")).to_be_visible()
    context.close()


def test_code_that_fails_leaves_the_picture(page, folder):
    """After any failure the reader has the picture and the table."""
    file = folder / "broken.html"
    broken = "export function mount() { throw new Error('broken'); }"
    file.write_text(html_with(broken, RUN), encoding="utf-8")
    with page.expect_console_message(lambda m: "picture only" in m.text):
        page.goto(file.as_uri())

    expect(page.get_by_role("img", name="invoice_pipeline")).to_be_visible()


def test_a_run_shown_twice_is_two_views(page, folder):
    """Each copy in a page has its own selection."""
    file = folder / "twice.html"
    file.write_text(2 * document.html(RUN), encoding="utf-8")
    page.goto(file.as_uri())
    views = [View(host) for host in page.locator(".blsnb-run").all()]
    views[1].box("rerank").click()

    expect(views[1].subject).to_have_text("rerank")
    expect(views[0].subject).to_have_text("invoice_pipeline")


def test_a_page_forgets_a_view_that_it_has_removed(show, page):
    """Cells that run often would fill its memory."""
    view = show()
    expect(view.rows).to_have_count(11)
    view.element.evaluate("element => { globalThis.shown = new WeakRef(element); }")
    page.evaluate("document.body.replaceChildren()")

    def is_forgotten():
        page.request_gc()
        return page.evaluate("!shown.deref()")

    assert until(is_forgotten, tick_s=0.1)


def test_at_600_pixels_the_panes_stand_below_one_another(show, page):
    """A narrow column loses nothing: graph, timeline, inspector, in this order."""
    page.set_viewport_size({"width": 600, "height": 800})
    view = show()
    expect(view.rows).to_have_count(11)

    panes = [view.graph, view.tree, view.inspector]
    boxes = [pane.bounding_box() for pane in panes]
    bottoms = [box["y"] + box["height"] for box in boxes]
    assert bottoms[0] <= boxes[1]["y"]
    assert bottoms[1] <= boxes[2]["y"]
    assert every(box["width"] > 500 for box in boxes)
    assert 600 == page.evaluate("document.documentElement.scrollWidth")


def test_the_theme_follows_the_reader_at_once(show, page):
    """Light becomes dark without a reload, canvases included."""
    view = show()
    background = "element => getComputedStyle(element).backgroundColor"
    frame = view.element.locator(".view")
    expect(frame).to_have_attribute("data-theme", "light")
    assert "rgb(255, 255, 255)" == frame.evaluate(background)
    page.emulate_media(color_scheme="dark")

    expect(frame).to_have_attribute("data-theme", "dark")
    assert "rgb(17, 19, 23)" == frame.evaluate(background)


def test_a_run_of_a_file_reads_as_one_of_its_own(show, page):
    """Title and note name the file, and what it lacks."""
    runs = {run.request_id: run for run in read_traces(RECORDED)}
    view = show(runs["types"])

    expect(view.element).to_contain_text("from triton_2.51.0.json")
    expect(view.inspector).to_contain_text("Read from triton_2.51.0.json, a trace file")
    expect(view.inspector).to_contain_text("TRACEGRPC_SEND_START")
    view.tensor("FP16").first.click()
    expect(view.inspector).to_contain_text(
        "triton_2.51.0.json does not hold its values."
    )
    view = show(runs["e2"])
    expect(view.rows).to_have_text(["ensnote", "child", "bls", "child", "child"])
    expect(view.inspector).to_contain_text("in child calls1.46 ms")


def test_an_ensemble_has_steps_and_no_device(show):
    """Time outside its steps is between them, not inference."""
    view = show(samples.ensemble_run())

    expect(view.rows).to_have_text(["reader", "crop", "read"])
    expect(view.box("reader")).to_have_text("reader 815 µs ")
    expect(view.box("crop")).to_contain_text("gpu:0")
    for part in ("in child calls", "between steps"):
        expect(view.inspector).to_contain_text(part)
    expect(view.inspector).not_to_contain_text("compute")
    expect(view.inspector).not_to_contain_text("cpu")


def test_ten_thousand_calls_are_scrolled_with_few_elements(show):
    """Rows are elements only while they are in view."""
    view = show(samples.batch_run())
    expect(view.element).to_contain_text("10,000 calls")
    view.row("router").click()
    view.tree.press("ArrowRight")
    view.tree.press("End")

    expect(view.selected_rows).to_have_count(1)
    assert view.rows.count() < 60
    assert view.element.locator("*").count() < 1500


def test_calls_of_the_same_batch_are_links_with_reasons(show):
    """The inspector has the reasons for the batch and for missed batches."""
    script = samples.Script()
    script.model("pipeline")
    script.model("encoder")
    root = script.call(None, "pipeline", 0, 5, 5, 900, 5)
    full = Batching(2, True, "largest size reached", "the largest size 2 was reached")
    wide = Batching(2, False, "shape differs", "shape of X differs: [3]")
    for number, execution in enumerate((2, 2, 3)):
        call = script.call(root, "encoder", 10 + number, 5, 5, 90, 5)
        call.execution, call.batch = execution, 4 - execution
        call.batching = [full] if execution == 2 else [wide]
    view = show(script.trace())

    view.rows.nth(1).click()
    expect(view.inspector).to_contain_text("batch of 2")
    expect(view.inspector).to_contain_text("left because the largest size 2 was")
    view.inspector.get_by_role("button", name="encoder, call 2 at").click()
    mate = view.inspector.get_by_role("button", name="encoder, call 1 at")
    expect(mate).to_be_visible()

    view.rows.nth(3).click()
    expect(view.inspector).not_to_contain_text("batch of")
    expect(view.inspector).to_contain_text("shape of X differs: [3]")
    view.inspector.get_by_role("button", name="see encoder, call 1 at").click()
    expect(view.inspector).to_contain_text("batch of 2")
