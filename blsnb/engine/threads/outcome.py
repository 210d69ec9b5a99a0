"""The outcome of work on another thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from blsnb.engine.threads import async_exception, until_left
from blsnb.engine.threads.repetition import Repetition
from blsnb.engine.threads.waiter import Waiter

CANCEL_S = 0.5
"""Seconds that cancelled work has to end."""
_WAKE_S = 0.1
"""Seconds between two wakes of an event loop that waits for work."""
_INTERRUPTED_NS = 600_000_000
"""Time in nanoseconds that interrupted work has to end."""


class Outcome:
    """Result or error of work on another thread."""

    def __init__(self) -> None:
        self.waiter = Waiter()
        self.result: Any = None
        self.error: BaseException | None = None
        self.thread_id = 0
        """Identifier of the thread that does the work; 0 before and after."""
        self.is_interrupted = False
        """Whether an exception was raised in that thread from another one."""
        self._lock = threading.Lock()
        self._done = False
        self._after: Callable[[], None] | None = None

    def settle(self, work: Callable[[], Any]) -> None:
        """Do the work on this thread, keep its result or error, and wake the caller."""
        self.thread_id = threading.get_ident()
        # Twice: an exception from another thread may come during the first one.
        try:
            try:
                self.result = work()
            except BaseException as error:
                self.error = error
            finally:
                self._leave()
        finally:
            self._leave()
            self.done()

    def _leave(self) -> None:
        self.thread_id = 0
        if self.is_interrupted:
            until_left.stop(threading.get_ident())
            async_exception.clear()

    def done(self) -> None:
        """Mark the work as done: wake the caller, and call the function of `then`."""
        with self._lock:
            self._done = True
            after = self._after
        self.waiter.wake()
        if after is not None:
            after()

    def then(self, after: Callable[[], None]) -> None:
        """Call a function when the work is done, or now if it is."""
        with self._lock:
            done = self._done
            self._after = after
        if done:
            after()

    def is_done_within(self, seconds: float) -> bool:
        """Wait for the work itself; `waiter` is also woken when a request ends."""
        waiter = Waiter()
        self.then(waiter.wake)
        return waiter.wait(seconds)

    def get(self) -> Any:
        """Return the result, or raise the error, of work that is done."""
        if self.error is not None:
            raise self.error
        return self.result


class Abandoned(BaseException):
    """The caller left; the work still runs."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome

    def then(self, after: Callable[[], None]) -> None:
        """Call a function when the work has ended, and the work that it left."""

        def ended() -> None:
            error = self.outcome.error
            if isinstance(error, Abandoned):
                error.then(after)
            else:
                after()

        self.outcome.then(ended)


def ends_soon(outcome: Outcome, interrupt: Callable[[bool], None]) -> bool:
    """Wait shortly for work whose request has ended; return whether the work has ended.

    Parameters
    ----------
    interrupt
        Interrupts the work, now and again later; receives whether it did so before.
    """
    start_ns = now_ns = time.monotonic_ns()
    repetition = Repetition(start_ns)
    try:
        interrupt(False)
        while now_ns - start_ns < _INTERRUPTED_NS:
            if outcome.is_done_within(repetition.pause_s(now_ns)):
                return True
            now_ns = time.monotonic_ns()
            if repetition.is_due(now_ns):
                interrupt(True)
    except KeyboardInterrupt:
        pass
    return outcome.is_done_within(0)


class LoopFuture:
    """A future of the running event loop, with methods for threads of a pool.

    `run_in_executor` chains a future of `concurrent.futures` to one of the loop. Both
    take a third of the time there and back.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()
        self._waking: asyncio.TimerHandle | None = None
        if threading.current_thread() is threading.main_thread():
            self._wake()

    def _wake(self) -> None:
        """Wake the loop regularly while it waits.

        The kernel's handler of Ctrl-C only adds a callback to the loop, which does not
        wake it from its wait for the system.
        """
        if not self.future.done():
            self._waking = self._loop.call_later(_WAKE_S, self._wake)

    def set_running_or_notify_cancel(self) -> bool:
        """Whether the work is to begin: no task has cancelled it."""
        return not self.future.cancelled()

    def set_result(self, result: Any) -> None:
        """Set the result, unless the future was cancelled."""
        self._settle(self.future.set_result, result)

    def set_exception(self, error: BaseException) -> None:
        """Set the exception, unless the future was cancelled."""
        self._settle(self.future.set_exception, error)

    def cancel(self) -> None:
        """Cancel work that has not begun."""
        self._settle(self.future.cancel)

    def _settle(self, step: Callable[..., object], *args: object) -> None:
        # The loop may be closed.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._on_loop, step, *args)

    def _on_loop(self, step: Callable[..., object], *args: object) -> None:
        if self._waking is not None:
            self._waking.cancel()
        if not self.future.done():
            step(*args)
