"""Specification of what assistive technology finds: axe-core has nothing to say."""

import pytest
from views import samples

from blsnb.views.documents import document

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
