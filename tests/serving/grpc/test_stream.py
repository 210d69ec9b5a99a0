"""gRPC streams: order, ends, and clients that disconnect."""

from __future__ import annotations

import collections
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
import stage
from asserting import every, some
from cells import CONFIG, DOUBLE, cell
from tritonclient.grpc import service_pb2_grpc

from blsnb.engine.threads.workers import Workers
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.requests import Requests
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.endpoints import serve
from blsnb.serving.grpc.requests import request_of
from blsnb.serving.grpc.stream import GrpcStream

from .over_grpc import (
    CALL_S,
    DECOUPLED,
    Connection,
    connected,
    infer_request,
    settled,
    values,
)

EACH = """
sender = request.get_response_sender()
for value in x_of(request):
    sender.send(reply(value[None]))
sender.send(flags=1)
"""
ENDLESS = """
sender = request.get_response_sender()
while not sender.is_cancelled():
    sender.send(reply(x_of(request)))
    stage.tick.wait(0.001)
stage.notified.set()
sender.send(flags=1)
"""


@pytest.fixture
def wire(server: Server) -> Iterator[Connection]:
    """A connection to a server with models."""
    stage.tick, stage.notified = threading.Event(), threading.Event()
    server.define("double", DOUBLE, config=CONFIG)
    server.define("each", cell(EACH), config=DECOUPLED)
    server.define("endless", cell(ENDLESS), config=DECOUPLED)
    with connected(server) as connection:
        yield connection


class Sending(Iterator[Any]):
    """Requests that a client sends one by one."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.send: Callable[[Any], None] = self._queue.put

    def __next__(self) -> Any:
        """Return the next request."""
        found = self._queue.get()
        if found is None:
            raise StopIteration
        return found

    def end(self) -> None:
        """Send no more requests."""
        self._queue.put(None)


def test_each_request_of_a_stream_is_a_run(wire: Connection, server: Server) -> None:
    """The stream itself is not a run."""
    sent = [infer_request("double", n, id=str(n)) for n in range(3)]

    replies = list(wire.stub.ModelStreamInfer(iter(sent), timeout=CALL_S))

    assert [[0.0], [2.0], [4.0]] == [values(each.infer_response) for each in replies]
    found = [run.calls[0].request_id for run in parts_of(server).recorder.runs]
    assert ["0", "1", "2"] == sorted(found)


def test_a_response_is_sent_before_the_next_request(wire: Connection) -> None:
    """A client may wait for it."""
    sending = Sending()
    replies = wire.stub.ModelStreamInfer(sending, timeout=CALL_S)
    answers = []

    for number in range(5):
        sending.send(infer_request("double", number))
        answers.append(values(next(replies).infer_response))
    sending.end()

    assert [[0.0], [2.0], [4.0], [6.0], [8.0]] == answers
    assert [] == list(replies)


def test_many_requests_keep_their_order(wire: Connection) -> None:
    """Their executions may have another order."""
    sent = [infer_request("double", n) for n in range(200)]

    replies = list(wire.stub.ModelStreamInfer(iter(sent), timeout=CALL_S))

    assert [2.0 * n for n in range(200)] == [
        values(r.infer_response)[0] for r in replies
    ]


def test_responses_are_sent_in_request_order(wire: Connection, server: Server) -> None:
    """The first request runs until the second has ended."""
    stage.second = threading.Event()
    lines = """
    if x_of(request)[0] == 1:
        stage.second.wait(60)
    else:
        stage.second.set()
    return [reply(x_of(request))]
    """
    config = f"{CONFIG}\ninstance_group {{ kind: KIND_CPU count: 2 }}\n"
    server.define("meeting", cell(lines), config=config)
    sent = [infer_request("meeting", 1), infer_request("meeting", 2)]

    replies = list(wire.stub.ModelStreamInfer(iter(sent), timeout=CALL_S))

    assert [[1.0], [2.0]] == [values(each.infer_response) for each in replies]


def test_a_request_that_waits_for_an_instance_delays_no_other(
    wire: Connection, server: Server
) -> None:
    """The third request ends the first, for which the second waits."""
    stage.third = threading.Event()
    waiting = "assert stage.third.wait(60)\nreturn [reply(x_of(request))]"
    server.define("waiting", cell(waiting), config=CONFIG)
    ending = "stage.third.set()\nreturn [reply(x_of(request))]"
    server.define("ending", cell(ending), config=CONFIG)
    sent = [
        infer_request("waiting", 1),
        infer_request("waiting", 2),
        infer_request("ending", 3),
    ]

    replies = list(wire.stub.ModelStreamInfer(iter(sent), timeout=CALL_S))

    assert [[1.0], [2.0], [3.0]] == [values(each.infer_response) for each in replies]


def test_requests_of_a_sequence_enter_in_order(
    wire: Connection, server: Server
) -> None:
    """No thread overtakes another."""
    methods = """
    def initialize(self, args):
        self.seen = []

    """
    lines = """
    self.seen.append(float(x_of(request)[0]))
    return [reply(np.array([self.seen == sorted(self.seen)], np.float32))]
    """
    # On a busy machine a second may pass between two of them.
    idle = "max_sequence_idle_microseconds: 60000000"
    config = f"{CONFIG}\nsequence_batching {{ {idle} }}\n"
    server.define("ordered", cell(lines, methods=methods), config=config)
    sent = [infer_request("ordered", n) for n in range(100)]
    for number, each in enumerate(sent):
        each.parameters["sequence_id"].int64_param = 7
        each.parameters["sequence_start"].bool_param = number == 0

    replies = list(wire.stub.ModelStreamInfer(iter(sent), timeout=CALL_S))

    assert [[1.0]] * 100 == [values(each.infer_response) for each in replies]


def test_requests_of_one_stream_are_batched(wire: Connection, server: Server) -> None:
    """They meet in the model's queue."""
    config = (
        f"{CONFIG}\nmax_batch_size: 8\n"
        "dynamic_batching { max_queue_delay_microseconds: 2000000 }\n"
    )
    lines = "return [reply(x_of(r) * 0 + len(requests)) for r in requests]"
    server.define("batching", cell(lines), config=config)
    sent = [infer_request("batching", n) for n in range(8)]
    for each in sent:
        each.inputs[0].shape.insert(0, 1)

    replies = list(wire.stub.ModelStreamInfer(iter(sent), timeout=CALL_S))

    assert [[8.0]] * 8 == [values(each.infer_response) for each in replies]


