"""Parameters of a request as the text that a model reads."""

import base64
import json
import math
import struct

import pytest

from .asking import texts
from .over_http import Ask
from .served import Line, put_all, request

HALF = 2**63
NUMBERS = {
    "whole": [0.0, -0.0, 1.0, 1e15, 9007199254740992.0, 1e16, 123456789012345680000.0],
    "beyond integers": [float(HALF), -float(HALF), 2.5e19],
    "around the largest without an exponent": [1e20, 1.1e20, 1e21, 1.1e21, 1e22],
    "around the smallest without one": [1e-5, 9.5e-5, 1e-6, 1.234e-6, 1e-7, 1.5e-7],
    "of fractions": [0.1, 1.5, -4.35, 1 / 3, 123456.789, 9.5367431640625e-7],
    "at the ends": [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308],
    "of any size": [1e100, 1.5e100, -2.522753946247637e-223],
    "no numbers": [math.nan, math.inf, -math.inf],
    "integers": [-HALF, HALF - 1, 0, True, False],
}
TEXTS = [
    "",
    'quo"te',
    "back\\slash",
    "a/b",
    "\n\t\b\f\r\0\x01\x1f\x7f",
    "é€😀",
    "\u2028",
]


def printed(target, values):
    """Return the texts of parameters, one request for each."""
    target.load("repl")
    found = []
    with Line(target) as line:
        for value in values:
            code = texts("see(request.parameters())")
            given = {"a": value}
            asked = request("repl", (1,), code.data, "BYTES", parameters=given)
            asked.inputs[0].name = "CODE"
            reply = line.call("ModelInfer", asked)
            [answer] = reply["raw_output_contents"]
            [[text]] = json.loads(base64.b64decode(answer)[4:])
            found.append(text)
    return found


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_have_triton_s_digits(agree, beside, kind):
    """Up to 21 digits before the point and 6 zeros after it there is no exponent."""
    agree(lambda target: printed(beside(target), NUMBERS[kind]))


def test_texts_have_triton_s_escapes(agree, beside):
    """Control characters alone are escaped, with large letters."""
    agree(lambda target: printed(beside(target), TEXTS))


TOLD = """see(request.request_id(), request.correlation_id(), request.parameters())"""
WITH_NUL = {
    "id": lambda asked: setattr(asked, "id", "a\0b"),
    "correlation id": lambda asked: put_all(asked.parameters, {"sequence_id": "s\0t"}),
    "name of a parameter": lambda asked: put_all(asked.parameters, {"x\0y": 1}),
    "nearly known parameter": lambda asked: put_all(asked.parameters, {"timeout\0": 1}),
    "name of an input": lambda asked: setattr(asked.inputs[0], "name", "CODE\0x"),
    "name of no input": lambda asked: setattr(asked.inputs[0], "name", "CO\0DE"),
    "datatype": lambda asked: setattr(asked.inputs[0], "datatype", "BYTES\0x"),
    "name of an output": lambda asked: asked.outputs.add(name="OUT\0x"),
    "name of the model": lambda asked: setattr(asked, "model_name", "repl\0x"),
    "name of no model": lambda asked: setattr(asked, "model_name", "re\0pl"),
}


@pytest.mark.parametrize("what", WITH_NUL)
def test_a_text_ends_at_its_first_nul(agree, beside, what):
    """All of them pass through C strings."""

    def case(target):
        target = beside(target)
        target.load("repl")
        asked = request("repl", (1,), texts(TOLD).data, "BYTES")
        asked.inputs[0].name = "CODE"
        WITH_NUL[what](asked)
        with Line(target) as line:
            return line.call("ModelInfer", asked)

    agree(case)


NAMES = {
    "id": {"id": "a\0b"},
    "correlation id": {"parameters": {"sequence_id": "s\0t"}},
    "text": {"parameters": {"x": "1\0y"}},
    "name of no parameter": {"parameters": {"x\0y": 1}},
    "name of another parameter": {"parameters": {"x\0y": [1], "x": 2}},
    "known, but not there": {"parameters": {"priority\0y": 1}},
    "known, and there": {"parameters": {"priority\0y": "a", "priority": 1}},
    "reserved": {"parameters": {"triton_\0y": 1}},
}


def over_http(target, served, path, body):
    """Return the model `repl`'s result for a body, each parameter once."""
    [status, _, said] = served(target).have("repl").ask(Ask(path, body))
    found = said.get("OUT") or [each["data"][0] for each in said.get("outputs", [])]
    return [status, said.get("error"), found and again(found)]


def again(found):
    """Read a text that may name a parameter twice, and return it as it was read."""
    [text] = found if isinstance(found, list) else [found]
    [[*seen, parameters]] = json.loads(text)
    return [*seen, json.loads(parameters)]


@pytest.mark.parametrize("what", NAMES)
def test_a_text_in_json_ends_at_its_first_nul(agree, served, what):
    """The shortened name is looked up again, and may be unknown."""
    given = {"name": "CODE", "datatype": "BYTES", "shape": [1], "data": [TOLD]}
    body = {"inputs": [given], "outputs": [{"name": "OUT"}], **NAMES[what]}
    agree(lambda target: over_http(target, served, "/v2/models/repl/infer", body))


PROMPTS = {
    "a parameter": {"x\0y": 1},
    "another parameter": {"x": 5, "x\0y": [1]},
    "an input": {"CODE": TOLD, "CODE\0": TOLD},
    "parameters of their own": {"parameters": {"x\0y": 1}},
    "such parameters": {"parameters\0": {"x": 1}},
}


@pytest.mark.parametrize("what", PROMPTS)
def test_a_name_in_a_prompt_ends_at_its_first_nul(agree, served, what):
    """Names in other requests do, too."""
    body = {"CODE": TOLD, **PROMPTS[what]}
    agree(lambda target: over_http(target, served, "/v2/models/repl/generate", body))


def test_an_input_that_only_begins_as_one_is_none(agree, served):
    """Its expected type is reported."""
    path = "/v2/models/repl/generate"
    agree(lambda target: over_http(target, served, path, {"CODE\0": TOLD}))


def test_a_number_that_is_not_told_as_python_tells_it_is_the_same(agree, beside):
    """Its last digit may be another one: both read as the same number."""
    numbers = [1e23, 8.41e21, 2.5146486499067597, -385.35776437497304, 3.5e-310]

    def case(target):
        read = [json.loads(text)["a"] for text in printed(beside(target), numbers)]
        return [struct.pack("<d", number).hex() for number in read]

    agree(case)
