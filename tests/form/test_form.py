"""Specification of a form that is filled in: its request, its results, its errors."""

import sys
from types import SimpleNamespace

import ipywidgets
import numpy as np
import pytest
from cells import CONFIG, DOUBLE, FINAL, cell

from blsnb import InferenceError
from blsnb.form.form import variable_names
from blsnb.form.input_row import InputRow, UploadField
from blsnb.form.inputs import InputSpec

DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
SENDS = cell(f"""
    sender = request.get_response_sender()
    for each in x_of(request):
        sender.send(reply(np.full(1, each)))
    sender.send(flags={FINAL})
""")
FAILS = cell("raise ValueError('no <b>')")


def widgets(form, kind):
    """Return all widgets of a kind, in the order of the page."""
    found, waiting = [], [form.widget]
    while waiting:
        widget = waiting.pop(0)
        found += [widget] if isinstance(widget, kind) else []
        waiting = [*getattr(widget, "children", ()), *waiting]
    return found


def texts(form):
    """Return the sentences of the form."""
    return " ".join(each.value for each in widgets(form, ipywidgets.HTML))


def choose(form, source):
    """Choose a source for the first input."""
    [menu, *_] = widgets(form, ipywidgets.Dropdown)
    menu.label = source


def fill(form, text):
    """Type a text into the first input."""
    [field, *_] = widgets(form, ipywidgets.Text)
    field.value = text


def press(form, description):
    [button] = [
        each
        for each in widgets(form, ipywidgets.Button)
        if each.description == description
    ]
    button.click()


@pytest.fixture
def form(server):
    """The form of a model that doubles its input."""
    server.define("double", DOUBLE, config=CONFIG)
    return server.form("double")


def test_run_sends_what_is_entered_and_shows_the_run(form):
    """A new form has a value that the model accepts."""
    assert "<h4>Try double</h4>" in texts(form)
    shown = []
    form.on_result(shown.append)

    press(form, "Run")
    fill(form, "[1, 2, 3]")
    press(form, "Run")

    assert [[0.0], [2.0, 4.0, 6.0]] == [run["Y"].tolist() for run in shown]
    assert form.run is shown[-1]
    assert "Done in" in texts(form)


def test_an_invalid_entry_is_explained_beside_its_field_and_not_sent(form):
    """Names and values of the sentence are text, not HTML."""
    fill(form, "<script>")

    assert form.submit() is None

    assert "&#x27;&lt;script&gt;&#x27; is not a number or a list" in texts(form)
    assert ["", "alert"] == [form.run or "", "alert" if "alert" in texts(form) else ""]
    fill(form, "[4]")
    assert [8.0] == form.submit()["Y"].tolist()
    assert "alert" not in texts(form)


def test_each_source_of_a_value_has_its_fields(form, monkeypatch):
    """Random values have a shape and a seed; a variable is chosen by name."""
    monkeypatch.setattr(sys.modules["__main__"], "wave", np.float32([5]), raising=False)
    choose(form, "Random")
    assert ["shape", "seed"] == [
        each.description
        for each in widgets(form, (ipywidgets.Text, ipywidgets.BoundedIntText))[:2]
    ]
    [seed, *_] = widgets(form, ipywidgets.BoundedIntText)
    assert (0, 0) == (seed.value, seed.min)

    choose(form, "Variable")
    [field] = [
        each
        for each in widgets(form, ipywidgets.Combobox)
        if "variable" in each.placeholder
    ]
    field.value = "wave"

    assert [10.0] == form.submit()["Y"].tolist()
    assert "wave" in field.options
    assert "server.infer('double', {'X': wave})" == form.code()


def test_a_failed_request_shows_its_error_and_its_run(server):
    """The run has the failed call, as below a cell."""
    server.define("fails", FAILS, config=CONFIG)
    form = server.form("fails")
    shown = []
    form.on_result(shown.append)

    press(form, "Run")

    assert ["fails"] == [run.trace.title for run in shown]
    assert "no &lt;b&gt;" in texts(form)


