"""Clients that use much of a server, and the room left for others."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
import stage
from attacks import Figures
from cells import CONFIG, DOUBLE, FINAL, cell
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.grpc.calls import MAX_STREAMS
from blsnb.serving.http.connections import limited_server as module
from blsnb.serving.http.endpoint import HttpEndpoint

from .conftest import body_of
from .grpc.over_grpc import DECOUPLED, connected, infer_request, settled, values

PROMPT_S = 30.0
"""Maximum seconds until others are answered; without room they never are."""
STREAMS = 300
WAITS = 'stage.sleep("go")\n'
ENDLESS = cell(
    """
    sender = request.get_response_sender()
    while not (request.is_cancelled() or stage.events["end"].is_set()):
        sender.send(reply(np.zeros(20_000, np.float32)))
        time.sleep(0.01)
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """
)
SILENT = cell(
    f"""
    sender = request.get_response_sender()
    {WAITS}
    sender.send(reply(x_of(request)))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """
)
LATER = cell(
    """
    sender = request.get_response_sender()
    threading.Thread(target=self.answer, args=(sender, x_of(request))).start()
    """,
    methods=f"""
    def answer(self, sender, array):
        {WAITS}
        sender.send(reply(array), flags={FINAL})

    """,
)
WAITING = cell(f"{WAITS}\nreturn [reply(x_of(request))]")


def sent(port: int, path: str, body: Any) -> socket.socket:
    """Send a request without reading its response."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}"
    connection.sendall(head.encode() + b"\r\n\r\n" + data)
    return connection


def queried(port: int, path: str, body: Any = None) -> tuple[int, bytes]:
    """Return the response of a server that must respond promptly."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=PROMPT_S)
    with contextlib.closing(client):
        data = None if body is None else json.dumps(body)
        client.request("GET" if body is None else "POST", path, data)
        reply = client.getresponse()
        return reply.status, reply.read()


def is_answered(port: int, health: tuple[str, ...] = ("live", "ready")) -> None:
    """Query another model and the health of the server."""
    status, found = queried(port, "/v2/models/double/infer", body_of([1]))
    assert (200, [2.0]) == (status, json.loads(found)["outputs"][0]["data"])
    for path in ("models/double", *(f"health/{each}" for each in health)):
        assert 200 == queried(port, f"/v2/{path}")[0]
    assert 200 == queried(port, "/v2/models/double/ready")[0]


@contextlib.contextmanager
def flood(
    served: Any, count: int, source: str, config: str, path: str, body: Any
) -> Iterator[None]:
    """Let many clients wait for a model without reading their responses."""
    served.server.define("hog", source, config=config)
    served.server.define("double", DOUBLE, config=CONFIG)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            found = sent(served.end.port, f"/v2/models/hog/{path}", body)
            stack.enter_context(found)
        try:
            yield
        finally:
            stage.events["go"].set()
            stage.events["end"].set()


@pytest.mark.parametrize(
    "source", [ENDLESS, SILENT], ids=["never read", "never answered"]
)
def test_unread_streams_of_a_model_leave_room_for_others(
    http_served: Any, source: str, figures: Figures
) -> None:
    """Their model gets half of the threads at most."""
    prompt = {"X": [1]}
    with flood(http_served, STREAMS, source, DECOUPLED, "generate_stream", prompt):
        is_answered(http_served.end.port)
    figures(unread_streams=STREAMS)


@pytest.mark.slow
def test_requests_of_a_busy_model_leave_room_for_others(
    http_served: Any, figures: Figures
) -> None:
    """There are more than threads; all are answered in the end."""
    with flood(http_served, 600, WAITING, CONFIG, "infer", body_of([1])):
        is_answered(http_served.end.port)
    rows = parts_of(http_served.server).engine.catalog.statistics
    assert settled(
        lambda: int(rows("hog")[0]["inference_stats"]["success"]["count"]) == 600
    )
    figures(waiting_requests=600)


def test_loads_that_wait_leave_room_for_requests(http_served: Any) -> None:
    """Many clients load a model whose `initialize` does not return."""
    slow = 'def initialize(self, args):\n    stage.sleep("go")\n\n'
    source = cell("return [reply(x_of(request))]", methods=slow)
    stage.events["go"].set()
    http_served.server.define("hog", source, config=CONFIG)
    http_served.server.define("double", DOUBLE, config=CONFIG)
    http_served.server.unload("hog")
    stage.events["go"].clear()
    port = http_served.end.port
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            path = "/v2/repository/models/hog/load"
            stack.enter_context(sent(port, path, {}))
        assert stage.events["asleep"].wait(60)
        # The server itself is not ready: a model is being loaded.
        is_answered(port, health=("live",))
        stage.events["go"].set()


@pytest.mark.slow
def test_streams_in_python_leave_room_for_other_models(
    server: Server, figures: Figures
) -> None:
    """Another model's stream starts at once, though all threads of the engine wait."""
    server.define("hog", SILENT, config=DECOUPLED)
    server.define("other", cell(STREAM_ONE), config=DECOUPLED)
    x = {"X": np.array([1], np.float32)}
    hogs = [server.stream("hog", x) for _ in range(1100)]
    found: queue.SimpleQueue[list[float]] = queue.SimpleQueue()

    def ask() -> None:
        found.put(next(server.stream("other", x))["Y"].tolist())

    threading.Thread(target=ask, name="test", daemon=True).start()

    assert [1.0] == found.get(timeout=PROMPT_S)
    for each in hogs:
        each.cancel()
    stage.events["go"].set()
    figures(unread_streams=len(hogs))


