"""Every request of a batch gets its answer, by Triton's rules."""

from __future__ import annotations

import numpy as np
import pytest
from asserting import every

from blsnb.engine.instance.results import fail_all, take_results
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.pb_utils.compiled.errors import TritonError
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.request import RESCHEDULE
from blsnb.pb_utils.response import InferenceResponse
from blsnb.pb_utils.tensor import Tensor
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.run_record import RunRecord

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


def test_a_failure_follows_the_response_that_was_sent():
    """The response remains; the rest of the batch receives the error."""
    inflights = batch(2)
    inflights[0].send(ResponseMessage(), final=False)
    fail_all(inflights, "boom")

    assert [None, "boom"] == errors(inflights)
    assert "boom" == inflights[0].response.followed
    assert inflights[0].final
    assert inflights[0].failed
