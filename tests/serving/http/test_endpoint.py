"""The HTTP end point of a live server: runs, faults, closing."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import threading
import time
import urllib.request
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import stage
from cells import CONFIG, DOUBLE, cell
from waiting import until

from blsnb.files.read_budget import MIN_BYTES, RATIO
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.access import Access
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.endpoint import HttpEndpoint, MetricsEndpoint

from .over_http import BODY, SLEEPER, WAIT_S, head, streaming


def test_a_request_is_a_run(http_served: Any) -> None:
    """It is recorded with its id, like any other."""
    http_served.server.define("double", DOUBLE, config=CONFIG)

    status, found = http_served.infer("double", [1, 2], id="q")

    (record,) = parts_of(http_served.server).recorder.runs
    assert (200, "q", [2, 4]) == (status, found["id"], found["outputs"][0]["data"])
    assert ["double", "q"] == [record.calls[0].model.name, record.calls[0].request_id]


def test_an_error_is_an_object_with_one_member(http_served: Any) -> None:
    """All errors have this form."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    text = "Request for unknown model: 'nope' is not found"

    assert (404, {"error": text}) == http_served.infer("nope", [1])
    assert (404, {"error": "Not Found"}) == http_served.ask("/nothing")


def test_a_hang_is_an_error(http_served: Any) -> None:
    """Its client gets the notebook's text."""
    http_served.server.define("silent", cell("return [None]"), config=CONFIG)

    status, found = http_served.infer("silent", [1])

    assert 503 == status
    assert found["error"].startswith("Triton would wait here forever: ")


def test_requests_run_side_by_side(http_served: Any) -> None:
    """A slow model delays neither other models nor the server's health."""
    http_served.server.define("slow", SLEEPER, config=CONFIG)
    http_served.server.define("double", DOUBLE, config=CONFIG)
    with http_served.connect() as client:
        body = json.dumps(BODY).encode()
        client.sendall(head(len(body), "/v2/models/slow/infer") + body)
        assert stage.events["asleep"].wait(WAIT_S)

        assert 200 == http_served.infer("double", [1])[0]
        assert (200, b"") == http_served.ask("/v2/health/live")

        stage.events["end"].set()
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK")


def load_of(model: str, source: str) -> bytes:
    """Return a request that loads a model with a name of its own."""
    code = base64.b64encode(source.encode()).decode()
    config = json.dumps({"backend": "python"})
    given = {"config": config, "file:1/model.py": code}
    body = json.dumps({"parameters": given}).encode()
    return head(len(body), f"/v2/repository/models/{model}/load") + body


def test_queries_do_not_wait_for_loads(http_served: Any) -> None:
    """Loads may hang."""
    source = cell("pass", methods="def initialize(self, args): stage.sleep()\n")
    http_served.server.define("double", DOUBLE, config=CONFIG)
    paths = ("", "/health/live", "/health/ready", "/models/double", "/models/stats")
    with contextlib.ExitStack() as connections:
        for number in range(20):
            client = connections.enter_context(http_served.connect())
            client.sendall(load_of(f"endless_{number}", source))
        assert stage.events["asleep"].wait(WAIT_S)

        statuses = [http_served.ask(f"/v2{path}")[0] for path in paths]
        # The server is not ready while a model is LOADING, as on Triton.
        assert [200, 200, 400, 200, 200] == statuses
        assert 200 == http_served.ask("/v2/models/double/ready")[0]
        assert 200 == http_served.infer("double", [1])[0]

        stage.events["end"].set()


def test_a_response_has_the_parameters_of_the_model(http_served: Any) -> None:
    """They are beside the outputs; with generate they are members."""
    answer = (
        "return [pb_utils.InferenceResponse([pb_utils.Tensor('Y', x_of(request))], "
        "parameters={'n': 1, 'b': True, 's': 'é'})]"
    )
    http_served.server.define("speaking", cell(answer), config=CONFIG)

    _, found = http_served.infer("speaking", [1])
    _, generated = http_served.ask("/v2/models/speaking/generate", {"X": 1})

    assert {"n": 1, "b": True, "s": "é"} == found["parameters"]
    assert ["Y", "b", "model_name", "model_version", "n", "s"] == list(generated)


