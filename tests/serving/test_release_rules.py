"""Refusals that Triton added after 24.10, each from its release on, at its doors."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc
from cells import CONFIG, DOUBLE
from tritonclient.utils import InferenceServerException

import blsnb
from blsnb.inference_server import Server
from blsnb.pb_utils.compiled.releases import DOORS, FEATURES, NEWEST
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.endpoints import Endpoints, serve

from .conftest import HttpServed, body_of

INT64_MAX = 2**63 - 1
OLD, NEW = "24.10", "26.07"


class Ports:
    """A server of one release behind both protocols."""

    def __init__(self, release: str, options: ServingOptions | None = None) -> None:
        self.server = Server(triton_release=release)
        self.server.define("double", DOUBLE, config=CONFIG)
        self.ends: Endpoints = serve(
            self.server, http=0, grpc=0, metrics=None, options=options
        )
        self.grpc = tritonclient.grpc.InferenceServerClient(self.ends.addresses["gRPC"])

    def close(self) -> None:
        """Close the client and the server."""
        self.grpc.close()
        self.server.close()

    ask = HttpServed.ask

    @property
    def end(self) -> Any:
        """The HTTP port, as `HttpServed` has it."""
        return self.ends._open["HTTP"]

    def error(self, path: str, body: Any, **headers: str) -> tuple[int, str]:
        """Return status and text of a refused request."""
        status, answer = self.ask(path, body, **headers)
        return status, answer["error"]

    def infer(self, **more: Any) -> tuple[int, Any]:
        """Send a request with the input X."""
        given = {"name": "X", "shape": [1], "datatype": "FP32", "data": [1.0]}
        outputs = {"outputs": more.pop("outputs")} if "outputs" in more else {}
        body = {"inputs": [{**given, **more}], **outputs}
        return self.ask("/v2/models/double/infer", body)


@pytest.fixture(params=[OLD, NEW])
def both(request: pytest.FixtureRequest) -> Iterator[Ports]:
    """A server of each release."""
    ports = Ports(request.param)
    yield ports
    ports.close()


@pytest.fixture
def new() -> Iterator[Ports]:
    """A server of the newest release."""
    ports = Ports(NEW)
    yield ports
    ports.close()


@pytest.fixture
def old() -> Iterator[Ports]:
    """A server of the oldest release."""
    ports = Ports(OLD)
    yield ports
    ports.close()


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (
            [2**4, 2**60 + 2],
            "invalid shape for input 'X': shape [16,1152921504606846978] causes total "
            f"element count to exceed maximum size of {INT64_MAX}",
        ),
        (
            [2**63, 2],
            f"invalid shape for input 'X': shape [{-(2**63)},2] contains one or more "
            "invalid dimensions",
        ),
        (
            [2**2, 2**60 - 2],
            f"byte size overflow for input 'X': element count ({2**62 - 8}) * data "
            f"type size (4) exceeds maximum allowed size ({INT64_MAX})",
        ),
        (
            [2**25],
            f"JSON input 'X' has a byte_size ({2**27} bytes) that exceeds the maximum "
            "allowed value of 67108864 bytes. Use --http-max-input-size to increase "
            "the limit.",
        ),
    ],
    ids=["elements", "negative", "bytes", "limit"],
)
def test_an_input_too_large_is_refused_over_http(
    new: Ports, old: Ports, shape: list[int], text: str
) -> None:
    """Before any memory is needed; 24.10 compares the elements with the shape."""
    status, answer = new.infer(shape=shape)

    assert (400, text) == (status, answer["error"])
    if shape != [2**25]:
        assert 500 == old.infer(shape=shape)[0]


@pytest.mark.parametrize("depth", [50, 99])
def test_lists_nest_less_than_100_deep(both: Ports, depth: int) -> None:
    """All releases accept such lists."""
    nested: Any = 1.0
    for _ in range(depth):
        nested = [nested]

    assert 200 == both.infer(data=nested)[0]


@pytest.mark.parametrize(
    ("datatype", "prefix", "value"),
    [("FP32", "Unable to parse 'data': ", 1.0), ("BYTES", "", "a")],
)
def test_deeper_lists_are_refused(
    new: Ports, old: Ports, datatype: str, prefix: str, value: Any
) -> None:
    """Releases from 25.05 on refuse them, over HTTP only."""
    for _ in range(100):
        value = [value]
    status, answer = new.infer(data=value, datatype=datatype)

    text = f"{prefix}JSON nesting depth exceeds maximum allowed limit (100)"
    assert (400, text) == (status, answer["error"])
    if datatype == "FP32":
        assert 200 == old.infer(data=value)[0]


def test_generate_has_the_same_limit(new: Ports) -> None:
    """It applies to the depth of an input."""
    value: Any = 1.0
    for _ in range(100):
        value = [value]

    status, text = new.error("/v2/models/double/generate", {"X": value})
    assert 400 == status
    assert text.endswith("JSON nesting depth exceeds maximum allowed limit (100)")


def test_an_output_is_requested_once(new: Ports, old: Ports) -> None:
    """A second time is an error over HTTP, over gRPC and in Python."""
    text = (
        "[request id: <id_unknown>] Duplicate output name 'Y' is not allowed in a "
        "request"
    )
    twice = [{"name": "Y"}] * 2
    status, answer = new.infer(outputs=twice)
    inputs = [tritonclient.grpc.InferInput("X", [1], "FP32")]
    inputs[0].set_data_from_numpy(np.ones(1, np.float32))
    outputs = [tritonclient.grpc.InferRequestedOutput("Y")] * 2

    assert (400, text) == (status, answer["error"])
    with pytest.raises(InferenceServerException) as over_grpc:
        new.grpc.infer("double", inputs, outputs=outputs)
    with pytest.raises(blsnb.InferenceError) as in_python:
        new.server.infer("double", {"X": [1.0]}, outputs=["Y", "Y"])
    assert text == over_grpc.value.message()
    assert ("INVALID_ARG", text) == (in_python.value.code, in_python.value.message)
    assert 200 == old.infer(outputs=twice)[0]
    assert [2.0] == old.grpc.infer("double", inputs, outputs=outputs).as_numpy("Y")
    run = old.server.infer("double", {"X": [1.0]}, outputs=["Y", "Y"])
    assert [2.0] == run["Y"].tolist()


@pytest.mark.parametrize(("release", "expected"), [(OLD, 500), (NEW, 400)])
def test_the_index_checks_the_type_of_ready(
    request: pytest.FixtureRequest, release: str, expected: int
) -> None:
    """Another one is the client's mistake in newer releases."""
    ports = request.getfixturevalue("old" if release == OLD else "new")

    assert (expected, "attempt to access JSON non-boolean as boolean") == ports.error(
        "/v2/repository/index", {"ready": "x"}
    )


