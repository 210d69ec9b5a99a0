"""gRPC calls on the server: runs, cancellation, errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import grpc
import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, OWN_THREAD, calling, cell
from tritonclient.grpc import service_pb2 as pb

from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import CallFlag

from .over_grpc import (
    CALL_S,
    DECOUPLED,
    Connection,
    connected,
    infer_request,
    settled,
    values,
)

PATIENT = """
stage.begun.set()
while not request.is_cancelled():
    stage.tick.wait(0.001)
stage.notified.set()
stage.go.wait(60)
return [reply(x_of(request))]
"""


@pytest.fixture
def wire(server: Server) -> Iterator[Connection]:
    """A connection to a server with a model."""
    server.define("double", DOUBLE, config=CONFIG)
    with connected(server) as connection:
        yield connection


@pytest.fixture
def patient(server: Server) -> Iterator[None]:
    """A model that waits until its client has left."""
    stage.begun, stage.notified = threading.Event(), threading.Event()
    stage.tick, stage.go = threading.Event(), threading.Event()
    server.define("patient", cell(PATIENT), config=CONFIG)
    yield
    stage.go.set()


def ended(server: Server) -> list[int]:
    """Return the flags of all calls once all runs have ended."""
    assert settled(lambda: every(run.ended for run in parts_of(server).recorder.runs))
    return [call.flags for run in parts_of(server).recorder.runs for call in run.calls]


def test_a_call_is_a_run_with_its_id(wire: Connection, server: Server) -> None:
    """The run has all calls that it causes; the monitor counts it."""
    server.define("outer", calling("double"), config=CONFIG)

    reply = wire.stub.ModelInfer(infer_request("outer", 4, id="nine"), timeout=CALL_S)

    (run,) = parts_of(server).recorder.runs
    assert [8.0] == values(reply)
    assert ["outer", "double"] == [call.model.name for call in run.calls]
    assert "nine" == run.calls[0].request_id
    assert run.of_client
    assert "outer" in str(server.monitor())


def test_runs_of_the_notebook_are_not_of_a_client(
    wire: Connection, server: Server
) -> None:
    """They are displayed in their cell."""
    server.infer("double", {"X": [1.0]})

    assert [False] == [run.of_client for run in parts_of(server).recorder.runs]


def test_calls_run_side_by_side(wire: Connection, server: Server) -> None:
    """Each on its own thread: two calls wait for each other."""
    stage.both = threading.Barrier(2)
    meeting = "stage.both.wait(60)\nreturn [reply(x_of(request))]"
    config = f"{CONFIG}\ninstance_group {{ kind: KIND_CPU count: 2 }}\n"
    server.define("meeting", cell(meeting), config=config)

    calls = [
        wire.stub.ModelInfer.future(infer_request("meeting", n), timeout=CALL_S)
        for n in (1, 2)
    ]

    assert [[1.0], [2.0]] == [values(call.result()) for call in calls]


@pytest.mark.usefixtures("patient")
def test_the_model_sees_that_its_client_has_cancelled(
    wire: Connection, server: Server
) -> None:
    """It continues, as on Triton; the record names the cancellation."""
    call = wire.stub.ModelInfer.future(infer_request("patient", 1), timeout=CALL_S)
    assert stage.begun.wait(60)

    call.cancel()

    assert stage.notified.wait(60)
    stage.go.set()
    assert [CallFlag.CANCELLED] == ended(server)


@pytest.mark.usefixtures("patient")
def test_the_model_sees_that_the_deadline_has_passed(
    wire: Connection, server: Server
) -> None:
    """It sees that when the client leaves."""
    for seconds in (0.05, 0.5, 5):
        with pytest.raises(grpc.RpcError) as caught:
            wire.stub.ModelInfer(infer_request("patient", 1), timeout=seconds)
        if stage.begun.is_set():
            break

    assert grpc.StatusCode.DEADLINE_EXCEEDED is caught.value.code()
    assert stage.notified.wait(60)


def test_a_client_that_leaves_while_waiting_for_an_instance_is_served(
    wire: Connection, server: Server
) -> None:
    """The model has no batcher; Triton does the same."""
    stage.go, stage.count = threading.Event(), []
    waiting = (
        "stage.count.append(request.request_id())\nstage.go.wait(60)\n"
        "return [reply(x_of(request))]"
    )
    server.define("waiting", cell(waiting), config=CONFIG)
    first, second = (
        wire.stub.ModelInfer.future(
            infer_request("waiting", 1, id=each), timeout=CALL_S
        )
        for each in "ab"
    )
    served = parts_of(server).engine.catalog.find("waiting")
    assert settled(lambda: served.waiting_count == 1)

    second.cancel() if "a" in stage.count else first.cancel()
    stage.go.set()

    assert settled(lambda: len(stage.count) == 2)


def test_a_completed_call_is_not_cancelled(wire: Connection, server: Server) -> None:
    """GRPC reports the end of every call."""
    for _ in range(20):
        wire.stub.ModelInfer(infer_request("double", 1), timeout=CALL_S)

    assert {0} == set(ended(server))


def test_a_hang_is_an_error(wire: Connection, server: Server) -> None:
    """Triton's client would wait indefinitely."""
    server.define("mute", cell("return None"), config=CONFIG)

    with pytest.raises(grpc.RpcError) as caught:
        wire.stub.ModelInfer(infer_request("mute", 1), timeout=CALL_S)

    assert grpc.StatusCode.UNAVAILABLE is caught.value.code()
    assert "Triton would wait" in caught.value.details()


def test_a_hang_ends_its_stream(wire: Connection, server: Server) -> None:
    """Earlier responses are delivered."""
    lines = "request.get_response_sender().send(reply(x_of(request)))"
    server.define("endless", cell(lines), config=DECOUPLED)

    replies = wire.stub.ModelStreamInfer(
        iter([infer_request("endless", 3)]), timeout=CALL_S
    )

    first, last = replies
    assert [3.0] == values(first.infer_response)
    assert "Triton would wait" in last.error_message


def test_a_model_with_a_thread_of_its_own_is_served(
    wire: Connection, server: Server
) -> None:
    """Its hooks run there, whichever thread has the call."""
    lines = "return [reply(x_of(request) + (threading.get_ident() == self.thread))]"
    methods = """
    def initialize(self, args):
        self.thread = threading.get_ident()

    """
    server.define("own", cell(lines, methods=methods), config=OWN_THREAD)

    replies = [
        wire.stub.ModelInfer(infer_request("own", n), timeout=CALL_S) for n in (1, 2)
    ]

    assert [[2.0], [3.0]] == [values(reply) for reply in replies]


def test_a_load_over_the_network_is_seen_in_the_notebook(
    wire: Connection, server: Server
) -> None:
    """A load in the notebook is seen by clients, too."""
    server.unload("double")
    ready = pb.ModelReadyRequest(name="double")
    assert not wire.stub.ModelReady(ready, timeout=CALL_S).ready

    load = pb.RepositoryModelLoadRequest(model_name="double")
    wire.stub.RepositoryModelLoad(load, timeout=CALL_S)

    assert [2.0] == server.infer("double", {"X": [1.0]})["Y"].tolist()


def test_calls_are_served_without_tracing(server: Server) -> None:
    """No record of them is kept."""
    with Server(trace_level="off") as other:
        other.define("double", DOUBLE, config=CONFIG)
        with connected(other) as wire:
            reply = wire.stub.ModelInfer(infer_request("double", 2), timeout=CALL_S)

            assert [4.0] == values(reply)
            assert "1" == reply.model_version
        assert [] == parts_of(other).recorder.runs
