"""The threads of one instance: event loop, hook thread and fan-out pool."""

from __future__ import annotations

import contextvars
import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from blsnb.engine.instance.event_loop import JOIN_S, EventLoop, LoopEnded
from blsnb.engine.request.failure import describe
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads import async_exception
from blsnb.engine.threads.outcome import Abandoned, Outcome, ends_soon
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError

T = TypeVar("T")
_PATIENCE_S = 5.0
"""Seconds that a model's ``is_ready`` may take."""
_FAN_OUT = 32
"""Maximum number of concurrent BLS requests of one instance.
It equals Triton's default thread-pool-size, and asyncio's pool on many cores."""


class InstanceThreads:
    """Starts the threads of an instance when they are first needed, and stops them.

    Parameters
    ----------
    name
        Triton's name of the instance, and of its threads.
    own_thread
        Whether all hooks run on one thread that belongs to the instance.
    """

    def __init__(self, name: str, own_thread: bool) -> None:
        self._name = name
        self.loop = EventLoop(name)
        self._fan_out: Workers | None = None
        self._own = Workers(1, name, keep_idle=1) if own_thread else None
        self.inline = not own_thread
        """Whether hooks run on the caller's thread."""

    def call(self, root: RootRequest | None, work: Callable[[], T]) -> T:
        """Run a hook on the caller's thread, or on the instance's own.

        Raises
        ------
        Abandoned
            The request ended, and the hook may still run.
        OutOfResourcesError
            The instance's own thread cannot start.
        """
        __tracebackhide__ = True
        if self._own is None or self._own.has(threading.current_thread()):
            return work()
        outcome = Outcome()
        context = contextvars.copy_context()
        self._own.submit(context.run, outcome.settle, work)
        self._wait(root, outcome)
        if root is not None and outcome.error is not None:
            root.ended_by(outcome.error)
        result: T = outcome.get()
        return result

    def _wait(self, root: RootRequest | None, outcome: Outcome) -> None:
        __tracebackhide__ = True
        if root is None:
            outcome.waiter.wait()
            return
        try:
            root.wait(outcome.waiter)
        except BaseException:

            def interrupt(is_repeated: bool) -> None:
                outcome.is_interrupted = True
                root.interrupt_thread(outcome.thread_id, is_repeated)

            if not ends_soon(outcome, interrupt):
                root.leave_running(sys._current_frames().get(outcome.thread_id))
                # Native code holds the exception up, which would stop debuggers.
                async_exception.withdraw(outcome.thread_id)
                raise Abandoned(outcome) from None

    def fan_out(self) -> Workers:
        """Return the pool that runs the requests of ``async_exec``."""
        if self._fan_out is None:
            self._fan_out = Workers(_FAN_OUT, f"{self._name} async_exec")
        return self._fan_out

    def close(self) -> None:
        """Stop the threads; one that cannot be stopped continues as a daemon."""
        self.loop.stop()
        for workers in (self._fan_out, self._own):
            if workers is not None:
                workers.shutdown(cancel_futures=True, wait_s=JOIN_S)


def not_ready_reason(
    name: str, hook: Callable[[], Any], threads: InstanceThreads
) -> str:
    """Call a model's ``is_ready``; return why it is not ready, or an empty string.

    It runs on another thread than ``execute``; a coroutine runs on the instance's event
    loop.

    References
    ----------
    python_backend: src/pb_stub.cc, user-defined is_ready()
    """
    outcome = Outcome()
    try:
        threads.fan_out().submit(outcome.settle, lambda: _is_ready(hook, threads))
    except OutOfResourcesError as error:
        return error.message
    if not outcome.waiter.wait(_PATIENCE_S) or isinstance(outcome.error, LoopEnded):
        return "Timed out waiting for user-defined is_ready() response"
    if outcome.error is not None:
        return describe(outcome.error, _is_ready.__code__)
    if not isinstance(outcome.result, bool):
        return "is_ready() must return a boolean value"
    if not outcome.result:
        return f"Model '{name}' is not ready (user-defined check failed)."
    return ""


def _is_ready(hook: Callable[[], Any], threads: InstanceThreads) -> Any:
    answer = hook()
    if inspect.iscoroutine(answer):
        return threads.loop.run_for(answer, _PATIENCE_S)
    return answer
