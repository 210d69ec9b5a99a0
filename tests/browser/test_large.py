"""Specification of very many calls: the view explains how it reduces them."""

import re

import pytest
from playwright.sync_api import expect
from views import samples

from blsnb.trace.capture import trace_of
from blsnb.trace.events import CallFlag
from blsnb.views.documents import document

from .axe import violations
from .test_following import Page as Live
from .view import View

pytestmark = pytest.mark.browser


def loop(calls, running=False):
    """Return one caller that calls a model repeatedly and may still run."""
    script = samples.Script()
    script.model("outer")
    script.model("inner")
    outer = script.call(None, "outer", 0, 5, 5, 20 * calls, 5)
    if running:
        outer.flags |= int(CallFlag.RUNNING)
        outer.request_end_ns = outer.compute_end_ns = outer.compute_output_start_ns = 0
    for number in range(calls - 1):
        script.call(outer, "inner", 20 + 20 * number, 1, 1, 9, 1)
    return trace_of("many", script.calls, samples.BASE_NS + 20_000 * calls + 10**6)


def test_a_live_view_of_many_calls_has_a_note_that_it_is_drawn_seldom(page):
    """Above 20,000 calls it is drawn twice a second."""
    live = Live(page)
    facts = View(page).element.get_by_role("toolbar", name="Run")
    live.send(loop(20_001, running=True))

    expect(facts).to_contain_text("20,001 calls2 modelsrunningdrawn twice a second")


@pytest.mark.slow
def test_a_hundred_thousand_calls_are_folded_and_say_so(page, axe, tmp_path):
    """Title, rows, inspector and picture report it."""
    html = document.page(samples.batch_run(100_000))
    file = tmp_path / "run.html"
    file.write_text(html, encoding="utf-8")
    assert 2_000_000 > len(html)
    assert "shown one by one" in html[: html.index("src=")]
    page.goto(file.as_uri())
    view = View(page)

    expect(view.element).to_contain_text(re.compile(r"100,000 calls.*shown one by one"))
    expect(view.inspector).to_contain_text("folded from 100,000 calls")
    expect(view.row("encoder")).to_contain_text("kept")
    view.row("router").click()
    expect(view.inspector).to_contain_text("are only counted")
    assert [] == violations(page, axe)
