"""Every request of a batch gets its answer, by Triton's rules."""

from __future__ import annotations

import numpy as np
import pytest
from asserting import every

from blsnb.engine.instance.results import (
    fail_all,
    fail_without_inputs,
    take_results,
)
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.streaming import StreamInflight
from blsnb.pb_utils.compiled.errors import TritonError
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.request import RESCHEDULE
from blsnb.pb_utils.response import InferenceResponse
from blsnb.pb_utils.tensor import Tensor
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.responses import ResponseLog
from blsnb.trace.run_record import RunRecord

FOLLOWED = (
    "A response was sent without the final flag before this: {} The caller receives "
    "the response if it is a model or reads a stream, else the error 'expected a "
    "single response, got 2'. Send the response with "
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL, and only when nothing can fail any more."
)
LATE = (
    "After the final flag: {} The caller has the response, and on Triton 24.10 the "
    "server may end. Send the final flag only when nothing can fail any more."
)
NO_BATCH_SIZE = (
    "Without any input the batch size is not known: give one of the optional inputs, "
    "or set max_batch_size to zero."
)
MODEL = ModelInfo("model", 1, "python", "cpu", "model", "")
PREFIX = "Failed to process the request(s) for model 'model_0', message: "


def batch(count: int) -> list[Inflight]:
    """Requests of one batch."""
    root = RootRequest(RunRecord("1"), 60)
    message = RequestMessage("model", (), ("Y",))
    return [Inflight(message, root, Call(MODEL, None, 0)) for _ in range(count)]


def response(*names: str) -> InferenceResponse:
    """A response with those outputs."""
    return InferenceResponse([Tensor(name, np.zeros(1)) for name in names])


def errors(inflights: list[Inflight]) -> list[str | None]:
    """Return the error of each request."""
    return [None if i.response is None else i.response.error for i in inflights]


def test_release_flags_other_than_2_do_not_prevent_a_response():
    """Only flag 2 alone forbids it."""
    (inflight,) = batch(1)
    inflight.release_flags = RESCHEDULE | 1
    take_results([response("Y")], [inflight], "model_0")

    assert inflight.final
    assert not inflight.is_rescheduled


def test_each_request_gets_its_response():
    """Responses are in order, without outputs that were not requested."""
    inflights = batch(2)
    take_results([response("Y", "Z"), response()], inflights, "model_0")

    assert [("Y",), ()] == [
        tuple(ref.name for ref in i.response.outputs) for i in inflights if i.response
    ]
    assert [True, True] == [i.final for i in inflights]


def test_none_leaves_requests_open():
    """A response sender may still respond."""
    inflights = batch(2)
    take_results(None, inflights, "model_0")
    assert [False, False] == [i.final for i in inflights]

    take_results([None, response("Y")], inflights, "model_0")
    assert [False, True] == [i.final for i in inflights]


@pytest.mark.parametrize(
    ("results", "text"),
    [
        (
            [],
            "Number of InferenceResponse objects do not match the number of "
            "InferenceRequest objects. InferenceRequest(s) size is:2, and "
            "InferenceResponse(s) size is:0\n",
        ),
        (
            (None, None),
            "Expected a list in the execute return, found type '<class 'tuple'>'.",
        ),
        (
            [None, 1],
            "Expected an 'InferenceResponse' object in the execute function return "
            "list, found type '<class 'int'>'.",
        ),
    ],
)
def test_a_wrong_return_fails_the_whole_batch(results, text):
    """All requests fail, not only the one with the wrong element."""
    inflights = batch(2)
    take_results(results, inflights, "model_0")

    assert [PREFIX + text] * 2 == errors(inflights)
    assert every(i.failed for i in inflights)


def test_a_response_to_a_rescheduled_request_fails_the_whole_batch():
    """The element of a rescheduled request must be None."""
    inflights = batch(2)
    inflights[1].release_flags = RESCHEDULE
    take_results([response("Y"), response("Y")], inflights, "model_0")

    kind = "<class 'c_python_backend_utils.InferenceResponse'>"
    text = (
        "Expected a None object in the execute function return list for reschduled "
        f"request, found type '{kind}'."
    )
    assert [PREFIX + text] * 2 == errors(inflights)
    assert [False, False] == [i.is_rescheduled for i in inflights]


