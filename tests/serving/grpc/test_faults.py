"""What goes wrong between clients of gRPC and the end point."""

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
from blsnb.serving.core import ports
from blsnb.serving.grpc.calls import MAX_STREAMS

from .over_grpc import CALL_S, Connection, asking, connected, values

FILES = "/proc/self/fd"


@pytest.fixture
def wire(server: Server) -> Iterator[Connection]:
    """A connection to a server with a model."""
    server.define("double", DOUBLE, config=CONFIG)
    with connected(server) as connection:
        yield connection


def live(wire: Connection) -> bool:
    """Whether the server answers."""
    return bool(wire.stub.ServerLive(pb.ServerLiveRequest(), timeout=CALL_S).live)


def settled(count: int) -> bool:
    """Wait until no more files are open than that."""
    return until(lambda: len(os.listdir(FILES)) <= count, 5)


def test_a_thousand_idle_connections_cost_no_thread(wire: Connection) -> None:
    """And the files that they had are given back."""
    assert live(wire)
    threads, files = threading.active_count(), len(os.listdir(FILES))
    host, port = wire.address.split(":")

    idle = [socket.create_connection((host, int(port))) for _ in range(1000)]

    assert live(wire)
    assert values(wire.stub.ModelInfer(asking("double", 1), timeout=CALL_S)) == [2.0]
    assert threading.active_count() <= threads + 2
    for each in idle:
        each.close()
    assert settled(files + 2)


def test_there_is_an_end_to_connections(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook needs some of the process's files itself."""
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


def test_idle_streams_leave_room_for_calls(wire: Connection) -> None:
    """Those that are too many are refused, and told why."""
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
    """In Triton's words; the next request is answered."""
    asked = asking("double", 1, 2, id="half")
    asked.raw_input_contents[0] = asked.raw_input_contents[0][:5]

    with pytest.raises(grpc.RpcError) as caught:
        wire.stub.ModelInfer(asked, timeout=CALL_S)

    assert grpc.StatusCode.INVALID_ARGUMENT is caught.value.code()
    assert (
        "[request id: half] input byte size mismatch for input 'X' for model "
        "'double'. Expected 8, got 5"
    ) == caught.value.details()
    assert live(wire)


def test_a_tensor_of_many_megabytes_goes_through(wire: Connection) -> None:
    """The limit of four that gRPC has by itself is not Triton's."""
    asked = asking("double")
    asked.inputs[0].shape[0] = 3 << 20
    asked.raw_input_contents[0] = bytes(12 << 20)
    options = [("grpc.max_receive_message_length", -1)]

    with grpc.insecure_channel(wire.address, options=options) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        reply = stub.ModelInfer(asked, timeout=CALL_S)

    assert [3 << 20] == list(reply.outputs[0].shape)


def test_what_cannot_be_read_is_no_noise(
    wire: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """The client is told; nothing is printed in the notebook."""
    path = "/inference.GRPCInferenceService/ModelInfer"
    with grpc.insecure_channel(wire.address) as channel:
        ask = channel.unary_unary(path)
        with pytest.raises(grpc.RpcError) as caught:
            ask(b"\xff\xff", timeout=CALL_S)

    assert "Unable to parse request" == caught.value.details()
    assert [] == caplog.records


def test_a_connection_that_speaks_something_else_is_closed(wire: Connection) -> None:
    """The others go on."""
    host, port = wire.address.split(":")
    with socket.create_connection((host, int(port))) as other:
        other.settimeout(CALL_S)
        other.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        while other.recv(1 << 16):
            pass

    assert live(wire)


def test_an_unexpected_failure_is_told_and_logged(
    wire: Connection,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A fault of blsnb's own is no silence."""

    def fault(*_: object, **__: object) -> None:
        raise LookupError("a fault")

    monkeypatch.setattr(parts_of(server).models, "index", fault)
    with caplog.at_level(logging.ERROR), pytest.raises(grpc.RpcError) as caught:
        wire.stub.RepositoryIndex(pb.RepositoryIndexRequest(), timeout=CALL_S)

    assert grpc.StatusCode.INTERNAL is caught.value.code()
    assert "LookupError('a fault')" == caught.value.details()
    assert "a fault" in caplog.text


def test_the_server_may_be_closed_while_calls_are_on_their_way(server: Server) -> None:
    """Their clients get a status, every one."""
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
            wire.stub.ModelInfer.future(asking("patient", n), timeout=CALL_S)
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
