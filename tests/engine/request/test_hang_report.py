"""Specification of the texts of `WouldHang`: each has its reason and its fix."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from blsnb.engine.request import hang_report
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.streaming import StreamInflight
from blsnb.errors import WouldHang
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
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
            "Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while "
            "the model is not configured to handle such a flag.",
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
        (Inflight, [], "sent a response but not the final flag", RESPONSE),
        (StreamInflight, [], "sent no final flag", FINAL),
        (Inflight, ["lost"], "returned no response", f"{RESPONSE}\nlost"),
    ],
)
def test_a_request_that_nothing_can_answer(kind, notes, sent, advice):
    """The fix comes first, then what was noted."""
    waiting = inflight(kind)
    if "but" in sent:
        waiting.response = ResponseMessage()
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


MAY_END = "This may still end; Ctrl-C ends it now."
BUSY = "a request to m waits (1 instance, all busy)"


@pytest.mark.parametrize(
    ("holder", "text"),
    [
        ("", f"a response sender has to answer). {MAY_END}"),
        ("a client", f"{BUSY}). {MAY_END}"),
        ("exec", f"{BUSY}; m_0 waits in exec() of m). {MAY_END}"),
        (
            "parent",
            f"{BUSY}). Each of these instances executes a caller of this request: if "
            "its execute() waits for the response, Triton would wait here forever. "
            "Give 'm' more instances (--instances 2, or instance_group { count: 2 }), "
            "or break the circle: do the work in this model, or move it into a third "
            "one that both can call. Ctrl-C ends it now.",
        ),
    ],
    ids=["a sender", "a client", "a BLS call", "a caller"],
)
def test_a_long_wait_is_noted_and_logged(holder, text, caplog):
    """With what it waits for, and advice if only its own callers could end it."""
    waiting, caller = inflight(), inflight()
    if holder == "parent":
        waiting.call.parent = caller.call
    if holder:
        instance = SimpleNamespace(name="m_0")
        instance.execution = SimpleNamespace(
            blocked_on=inflight() if holder == "exec" else None,
            inflights=[caller],
            instance=instance,
        )
        waiting.waiting_for = SimpleNamespace(
            instances=[instance], resource_holders=tuple
        )

    hang_report.notice(waiting, 2.5)

    expected = f"m has waited 2.5 s ({text}"
    assert [expected] == waiting.call.notes
    assert [("blsnb.engine", 30, expected)] == caplog.record_tuples


@pytest.mark.parametrize(
    ("is_free", "expected"),
    [
        (False, hang_report.deadlocked(["a waits"], "m", 1)),
        (True, hang_report.out_of_resources(["a waits"], "m")),
    ],
    ids=["instances", "resources"],
)
def test_a_deadlock_ends_the_client_request(is_free, expected):
    """Its error says whether instances or resources are missing."""
    waiting = inflight()
    instance = SimpleNamespace(execution=None if is_free else object())
    pool = SimpleNamespace(instances=[instance], resource_holders=lambda: [instance])

    with pytest.raises(Unwind):
        hang_report.end_deadlocked(pool, waiting, ["a waits"])

    ended = waiting.root.ended
    assert isinstance(ended, WouldHang)
    assert (expected.message, expected.advice) == (ended.message, ended.advice)