RESERVED = (
    "cannot register shared memory region 'r' with key '{}' as the key contains the "
    "reserved prefix 'triton_python_backend_shm_region_'"
)


@pytest.mark.parametrize("slashes", ["", "/", "///"])
def test_the_memory_of_triton_s_own_models_is_reserved(
    new: Ports, old: Ports, slashes: str
) -> None:
    """Over both protocols, behind any number of slashes."""
    key = f"{slashes}triton_python_backend_shm_region_1"
    path, body = "/v2/systemsharedmemory/region/r/register", {"key": key}
    body["byte_size"] = 8

    assert (400, RESERVED.format(key)) == new.error(path, body)
    with pytest.raises(InferenceServerException) as over_grpc:
        new.grpc.register_system_shared_memory("r", key, 8)
    assert RESERVED.format(key) == over_grpc.value.message()
    status, text = old.error(path, body)
    assert (500, f"Unable to open shared memory region: '{key}'") == (status, text)


@pytest.mark.parametrize("key", ["/", "//", ""])
def test_a_key_of_shared_memory_has_a_name(new: Ports, old: Ports, key: str) -> None:
    """Newer releases refuse an empty key."""
    path = "/v2/systemsharedmemory/region/r/register"
    status, text = new.error(path, {"key": key, "byte_size": 8})

    assert (400, True) == (status, text.endswith("as the key has no name"))
    assert 500 == old.error(path, {"key": key, "byte_size": 8})[0]


