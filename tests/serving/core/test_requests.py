"""Requests of network clients, without a network."""

from __future__ import annotations

import struct
import threading

import numpy as np
import pytest
import stage
from cells import CONFIG, DOUBLE, cell

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.validation import RequestError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.request_fields import RequestFields
from blsnb.serving.core.requests import Requests
from blsnb.serving.core.wire import WireInput, WireOutput, WireRequest
from blsnb.tensors import byte_strings

DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
EACH = """
sender = request.get_response_sender()
for value in x_of(request):
    sender.send(reply(value[None]))
sender.send(flags=1)
"""

SEVEN = RequestFields(request_id="seven")


def floats(*values: float) -> WireInput:
    """Return the input X."""
    return WireInput(
        "X", "FP32", (len(values),), struct.pack(f"<{len(values)}f", *values)
    )


def test_a_response_has_the_bytes_the_id_and_the_version(server: Server) -> None:
    """The model receives the bytes of the client."""
    server.define("double", DOUBLE, config=CONFIG)

    requests = Requests(parts_of(server))
    response = requests.infer(WireRequest("double", SEVEN, (floats(1, 2),)))

    (output,) = response.outputs
    assert ("double", "1", "seven") == (
        response.model_name,
        response.model_version,
        response.id,
    )
    assert ("Y", "FP32", (2,)) == (output.name, output.datatype, output.shape)
    assert struct.pack("<2f", 2, 4) == bytes(output.data)


def test_a_request_is_recorded_with_its_id(server: Server) -> None:
    """It is a run like any other."""
    server.define("double", DOUBLE, config=CONFIG)

    Requests(parts_of(server)).infer(WireRequest("double", SEVEN, (floats(1),)))

    (run,) = parts_of(server).recorder.runs
    assert "seven" == run.calls[0].request_id
    assert run.ended


def test_bytes_that_contradict_the_shape_are_refused(server: Server) -> None:
    """The error has Triton's text."""
    server.define("double", DOUBLE, config=CONFIG)
    half = WireInput("X", "FP32", (2,), b"\0\0\0\0")

    with pytest.raises(RequestError, match=r"byte size mismatch.*Expected 8, got 4"):
        Requests(parts_of(server)).infer(WireRequest("double", inputs=(half,)))


def test_responses_are_read_one_by_one(server: Server) -> None:
    """The last is the final flag alone."""
    server.define("each", cell(EACH), config=DECOUPLED)

    request = WireRequest("each", inputs=(floats(1, 2),))
    responses = list(iter(Requests(parts_of(server)).open(request).read, None))

    assert [False, False, True] == [each.final for each in responses]
    assert [False, False, True] == [each.final_only for each in responses]


def test_a_reader_can_cancel_its_request(server: Server) -> None:
    """The model can check that."""
    lines = """
    sender = request.get_response_sender()
    sender.send(reply(x_of(request)))
    while not sender.is_cancelled():
        stage.tick.wait(0.001)
    stage.notified.set()
    sender.send(flags=1)
    """
    stage.tick, stage.notified = threading.Event(), threading.Event()
    server.define("patient", cell(lines), config=DECOUPLED)
    reader = Requests(parts_of(server)).open(
        WireRequest("patient", inputs=(floats(1),))
    )

    reader.read()
    reader.cancel()

    assert stage.notified.wait(60)


def test_another_thread_can_cancel_a_request(server: Server) -> None:
    """It receives what cancels it before the model runs."""
    lines = """
    while not request.is_cancelled():
        stage.tick.wait(0.001)
    return [reply(x_of(request))]
    """
    stage.tick = threading.Event()
    server.define("patient", cell(lines), config=CONFIG)

    def begun(root: RootRequest) -> None:
        threading.Timer(0.02, root.cancel).start()

    response = Requests(parts_of(server)).infer(
        WireRequest("patient", inputs=(floats(1),)), begun
    )

    assert response.outputs


def test_classes_are_the_largest_elements(server: Server) -> None:
    """They are value, index and label, largest first."""
    config = CONFIG.replace(
        '"Y" data_type: TYPE_FP32', '"Y" label_filename: "names" data_type: TYPE_FP32'
    )
    parts_of(server).models.change(
        "double",
        {"1/model.py": DOUBLE, "config.pbtxt": config, "names": "ant\nbee\n"},
    )
    wanted = (WireOutput("Y", class_count=2),)

    response = Requests(parts_of(server)).infer(
        WireRequest("double", inputs=(floats(1, 3, 2),), outputs=wanted)
    )

    (output,) = response.outputs
    assert ("BYTES", (2,)) == (output.datatype, output.shape)
    texts = byte_strings.unpack(bytes(output.data))
    assert [b"6.000000:1:bee", b"4.000000:2"] == texts


def test_a_datatype_without_an_order_has_no_classes(server: Server) -> None:
    """Triton refuses it."""
    config = CONFIG.replace("FP32", "BOOL")
    server.define("same", cell("return [reply(x_of(request))]"), config=config)
    given = WireInput("X", "BOOL", (2,), np.array([True, False]).tobytes())
    wanted = (WireOutput("Y", class_count=1),)

    with pytest.raises(RequestError, match="unsupported type 'BOOL'"):
        Requests(parts_of(server)).infer(
            WireRequest("same", inputs=(given,), outputs=wanted)
        )
