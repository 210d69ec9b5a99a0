"""The responses of a decoupled BLS request, as the calling model reads them."""

from __future__ import annotations

import threading

import pytest

from blsnb.engine.bls_responses import BlsResponses
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.streaming import StreamInflight
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.responses import ResponseLog
from blsnb.trace.run_record import RunRecord

LOST = (
    "Triton before 25.04 passes an error on to the calling model only if it is the "
    "first response and has the final flag: this error is lost, or the caller waits "
    "forever. Check for errors before the first response, or send them as an output."
)


class Execution:
    """The execution of the calling model."""

    def __init__(self, thread_id: int) -> None:
        self.thread_id = thread_id
        self.blocked_on = None


class Stream(StreamInflight):
    """A stream that records what its caller is blocked on while it is read."""

    execution = None
    error = None

    def get(self, number, until_ns=0):
        self.seen = None if self.execution is None else self.execution.blocked_on
        if self.error is not None:
            raise self.error
        return super().get(number, until_ns)


@pytest.fixture
def stream():
    call = Call(ModelInfo("m", 1, "python", "cpu", "m", ""), None, 0)
    call.responses = ResponseLog(10, None)
    message = RequestMessage("m", (), ("Y",))
    return Stream(message, RootRequest(RunRecord("1"), 60), call)


def reader(stream, execution=None, loses_errors=True):
    """Return the responses of a stream; each is marked when it is released."""
    stream.execution = execution

    def as_released(response):
        return "released", response

    return BlsResponses(stream, lambda: execution, as_released, loses_errors)


@pytest.mark.parametrize("is_own", [True, False])
def test_only_a_wait_of_the_executing_thread_is_recorded(stream, is_own):
    """It ends with the response."""
    execution = Execution(threading.get_ident() + (not is_own))
    response = ResponseMessage()
    stream.send(response, final=False)
    responses = reader(stream, execution)

    assert ("released", response) == responses.get(0)
    assert (stream if is_own else None) is stream.seen
    assert execution.blocked_on is None


def test_a_wait_of_another_thread_does_not_end_that_of_execute(stream):
    """Both may read."""
    execution = Execution(0)
    execution.blocked_on = "another request"
    stream.send(ResponseMessage(), final=False)
    reader(stream, execution).get(0)

    assert "another request" == execution.blocked_on


def test_none_follows_the_last_response(stream):
    """It is not converted."""
    stream.send(ResponseMessage(), final=True)
    responses = reader(stream)

    assert "released" == responses.get(0)[0]
    assert responses.get(1) is None


@pytest.mark.parametrize("is_own", [True, False])
def test_the_end_of_the_request_unwinds_execute_alone(stream, is_own):
    """Other threads of the model receive no further response."""
    execution = Execution(threading.get_ident() + (not is_own))
    stream.error = Unwind()
    responses = reader(stream, execution)

    if is_own:
        with pytest.raises(Unwind):
            responses.get(0)
    else:
        assert responses.get(0) is None
    assert execution.blocked_on is None


@pytest.mark.parametrize(
    ("before", "error", "final", "loses", "is_noted"),
    [
        (0, "no", False, True, True),
        (0, "no", True, True, False),
        (1, "no", True, True, True),
        (1, "no", True, False, False),
        (1, None, True, True, False),
    ],
)
def test_a_lost_error_is_noted(stream, before, error, final, loses, is_noted):
    """Later releases pass every error on."""
    for _ in range(before):
        stream.send(ResponseMessage(), final=False)
    stream.send(ResponseMessage(error=error), final=final)
    responses = reader(stream, loses_errors=loses)
    for number in range(before + 1):
        responses.get(number)

    assert ([LOST] if is_noted else []) == (stream.call.notes or [])


def test_responses_that_are_dropped_have_no_reader(stream):
    """The model may cancel the request before."""
    seen = []
    stream.cancel = lambda: seen.append("cancel")
    stream.leave = lambda: seen.append("leave")
    responses = reader(stream)
    responses.cancel()
    assert ["cancel"] == seen
    del responses
    assert ["cancel", "leave"] == seen
