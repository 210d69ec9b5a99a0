"""Texts of `WouldHang`: what Triton would do, why, and how to fix it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NoReturn

from blsnb.engine.request import deadlock
from blsnb.engine.request.inflight import Inflight, InstanceQueue
from blsnb.engine.request.lifetime import Unwind
from blsnb.errors import WouldHang
from blsnb.request_fields import SEQUENCE_END

RESCHEDULED = (
    "Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model "
    "is not configured to handle such a flag."
)
_OWES_RESPONSE = (
    "Return a list with one InferenceResponse for each request; or keep "
    "request.get_response_sender() and call send(response, flags=pb_utils."
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL) later."
)
_OWES_FINAL = (
    "End every request with sender.send(flags=pb_utils."
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL), or give the flag with the last response; "
    "in an asynchronous execute() also where an exception may leave it (try/finally)."
)
_log = logging.getLogger("blsnb.engine")


def deadlocked(lines: list[str], model: str, count: int) -> WouldHang:
    """Return the error for calls that wait for each other in a circle.

    Parameters
    ----------
    model, count
        The model whose instances are all busy, and their number.
    """
    circle = "\n".join(f"  {line}" for line in lines)
    return WouldHang(
        f"Triton would wait here forever: every instance of model '{model}' that "
        f"could serve this exec() is waiting for it.\n{circle}",
        code="UNAVAILABLE",
        advice=_more_instances(model, count + 1),
    )


def _more_instances(model: str, count: int) -> str:
    return (
        f"Give '{model}' more instances (--instances {count}, or instance_group "
        f"{{ count: {count} }}), or break the circle: do the work in this model, or "
        "move it into a third one that both can call."
    )


def out_of_resources(lines: list[str], model: str) -> WouldHang:
    """Return the error for a circle of waits that includes rate-limit resources.

    Parameters
    ----------
    model
        The model that cannot start.
    """
    circle = "\n".join(f"  {line}" for line in lines)
    return WouldHang(
        f"Triton would wait here forever: model '{model}' can start only when "
        "resources are free, its own or those of a request ahead of it in the queue, "
        f"and the model that holds them is waiting for it.\n{circle}",
        code="UNAVAILABLE",
        advice=(
            "Raise the number of units (rate_limit_resources, on Triton "
            "--rate-limit-resource), or remove the rate_limiter of models that call "
            "others."
        ),
    )


def rescheduled(inflight: Inflight) -> WouldHang:
    """Return the error for a request that cannot be rescheduled."""
    name = inflight.message.model_name
    advice = "Raise max_sequence_idle_microseconds: an execution took longer than that."
    if inflight.message.fields.flags & SEQUENCE_END:
        advice = "Send the request without the END flag (sequence_end)."
    if inflight.dropped == RESCHEDULED:
        advice = (
            "Configure it: sequence_batching { iterative_sequence: true }. A warm-up "
            "request is never rescheduled: answer it in one execution."
        )
    return WouldHang(
        f"Triton would wait here forever: model '{name}' rescheduled its request, "
        "and nothing that could still answer it holds it. Triton drops the request and "
        f"logs: {not_released(inflight)}",
        code="UNAVAILABLE",
        advice=advice,
    )


def endless(name: str, steps: Iterable[tuple[str, int]]) -> WouldHang:
    """Return the error for an ensemble whose steps start again forever.

    Parameters
    ----------
    steps
        The steps that start again: the name of the model and the step's index.
    """
    models = ", ".join(f"'{model}' (step {index})" for model, index in steps)
    return WouldHang(
        f"Triton would never end this request: the ensemble '{name}' writes an input "
        f"of its own, so that {models} starts again and again.",
        code="UNAVAILABLE",
        advice="Give that output_map a tensor name that no input of the ensemble has.",
    )


def loop_ended(where: str, why: str) -> WouldHang:
    """Return the error for a coroutine whose event loop the model has ended.

    Parameters
    ----------
    where
        The location of the coroutine, as text.
    why
        What the model did to the loop, as text.
    """
    return WouldHang(
        f"Triton would wait here forever: {where} runs on the event loop of its "
        f"instance, which is over: the model {why.rstrip()}",
        code="UNAVAILABLE",
        advice=(
            "Return from execute() instead of calling loop.stop(), and let neither "
            "SystemExit nor KeyboardInterrupt leave a coroutine: asyncio ends its loop "
            "with them. Load the model again to give it a new loop."
        ),
    )


def not_released(inflight: Inflight) -> str:
    """Return Triton's log line for a request that cannot be rescheduled."""
    return f"Failed to release request: {inflight.dropped}"


def notice(inflight: Inflight, seconds: float) -> None:
    """Note and log what a request has been waiting for; it may still be answered."""
    circle = (
        "; ".join(deadlock.wait_cycle(inflight)) or "a response sender has to answer"
    )
    model, pool = inflight.message.model_name, inflight.waiting_for
    text = (
        f"{model} has waited {seconds:g} s ({circle}). This may still end; Ctrl-C ends "
        "it now."
    )
    if pool is not None and deadlock.is_held_by_callers(inflight):
        fix = _more_instances(model, len(pool.instances) + 1)
        text = (
            f"{model} has waited {seconds:g} s ({circle}). Each of these instances "
            "executes a caller of this request: if its execute() waits for the "
            f"response, Triton would wait here forever. {fix} Ctrl-C ends it now."
        )
    inflight.note(text)
    _log.warning("%s", text)


def unanswered(inflight: Inflight, where: str) -> WouldHang:
    """Return the error for a request that nothing can answer any more."""
    if inflight.dropped:
        return rescheduled(inflight)
    count, _ = inflight.sent()
    sent = "returned no response"
    if inflight.decoupled:
        sent = "sent no final flag"
    elif count:
        sent = "sent a response but not the final flag"
    owed = _OWES_FINAL if inflight.decoupled else _OWES_RESPONSE
    return WouldHang(
        f"Triton would wait here forever: {where} {sent} for this request, and "
        "nothing that could still answer it (a response sender, a task, a thread) "
        "holds it.",
        code="UNAVAILABLE",
        # The fix comes first; a note may then name the lost error.
        advice="\n".join([owed, *(inflight.call.notes or ())]),
    )


def end_deadlocked(
    pool: InstanceQueue, waiting: Inflight, lines: list[str]
) -> NoReturn:
    """End the client request to which a deadlocked request belongs.

    Parameters
    ----------
    lines
        The circle of waits, as `deadlock.wait_cycle` returns it.

    Raises
    ------
    Unwind
    """
    model = waiting.message.model_name
    if deadlock.lacks_resources(pool):
        reason = out_of_resources(lines, model)
    else:
        reason = deadlocked(lines, model, len(pool.instances))
    waiting.root.end(reason)
    raise Unwind from None
