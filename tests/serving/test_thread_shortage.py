"""A served process that cannot start a thread, or has no descriptor left."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import grpc
import pytest
import stage
from asserting import every
from attacks import Figures
from cells import CONFIG, DOUBLE, cell
from shortage import no_thread_starts, one_thread_fails
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from waiting import until

from blsnb.errors import OutOfResourcesError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.endpoints import Endpoints, serve
from blsnb.serving.grpc.endpoint import GrpcEndpoint

from .conftest import body_of
from .grpc.over_grpc import CALL_S, DECOUPLED, infer_request, values

STREAM = cell(
    """
    sender = request.get_response_sender()
    for _ in range(3):
        sender.send(reply(x_of(request)))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """
)
WAITING = cell("stage.sleep()\nreturn [reply(x_of(request))]")
FREE = {"http": 0, "grpc": 0, "metrics": 0}
REFUSAL = "no thread can be started"


class Client:
    """A client over HTTP with its own socket, and over gRPC."""

    def __init__(self, endpoints: Endpoints, channel: grpc.Channel) -> None:
        self._port = endpoints.ports["HTTP"]
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

    def http(self, path: str, body: Any = None) -> tuple[int, bytes]:
        """Return the status and the body of a response."""
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\n"
            f"Host: localhost\r\nConnection: close\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        address = ("127.0.0.1", self._port)
        with socket.create_connection(address, timeout=CALL_S) as connection:
            connection.sendall(head.encode() + data)
            found = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        return int(found.split(None, 2)[1]), found.partition(b"\r\n\r\n")[2]

    def play(self) -> list[str]:
        """Send every kind of request; return what was refused."""
        refused: list[str] = []
        for ask in (
            self._infers,
            self._streams,
            self._is_live,
            self._infers_over_grpc,
            self._streams_over_grpc,
            self._is_live_over_grpc,
        ):
            try:
                ask()
            except Refused as error:
                refused.append(str(error))
        return refused

    def _ok(self, path: str, body: Any = None) -> bytes:
        status, found = self.http(path, body)
        if status == 503:
            raise Refused(json.loads(found)["error"])
        assert 200 == status
        return found

    def _infers(self) -> None:
        found = json.loads(self._ok("/v2/models/double/infer", body_of([1])))
        assert [2.0] == found["outputs"][0]["data"]

    def _streams(self) -> None:
        found = self._ok("/v2/models/stream/generate_stream", {"X": [1]})
        if b'"error"' in found:
            raise Refused(found.decode())
        assert 3 == found.count(b'"Y":1.0')

    def _is_live(self) -> None:
        assert 200 == self.http("/v2/health/live")[0]

    def _infers_over_grpc(self) -> None:
        reply = _called(self._stub.ModelInfer, infer_request("double", 1))
        assert [2.0] == values(reply)

    def _streams_over_grpc(self) -> None:
        replies = _called(
            lambda request, timeout: list(
                self._stub.ModelStreamInfer(request, timeout)
            ),
            iter([infer_request("stream", 1), infer_request("double", 1)]),
        )
        texts = [reply.error_message for reply in replies if reply.error_message]
        if texts:
            raise Refused(texts[0])
        assert 4 == len([each for each in replies if each.infer_response.outputs])

    def _is_live_over_grpc(self) -> None:
        assert self._stub.ServerLive(pb.ServerLiveRequest(), timeout=CALL_S).live


class Refused(Exception):
    """A request was refused because a resource is missing."""


def _called(call: Any, request: Any) -> Any:
    try:
        return call(request, timeout=CALL_S)
    except grpc.RpcError as error:
        assert grpc.StatusCode.RESOURCE_EXHAUSTED is error.code()  # noqa: PT017
        raise Refused(error.details()) from None


@contextlib.contextmanager
def served() -> Iterator[Endpoints]:
    """A server with two models, on free ports."""
    with Server() as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("stream", STREAM, config=DECOUPLED)
        with serve(server, **FREE) as endpoints:
            yield endpoints


def begun_since(before: set[threading.Thread]) -> set[str]:
    """Names of the threads that end points started since then."""
    threads = set(threading.enumerate()) - before
    return {each.name for each in threads if "blsnb" in each.name}


def test_every_thread_may_fail_to_start(figures: Figures) -> None:
    """One request is refused, all others are answered, and closing works."""
    before = set(threading.enumerate())
    for number in itertools.count(1):
        with one_thread_fails(number) as starts, contextlib.ExitStack() as stack:
            try:
                endpoints = stack.enter_context(served())
            except OutOfResourcesError as error:
                assert starts.failed
                assert "can't start new thread" in error.message  # noqa: PT017
                continue
            address = endpoints.addresses["gRPC"]
            channel = stack.enter_context(grpc.insecure_channel(address))
            client = Client(endpoints, channel)
            failed = bool(starts.failed)
            refused = client.play() + client.play()
            # What has begun tries again.
            assert len(refused) <= bool(starts.failed) - failed
            assert [] == [each for each in refused if REFUSAL not in each]
            if starts.failed:
                assert [] == client.play()
            began = time.monotonic()
            endpoints.close()
            assert time.monotonic() - began < 50
        assert set() == begun_since(before)
        if not starts.failed:
            break
    assert number > 10
    figures(threads_that_failed_to_start=number - 1)


def test_health_checks_are_answered_without_a_free_thread() -> None:
    """Requests that need a thread are refused until one is free again."""
    with (
        served() as endpoints,
        grpc.insecure_channel(endpoints.addresses["gRPC"]) as channel,
    ):
        client = Client(endpoints, channel)
        with no_thread_starts():
            for _ in range(3):
                refused = client.play()
                assert 4 == len(refused)
                assert every(REFUSAL in each for each in refused)
            assert 503 == client.http("/v2/models/double/infer", body_of([1]))[0]
        assert [] == client.play()


def test_end_points_close_without_a_free_thread(server: Server) -> None:
    """Ports are free again, although gRPC starts a thread to wait for calls."""
    before = set(threading.enumerate())
    endpoints = serve(server, **FREE)
    ports = endpoints.ports

    with no_thread_starts():
        endpoints.close(5)

    assert every(until(partial(can_be_bound, port)) for port in ports.values())
    assert set() == begun_since(before)


def test_a_call_in_flight_is_cancelled_without_a_free_thread(
    server: Server,
) -> None:
    """Closing does not wait for its model."""
    server.define("waiting", WAITING, config=CONFIG)
    server.define("double", DOUBLE, config=CONFIG)
    endpoints = serve(server, http=None, grpc=0, metrics=None)
    with grpc.insecure_channel(endpoints.addresses["gRPC"]) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        call = stub.ModelInfer.future(infer_request("waiting", 1), timeout=CALL_S)
        stream = stub.ModelStreamInfer(
            iter([infer_request("waiting", 1)]), timeout=CALL_S
        )
        assert stage.events["asleep"].wait(60)
        assert until(lambda: 2 == len(parts_of(server).recorder.runs))
        began = time.monotonic()
        with no_thread_starts():
            endpoints.close(100)

        assert time.monotonic() - began < 50
        ends = {grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE}
        assert {call.code(), stream.code()} <= ends
        stage.events["end"].set()


def test_an_end_point_that_cannot_start_leaves_nothing(server: Server) -> None:
    """Each protocol alone; its port is free."""
    before = set(threading.enumerate())
    with no_thread_starts():
        for name in FREE:
            ports = dict.fromkeys(FREE) | {name: 0}
            with pytest.raises(OutOfResourcesError, match="start"):
                serve(server, **ports)
    assert set() == begun_since(before)


def can_be_bound(port: int) -> bool:
    """Return whether a port is free: gRPC releases one on a thread of its own."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_grpc_that_cannot_start_releases_its_port(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own thread is the last to start."""
    bound: list[int] = []
    original = GrpcEndpoint._bind

    def noted(end: GrpcEndpoint, host: str, port: int) -> int:
        bound.append(original(end, host, port))
        return bound[0]

    monkeypatch.setattr(GrpcEndpoint, "_bind", noted)
    with one_thread_fails(3), pytest.raises(OutOfResourcesError, match="gRPC cannot"):
        serve(server, http=None, grpc=0, metrics=None)

    assert until(partial(can_be_bound, bound[0]))
