"""Specification of the texts of `WouldHang`: each has its reason and its fix."""

from __future__ import annotations

import pytest

from blsnb.engine.request import hang_report
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.streaming import StreamInflight
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import SEQUENCE_END, RequestFields
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.responses import ResponseLog
from blsnb.trace.run_record import RunRecord

WAITS = "Triton would wait here forever: "
RELEASED = (
    f"{WAITS}model 'm' rescheduled its request, and nothing that could still answer it "
    "holds it. Triton drops the request and logs: Failed to release request: "
)
HOLDS = (
    "for this request, and nothing that could still answer it (a response sender, a "
    "task, a thread) holds it."
)
RESPONSE = (
    "Return a list with one InferenceResponse for each request; or keep "
    "request.get_response_sender() and call send(response, flags=pb_utils."
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL) later."
)
FINAL = (
    "End every request with sender.send(flags=pb_utils."
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL), or give the flag with the last response; "
    "in an asynchronous execute() also where an exception may leave it (try/finally)."
)


def inflight(kind: type[Inflight] = Inflight, flags: int = 0) -> Inflight:
    """Return a request in flight."""
    call = Call(ModelInfo("m", 1, "python", "cpu", "model", ""), None, 0)
    call.responses = ResponseLog(10, None)
    message = RequestMessage("m", (), (), RequestFields(flags=flags))
    return kind(message, RootRequest(RunRecord(""), 60), call)


@pytest.mark.parametrize(
    ("dropped", "flags", "advice"),
    [
        (
            "too late",
            0,
            "Raise max_sequence_idle_microseconds: an execution took longer than that.",
        ),
        (
            "ended",
            SEQUENCE_END,
            "Send the request without the END flag (sequence_end).",
        ),
        (
            hang_report.RESCHEDULED,
            0,
            "Configure it: sequence_batching { iterative_sequence: true }. A warm-up "
            "request is never rescheduled: answer it in one execution.",
        ),
    ],
)
def test_a_rescheduled_request_that_triton_drops(dropped, flags, advice):
    """The fix depends on the reason for which it was dropped."""
    waiting = inflight(flags=flags)
    waiting.dropped = dropped
    error = hang_report.unanswered(waiting, "execute")

    assert (RELEASED + dropped, advice) == (error.message, error.advice)
    assert "UNAVAILABLE" == error.code


@pytest.mark.parametrize(
    ("kind", "notes", "sent", "advice"),
    [
        (Inflight, [], "returned no response", RESPONSE),
        (StreamInflight, [], "sent no final flag", FINAL),
        (Inflight, ["lost"], "returned no response", f"{RESPONSE}\nlost"),
    ],
)
def test_a_request_that_nothing_can_answer(kind, notes, sent, advice):
    """The fix comes first, then what was noted."""
    waiting = inflight(kind)
    for note in notes:
        waiting.note(note)
    error = hang_report.unanswered(waiting, "execute of 'm'")

    assert f"{WAITS}execute of 'm' {sent} {HOLDS}" == error.message
    assert ("UNAVAILABLE", advice) == (error.code, error.advice)


@pytest.mark.parametrize(
    ("error", "message", "advice"),
    [
        (
            hang_report.deadlocked(["a waits for b", "b waits for a"], "b", 1),
            f"{WAITS}every instance of model 'b' that could serve this exec() is "
            "waiting for it.\n  a waits for b\n  b waits for a",
            "Give 'b' more instances (--instances 2, or instance_group { count: 2 }), "
            "or break the circle: do the work in this model, or move it into a third "
            "one that both can call.",
        ),
        (
            hang_report.out_of_resources(["a waits for b"], "b"),
            f"{WAITS}model 'b' can start only when resources are free, its own or "
            "those of a request ahead of it in the queue, and the model that holds "
            "them is waiting for it.\n  a waits for b",
            "Raise the number of units (rate_limit_resources, on Triton "
            "--rate-limit-resource), or remove the rate_limiter of models that call "
            "others.",
        ),
        (
            hang_report.endless("e", [("a", 0), ("b", 2)]),
            "Triton would never end this request: the ensemble 'e' writes an input of "
            "its own, so that 'a' (step 0), 'b' (step 2) starts again and again.",
            "Give that output_map a tensor name that no input of the ensemble has.",
        ),
        (
            hang_report.loop_ended("execute of 'm'", "stopped it\n"),
            f"{WAITS}execute of 'm' runs on the event loop of its instance, which is "
            "over: the model stopped it",
            "Return from execute() instead of calling loop.stop(), and let neither "
            "SystemExit nor KeyboardInterrupt leave a coroutine: asyncio ends its loop "
            "with them. Load the model again to give it a new loop.",
        ),
    ],
    ids=["circle", "resources", "ensemble", "loop"],
)
def test_the_text_of_a_hang_and_its_fix(error, message, advice):
    """A hang has the code of a server that is not available."""
    assert (message, advice) == (error.message, error.advice)
    assert "UNAVAILABLE" == error.code
