"""Random changes of requests over HTTP and gRPC: the response, or the first mistake."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from math import prod
from typing import Any

import pytest
from tritonclient.grpc import service_pb2 as pb

from .changes import Changes
from .over_http import Ask, End
from .served import Line, put_all
from .targets import Target

pytestmark = pytest.mark.timeout(300)  # A busy machine loads, or answers, slowly.
REQUESTS = 150
"""Number of requests of a seed."""
MODELS = ("add", "batch", "flexible", "optional", "texts")
FOUR = {"shape": [4], "datatype": "FP32", "data": [1, 2, 3, 4]}
ROW = {"shape": [1, 4], "datatype": "FP32", "data": [[1, 2, 3, 4]]}
TWO = {"shape": [2], "datatype": "FP32", "data": [1, 2]}
GIVEN: dict[str, list[dict[str, Any]]] = {
    "add": [{"name": "A", **FOUR}, {"name": "B", **FOUR}],
    "batch": [{"name": "A", **ROW}, {"name": "B", **ROW}],
    "flexible": [{"name": "X", **TWO, "shape": [2, 1]}],
    "optional": [{"name": "X", **TWO}, {"name": "Y", **TWO}],
    "texts": [{"name": "X", "shape": [2], "datatype": "BYTES", "data": ["a", "bc"]}],
}
WANTED = {"add": ["SUM", "DIFFERENCE"], "texts": ["X"]}
SHARED = ("region", "byte_size", "offset")
NAMES = [
    *("id", "inputs", "outputs", "parameters", "name", "shape", "datatype", "data"),
    *("binary_data", "binary_data_size", "classification", "sequence_id", "priority"),
    *(f"shared_memory_{each}" for each in SHARED),
    *("sequence_start", "timeout", "binary_data_output", "triton_x", "x"),
]
NUMBERS = [0, 1, -1, 2, 4, 5, 2**31 - 1, -(2**31)]
ODD: list[Any] = [
    *(None, True, False, 3.5, 1e30, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1),
    *("", "A", "FP32", "INT8", "BYTES", "1", "é", "\0", "x" * 129, *NUMBERS),
    *([], [1], [[]], {}, {"a": 1}, [None], [1, 2, 3, 4], [[1, 2], [3, 4]]),
]
TEXTS = ["", "A", "X", "SUM", "FP32", "INT8", "BYTES", "é", "a\0b", "1", "-1", *NAMES]


def body_of(model: str) -> dict[str, Any]:
    """Return a valid request in JSON."""
    outputs = [{"name": name} for name in WANTED.get(model, [])]
    return {"inputs": copy.deepcopy(GIVEN[model]), "outputs": outputs, "id": "q"}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container of a JSON value, with each of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(pairs):
        yield value, key
        if isinstance(part, dict | list):
            yield from places(part)


def change(rng: random.Random, body: Any) -> None:
    """Change a JSON value in one place."""
    holder, key = rng.choice([*places(body), (body, "id")])
    value = holder.get(key) if isinstance(holder, dict) else holder[key]
    odd = copy.deepcopy(rng.choice(ODD))
    kind = rng.random()
    if isinstance(value, dict) and kind < 0.3:
        value[rng.choice(NAMES)] = odd
    elif isinstance(holder, dict) and kind < 0.4:
        holder[rng.choice(NAMES)] = odd
    elif isinstance(holder, list) and kind < 0.4:
        holder.append(copy.deepcopy(value))
    elif kind < 0.6 and (isinstance(holder, list) or key in holder):
        del holder[key]
    else:
        holder[key] = odd


def is_huge(body: dict[str, Any]) -> bool:
    """Whether an input has more elements than memory has room for.

    Triton 2.51 may end, or be busy for minutes.
    """
    inputs = body.get("inputs")
    shapes = [
        each.get("shape")
        for each in (inputs if isinstance(inputs, list) else [])
        if isinstance(each, dict)
    ]
    sizes = [size for shape in shapes if isinstance(shape, list) for size in shape]
    return any(isinstance(size, int) and abs(size) >= 2**31 - 1 for size in sizes)


def over_http(end: End, seed: int) -> list[Any]:
    """Send the requests of a seed."""
    rng = random.Random(seed)
    asked = []
    for _ in range(REQUESTS):
        model = rng.choice(MODELS)
        body = body_of(model)
        for _ in range(rng.choice([1, 1, 2, 3])):
            change(rng, body)
        if not is_huge(body):
            asked.append(Ask(f"/v2/models/{model}/infer", body))
    return end.have(*MODELS).each(asked)


@pytest.mark.parametrize("seed", range(2))
def test_random_requests_over_http(agree, served, seed):
    """Each is answered as on Triton, or refused with its status and text."""
    agree(lambda target: over_http(served(target), seed))


def message_of(model: str, *, raw: bool) -> pb.ModelInferRequest:
    """Return a valid request over gRPC."""
    message = pb.ModelInferRequest(model_name=model, id="q")
    for given in GIVEN[model]:
        tensor = message.inputs.add(name=given["name"], datatype=given["datatype"])
        tensor.shape.extend(given["shape"])
        texts = given["datatype"] == "BYTES"
        if raw:
            floats = bytes(4 * prod(given["shape"]))
            elements = b"\1\0\0\0a\2\0\0\0bc" if texts else floats
            message.raw_input_contents.append(elements)
        elif texts:
            tensor.contents.bytes_contents.extend([b"a", b"bc"])
        else:
            tensor.contents.fp32_contents.extend([1.0] * prod(given["shape"]))
    for name in WANTED.get(model, []):
        message.outputs.add(name=name)
    put_all(message.parameters, {"p": 3})
    return message


def over_grpc(target: Target, seed: int) -> list[Any]:
    """Send the requests of a seed, each as a call or on a stream of its own."""
    rng = random.Random(seed)
    for model in MODELS:
        target.load(model)
    changes = Changes(rng, NUMBERS, TEXTS, {"model_name"})
    found = []
    with Line(target) as wire:
        for _ in range(REQUESTS):
            message = message_of(rng.choice(MODELS), raw=rng.random() < 0.5)
            for _ in range(rng.choice([1, 1, 2, 3])):
                changes.change(message)
            if rng.random() < 0.3:
                found.append(wire.stream(message))
            else:
                found.append(wire.call("ModelInfer", message))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_random_requests_over_grpc(agree, beside, seed):
    """Each is answered as on Triton, or refused with its code and text."""
    agree(lambda target: over_grpc(beside(target), seed))