def test_no_more_classes_than_elements(new: Ports, old: Ports) -> None:
    """Fewer are sent by older releases."""
    outputs = [{"name": "Y", "parameters": {"classification": 2}}]
    status, answer = new.infer(outputs=outputs)

    text = "classification count 2 of output 'Y' exceeds its 1 elements"
    assert (400, text) == (status, answer["error"])
    status, answer = old.infer(outputs=outputs)
    assert (200, ["2.000000:0"]) == (status, answer["outputs"][0]["data"])


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_a_model_has_a_name(new: Ports, old: Ports, name: str) -> None:
    """A load or an unload of a blank one is refused, over gRPC and in Python."""
    text = "Model name cannot be empty. Please enter a valid name to deploy."
    for change in (new.grpc.load_model, new.grpc.unload_model):
        with pytest.raises(InferenceServerException) as over_grpc:
            change(name)
        assert ("StatusCode.INVALID_ARGUMENT", text) == (
            over_grpc.value.status(),
            over_grpc.value.message(),
        )
    with pytest.raises(blsnb.ModelLoadError, match=re.escape(text)):
        new.server.load(name)
    with pytest.raises(InferenceServerException) as refused:
        old.grpc.load_model(name)
    assert text != refused.value.message()


@pytest.fixture
def small() -> Iterator[Ports]:
    """A server whose inputs over HTTP have 1000 bytes at most."""
    ports = Ports(NEW, ServingOptions(http_max_input_size=1000))
    yield ports
    ports.close()


HINT = "allowed value of 1000 bytes. Use --http-max-input-size to increase the limit."


def test_the_size_limit_of_inputs_can_be_set(small: Ports) -> None:
    """It covers JSON elements, raw bodies, JSON texts and compressed bodies."""
    raw = {"Inference-Header-Content-Length": "0"}
    infer = "/v2/models/double/infer"
    blanks = json.dumps(body_of([1.0])).encode() + b" " * 1000

    assert 200 == small.infer(shape=[100], data=[1.0] * 100)[0]
    status, answer = small.infer(shape=[251], data=[1] * 251)
    assert 400 == status
    assert (
        f"JSON input 'X' has a byte_size (1004 bytes) that exceeds the maximum {HINT}"
        == answer["error"]
    )
    assert (
        400,
        f"Raw input has a byte_size (1004 bytes) that exceeds the maximum {HINT}",
    ) == small.error(infer, b"\0" * 1004, **raw)
    assert 200 == small.ask(infer, b"\0" * 1000, **raw)[0]
    status, text = small.error(infer, blanks)
    assert (400, True) == (status, text.startswith("Request JSON size ("))
    packed = gzip.compress(blanks)
    status, text = small.error(infer, packed, Content_Encoding="gzip")
    assert (400, True) == (status, text.startswith("Decompressed request size ("))
    load = {"parameters": {"config": "x" * 1000}}
    status, text = small.error("/v2/repository/models/double/load", load)
    assert (400, True) == (status, text.endswith(HINT))


def test_binary_tensors_have_no_limit(small: Ports) -> None:
    """Only the whole body is limited, as on Triton."""
    tensor = {"name": "X", "shape": [300], "datatype": "FP32"}
    head = json.dumps(
        {"inputs": [{**tensor, "parameters": {"binary_data_size": 1200}}]}
    ).encode()
    length = {"Inference-Header-Content-Length": str(len(head))}

    assert 200 == small.ask("/v2/models/double/infer", head + b"\0" * 1200, **length)[0]


def test_every_row_of_the_table_is_documented() -> None:
    """`docs/explanation/fidelity.md` has exactly these releases and protocols."""
    page = (Path(__file__).parents[2] / "docs/explanation/fidelity.md").read_text()
    rows = re.findall(r"^\| (\d\d\.\d\d) \| ([^|]+) \| ([^|]+) \|$", page, re.M)

    assert sorted(
        (f"{year}.{month:02}", feature.doors)
        for feature in FEATURES.values()
        for year, month in [feature.since]
    ) == sorted((since, tuple(doors.split(", "))) for since, _, doors in rows)
    assert set(DOORS) >= {door for each in FEATURES.values() for door in each.doors}
    assert NEWEST >= max(feature.since for feature in FEATURES.values())