def test_the_model_sees_that_its_client_has_disconnected(
    wire: Connection, server: Server
) -> None:
    """The stream would not end by itself."""
    replies = wire.stub.ModelStreamInfer(
        iter([infer_request("endless", 1)]), timeout=CALL_S
    )
    next(replies)

    replies.cancel()

    assert stage.notified.wait(60)
    assert settled(lambda: every(run.ended for run in parts_of(server).recorder.runs))


def test_the_model_sees_that_the_connection_is_lost(wire: Connection) -> None:
    """The client has not ended the stream."""
    with grpc.insecure_channel(wire.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        next(stub.ModelStreamInfer(iter([infer_request("endless", 1)])))

    assert stage.notified.wait(60)


def test_all_requests_of_a_stream_are_cancelled(wire: Connection) -> None:
    """Requests of other streams are not."""
    sending = Sending()
    replies = wire.stub.ModelStreamInfer(sending, timeout=CALL_S)
    sending.send(infer_request("double", 1))
    assert [2.0] == values(next(replies).infer_response)
    for _ in range(3):
        sending.send(infer_request("endless", 1))
    next(replies)

    replies.cancel()
    sending.end()

    assert stage.notified.wait(60)


def test_a_malformed_message_ends_the_stream(wire: Connection) -> None:
    """There is no error, as on Triton."""
    path = "/inference.GRPCInferenceService/ModelStreamInfer"
    good = infer_request("double", 1).SerializeToString()
    with grpc.insecure_channel(wire.address) as channel:
        ask = channel.stream_stream(path)
        replies = list(ask(iter([good, b"\xff\xff", good]), timeout=CALL_S))

    assert len(replies) <= 1


def test_a_fault_ends_the_stream_and_is_logged(
    wire: Connection,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Otherwise the client would wait indefinitely."""

    def fault(*_: object) -> None:
        raise LookupError("a fault")

    monkeypatch.setattr(GrpcStream, "_start", fault)
    sending = Sending()
    replies = wire.stub.ModelStreamInfer(sending, timeout=CALL_S)
    sending.send(infer_request("double", 1))

    assert [] == list(replies)
    sending.end()
    assert "a fault" in caplog.text


def test_an_idle_stream_does_not_delay_closing(server: Server) -> None:
    """It ends as if its client had ended it."""
    server.define("double", DOUBLE, config=CONFIG)
    endpoints = serve(server, http=None, grpc=0, metrics=None)
    sending = Sending()
    with grpc.insecure_channel(endpoints.addresses["gRPC"]) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        replies = stub.ModelStreamInfer(sending)
        sending.send(infer_request("double", 1))
        next(replies)
        closing = threading.Thread(target=endpoints.close, args=(60.0,))

        closing.start()

        assert [] == list(replies)
        closing.join(60)
        assert not closing.is_alive()
        sending.end()


@pytest.mark.parametrize("is_open", [True, False])
def test_a_stream_ends_with_its_last_response_when_the_server_stops(
    server: Server, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    """Its client could send further requests, or has sent all."""
    stopped = noted_end_of(GrpcStream.stop, monkeypatch)
    read = noted_end_of(GrpcStream.read, monkeypatch)
    stage.begun, stage.go = threading.Event(), threading.Event()
    waiting = "stage.begun.set()\nstage.go.wait(60)\nreturn [reply(x_of(request))]"
    server.define("waiting", cell(waiting), config=CONFIG)
    endpoints = serve(server, http=None, grpc=0, metrics=None)
    sending = Sending()
    with grpc.insecure_channel(endpoints.addresses["gRPC"]) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        replies = stub.ModelStreamInfer(sending)
        sending.send(infer_request("waiting", 9))
        assert stage.begun.wait(60)
        if not is_open:
            sending.end()
            assert read.wait(60)
        closing = threading.Thread(target=endpoints.close, args=(60.0,))

        closing.start()
        assert stopped.wait(60)
        stage.go.set()

        assert [[9.0]] == [values(each.infer_response) for each in replies]
        closing.join(60)
        assert not closing.is_alive()
        sending.end()


def noted_end_of(
    method: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> threading.Event:
    """Return an event that is set whenever a method of a stream returns."""
    returned = threading.Event()

    def noted(*given: Any) -> None:
        method(*given)
        returned.set()

    monkeypatch.setattr(GrpcStream, method.__name__, noted)
    return returned


def test_a_client_that_leaves_ends_the_wait_for_a_thread(server: Server) -> None:
    """Its last request had no thread."""
    stage.begun, stage.go = threading.Event(), threading.Event()
    waiting = "stage.begun.set()\nstage.go.wait(60)\nreturn [reply(x_of(request))]"
    server.define("waiting", cell(waiting), config=CONFIG)
    workers = Workers(2, "blsnb test")
    messages = iter([infer_request("waiting", n) for n in range(5)])
    requests = Requests(parts_of(server))

    def parse(message: Any) -> Any:
        return *request_of(message, -1, SharedMemory()), False

    stream = GrpcStream(requests, parse, workers)
    reading = threading.Thread(target=stream.read, args=(messages,))
    reading.start()
    assert stage.begun.wait(60)
    stream.leave()

    reading.join(60)
    stage.go.set()
    workers.shutdown(cancel_futures=True)
    for thread in some(threading.enumerate()):
        if thread.name == "blsnb test":
            thread.join(60)
            assert not thread.is_alive()
    assert not reading.is_alive()


@pytest.mark.parametrize("first", ["client", "server"])
def test_a_client_leaves_while_the_server_closes(server: Server, first: str) -> None:
    """In either order the model is notified, every run ends, and the port is free."""
    stage.tick, stage.notified = threading.Event(), threading.Event()
    server.define("endless", cell(ENDLESS), config=DECOUPLED)
    endpoints = serve(server, http=None, grpc=0, metrics=None)
    with grpc.insecure_channel(endpoints.addresses["gRPC"]) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        replies = stub.ModelStreamInfer(
            iter([infer_request("endless", 1)]), timeout=CALL_S
        )
        next(replies)
        closing = threading.Thread(target=endpoints.close)
        steps = [replies.cancel, closing.start]
        for step in steps if first == "client" else reversed(steps):
            step()
        with pytest.raises(grpc.RpcError) as ended:
            collections.deque(replies, maxlen=0)
        closing.join(CALL_S)

    assert not closing.is_alive()
    assert ended.value.code() in (
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNAVAILABLE,
    )
    assert stage.notified.wait(60)
    assert settled(lambda: every(run.ended for run in parts_of(server).recorder.runs))