def test_a_truncated_binary_tensor_is_refused(http_served: Any) -> None:
    """The error counts the missing bytes."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    given = {
        "name": "X",
        "shape": [4],
        "datatype": "FP32",
        "parameters": {"binary_data_size": 16},
    }
    text = json.dumps({"inputs": [given]}).encode()

    status, found = http_served.ask(
        "/v2/models/double/infer",
        text + bytes(10),
        Inference_Header_Content_Length=str(len(text)),
    )

    expected = "unexpected size for input 'X', expecting 6 additional bytes"
    assert 400 == status
    assert found["error"].startswith(expected)


FLOODS = {
    "zeros": lambda: bytes(1 << 26),
    "lists": lambda: b'{"inputs":[' + b"[]," * 100_000 + b"[]]}",
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_compressed_body_takes_at_most_64_times_its_size(
    http_served: Any, flood: Callable[[], bytes]
) -> None:
    """A larger one, decompressed or parsed, is refused; the error names the option."""
    body = zlib.compress(flood())
    http_served.server.define("double", DOUBLE, config=CONFIG)
    limit = max(MIN_BYTES, RATIO * len(body))

    found = http_served.ask("/v2/models/double/infer", body, Content_Encoding="deflate")

    text = (
        f"reading the compressed body of {len(body):,} bytes would take more than "
        f"{limit:,} bytes of memory; to allow more, set blsnb.options.read_limit_bytes "
        "(on a command line: --read-limit-bytes)"
    )
    assert (400, {"error": text}) == found


def test_a_compressed_body_of_zeros_is_read(http_served: Any) -> None:
    """An image of zeros compresses a thousand times, and is a usual first test."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    count = 3 * 224 * 224
    given = {"name": "X", "shape": [count], "datatype": "FP32"}
    given["parameters"] = {"binary_data_size": 4 * count}
    wanted = [{"name": "Y", "parameters": {"binary_data": True}}]
    text = json.dumps({"inputs": [given], "outputs": wanted}).encode()

    status, _ = http_served.ask(
        "/v2/models/double/infer",
        gzip.compress(text + bytes(4 * count)),
        Content_Encoding="gzip",
        Inference_Header_Content_Length=str(len(text)),
    )

    assert 200 == status


def test_a_port_in_use_is_an_error(server: Server, http_served: Any) -> None:
    """No thread is left."""
    before = threading.active_count()

    with pytest.raises(OSError, match="in use"):
        HttpEndpoint(
            parts_of(server),
            SharedState(parts_of(server)),
            "127.0.0.1",
            http_served.end.port,
        )
    assert before == threading.active_count()


def test_an_end_point_closes_in_bounded_time(http_served: Any) -> None:
    """A model cannot delay it; its port is free again."""
    http_served.server.define("slow", SLEEPER, config=CONFIG)
    body = json.dumps(BODY).encode()
    with http_served.connect() as client:
        client.sendall(head(len(body), "/v2/models/slow/infer") + body)
        assert stage.events["asleep"].wait(WAIT_S)
        begin = time.monotonic()
        http_served.end.close(0.1)

        assert 30 > time.monotonic() - begin
        assert stage.values["request"].is_cancelled()
        with pytest.raises(ConnectionRefusedError):
            http_served.connect()
        stage.events["end"].set()


def test_an_endless_stream_ends_with_the_end_point(http_served: Any) -> None:
    """Its model can check that, and its thread is free."""
    with streaming(http_served):
        begin = time.monotonic()
        http_served.end.close(0.1)

        assert 30 > time.monotonic() - begin
        assert stage.events["cancelled"].wait(WAIT_S)


def test_a_running_request_is_answered_before_the_end(http_served: Any) -> None:
    """It completes within the timeout; new connections are refused at once."""
    http_served.server.define("slow", SLEEPER, config=CONFIG)
    body = json.dumps(BODY).encode()
    with http_served.connect() as client:
        client.sendall(head(len(body), "/v2/models/slow/infer") + body)
        assert stage.events["asleep"].wait(WAIT_S)
        closing = threading.Thread(target=http_served.end.close, args=(WAIT_S,))
        closing.start()
        assert until(lambda: is_refused(http_served), patience_s=5)
        stage.events["end"].set()

        assert client.recv(100).startswith(b"HTTP/1.1 200 OK")
        closing.join(WAIT_S)


def is_refused(served: Any) -> bool:
    """Return whether the port refuses a new connection."""
    try:
        served.connect().close()
    except ConnectionRefusedError:
        return True
    return False


def test_an_end_point_may_be_closed_twice(http_served: Any) -> None:
    """The second time does nothing."""
    http_served.end.close(0)
    http_served.end.close(0)


def test_a_closed_server_is_unavailable(http_served: Any) -> None:
    """The text is Triton's for a server that stops."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    http_served.server.close()

    status, found = http_served.infer("double", [1])

    assert status in (404, 503)
    assert ["error"] == list(found)
    assert (400, b"") == http_served.ask("/v2/health/ready")


def test_metrics_have_a_port_of_their_own(server: Server) -> None:
    """It serves the metrics page only."""
    server.define("double", DOUBLE, config=CONFIG)
    server.infer("double", {"X": [1]})
    end = MetricsEndpoint(parts_of(server), Access(), "127.0.0.1", 0)
    try:
        with urllib.request.urlopen(end.address, timeout=WAIT_S) as page:
            text = page.read().decode()
    finally:
        end.close(0)

    assert 'nv_inference_request_success{model="double",version="1"} 1' in text