def test_responses_of_a_stream_are_shown_as_they_arrive(server):
    """The latest responses come first, the run after the last one."""
    server.define("sends", SENDS, config=DECOUPLED)
    form = server.form("sends")
    shown, said = [], []

    def show(result):
        shown.append(result)
        said.append(texts(form))

    form.on_result(show)
    fill(form, "[1, 2, 3]")

    form.submit()

    assert [1.0] == shown[0][0]["Y"].tolist()
    assert shown[-1] is form.run
    assert "Running … 1 response<" in said[0]
    assert "Done in " in texts(form)
    assert "for response in server.stream('sends'" in form.code()


def test_a_model_that_is_not_ready_has_no_form(server):
    """The error is Triton's, before and after a form was shown."""
    with pytest.raises(InferenceError, match="unknown model: 'absent'"):
        server.form("absent")
    server.define("double", DOUBLE, config=CONFIG)
    form = server.form("double")
    server.unload("double")

    assert form.submit() is None
    assert "double" in texts(form)


def test_a_form_whose_model_has_other_inputs_says_so(server, form):
    """A request of the old form would fail in the model."""
    server.define("double", DOUBLE, config=CONFIG.replace("FP32", "FP64"))

    assert form.submit() is None
    assert "The inputs of double have changed: make a new form." in texts(form)


def test_a_form_without_a_page_is_a_table(form):
    """A saved notebook keeps it."""
    still = form.still()

    advice = "Run this cell in a notebook with a kernel to fill in the form."
    assert f"Form to try double: X FP32 [-1]\n{advice}" == still["text/plain"]
    head = "".join(
        f'<th scope="col">{each}</th>' for each in ("input", "datatype", "shape")
    )
    assert (
        f"<table><caption>Form to try double</caption><thead><tr>{head}</tr></thead>"
        "<tbody><tr><td>X</td><td>FP32</td><td>[-1]</td></tr></tbody></table>"
        f"<p>{advice}</p>" == still["text/html"]
    )


@pytest.mark.parametrize(
    ("spec", "source", "hint", "last"),
    [
        (InputSpec("X", "FP32", (64,)), "Type in", "[1, 2, 3]", []),
        (InputSpec("X", "FP32", (65,)), "Random", "[1, 2, 3]", []),
        (
            InputSpec("X", "BYTES", (1,), optional=True),
            "Leave out",
            'text, or ["one", "two"]',
            ["Leave out"],
        ),
    ],
)
def test_each_source_has_a_label_and_a_field(spec, source, hint, last):
    """A small required input is typed, and a large one is random."""
    row = SimpleNamespace(widget=InputRow(spec, ["photo"]).widget)
    [menu] = widgets(row, ipywidgets.Dropdown)
    seen = {}
    for label, _ in menu.options:
        menu.label = label
        seen[label] = [type(each).__name__ for each in widgets(row, FIELDS)]

    assert ["Type in", "Random", "File", "Variable", *last] == [*seen]
    typed = "Textarea" if last else "Text"
    assert [[typed], ["Text", "BoundedIntText"], ["UploadField"], ["Combobox"]] == [
        *seen.values()
    ][:4]
    fresh = SimpleNamespace(widget=InputRow(spec).widget)
    assert source == widgets(fresh, ipywidgets.Dropdown)[0].label
    menu.label = "Type in"
    assert hint == widgets(row, FIELDS)[0].placeholder
    assert [f"Source of {spec.name}"] == [menu.tooltip]


FIELDS = (
    ipywidgets.Text,
    ipywidgets.Textarea,
    ipywidgets.BoundedIntText,
    UploadField,
)