STREAM_ONE = """
sender = request.get_response_sender()
sender.send(reply(x_of(request)))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""


def test_calls_and_streams_of_grpc_leave_room_for_others(server: Server) -> None:
    """One client has 128 streams and 300 calls of one model in flight."""
    server.define("hog", WAITING, config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)
    over = threading.Event()

    def nothing() -> Iterator[Any]:
        over.wait()
        return
        yield

    with connected(server) as wire:
        streams = [wire.stub.ModelStreamInfer(nothing()) for _ in range(MAX_STREAMS)]
        calls = [
            wire.stub.ModelInfer.future(infer_request("hog", n)) for n in range(200)
        ]
        with grpc.insecure_channel(wire.address, OWN_CONNECTION) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            more = [stub.ModelInfer.future(infer_request("hog", n)) for n in range(100)]
            assert settled(lambda: 44 == sum(each.done() for each in more))
            codes = {each.code() for each in more if each.done()}
            texts = {each.details() for each in more if each.done()}
            live = stub.ServerLive(pb.ServerLiveRequest(), timeout=PROMPT_S).live
            ready = stub.ModelReady(
                pb.ModelReadyRequest(name="double"), timeout=PROMPT_S
            ).ready
            reply = stub.ModelInfer(infer_request("double", 1), timeout=PROMPT_S)
            stage.events["go"].set()
            over.set()
            assert 300 - 44 == sum(
                each.code() is grpc.StatusCode.OK for each in calls + more
            )
        assert [[]] * MAX_STREAMS == [list(each) for each in streams]

    assert {grpc.StatusCode.RESOURCE_EXHAUSTED} == codes
    assert {
        "model 'hog' has 256 calls in flight already, and the others are kept for "
        "other models"
    } == texts
    assert (True, True, [2.0]) == (live, ready, values(reply))


OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]


def test_a_stream_of_one_model_leaves_room_for_streams_of_others(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client sends more on one stream than there are threads for it."""
    monkeypatch.setattr("blsnb.serving.grpc.endpoint._MAX_REQUESTS", 16)
    server.define("hog", LATER, config=DECOUPLED)
    server.define("double", DOUBLE, config=CONFIG)
    with connected(server) as wire:
        hog = wire.stub.ModelStreamInfer(
            iter([infer_request("hog", n) for n in range(40)])
        )
        assert stage.events["asleep"].wait(60)
        for _ in range(50):
            ask = iter([infer_request("double", 1)])
            (reply,) = wire.stub.ModelStreamInfer(ask, timeout=PROMPT_S)
            assert [2.0] == values(reply.infer_response)
        stage.events["go"].set()
        assert 40 == len([each for each in hog if each.infer_response.outputs])


def test_the_connection_that_has_been_idle_longest_is_closed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with a request in flight stays, however old it is."""
    monkeypatch.setattr("blsnb.serving.ports._MAX_CONNECTIONS", 3)
    server.define("hog", WAITING, config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)
    end = HttpEndpoint(parts_of(server), SharedState(parts_of(server)), "127.0.0.1", 0)
    with contextlib.closing(
        sent(end.port, "/v2/models/hog/infer", body_of([1]))
    ) as hog:
        assert stage.events["asleep"].wait(60)
        for _ in range(5):
            is_answered(end.port)
        idle = [socket.create_connection(("127.0.0.1", end.port)) for _ in range(9)]
        is_answered(end.port)
        stage.events["go"].set()
        assert hog.recv(100).startswith(b"HTTP/1.1 200 OK")
        for each in idle:
            each.close()
    end.close(1)


def test_an_incomplete_request_is_dropped_for_a_new_connection(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while, if no connection is idle; before that the new one is closed."""
    monkeypatch.setattr("blsnb.serving.ports._MAX_CONNECTIONS", 3)
    end = HttpEndpoint(parts_of(server), SharedState(parts_of(server)), "127.0.0.1", 0)
    half = b"POST /v2 HTTP/1.1\r\nContent-Length: 10\r\n\r\n"
    with contextlib.ExitStack() as stack:
        stack.callback(end.close, 1)
        found = []
        for _ in range(3):
            client = socket.create_connection(("127.0.0.1", end.port), timeout=60)
            found.append(stack.enter_context(client))
            client.sendall(half)
            assert settled(lambda: len(found) == len(end.state.reading))
        with pytest.raises((http.client.HTTPException, OSError)):
            queried(end.port, "/v2/health/live")

        monkeypatch.setattr(module, "STALLED_S", 0.0)
        assert 200 == queried(end.port, "/v2/health/live")[0]
        assert b"" == found[0].recv(1)
