"""Specification of a view whose rows still come, in a page with no notebook."""

import base64
from dataclasses import replace

import pytest
from playwright.sync_api import expect
from views import samples
from views.encoded import encode
from views.test_folded import folded, the_loop

from blsnb.trace.events import LogLine
from blsnb.views.documents import host

from .view import View

pytestmark = pytest.mark.browser

# The page's side of a widget: its messages are stored, and the test sends others.
RENDER = """async (text) => {
    const url = URL.createObjectURL(new Blob([text], {type: "text/javascript"}));
    const code = (await import(url)).default;
    const traits = {selected: -1, filter: "", height: 480, run_id: ""};
    const heard = new Map();
    const tell = (name, ...values) => heard.get(name)?.forEach((f) => f(...values));
    globalThis.sent = [];
    const model = {
        get: (name) => traits[name],
        set: (name, value) => {
            const changed = traits[name] !== value;
            traits[name] = value;
            if (changed) tell(`change:${name}`);
        },
        save_changes: () => {},
        send: (message) => sent.push(message),
        on: (name, f) => heard.set(name, [...(heard.get(name) ?? []), f]),
        off: (name, f) =>
            heard.set(name, (heard.get(name) ?? []).filter((each) => each !== f)),
    };
    globalThis.model = model;
    globalThis.receive = (message, text) => tell("msg:custom", message,
        [new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer)]);
    code.initialize({model});
    code.render({model, el: document.body});
}"""


# Its output is replaced, as a notebook does.
RENEW = """() => {
    const [[id, known]] = globalThis[Symbol.for("blsnb")];
    const host = document.createElement("div");
    host.dataset.run = id;
    document.body.replaceChildren(host);
    known.mount(host);
}"""


class Page:
    """A view without a kernel: the test sends what a kernel would."""

    def __init__(self, page, rendered=True) -> None:
        self._page = page
        self._seq = 0
        page.set_content("<!doctype html><title>live</title>")
        code = RENDER if rendered else RENDER.replace("code.render(", "void (")
        page.evaluate(code, host.CODE.read_text("utf-8"))

    def send(self, trace, kind="snapshot", rows=None, skipped=0):
        self._seq += 1 + skipped
        header, buffer = encode(trace, rows)
        message = {"type": kind, "seq": self._seq, "header": header}
        call = "([message, text]) => receive(message, text)"
        self._page.evaluate(call, [message, base64.b64encode(buffer).decode()])

    def renew(self):
        self._page.evaluate(RENEW)

    def set(self, name, value):
        self._page.evaluate("([name, value]) => model.set(name, value)", [name, value])

    def get(self, name):
        return self._page.evaluate("name => model.get(name)", name)

    def answer(self):
        """Answer the last question: there are no tensors."""
        call = (
            """() => receive({type: "answer", id: sent.at(-1).id, tensors: []}, "")"""
        )
        self._page.evaluate(call)

    @property
    def questions(self):
        """Return the number of queries for tensors."""
        return self._page.evaluate("sent.filter(({id}) => id).length")

    @property
    def asked(self):
        """Return the queries to the kernel except those for tensors."""
        kinds = [message["type"] for message in self._page.evaluate("sent")]
        return [kind for kind in kinds if kind != "tensors"]


@pytest.fixture
def live(page):
    return Page(page)


def running(steps):
    """Return a running caller that has made some calls one after the other."""
    script = samples.Script()
    script.model("walk")
    root = script.call(None, "walk", 0, 5, 5, 900 + 1000 * steps, 5)
    for k in range(steps):
        script.model(f"step_{k}")
        script.call(root, f"step_{k}", 100 + 1000 * k, 5, 5, 800, 5)
    root.compute_output_start_ns = root.compute_end_ns = root.request_end_ns = 0
    return script.trace(now_us=1000 * steps + 1000)


def test_the_rows_follow_what_is_new_until_somebody_scrolls(live, page):
    """The newest call is in view, without a hand."""
    view = View(page)
    live.send(running(5))
    expect(view.rows).to_have_count(6)
    live.send(running(40))
    expect(view.row("step_39")).to_be_visible()
    view.tree.hover(position={"x": 300, "y": 60})
    page.mouse.wheel(0, -5000)
    expect(view.row("walk")).to_be_visible()
    live.send(running(60))

    expect(view.element).to_contain_text("61 calls")
    expect(view.row("step_3")).to_be_visible()
    expect(view.row("step_59")).to_have_count(0)


def test_a_zoom_by_hand_stays_while_rows_come(live, page):
    """Without a zoom the whole run is shown while it grows."""
    view = View(page)
    live.send(running(5))
    live.send(running(8))
    expect(view.tree).to_have_attribute("aria-description", "shows the whole run")
    view.tree.press("+")
    expect(view.tree).not_to_have_attribute("aria-description", "shows the whole run")
    zoomed = view.tree.get_attribute("aria-description")
    live.send(running(20))

    expect(view.element).to_contain_text("21 calls")
    expect(view.tree).to_have_attribute("aria-description", zoomed)


