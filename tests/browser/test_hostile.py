"""Specification of hostile text: wherever it stands, it stays text, nothing runs."""

import html
import json
import random
from collections import Counter

import pytest
from playwright.sync_api import expect
from views import samples

from blsnb.request_fields import RequestFields
from blsnb.trace.comparison import compare
from blsnb.trace.events import LogLine
from blsnb.views.documents import document

from .test_following import Page as Live
from .view import View

pytestmark = pytest.mark.browser

RAN = "globalThis.ran = true"
MARKUP = [
    f"<script>{RAN}</script>",
    f"</script><script>{RAN}</script>",
    f"<img src=x onerror='{RAN}'>",
    f"<svg/onload='{RAN}'>",
    f'"><svg onload="{RAN}">',
    f"' onmouseover='{RAN}' autofocus onfocus='{RAN}",
    '<iframe srcdoc="<script>parent.ran = true</script>"></iframe>',
    f'<a href="javascript:{RAN}">here</a>',
    f"javascript:{RAN}",
    f"<math><mtext><table><mglyph><style><img src=x onerror='{RAN}'>",
    f"<noscript><p title=\"</noscript><img src=x onerror='{RAN}'>\">",
    f"<template><script>{RAN}</script></template>",
    f"</title></textarea></style><details open ontoggle='{RAN}'>",
    '<object data="data:text/html,<script>parent.ran = true</script>">',
    f"--><!--<script>{RAN}</script>",
    f"]]><script>{RAN}</script><![CDATA[",
    "<style>* { display: none !important }</style>",
    "<meta http-equiv=refresh content='0;url=data:text/html,gone'>",
    "<base href='https://example.com/'>",
    f"&lt;script&gt;{RAN}&lt;/script&gt; &#60;b&#62;",
    f"${{{RAN}}} {{{{{RAN}}}}} `${{{RAN}}}`",
    "__proto__",
    "constructor",
    "\u2028\u2029 \u202e\u2066 \ufeff \x00 \x07 \x1b[31m",
]
"""What has run, lost its quotes, or left its place in one program or another."""
FOREIGN = "img, iframe, object, embed, base, meta[http-equiv], details[open], math, a"


def hostile_run(swapped=False, texts=MARKUP):
    """Each text as name, id, instance, device, error, note, log, tensor and value."""
    script = samples.Script()
    texts = texts[::-1] if swapped else texts
    for text in texts:
        script.model(text, text, text, source=f"{text}\n{text}")
    root = script.call(None, texts[-1] if swapped else texts[0], 0, 5, 5, 9000, 5)
    for number, text in enumerate(texts):
        call = script.call(root, text, 10 + 300 * number, 1, 1, 90, 1, line=1)
        samples.fail(call, text, text)
        call.instance = text
        call.request_fields = RequestFields(request_id=text)
        call.notes = [text]
        call.logs = [LogLine(call.request_start_ns, "INFO", text)]
        call.inputs = (samples.strings(text, text, *texts),)
    root.request_fields = RequestFields(request_id=texts[1])
    root.notes = texts
    return script.trace(run_id=f"{texts[1]}{swapped}")


def walked(view, page):
    """Visit all rows and boxes, and return what was executed."""
    view.rows.first.click()
    for _ in MARKUP:
        view.tree.press("ArrowDown")
    expect(view.inspector).to_contain_text("U+2028")
    for box in view.graph.get_by_role("button").all()[:4]:
        box.focus()
        box.press("Enter")
    view.filter.fill(MARKUP[2])
    return harmless(page)


def harmless(page):
    """Whether nothing ran, and no element is there that we do not make."""
    assert page.evaluate("globalThis.ran === undefined")
    assert "example.com" not in page.evaluate("document.baseURI")
    return 0 == page.locator(FOREIGN).count()


@pytest.fixture
def page(own_page):
    """A page with listeners."""
    return own_page


@pytest.fixture
def opened(page, tmp_path):
    """Open a page; a dialog or a second page shows that something ran."""

    def opened_(text):
        file = tmp_path / "hostile.html"
        file.write_text(text, encoding="utf-8")
        page.goto(file.as_uri())
        return View(page)

    said = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("popup", lambda popup: said.append(popup.url))
    page.on("request", lambda r: r.url.startswith("http") and said.append(r.url))
    yield opened_
    assert [] == said


def test_in_a_document(opened, page):
    """Names, ids, errors, notes, logs, sources and values."""
    assert walked(opened(document.page(hostile_run())), page)


def test_in_a_live_view(opened, page):
    """Texts in messages are hostile, too."""
    opened("<!doctype html><title>blank</title>")
    live = Live(page)
    live.send(hostile_run())

    assert walked(View(page), page)


def test_in_a_comparison(opened, page):
    """Texts of differences are hostile, too."""
    comparison = compare(hostile_run(swapped=True), hostile_run())
    view = opened(document.page(comparison))
    view.rows.nth(1).click()

    expect(view.inspector).to_contain_text("Compared with baseline")
    expect(view.inspector).to_contain_text("U+2028")
    assert harmless(page)


def test_without_scripts(browser, tmp_path):
    """The page has one image, blsnb's own, and cells with text."""
    file = tmp_path / "hostile.html"
    file.write_text(document.page(hostile_run()), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url[:5]))
    page.goto(file.as_uri())

    expect(page.get_by_role("img")).to_have_count(1)
    page.get_by_text("Models", exact=True).click()
    expect(page.get_by_role("cell", name=MARKUP[2], exact=True)).to_be_visible()
    assert 0 == page.locator("iframe, object, embed, base, math, svg, a").count()
    assert {"file:", "data:"} >= set(asked)
    context.close()


def broken(text, rng):
    """Return a text as programs mangle it: cut, nested, escaped, repeated or mixed."""
    at = rng.randrange(len(text) + 1)
    other = rng.choice(MARKUP)
    return rng.choice(
        [
            text[:at] + other + text[at:],
            text[at:] + other,
            f"{text[:at]}\x00{text[at:]}",
            text.replace("<", "<<").replace(">", ">>"),
            html.escape(text) + other,
            json.dumps(text) + other,
            text.swapcase(),
        ]
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_many_hostile_pages(browser, tmp_path, scripts, figures):
    """130 pages of mangled texts each way: nothing runs, nothing is fetched."""
    # With scripts each page loads one blob, the code of its view.
    rng = random.Random(130)
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    asked = Counter()
    page.on("request", lambda request: asked.update([request.url[:5]]))
    page.on("dialog", lambda dialog: (asked.update(["dialog"]), dialog.dismiss()))
    page.on("popup", lambda popup: asked.update(["popup"]))
    file = tmp_path / "hostile.html"
    for number in range(130):
        texts = [broken(rng.choice(MARKUP), rng) for _ in range(4)]
        run = hostile_run(texts=texts)
        file.write_text(document.page(run), encoding="utf-8")
        page.goto(file.as_uri())
        if scripts:
            view = View(page)
            view.rows.first.click()
            view.tree.press("ArrowDown")
            assert harmless(page), (number, texts)
        else:
            assert 0 == page.locator(FOREIGN.replace("img, ", "")).count(), texts
            assert 1 == page.locator("img").count(), texts
        blobs = asked.pop("blob:", 0)
        assert {"file:", "data:"} >= asked.keys(), (number, texts, asked)
        assert blobs == scripts, (number, texts, blobs)
        figures(hostile_pages=1)
    context.close()