def test_copied_code_is_shown_where_a_page_cannot_insert_it(form):
    """The page reports what it could do; without a page the code is shown."""
    fill(form, "[1]")

    press(form, "Copy as code")

    [shown] = [
        each
        for each in widgets(form, ipywidgets.Textarea)
        if each.layout.display == "block"
    ]
    assert "server.infer('double', {'X': [1]})" == shown.value


@pytest.mark.parametrize("button", ["Copy as code", "Run"])
def test_code_that_was_copied_is_not_shown_beside_an_invalid_entry(form, button):
    """It would be that of other values."""
    press(form, "Copy as code")
    fill(form, "[one")
    press(form, button)

    shown = {each.layout.display for each in widgets(form, ipywidgets.Textarea)}
    assert "block" not in shown


@pytest.mark.parametrize(
    ("result", "text", "display"),
    [
        ("inserted", "The cell is inserted below.", "none"),
        ("copied", "The code is in the clipboard: paste it into a cell.", "none"),
        ("failed", "Copy this code into a cell:", "block"),
    ],
)
def test_a_page_reports_what_it_did_with_the_code(
    form, monkeypatch, result, text, display
):
    """It receives the code of the form that replaced its table."""
    shown = form.placed()
    page, sent = form._placed, []
    monkeypatch.setattr(page, "send", sent.append)
    press(form, "Copy as code")
    page._handle_custom_msg({"type": "insert", "result": result}, [])

    assert form.still()["text/plain"] == shown["text/plain"]
    assert form.still()["text/html"] in shown["text/html"]
    assert page.placed_id in shown["text/html"]
    assert shown == form.placed()
    assert [{"type": "insert", "code": "server.infer('double', {'X': [0.0]})"}] == sent
    assert f">{text}</div>" in texts(form)
    displays = [each.layout.display for each in widgets(form, ipywidgets.Textarea)]
    assert display == displays[-1]


def test_ctrl_c_ends_the_request_of_a_form(server, ctrl_c):
    """The form says so, and can be run again."""
    source = """
    if x_of(request)[0] == 0:
        stage.sleep()
    return [reply(x_of(request))]
    """
    server.define("stopped", cell(source), config=CONFIG)
    form = server.form("stopped")

    ctrl_c.press()
    assert None is form.submit()
    assert 'role="alert"' in texts(form)
    assert ">Interrupted.</div>" in texts(form)
    fill(form, "[1]")
    assert [1] == form.submit()["Y"].tolist()
    assert "Interrupted" not in texts(form)


def test_variables_that_can_be_inputs_are_offered_newest_first():
    """Private ones, and those of other kinds, are not."""
    named = {"a": 1, "_b": 2, "c": "text", "d": {}, "_e": None, "f": [1]}

    assert ["f", "c", "a"] == variable_names(named)
    assert 100 == len(variable_names({f"v{number}": 1 for number in range(101)}))


def test_the_button_may_run_its_request_elsewhere(form):
    """It cannot be pressed again until the request has ended."""
    waiting = []
    form.run_with(waiting.append)
    [button, *_] = widgets(form, ipywidgets.Button)
    press(form, "Run")

    assert (True, None) == (button.disabled, form.run)
    waiting.pop()()
    assert (False, [0.0]) == (button.disabled, form.run["Y"].tolist())
    assert "<Form of double: X>" == repr(form)


def test_options_of_the_request_are_sent(server):
    """Parameters and id reach the model; an invalid option is explained."""
    source = cell("""
        import json
        sent = json.loads(request.parameters())
        return [reply(np.float32([sent["gain"], len(request.request_id())]))]
    """)
    server.define("echo", source, config=CONFIG)
    form = server.form("echo")
    named = {
        each.description: each
        for each in widgets(form, (ipywidgets.Textarea, ipywidgets.Text))
    }
    named["parameters"].value = "gain=3"
    named["request id"].value = "abc"

    assert [3.0, 3.0] == form.submit()["Y"].tolist()
    named["parameters"].value = "gain"
    assert form.submit() is None
    assert "is not a parameter such as name=value" in texts(form)