def test_a_selected_call_stays_selected_when_others_give_up_their_rows(live, page):
    """Its id is the same, in the page and in Python."""
    script = the_loop()
    script.calls[990].logs = [LogLine(samples.BASE_NS, "INFO", "here I am")]
    view = View(page)
    live.send(script.trace())
    expect(view.element).to_contain_text("1,001 calls")
    live.set("selected", 990)
    expect(view.inspector).to_contain_text("here I am")
    live.send(folded(script, 100))

    expect(view.element).to_contain_text("101 shown one by one")
    expect(view.inspector).to_contain_text("here I am")
    expect(view.inspector.get_by_text("call 990", exact=True)).to_be_visible()
    assert 990 == live.get("selected")


def test_a_selected_call_that_is_dropped_is_named_and_selected_again_with_its_row(
    live, page
):
    """No other call takes its place."""
    script = the_loop()
    whole = script.trace()
    view = View(page)
    live.send(whole)
    live.set("selected", 500)
    expect(view.row("inner call 500")).to_be_visible()
    live.send(folded(script, 100))
    expect(view.inspector).to_contain_text(
        "Call 500 is only counted: this view shows 101 of 1,001 calls one by one."
    )
    expect(view.selected_rows).to_have_count(0)
    live.send(whole)

    expect(view.inspector.get_by_text("call 500", exact=True)).to_be_visible()
    assert 500 == live.get("selected")


def test_folds_stay_open_and_a_model_selected_when_a_trim_changes_the_order(live, page):
    """Rows are known by the ids of calls and the names of models."""
    script = the_loop()
    view = View(page)
    live.send(script.trace())
    view.row("inner").click()
    view.tree.press("ArrowRight")
    expect(view.row("inner call 1")).to_be_visible()
    view.box("inner").click()
    trimmed = folded(script, 100)
    live.send(replace(trimmed, models=trimmed.models[::-1], spans=turned(trimmed)))

    expect(view.row("inner call 1")).to_be_visible()
    expect(view.subject).to_have_text("inner")


def turned(trace):
    """The calls of a trace whose models are listed in the opposite order."""
    last = len(trace.models) - 1
    return tuple(replace(span, model=last - span.model) for span in trace.spans)


def test_tensors_of_a_running_call_are_queried_again_but_not_at_each_change(own_page):
    """The call may have more tensors, and the kernel has other work."""
    page = own_page
    # Otherwise real time passes as well, more of it on a busy machine.
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    live, view = Page(page), View(page)
    asked = []
    for step in range(12):
        live.send(running(5 + step))
        page.clock.run_for(50)
        if live.questions > len(asked):
            asked.append(step)
            live.answer()
        page.clock.run_for(550)
    expect(view.inspector).to_contain_text("None were recorded.")

    assert [0, 4, 8] == asked


def test_a_click_that_lasts_until_rows_have_come_is_not_lost(live, page):
    """The row of the running call is drawn anew for each; so is its triangle."""
    view = View(page)
    live.send(running(5))
    triangle = view.row("walk").locator(".triangle").bounding_box()
    page.mouse.move(triangle["x"] + 4, triangle["y"] + 4)
    page.mouse.down()
    live.send(running(6))
    live.send(running(7))
    page.mouse.up()

    expect(view.rows).to_have_count(1)
    expect(view.element).to_contain_text("8 calls")


def test_a_drag_continues_in_a_replaced_output(page):
    """It ends when the button is released."""
    live, view = Page(page, rendered=False), View(page)
    live.send(running(5))
    live.renew()
    strip = view.element.locator("canvas.strip").bounding_box()
    seen = []
    page.mouse.move(strip["x"] + 400, strip["y"] + 10)
    page.mouse.down()
    for x in (450, 500, 550):
        # Over another pane, which hears nothing of it.
        page.mouse.move(strip["x"] + x, strip["y"] - 60)
        expect(view.tree).not_to_have_attribute(
            "aria-description", seen[-1] if seen else "shows the whole run"
        )
        seen.append(view.tree.get_attribute("aria-description"))
        live.renew()
    page.mouse.up()
    page.mouse.move(strip["x"] + 600, strip["y"] + 10)
    view.tree.press("c")
    button = view.element.get_by_role("button", name="critical path")
    expect(button).to_have_attribute("aria-pressed", "true")

    assert 3 == len(set(seen))
    expect(view.tree).to_have_attribute("aria-description", seen[-1])


def test_missing_messages_are_requested_once(live, page):
    """The snapshot in the response is shown."""
    view = View(page)
    live.send(running(5))
    live.send(running(7), "rows", [6, 7], skipped=1)
    live.send(running(8), "rows", [8])
    assert ["hello", "resync"] == live.asked
    live.send(running(9))

    expect(view.element).to_contain_text("10 calls")