def test_one_request_of_a_batch_is_rescheduled():
    """The others get their responses."""
    inflights = batch(2)
    inflights[1].release_flags = RESCHEDULE
    take_results([response("Y"), None], inflights, "model_0")

    assert [(True, False), (False, True)] == [
        (i.final, i.is_rescheduled) for i in inflights
    ]


def test_a_returned_error_is_not_a_failure_of_execute():
    """Only that request has the error."""
    inflights = batch(2)
    error = InferenceResponse(error=TritonError("no", TritonError.NOT_FOUND))
    take_results([error, response("Y")], inflights, "model_0")

    assert ["no", None] == errors(inflights)
    assert [False, False] == [i.failed for i in inflights]


def test_a_sent_response_is_kept():
    """A returned response is dropped."""
    (inflight,) = batch(1)
    sent = ResponseMessage(error="sent")
    inflight.send(sent, final=True)
    take_results([response("Y")], [inflight], "model_0")
    fail_all([inflight], "later")

    assert sent is inflight.response
    assert not inflight.failed
    assert [LATE.format("later")] == inflight.call.notes


def test_a_failure_follows_the_response_that_was_sent():
    """The response remains; the rest of the batch receives the error."""
    inflights = batch(2)
    inflights[0].send(ResponseMessage(), final=False)
    fail_all(inflights, "boom")

    assert [None, "boom"] == errors(inflights)
    assert "boom" == inflights[0].response.followed
    assert [FOLLOWED.format("boom")] == inflights[0].call.notes
    assert inflights[1].call.notes is None
    assert [True, True] == [each.final for each in inflights]
    assert [True, True] == [each.failed for each in inflights]


def test_a_failure_has_the_code_the_cause_and_its_notes(caplog):
    """The server's log has the text, too."""
    caplog.set_level("INFO", "blsnb.server")
    cause = ValueError("no")
    cause.add_note("a note")
    inflights = batch(2)
    fail_all(inflights, "boom", cause, "INVALID_ARG")

    assert [("boom", "INVALID_ARG", cause)] * 2 == [
        (i.response.error, i.response.code, i.response.cause) for i in inflights
    ]
    assert [["a note"]] * 2 == [each.call.notes for each in inflights]
    [record] = caplog.records
    assert ("E", "boom") == (record.triton_severity, record.getMessage())


def test_a_batch_with_a_request_without_inputs_fails():
    """The backend reads the batch size from the first input; nothing is executed."""
    inflights = batch(2)
    inflights[0].extra = (None,)
    inflights[1].message = inflights[1].message.with_fields(request_id="7")
    for each in inflights:
        each.execution_size = 3

    assert fail_without_inputs(inflights) is True
    text = "[request id: 7] out of bounds index 0: request has 0 inputs"
    assert [(text, "INVALID_ARG")] * 2 == [
        (each.response.error, each.response.code) for each in inflights
    ]
    assert [0, 0] == [each.execution_size for each in inflights]
    assert [[NO_BATCH_SIZE]] * 2 == [each.call.notes for each in inflights]


def test_a_batch_with_controls_as_inputs_is_executed():
    """They count as inputs."""
    (inflight,) = batch(1)
    inflight.extra = (None,)

    assert fail_without_inputs([inflight]) is False
    assert not inflight.final


@pytest.mark.parametrize(("results", "is_final"), [(None, False), ([None], True)])
def test_a_decoupled_model_returns_none(results, is_final):
    """Another value fails all requests."""
    message, root = RequestMessage("model", (), ("Y",)), RootRequest(RunRecord("1"), 60)
    call = Call(MODEL, None, 0)
    call.responses = ResponseLog(10, None)
    stream = StreamInflight(message, root, call)
    take_results(results, [stream], "model_0")

    text = (
        "Python model 'model_0' is using the decoupled mode and the execute function "
        "must return None."
    )
    assert is_final is stream.final
    if is_final:
        assert PREFIX + text == stream.get(0).error


def test_a_response_that_was_sent_without_the_final_flag_is_the_only_one():
    """The returned one is an error."""
    (inflight,) = batch(1)
    sent = ResponseMessage()
    inflight.send(sent, final=False)
    take_results([response("Y")], [inflight], "model_0")

    text = (
        "Unable to send response. Non-decoupled model cannot send more than one "
        "response."
    )
    assert sent is inflight.response
    assert PREFIX + text == sent.followed
