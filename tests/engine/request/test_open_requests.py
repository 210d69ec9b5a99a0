"""The client requests in flight, for which a closing server waits."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
from asserting import every

from blsnb.engine.request.open_requests import OpenRequests, stopping_refusal
from blsnb.errors import ServerClosedError
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields
from blsnb.trace.events import Call, CallFlag
from blsnb.trace.recorder import Recorder

from ..pools import MODEL


def opened() -> OpenRequests:
    """Return the open requests of a new server."""
    return OpenRequests(Recorder(), 10.0, tuple, lambda root: None)


@pytest.fixture
def restless() -> Iterator[None]:
    """Make threads switch as often as possible."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("restless")
def test_requests_are_listed_while_others_begin_and_end():
    """Open requests are in each list."""
    requests, over = opened(), threading.Event()
    staying = [requests.open() for _ in range(1000)]

    def come_and_go() -> None:
        while not over.is_set():
            some = [requests.open_load() for _ in range(20)]
            for each in some[::2]:
                requests.end(each)

    threads = [threading.Thread(target=come_and_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        seen = [set(staying) <= set(requests.in_flight()) for _ in range(200)]
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert every(seen)


def test_a_request_that_is_not_complete_in_time_is_ended():
    """It gets the reason; a complete request is not changed."""
    requests = opened()
    done, late = requests.open(), requests.open()
    done.complete()
    requests.drain(0.0)

    assert done.ended is None
    assert isinstance(late.ended, ServerClosedError)


def test_an_ended_request_is_closed_once_with_its_calls_and_instances():
    """A complete one has neither calls nor instances to end."""
    replaced = []
    requests = OpenRequests(Recorder(), 10.0, tuple, replaced.append)
    done, ended = requests.open(), requests.open()
    assert not done.cancelled
    call = Call(MODEL, None, 0)
    ended.record.calls.append(call)
    ended.end(ServerClosedError())

    for root in (done, ended, ended):
        requests.close(root)
    assert [ended] == replaced
    assert str(ServerClosedError()) == call.error
    assert CallFlag.CANCELLED | CallFlag.ERROR == call.flags
    assert [] == requests.in_flight()


def test_draining_returns_as_soon_as_the_last_request_is_complete():
    """The timeout is a maximum."""
    requests = opened()
    late = requests.open()
    ending = threading.Timer(0.01, requests.end, [late])
    ending.start()
    requests.drain(60.0)
    ending.join()

    assert late.ended is None


def test_ctrl_c_ends_the_requests_that_draining_waits_for(monkeypatch):
    """Also those after it; nothing is awaited any longer."""
    requests = opened()
    first, second = requests.open(), requests.open()

    def wait(timeout_s: float) -> bool:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(first, "wait_until_complete", wait)
    with pytest.raises(KeyboardInterrupt):
        requests.drain(60.0)

    assert ["ServerClosedError"] * 2 == [
        type(each.ended).__name__ for each in (first, second)
    ]


def test_an_abandoned_request_is_forgotten():
    """Nothing can wait for it."""
    requests = opened()
    requests.open()

    assert [] == requests.in_flight()


def test_a_closed_server_opens_no_request():
    """Closing at the same moment ends the request's record."""
    recorder = Recorder()
    requests = OpenRequests(recorder, 10.0, tuple, lambda root: None)
    requests.is_closed = True

    with pytest.raises(ServerClosedError):
        requests.open()

    assert [True] == [record.ended for record in recorder.runs]
    assert [] == requests.in_flight()


@pytest.mark.parametrize(
    ("scheduling", "prefix"),
    [
        ("", "[request id: 7] "),
        ("dynamic_batching", "[request id: 7] "),
        ("sequence_batching", ""),
    ],
)
def test_a_stopping_server_refuses_requests(scheduling, prefix):
    """Only the sequence batcher leaves out the id of the request."""
    message = RequestMessage("m", (), (), RequestFields(request_id="7"))
    error = stopping_refusal(message, scheduling)

    assert (
        f"{prefix}Server is stopping, scheduler for model has stopped accepting new "
        "inference requests",
        "UNAVAILABLE",
        "Send requests before server.close(), or make a new blsnb.Server().",
    ) == (error.message, error.code, error.advice)


def test_a_call_beside_its_request_is_waited_for():
    """It may have been left by the request that caused it."""
    requests = opened()
    root, began, over = requests.open(), threading.Event(), threading.Event()

    def call() -> None:
        with requests.beside(root):
            began.set()
            over.wait(60)

    calling = threading.Thread(target=call)
    calling.start()
    began.wait(60)
    requests.end(root)
    ending = threading.Timer(0.01, over.set)
    ending.start()
    requests.drain(60.0)
    ending.join()

    assert over.is_set()
    assert root.ended is None
    calling.join()


def test_a_call_beside_its_request_is_ended_at_the_timeout():
    """A model that it waits for does not begin afterwards."""
    requests = opened()
    root = requests.open()
    requests.end(root)
    with requests.beside(root):
        requests.drain(0.0)

    assert isinstance(root.ended, ServerClosedError)
