"""The threads of one instance: its event loop, its own thread, its fan-out."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from blsnb.engine.root import RootRequest, Unwind
from blsnb.engine.waiter import Waiter

T = TypeVar("T")

# Triton's bound for BLS operations of one instance (option thread-pool-size), and
# that of asyncio's default pool on a server with many cores.
_FAN_OUT = 32
_CANCEL_S = 0.5
_JOIN_S = 1.0


class Outcome:
    """What a piece of work on another thread came to."""

    __slots__ = ("_after", "_done", "_lock", "error", "result", "waiter")

    def __init__(self) -> None:
        self.waiter = Waiter()
        self.result: Any = None
        self.error: BaseException | None = None
        self._lock = threading.Lock()
        self._done = False
        self._after: Callable[[], None] | None = None

    def settle(self, work: Callable[[], Any]) -> None:
        """Do the work here, keep its result or its error, and wake the caller."""
        try:
            self.result = work()
        except BaseException as error:
            self.error = error
        finally:
            self.done()

    def done(self) -> None:
        """Mark the work as done: wake the caller, or call what it left behind."""
        with self._lock:
            self._done = True
            after = self._after
        self.waiter.wake()
        if after is not None:
            after()

    def then(self, after: Callable[[], None]) -> None:
        """Call a function when the work is done; at once if it is."""
        with self._lock:
            done = self._done
            self._after = after
        if done:
            after()

    def get(self) -> Any:
        """Return the result, or raise the error, of work that is done."""
        if self.error is not None:
            raise self.error
        return self.result


class Abandoned(BaseException):
    """The caller left; what it waited for still runs."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class InstanceThreads:
    """Starts an instance's threads when they are first needed, and stops them.

    Parameters
    ----------
    name
        Triton's name of the instance; the threads bear it.
    own_thread
        Whether all hooks run on one thread of the instance's own.
    """

    def __init__(self, name: str, own_thread: bool) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread: threading.Thread | None = None
        self._fan_out: ThreadPoolExecutor | None = None
        self._own = ThreadPoolExecutor(1, name) if own_thread else None

    def call(self, root: RootRequest | None, work: Callable[[], T]) -> T:
        """Run a hook: on the caller's thread, or on the instance's own.

        Raises
        ------
        Abandoned
            The request ended, and the work may still run.
        """
        if self._own is None:
            return work()
        outcome = Outcome()
        context = contextvars.copy_context()
        self._own.submit(context.run, outcome.settle, work)
        self._wait(root, outcome)
        result: T = outcome.get()
        return result

    def _wait(self, root: RootRequest | None, outcome: Outcome) -> None:
        if root is None:
            outcome.waiter.wait()
            return
        try:
            root.wait(outcome.waiter)
        except Unwind:
            if not outcome.waiter.wait(_CANCEL_S):
                raise Abandoned(outcome) from None

    def run_coroutine(self, root: RootRequest, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the instance's loop and wait for it.

        Raises
        ------
        Abandoned
            The request ended, and the coroutine could not be cancelled in time.
        """
        loop = self.start_loop()
        outcome = Outcome()
        tasks: list[asyncio.Task[T | None]] = []

        async def guarded() -> T | None:
            # A task would let these stop the loop.
            try:
                return await coroutine
            except (KeyboardInterrupt, SystemExit) as error:
                outcome.error = error
                return None

        def start() -> None:
            task = loop.create_task(guarded())
            task.add_done_callback(lambda _: outcome.done())
            tasks.append(task)

        loop.call_soon_threadsafe(start)
        try:
            root.wait(outcome.waiter)
        except BaseException:
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            if not outcome.waiter.wait(_CANCEL_S):
                raise Abandoned(outcome) from None
            raise
        outcome.get()
        return _result_of(tasks[0])  # type: ignore[return-value]

    @property
    def loop_thread_id(self) -> int:
        """Identifier of the thread of the event loop; 0 if there is none."""
        thread = self._loop_thread
        return 0 if thread is None or thread.ident is None else thread.ident

    def start_loop(self) -> asyncio.AbstractEventLoop:
        """Return the instance's event loop, running in a thread of its own."""
        if self._loop is None:
            loop = asyncio.new_event_loop()
            self._loop_thread = threading.Thread(
                target=loop.run_forever, name=self._name, daemon=True
            )
            self._loop_thread.start()
            self._loop = loop
        return self._loop

    def fan_out(self) -> ThreadPoolExecutor:
        """Return the pool on which ``async_exec`` runs its requests."""
        if self._fan_out is None:
            self._fan_out = ThreadPoolExecutor(_FAN_OUT, f"{self._name} async_exec")
        return self._fan_out

    def close(self) -> None:
        """Stop the threads; one that cannot be stopped is left behind as a daemon."""
        if self._fan_out is not None:
            self._fan_out.shutdown(wait=False, cancel_futures=True)
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
        if self._loop is not None and self._loop_thread is not None:
            self._stop_loop(self._loop, self._loop_thread)
            self._loop = None

    def _stop_loop(
        self, loop: asyncio.AbstractEventLoop, thread: threading.Thread
    ) -> None:
        def stop() -> None:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            # Twice through the loop: once to deliver the cancellations.
            loop.call_soon(lambda: loop.call_soon(loop.stop))

        loop.call_soon_threadsafe(stop)
        if thread is threading.current_thread():
            return
        thread.join(_JOIN_S)
        if not thread.is_alive():
            loop.close()


def _result_of(task: asyncio.Task[T]) -> T:
    """Return the result of a task, or raise its error, as on Triton.

    There a future of another thread hands it over, which turns a cancellation and
    a timeout into new exceptions; their frames show in error texts.
    """
    future: Future[T] = Future()
    if task.cancelled():
        future.cancel()
        future.set_running_or_notify_cancel()
    else:
        error = task.exception()
        if type(error) is TimeoutError:
            error = TimeoutError(*error.args)
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(task.result())
    return future.result()
