"""Coroutines and tasks of an event loop, and how they are ended."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import types
from collections.abc import Coroutine, Generator, Iterable
from contextvars import Context
from typing import Any

from blsnb.engine.threads import until_left
from blsnb.engine.threads.outcome import CANCEL_S

Closable = Coroutine[Any, Any, Any] | Generator[Any, Any, Any]
_ATTEMPTS = 100
"""Maximum number of times that a coroutine is resumed to end it."""


class CancellableAwait:
    """Awaits a coroutine, and ends it if it swallows its cancellation.

    Parameters
    ----------
    coroutine
        What is awaited.
    kind
        The exception that ends it.
    """

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], kind: type[BaseException]
    ) -> None:
        self._coroutine = coroutine
        self._kind = kind
        self.is_final = False
        """Whether it is ended when it waits again after an exception."""
        self.interrupted_at: types.TracebackType | None = None
        """Where the coroutine waited when it was ended."""

    def __await__(self) -> Generator[Any, None, Any]:
        coroutine = self._coroutine
        error: BaseException | None = None
        while True:
            is_last = self.is_final
            try:
                if error is None:
                    waiting = coroutine.send(None)
                else:
                    waiting = coroutine.throw(error)
            except StopIteration as done:
                return done.value
            finally:
                # It would hold the frames of its traceback, and they hold it.
                error = None
            if is_last:
                self.interrupted_at = _waiting_place(coroutine)
                if end(coroutine, self._kind):
                    raise self._kind
            try:
                yield waiting
            except BaseException as thrown:
                error = thrown
            if self.is_final:
                error = error or asyncio.CancelledError()

    def close(self) -> None:
        """Close the coroutine, which may never have begun."""
        if self.is_final:
            end(self._coroutine, self._kind)
        else:
            self._coroutine.close()


def end(coroutine: Any, kind: type[BaseException]) -> bool:
    """Raise an exception where a coroutine waits, each time; return whether it ended.

    A coroutine that swallows any other exception would continue when it is collected,
    in the middle of other code and perhaps forever.

    Parameters
    ----------
    kind
        Class of the exception; the one that is raised is of a subclass.
    """
    for _ in range(_ATTEMPTS):
        if coroutine.cr_frame is None:
            return True
        until_left.resume(coroutine, kind)
    return coroutine.cr_frame is None


def _waiting_place(coroutine: Any) -> types.TracebackType | None:
    """Return the traceback of a coroutine that waits."""
    trace = None
    for frame in reversed(until_left.waiting_frames(coroutine)):
        trace = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    return trace


def end_tasks(
    loop: asyncio.AbstractEventLoop,
    tasks: Iterable[asyncio.Task[Any]],
    kind: type[BaseException],
) -> None:
    """End the tasks of a stopped loop that swallowed their cancellation."""
    # Without a loop each wait fails at once, and they would never pause.
    asyncio._set_running_loop(loop)
    try:
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine = task.get_coro()
            if isinstance(coroutine, types.CoroutineType):
                end(coroutine, kind)
    finally:
        asyncio._set_running_loop(None)


def close(*coroutines: Closable) -> None:
    """Close coroutines; ignore what they raise."""
    for coroutine in coroutines:
        with contextlib.suppress(BaseException):
            coroutine.close()


def contexts_of(task: asyncio.Task[Any]) -> list[Context]:
    """Return the context of a task; in Python 3.11 also others that it refers to."""
    if sys.version_info >= (3, 12):
        return [task.get_context()]
    # Without `get_context`.
    return [each for each in gc.get_referents(task) if isinstance(each, Context)]


async def stop_loop() -> None:
    """Cancel all tasks of the running loop, and stop it."""
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=CANCEL_S)
    loop.stop()
