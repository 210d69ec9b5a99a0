"""Specification of what assistive technology finds: axe-core has nothing to say."""

import re

import pytest
from playwright.sync_api import expect
from views import samples

from blsnb.trace.comparison import compare
from blsnb.views.documents import document
from blsnb.views.format import TIMES

from .axe import violations
from .view import View

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_rule_of_wcag_is_broken_in_any_state(page, axe, tmp_path, theme):
    """Selections of all kinds and the help are checked, in light and dark."""
    file = tmp_path / "run.html"
    file.write_text(document.page(samples.invoice_run()), encoding="utf-8")
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.goto(file.as_uri())
    view = View(page)
    view.rows.first.wait_for()
    found = {"at first": violations(page, axe)}
    view.box("text_detector").click()
    found["call"] = violations(page, axe)
    view.tree.press("n")
    view.tree.press("c")
    found["failure"] = violations(page, axe)
    view.row("embedder").click()
    found["fold"] = violations(page, axe)
    view.box("crop_recognizer").click()
    found["model"] = violations(page, axe)
    view.tree.press("?")
    found["help"] = violations(page, axe)

    assert {state: [] for state in found} == found


def test_narrow_and_hostile_pages_break_no_rule(page, axe, tmp_path):
    """At 600 pixels, with names that are no names."""
    file = tmp_path / "run.html"
    file.write_text(document.page(samples.hostile_run()), encoding="utf-8")
    page.set_viewport_size({"width": 600, "height": 800})
    page.goto(file.as_uri())
    View(page).rows.first.wait_for()

    assert [] == violations(page, axe)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_ten_thousand_calls_break_no_rule(page, axe, tmp_path, theme):
    """A fold, its single calls and a stream are checked."""
    file = tmp_path / "run.html"
    file.write_text(document.page(samples.batch_run()), encoding="utf-8")
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.goto(file.as_uri())
    view = View(page)
    view.row("router").click()
    found = {"fold": violations(page, axe)}
    view.tree.press("End")
    view.tree.press("ArrowRight")
    view.tree.press("End")
    found["calls"] = violations(page, axe)
    view.box("llm").click()
    found["streams"] = violations(page, axe)

    assert {state: [] for state in found} == found


# Contrast of texts that axe does not judge: what overlaps them, or SVG, may be paler.
_CONTRASTS = """graph => {
    const channels = text => text.match(/[\\d.]+/g).map(Number);
    const blend = (over, under, share) =>
        under.map((each, k) => each + share * (over[k] - each));
    const luminance = colour => colour
        .map(each => each / 255)
        .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
        .reduce((sum, each, k) => sum + [0.2126, 0.7152, 0.0722][k] * each, 0);
    const opacity = element => element === graph ? 1
        : Number(getComputedStyle(element).opacity) * opacity(element.parentElement);
    const colour = channels(getComputedStyle(graph).backgroundColor);
    const texts = [...graph.querySelectorAll(".dim text:not(:empty)")];
    return texts.map(text => {
        const plate = text.parentElement.querySelector(".frame, .label");
        const fill = element => channels(getComputedStyle(element).fill);
        const below = blend(fill(plate), colour, opacity(plate));
        const above = blend(fill(text), below, opacity(text));
        const [dark, light] = [below, above].map(luminance).sort((a, b) => a - b);
        return [text.textContent, (light + 0.05) / (dark + 0.05)];
    });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("baseline", [False, True], ids=["run", "comparison"])
def test_texts_of_dimmed_boxes_and_edges_have_contrast(page, tmp_path, theme, baseline):
    """Names, times, differences, failures and numbers of calls."""
    run = samples.invoice_run()
    file = tmp_path / "run.html"
    shown = compare(samples.edited_run(), run) if baseline else run
    file.write_text(document.page(shown), encoding="utf-8")
    page.emulate_media(color_scheme=theme)
    page.goto(file.as_uri())
    view = View(page)
    view.filter.fill("decode_image")
    expect(view.box("rerank")).to_have_class(re.compile("dim"))
    measured = view.graph.locator("..").evaluate(_CONTRASTS)

    assert {"rerank", f"{TIMES}12"} <= {text for text, _ in measured}
    assert [] == [[text, ratio] for text, ratio in measured if ratio < 4.5]


_FOCUSED = """() => {
    let at = document.activeElement;
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    if (at === document.body) return null;
    const frame = at.querySelector(":scope > .frame");
    const { outlineStyle, outlineWidth } = getComputedStyle(at);
    const ring = frame ? getComputedStyle(frame).strokeWidth
        : outlineStyle === "none" ? "none" : outlineWidth;
    const name = at.getAttribute("aria-label") ?? at.title ?? at.textContent;
    const words = (name || at.textContent).trim();
    return [words, ring];
}"""


def test_tab_reaches_all_controls_and_focus_is_visible(page, tmp_path):
    """Controls, graph, timeline, inspector and its tensors, borders; then it leaves."""
    file = tmp_path / "run.html"
    file.write_text(document.page(samples.invoice_run()), encoding="utf-8")
    page.goto(file.as_uri())
    View(page).rows.first.wait_for()
    seen = []
    page.keyboard.press("Tab")
    while (stop := page.evaluate(_FOCUSED)) and len(seen) < 40:
        seen.append(stop)
        page.keyboard.press("Tab")
    words = [stop[0] for stop in seen]
    wanted = [
        "Critical path",
        "Filter calls",
        "invoice_pipeline",
        "Timeline of calls",
        "Inspector",
        "IMAGE",
        "PROMPT",
        "RESULT",
        "Width of the inspector",
        "Height of the call graph",
    ]
    found = [next(n for n, each in enumerate(words) if text in each) for text in wanted]

    assert sorted(found) == found
    assert len(seen) < 40
    assert [] == [stop for stop in seen if stop[1] not in ("2px", "3px")]
