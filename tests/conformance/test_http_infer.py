"""Inference over HTTP, beside the real server: valid and invalid bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .covering import rows
from .over_http import LENGTH, Ask, End
from .targets import Target

Agree = Callable[..., None]
Served = Callable[[Target], End]
MODELS = ("add", "batch", "echo", "flexible", "optional", "script", "texts")
ADD = "/v2/models/add/infer"
ECHO = "/v2/models/echo/infer"
X = np.arange(4, dtype=np.float32).tobytes()


def given(called: str, **fields: Any) -> dict[str, Any]:
    """Return an input of four numbers; a field with None is omitted."""
    found = {"name": called, "shape": [4], "datatype": "FP32", "data": [1, 2, 3, 4]}
    found |= fields
    return {key: value for key, value in found.items() if value is not None}


def in_bytes(called: str, size: Any, **fields: Any) -> dict[str, Any]:
    """Return an input whose elements follow the JSON text."""
    return given(called, data=None, parameters={"binary_data_size": size}, **fields)


def add(**fields: Any) -> Ask:
    """Return a valid request with more members."""
    return Ask(ADD, {"inputs": [given("A"), given("B")], **fields})


def first(**fields: Any) -> Ask:
    """Return a request with another first input."""
    return Ask(ADD, {"inputs": [given("A", **fields), given("B")]})


def elements(data: Any, datatype: str = "FP32") -> Ask:
    """Return a request with other elements of some type."""
    shape = [1, len(data) if isinstance(data, list) else 1]
    each = {"name": datatype, "shape": shape, "datatype": datatype, "data": data}
    wanted = [{"name": datatype}, {"name": "REPORT"}]
    return Ask(ECHO, {"inputs": [each], "outputs": wanted})


def outputs(*named: Any) -> Ask:
    """Return a request for some outputs."""
    return add(outputs=list(named))


def parameters(value: Any) -> Ask:
    """Return a request with parameters, which the model reports."""
    wanted = [{"name": "REPORT"}]
    return Ask(ECHO, {"inputs": [], "parameters": value, "outputs": wanted})


SUM = {"name": "SUM"}
SUM_CLASS = {**SUM, "parameters": {"classification": 1}}
BROKEN = (
    b" ",
    b"{",
    b"nul",
    b'{"a":1,}',
    b'{"a":1}x',
    b'{"a":falsy}',
    b'{"a":"\x01"}',
    b'{"a":"\\x"}',
    b'{"a":"\\ud800"}',
    b'{"a":1e999}',
    b'{"a":01}',
    b'{"a":-}',
    b'{"a":1.}',
    b'{"a":1e}',
    b"[1 2]",
    b'{"a" 1}',
    b'{"a":1 "b":2}',
    b'"abc',
    b'["\\u12"]',
    b"[NInf,NaIn]",
    b"// c\n{}",
    b"\0",
)
ASKED = {
    "right": [
        add(),
        add(id="q"),
        Ask("/v2/models/add/versions/1/infer", add().body),
        Ask(ADD, b'\xef\xbb\xbf{"inputs":[]}\0 and more'),
        first(data=[[1, 2], [3, 4]]),
        first(data=[[[[1]]], 2, [3, [4]]]),
    ],
    "bad json": [Ask(ADD, body) for body in BROKEN],
    "key missing": [
        Ask(ADD, {}),
        Ask(ADD, b"[]"),
        Ask(ADD, b"NaN"),
        first(name=None),
        first(datatype=None),
        first(shape=None),
        outputs({}),
        outputs(5),
    ],
    "not a list": [
        Ask(ADD, {"inputs": 5}),
        first(shape=5),
        first(data=5),
        add(outputs=5),
        add(outputs=None),
    ],
    "types": [
        first(name=5),
        first(datatype=5),
        first(datatype="FLOAT"),
        first(datatype="fp32"),
        first(datatype="FP16"),
        first(datatype="BF16"),
        first(datatype="INT32"),
        first(shape=[-1]),
        first(shape=["a"]),
        first(shape=[4.0]),
        first(shape=[2**63]),
        first(parameters=5),
        first(parameters={"x": 1}),
    ],
    "shape": [
        first(data=[]),
        first(data=[1, 2, 3]),
        first(data=[1, 2, 3, 4, 5]),
        first(data=[1, 2, 3, 4, "a"]),
        first(shape=[0]),
        first(shape=[]),
        first(shape=[2, 2]),
        first(shape=[5]),
        elements(["a", "b"], "STRING"),
    ],
    "numbers": [
        first(data=["a", 2, 3, 4]),
        first(data=[None, 1, 2, 3]),
        first(data=[True, 1, 2, 3]),
        first(data=[{}, 1, 2, 3]),
        elements([1.5], "FP64"),
        elements([2**70], "FP64"),
    ],
    "large numbers": [
        elements([10**308, -(10**308)], "FP64"),
        elements([10**309], "FP64"),
    ],
    "whole numbers": [
        elements([1.5], "INT32"),
        elements([2**40, -(2**40), 300], "INT32"),
        elements([2**63], "INT64"),
        elements([300, -1], "INT8"),
        elements([300], "UINT8"),
        elements([-1], "UINT16"),
        elements([2**64 - 1], "UINT64"),
        elements([2**64], "UINT64"),
    ],
    "booleans": [elements([1], "BOOL"), elements([True, False], "BOOL")],
    "strings": [
        Ask(
            "/v2/models/texts/infer",
            {
                "inputs": [
                    {"name": "X", "shape": [2], "datatype": "BYTES", "data": data}
                ]
            },
        )
        for data in (["a", "é\n"], ["a"], ["a", "b", "c"], [1, "b"], [["a"], "\x1f"])
    ],
    "source": [
        first(data=None),
        Ask(ADD, {"inputs": [5]}),
        first(parameters={"binary_data_size": 16}),
        first(parameters={"shared_memory_region": "r"}),
        first(data=None, parameters={"shared_memory_region": "nope"}),
        first(data=None, parameters={"shared_memory_region": 5}),
        first(
            data=None,
            parameters={"shared_memory_region": "r", "shared_memory_offset": -1},
        ),
    ],
    "twice": [
        first(name="B"),
        first(name="Q"),
        outputs(SUM, SUM),
        outputs(SUM, SUM_CLASS),
        outputs(SUM_CLASS, SUM),
        Ask(ECHO, b'{"inputs":[],"parameters":{"a":1,"a":2},"inputs":5}'),
    ],
    "id": [
        Ask(ECHO, {"inputs": [], "id": each, "outputs": [{"name": "REPORT"}]})
        for each in ("q", "", 5, None)
    ],
    "parameters": [
        parameters(each)
        for each in (
            {"a": 1, "b": True, "c": "s", "d": 1.5},
            {"a": 2**63},
            {"a": -(2**63)},
            {"a": None},
            {"a": [1]},
            {"a": {}},
            {"triton_x": 1},
            {"": ""},
            {"é": "ü"},
            5,
            [],
            None,
        )
    ],
    "priority and timeout": [
        parameters(each)
        for each in (
            {"priority": 3},
            {"priority": -1},
            {"priority": "a"},
            {"timeout": 5},
            {"timeout": 2**64 - 1},
            {"timeout": -5},
        )
    ],
    "sequence": [
        parameters(each)
        for each in (
            {"sequence_id": 5, "sequence_start": True, "sequence_end": True},
            {"sequence_id": -5},
            {"sequence_id": 1.5},
            {"sequence_id": None},
            {"sequence_id": "abc"},
            {"sequence_id": ""},
            {"sequence_id": "x" * 129},
            {"sequence_id": "x" * 129, "triton_x": 1},
            {"triton_x": 1, "sequence_id": "x" * 129},
            {"sequence_start": 1},
            {"sequence_end": "x"},
        )
    ]
    + [Ask(ECHO, {"inputs": 5, "parameters": {"sequence_id": "x" * 129}})],
    "outputs": [
        outputs(),
        outputs(SUM),
        outputs({"name": "NOPE"}),
        outputs({"name": 5}),
        outputs({**SUM, "parameters": 5}),
        outputs({**SUM, "parameters": {"classification": 2}}),
        outputs({**SUM, "parameters": {"classification": 9}}),
        outputs({**SUM, "parameters": {"classification": 2**32}}),
        outputs({**SUM, "parameters": {"classification": 2**32 + 1}}),
        outputs({**SUM, "parameters": {"classification": -1}}),
        outputs({**SUM, "parameters": {"classification": 2, "binary_data": True}}),
        outputs({**SUM, "parameters": {"binary_data": True}}, {"name": "DIFFERENCE"}),
        outputs({**SUM, "parameters": {"binary_data": 5}}),
        outputs(
            {**SUM, "parameters": {"shared_memory_region": "r", "classification": 2}}
        ),
        outputs(
            {**SUM, "parameters": {"shared_memory_region": "r", "binary_data": True}}
        ),
        outputs({**SUM, "parameters": {"shared_memory_region": "nope"}}),
        add(parameters={"binary_data_output": True}),
        add(parameters={"binary_data_output": 1}),
        add(parameters={"binary_data_output": True}, outputs=[SUM]),
    ],
    "bytes": [
        Ask(ADD, {"inputs": inputs}, tail=tail)
        for inputs, tail in (
            ([in_bytes("A", 16), in_bytes("B", 16)], X + X),
            ([in_bytes("A", 16), given("B")], X),
            ([in_bytes("A", 16), in_bytes("B", 16)], X),
            ([in_bytes("A", 16), in_bytes("B", 16)], X + X[:5]),
            ([in_bytes("A", 16), in_bytes("B", 12)], X + X[:12]),
            ([in_bytes("A", 16), in_bytes("B", 0)], X),
            ([in_bytes("A", 16), in_bytes("B", -1)], X),
            ([in_bytes("A", 16), in_bytes("B", "16")], X),
            ([in_bytes("A", 16), in_bytes("B", 2**63)], X),
            ([in_bytes("A", 16, datatype="FLOAT"), in_bytes("B", 16)], X + X),
            ([given("A"), given("B")], b"xx"),
        )
    ],
    "a byte short": [
        Ask(ADD, {"inputs": [in_bytes("A", 16), in_bytes("B", 15)]}, tail=X + X[:15]),
        Ask(ADD, {"inputs": [in_bytes("A", 16), in_bytes("B", 16)]}, tail=X + X[:15]),
        Ask(ADD, {"inputs": [in_bytes("A", 17), in_bytes("B", 16)]}, tail=X + X + X),
        Ask("/v2/models/flexible/infer", X[:15], headers={LENGTH: "0"}),
    ],
    "header length": [
        Ask(ADD, b"{}", headers={LENGTH: each})
        for each in ("99999", "-1", "abc", "5x", " 2", "0x2")
    ],
    "raw": [
        Ask(f"/v2/models/{model}/infer", body, headers={LENGTH: "0"})
        for model, body in (
            ("flexible", X),
            ("flexible", X[:12]),
            ("flexible", b""),
            ("texts", b"hello"),
            ("script", b'returned=[answer("a")]'),
            ("echo", b""),
        )
    ],
    "raw, two inputs": [
        Ask(ADD, X, headers={LENGTH: "0"}),
        Ask(ADD, b""),
        Ask("/v2/models/optional/infer", X[:8], headers={LENGTH: "0"}),
    ],
    "no model": [
        Ask("/v2/models/nope/infer", X),
        Ask("/v2/models/add/versions/9/infer", add().body),
    ],
    "decoupled": [Ask("/v2/models/script_decoupled/infer", {"inputs": []})],
}


@rows(
    "r6.2/post-infer",
    {
        "bad json": "r3.3/bad-json",
        "key missing": "r3.3/key-missing",
        "not a list": "r3.3/inputs-not-a-list",
        "shape": "r3.3/element-count-shape-flat-or-nested",
        "numbers": "r3.3/string-in-fp32",
        "whole numbers": "r3.3/float-in-int32",
        "booleans": "r3.3/number-in-bool",
        "priority and timeout": "r3.3/priority-timeout-wrong-type",
        "sequence": "r3.3/sequence_id-negative-float",
        "raw, two inputs": "r3.2/raw-binary-request-on-a-model",
        "decoupled": "r3.2/decoupled-model-through-http-infer",
    },
)
@pytest.mark.parametrize("asks", ASKED.values(), ids=ASKED)
def test_a_body(agree: Agree, served: Served, asks: list[Ask]) -> None:
    """Status, content type and body of the response agree."""
    agree(lambda target: served(target).have(*MODELS, "script_decoupled").each(asks))


SCRIPTS = {
    "a model fails": "raise ValueError('boom')",
    "it answers with an error": "returned = [failure('no')]",
    "with a code": "returned = [failure('no', pb_utils.TritonError.NOT_FOUND)]",
    "no output": "returned = [pb_utils.InferenceResponse([])]",
    "bytes that are no text": (
        "t = pb_utils.Tensor('OUT', np.array([b'a\\xff', b'\\x00\"'], dtype=object)); "
        "returned = [pb_utils.InferenceResponse([t])]"
    ),
    "half precision": (
        "t = pb_utils.Tensor('OUT', np.zeros(1, np.float16)); "
        "returned = [pb_utils.InferenceResponse([t])]"
    ),
    "another type": (
        "t = pb_utils.Tensor('OUT', np.array([[1e30, 1e-30, 1e5]])); "
        "returned = [pb_utils.InferenceResponse([t])]"
    ),
}


@rows("r6.2/post-infer")
@pytest.mark.parametrize("code", SCRIPTS.values(), ids=SCRIPTS)
def test_what_a_model_answers(agree: Agree, served: Served, code: str) -> None:
    """Its errors have statuses, and its outputs are not checked."""
    tensor = {"name": "CODE", "shape": [1], "datatype": "BYTES", "data": [code]}
    ask = Ask("/v2/models/script/infer", {"inputs": [tensor], "id": "q"})

    agree(lambda target: served(target).have("script").ask(ask))


TENSORS = """
max_batch_size: 4
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
"""
STEP = """
platform: "ensemble"
ensemble_scheduling { step {
    model_name: "%s" model_version: -1
    input_map { key: "X" value: "X" } output_map { key: "Y" value: "Y" }
} }
"""
FAILS = """
class TritonPythonModel:
    def execute(self, requests):
        raise ValueError("boom")
"""
SCHEDULED = {
    "execute": "",
    "sequences": "sequence_batching { }",
    "queue": "dynamic_batching { preferred_batch_size: [ 4 ] "
    "max_queue_delay_microseconds: 500000 "
    "default_queue_policy { default_timeout_microseconds: 1000 } }",
}


@rows("r6.2/post-infer")
@pytest.mark.parametrize("name", SCHEDULED)
def test_an_error_of_a_model_and_of_a_step(
    agree: Agree, served: Served, name: str
) -> None:
    """A refusal is JSON; an error of an accepted request has the type of plain text."""
    step, ensemble = f"fails_{name}", f"fails_{name}_in_a_step"
    config = f'backend: "python" instance_group {{ kind: KIND_CPU }} {TENSORS}'

    def case(target: Target) -> Any:
        end = served(target)
        end.write(step, config + SCHEDULED[name], FAILS)
        end.write(ensemble, STEP % step + TENSORS, "")
        body = {"inputs": [given("X", shape=[1, 1], data=[1])]}
        return end.each(
            [Ask(f"/v2/models/{each}/infer", body) for each in (step, ensemble)]
        )

    agree(case)
