"""Faults between gRPC clients and the end point."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
import stage
from cells import CONFIG, DOUBLE, cell
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from waiting import until

from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving import ports
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.endpoints import serve
from blsnb.serving.grpc.calls import MAX_STREAMS

from .over_grpc import CALL_S, Connection, connected, infer_request, values

FILES = "/proc/self/fd"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client begins: no settings follow."""


@pytest.fixture
def wire(server: Server) -> Iterator[Connection]:
    """A connection to a server with a model."""
    server.define("double", DOUBLE, config=CONFIG)
    with connected(server) as connection:
        yield connection


def live(wire: Connection) -> bool:
    """Whether the server reports that it is live."""
    return bool(wire.stub.ServerLive(pb.ServerLiveRequest(), timeout=CALL_S).live)


def settled(count: int) -> bool:
    """Wait until at most this many files are open."""
    return until(lambda: len(os.listdir(FILES)) <= count)


def test_a_thousand_idle_connections_cost_no_thread(wire: Connection) -> None:
    """Their file descriptors are closed afterwards."""
    assert live(wire)
    threads, files = threading.active_count(), len(os.listdir(FILES))
    host, port = wire.address.split(":")

    idle = [socket.create_connection((host, int(port))) for _ in range(1000)]

    assert live(wire)
    assert [2.0] == values(
        wire.stub.ModelInfer(infer_request("double", 1), timeout=CALL_S)
    )
    assert threading.active_count() <= threads + 2
    for each in idle:
        each.close()
    assert settled(files + 2)


def test_connections_are_limited(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook needs file descriptors itself."""
    monkeypatch.setattr(ports, "_MAX_CONNECTIONS", 5)
    with connected(server) as wire:
        assert live(wire)
        host, port = wire.address.split(":")
        found = [socket.create_connection((host, int(port))) for _ in range(12)]
        for each in found:
            each.settimeout(0.5)
        greeted = [each.recv(1) for each in found]

        assert live(wire)
        for each in found:
            each.close()
    assert b"" in greeted


def test_a_connection_ends_at_the_age_that_was_set(server: Server) -> None:
    """Otherwise an idle one is open for a minute."""
    age = (
        ("grpc.max_connection_age_ms", 100),
        ("grpc.max_connection_age_grace_ms", 100),
    )
    options = ServingOptions(grpc_channel=age)
    with serve(server, http=None, grpc=0, metrics=None, options=options) as served:
        address = (served.host, served.ports["gRPC"])
        with socket.create_connection(address, timeout=20) as client:
            client.sendall(PREFACE)
            while client.recv(4096):
                pass


def test_idle_streams_leave_room_for_calls(wire: Connection) -> None:
    """Streams beyond their limit are refused with a reason."""
    over = threading.Event()

    def nothing() -> Iterator[Any]:
        over.wait()
        return
        yield

    streams = [wire.stub.ModelStreamInfer(nothing()) for _ in range(MAX_STREAMS + 3)]
    refused = [_refusal(each) for each in streams[MAX_STREAMS:]]

    assert live(wire)
    over.set()
    ended = [list(each) for each in streams[:MAX_STREAMS]]
    assert {"128 streams are open already, and no more are taken"} == set(refused)
    assert [[]] * MAX_STREAMS == ended


def _refusal(stream: Any) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)
    assert grpc.StatusCode.RESOURCE_EXHAUSTED is caught.value.code()
    return str(caught.value.details())


def test_half_a_tensor_is_refused(wire: Connection) -> None:
    """The error has Triton's text; the next request is served."""
    request = infer_request("double", 1, 2, id="half")
    request.raw_input_contents[0] = request.raw_input_contents[0][:5]

    with pytest.raises(grpc.RpcError) as caught:
        wire.stub.ModelInfer(request, timeout=CALL_S)

    assert grpc.StatusCode.INVALID_ARGUMENT is caught.value.code()
    assert (
        "[request id: half] input byte size mismatch for input 'X' for model "
        "'double'. Expected 8, got 5"
    ) == caught.value.details()
    assert live(wire)


def test_a_tensor_of_many_megabytes_is_accepted(wire: Connection) -> None:
    """GRPC's default limit of 4 MB is not Triton's."""
    request = infer_request("double")
    request.inputs[0].shape[0] = 3 << 20
    request.raw_input_contents[0] = bytes(12 << 20)
    options = [("grpc.max_receive_message_length", -1)]

    with grpc.insecure_channel(wire.address, options=options) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        reply = stub.ModelInfer(request, timeout=CALL_S)

    assert [3 << 20] == list(reply.outputs[0].shape)


def test_a_malformed_message_prints_nothing(
    wire: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """Its client gets an error; the notebook stays quiet."""
    path = "/inference.GRPCInferenceService/ModelInfer"
    with grpc.insecure_channel(wire.address) as channel:
        ask = channel.unary_unary(path)
        with pytest.raises(grpc.RpcError) as caught:
            ask(b"\xff\xff", timeout=CALL_S)

    assert "Unable to parse request" == caught.value.details()
    assert [] == caplog.records


def test_a_connection_with_another_protocol_is_closed(wire: Connection) -> None:
    """Other connections continue."""
    host, port = wire.address.split(":")
    with socket.create_connection((host, int(port))) as other:
        other.settimeout(CALL_S)
        other.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        while other.recv(1 << 16):
            pass

    assert live(wire)


def test_an_unexpected_exception_is_returned_and_logged(
    wire: Connection,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A fault of blsnb itself is not hidden."""

    def fault(*_: object, **__: object) -> None:
        raise LookupError("a fault")

    monkeypatch.setattr(parts_of(server).reports, "index", fault)
    with caplog.at_level(logging.ERROR), pytest.raises(grpc.RpcError) as caught:
        wire.stub.RepositoryIndex(pb.RepositoryIndexRequest(), timeout=CALL_S)

    assert grpc.StatusCode.INTERNAL is caught.value.code()
    assert "LookupError('a fault')" == caught.value.details()
    assert "a fault" in caplog.text


def test_the_server_may_be_closed_while_calls_are_in_flight(server: Server) -> None:
    """Every client gets a status."""
    stage.begun = threading.Semaphore(0)
    lines = """
    stage.begun.release()
    while not request.is_cancelled():
        threading.Event().wait(0.001)
    return [reply(x_of(request))]
    """
    config = f"{CONFIG}\ninstance_group {{ kind: KIND_CPU count: 4 }}\n"
    server.define("patient", cell(lines), config=config)
    parts_of(server).lifetime.exit_timeout_s = 0.3
    with connected(server) as wire:
        calls = [
            wire.stub.ModelInfer.future(infer_request("patient", n), timeout=CALL_S)
            for n in range(8)
        ]
        for _ in range(4):
            assert stage.begun.acquire(timeout=60)

        closing = threading.Thread(target=server.close)
        closing.start()
        codes = {call.code() for call in calls}
        closing.join(60)

    assert not closing.is_alive()
    assert grpc.StatusCode.OK not in codes
