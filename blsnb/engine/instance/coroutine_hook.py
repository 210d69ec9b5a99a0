"""Coroutines of an asynchronous ``execute``, on the event loop of their instance."""

from __future__ import annotations

import functools
from collections.abc import Coroutine
from typing import Any

from blsnb.engine.instance.event_loop import LoopEnded
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.failure import describe, notes_of
from blsnb.engine.request.inflight import Execution, current_execution
from blsnb.errors import OutOfResourcesError


def run_coroutine(
    instance: ModelInstance, execution: Execution, coroutine: Coroutine[Any, Any, Any]
) -> Any:
    """Await a coroutine; only start it if the model is decoupled.

    Raises
    ------
    OutOfResourcesError
        The thread of the event loop cannot start.
    Unwind, Abandoned
        The request has ended.
    """
    __tracebackhide__ = True
    loop = instance.threads.loop
    try:
        loop.start()
    except OutOfResourcesError:
        coroutine.close()
        raise
    ended = functools.partial(_loop_ended, instance, execution)
    execution.thread_id = loop.thread_id
    token = current_execution.set(execution)
    try:
        if not execution.inflight.decoupled:
            return loop.run(execution.root, coroutine, ended)
        # As on Triton, coroutines of any number of requests interleave.
        loop.start_soon(coroutine, functools.partial(_lost, instance, execution), ended)
        return None
    finally:
        current_execution.reset(token)


def _loop_ended(
    instance: ModelInstance, execution: Execution, ended: LoopEnded
) -> None:
    """End the requests of a coroutine whose event loop has ended."""
    why = "stopped it"
    if ended.cause is not None:
        why = f"ended it with {describe(ended.cause, run_coroutine.__code__)}"
    error = hang.loop_ended(instance.execute_place, why)
    for inflight in execution.inflights:
        if not inflight.final:
            inflight.root.end(error)
            inflight.wake()
    if not execution.inflight.decoupled:
        execution.root.end(error)


def _lost(instance: ModelInstance, execution: Execution, error: BaseException) -> None:
    """Log the exception of a decoupled coroutine as Triton does, and note it."""
    if execution.root.ended is not None:
        return
    text = describe(error, run_coroutine.__code__)
    for inflight in execution.inflights:
        inflight.note(
            f"execute() of {instance.name} raised, and Triton only logs that for an "
            f"asynchronous decoupled model: {text}"
        )
        for note in notes_of(error):
            inflight.note(note)
    instance.backend.log("ERROR", text)
