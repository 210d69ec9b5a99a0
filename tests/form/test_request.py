"""Specification of options that are entered, and of the copied cell."""

from types import SimpleNamespace

import pytest

from blsnb.form import request as requests
from blsnb.form.options import OptionsBox, parse_parameters, request_options
from blsnb.form.request import request_code, send
from blsnb.form.value import FieldError, Value


def test_parameters_are_lines_with_typed_values():
    """Numbers and booleans have their types; quoted and other text is text."""
    text = 'a=1\n b = 0.5\nc=true\nd="7"\ne=x=y\n\nf=[1]\n'

    expected = {"a": 1, "b": 0.5, "c": True, "d": "7", "e": "x=y", "f": "[1]"}
    assert expected == parse_parameters(text)


def test_each_option_has_the_field_of_its_type():
    """Text may be an id; numbers have no sign, and parameters several lines."""
    box = OptionsBox(["Y", "Z"], has_sequences=False)
    found = {
        each.description: type(each).__name__
        for each in box.widget.children[0].children
    }

    assert {
        "outputs": "SelectMultiple",
        "version": "Text",
        "parameters": "Textarea",
        "request id": "Text",
        "correlation id": "Text",
        "sequence start": "Checkbox",
        "sequence end": "Checkbox",
        "priority": "BoundedIntText",
        "timeout us": "BoundedIntText",
    } == found


def test_the_field_of_parameters_says_how_they_are_written():
    """The other fields are empty, and numbers begin at 0."""
    fields = OptionsBox(["Y"], has_sequences=False).widget.children[0].children
    hints = {
        each.description: each.placeholder
        for each in fields
        if getattr(each, "placeholder", "\u200b") != "\u200b"
    }
    ranges = {(each.min, each.max) for each in fields if hasattr(each, "max")}

    assert {"parameters": "name=value, one per line"} == hints
    assert {(0, 2**31 - 1)} == ranges


@pytest.mark.parametrize(("has_sequences", "unfolded"), [(False, None), (True, 0)])
def test_options_are_unfolded_for_a_sequence(has_sequences, unfolded):
    """Its requests need an id, a start and an end."""
    box = OptionsBox(["Y"], has_sequences)

    assert unfolded == box.widget.selected_index
    assert {} == request_options("m", {**box.entered(), "outputs": ("Y",)}, ["Y"])


def test_only_options_that_are_set_are_sent():
    """All outputs are the default, and a numeric correlation id is a number."""
    entered = {
        "parameters": "a=1",
        "request_id": "",
        "correlation_id": "7",
        "sequence_start": True,
        "priority": 0,
        "outputs": ("Y",),
    }

    options = request_options("m", entered, ["Y", "Z"])

    expected = {
        "parameters": {"a": 1},
        "correlation_id": 7,
        "sequence_start": True,
        "outputs": ["Y"],
    }
    assert expected == options
    assert {} == request_options("m", {"outputs": ("Y",)}, ["Y"])


def test_version_0_can_be_entered():
    """Only an empty field leaves the version to the server."""
    assert {"version": 0} == request_options("m", {"version": "0"}, [])
    assert {} == request_options("m", {"version": ""}, [])


@pytest.mark.parametrize(
    ("entered", "expected"),
    [
        ({"parameters": "a"}, "'a' is not a parameter such as name=value"),
        ({"parameters": "=1"}, "'=1' is not a parameter such as name=value"),
        ({"correlation_id": str(2**64)}, "correlation_id"),
        ({"version": "one"}, "version='one'"),
    ],
)
def test_an_invalid_option_is_refused_with_a_sentence(entered, expected):
    """Nothing is sent with an option that the server would misread."""
    with pytest.raises(FieldError, match=expected):
        request_options("m", entered, [])


def test_a_long_request_is_broken_into_lines():
    """Each input and option has a line; the cell imports what it needs."""
    array = Value(None, "np.zeros((1, 3, 224, 224))", imports=("import numpy as np",))
    values = {"IMAGE": array, "MORE": Value(None, repr("text" * 9))}

    code = request_code("m", values, {"priority": 2})

    assert (
        "import blsnb\n"
        "import numpy as np\n"
        "\n"
        "blsnb.infer(\n"
        "    'm',\n"
        "    {\n"
        "        'IMAGE': np.zeros((1, 3, 224, 224)),\n"
        f"        'MORE': {'text' * 9!r},\n"
        "    },\n"
        "    priority=2,\n"
        ")"
    ) == code


def test_the_cell_of_a_decoupled_model_prints_its_responses():
    """Such a model requires a stream."""
    code = request_code("m", {"X": Value(None, "1")}, {}, streams=True, server="server")

    assert "for response in server.stream('m', {'X': 1}):\n    print(response)" == code


class Numbers:
    """A server whose responses are numbers; a moment passes before each."""

    run = "run"

    def __init__(self, count, moment_s):
        self.clock = SimpleNamespace(now_s=7.0)
        self.clock.monotonic = lambda: self.clock.now_s
        self.left = list(range(1, count + 1))
        self.moment_s = moment_s

    def stream(self, name, inputs, *, show):
        assert ("m", {"X": 1}, False) == (name, inputs, show)
        return self

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.clock.now_s += self.moment_s
        return self.left.pop(0)


@pytest.mark.parametrize(
    ("count", "moment_s", "shown"),
    [
        (3, 0.125, [(1, [1]), (2, [1, 2]), (3, [1, 2, 3])]),
        (4, 0.0625, [(1, [1]), (3, [1, 2, 3])]),
        (22, 0.0078125, [(1, [1]), (14, [*range(1, 15)])]),
        (41, 0.0025, [(1, [1]), (41, [*range(22, 42)])]),
    ],
)
def test_the_latest_responses_are_shown_ten_times_a_second(
    count, moment_s, shown, monkeypatch
):
    """A stream may have many, and each picture takes time."""
    server, arrived = Numbers(count, moment_s), []
    monkeypatch.setattr(requests, "time", server.clock)

    run = send(server, "m", {"X": 1}, {}, lambda *state: arrived.append(state))

    assert "run" == run
    assert shown == arrived
