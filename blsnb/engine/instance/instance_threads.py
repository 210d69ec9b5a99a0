"""The threads of one instance: its event loop, its own thread, its fan-out."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar, cast

from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.threads.start import new_loop, start
from blsnb.engine.threads.waiter import Waiter
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError

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


class LoopEnded(Exception):
    """The model ended the event loop of its instance: its coroutines never resume.

    Parameters
    ----------
    cause
        The exception with which a task ended it; None where it was stopped.
    """

    def __init__(self, cause: BaseException | None) -> None:
        super().__init__()
        self.cause = cause


Closable = Coroutine[Any, Any, Any] | Generator[Any, Any, Any]


class _Pending(NamedTuple):
    """A coroutine of an event loop that has not ended."""

    loop_ended: Callable[[], None]
    coroutines: tuple[Closable, ...]
    """It, and what it awaits."""


class Abandoned(BaseException):
    """The caller left; what it waited for still runs."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def _is_over(outcome: Outcome) -> bool:
    """Whether work ends soon after its request has; a second Ctrl-C: now or never."""
    try:
        return outcome.is_done_within(_CANCEL_S)
    except KeyboardInterrupt:
        return False


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
        self._loop_error: BaseException | None = None
        self._pending: dict[object, _Pending] = {}
        """What was started on the loop, and has not ended."""
        self._fan_out: Workers | None = None
        self._own = Workers(1, name, keep=1) if own_thread else None
        self.inline = not own_thread
        """Whether hooks run on the caller's thread."""

    def call(self, root: RootRequest | None, work: Callable[[], T]) -> T:
        """Run a hook: on the caller's thread, or on the instance's own.

        Raises
        ------
        Abandoned
            The request ended, and the work may still run.
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
            if not _is_over(outcome):
                raise Abandoned(outcome) from None

    def run_coroutine(
        self,
        root: RootRequest,
        coroutine: Coroutine[Any, Any, T] | Generator[Any, Any, T],
        loop_ended: Callable[[LoopEnded], None],
    ) -> T:
        """Run a coroutine on the instance's loop and wait for it.

        Parameters
        ----------
        loop_ended
            Ends the request, if the model ends the loop or has ended it.

        Raises
        ------
        Unwind
            The request ended.
        Abandoned
            The same, and the coroutine could not be cancelled in time.
        """
        __tracebackhide__ = True
        loop = self.start_loop()
        outcome = Outcome()

        def lost() -> None:
            loop_ended(LoopEnded(self._loop_error))
            outcome.done()

        tasks: list[asyncio.Task[Any]] = []

        async def guarded() -> T:
            task = asyncio.current_task()
            assert task is not None
            tasks.append(task)
            task.add_done_callback(lambda _: outcome.done())
            try:
                root.check()
                if isinstance(coroutine, Generator):
                    # Until 3.11 asyncio takes it for a coroutine; a task says what
                    # is wrong with it.
                    return await asyncio.ensure_future(
                        cast(Coroutine[Any, Any, T], coroutine)
                    )
                return await coroutine
            finally:
                # One that never began must not be called forgotten.
                coroutine.close()

        def cancel() -> None:
            for task in tasks:
                task.cancel()

        # The caller's context variables go with it. The future is not cancelled
        # itself: that would not say when the coroutine has ended.
        try:
            future = self._submit(loop, guarded(), lost, coroutine)
        except LoopEnded as error:
            loop_ended(error)
            raise Unwind from None
        try:
            root.wait(outcome.waiter)
        except BaseException:
            with contextlib.suppress(RuntimeError):
                # The loop may have ended meanwhile.
                loop.call_soon_threadsafe(cancel)
            if not _is_over(outcome):
                raise Abandoned(outcome) from None
            raise
        return future.result()

    def start_coroutine(
        self,
        coroutine: Coroutine[Any, Any, Any],
        failed: Callable[[BaseException], None],
        loop_ended: Callable[[LoopEnded], None],
    ) -> None:
        """Start a coroutine on the instance's loop and return at once.

        Parameters
        ----------
        failed
            Receives the exception that leaves the coroutine.
        loop_ended
            Ends the requests, if the model ends the loop or has ended it.
        """

        def lost() -> None:
            loop_ended(LoopEnded(self._loop_error))

        async def guarded() -> None:
            try:
                await coroutine
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                failed(error)

        try:
            self._submit(self.start_loop(), guarded(), lost, coroutine)
        except LoopEnded:
            lost()

    def _submit(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, T],
        loop_ended: Callable[[], None],
        *inner: Closable,
    ) -> Future[T]:
        """Run a coroutine on the loop.

        Parameters
        ----------
        loop_ended
            Called, on the loop's thread, if the loop ends before it.
        inner
            What the coroutine would await, closed with it.
        """
        key = object()
        self._pending[key] = _Pending(loop_ended, (coroutine, *inner))
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError:
            # The loop is closed.
            self._pending.pop(key, None)
            _close(coroutine, *inner)
            raise LoopEnded(self._loop_error) from None
        # Called by the loop: a coroutine whose end the loop did not live to report is
        # one that has not ended.
        future.add_done_callback(lambda _: self._pending.pop(key, None))
        return future

    def run_for(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
        """Run a coroutine on the instance's loop for some time at most.

        Raises
        ------
        TimeoutError
            It has not ended by then.
        LoopEnded
            The model ended the loop before.
        """
        return self._submit(self.start_loop(), coroutine, _ignore).result(seconds)

    @property
    def loop_thread_id(self) -> int:
        """Identifier of the thread of the event loop; 0 if there is none."""
        thread = self._loop_thread
        return 0 if thread is None or thread.ident is None else thread.ident

    def start_loop(self) -> asyncio.AbstractEventLoop:
        """Return the instance's event loop, running in a thread of its own.

        Raises
        ------
        OutOfResourcesError
            The loop cannot be made, or its thread cannot start.
        """
        if self._loop is None:
            loop = new_loop()
            loop.set_exception_handler(_report)
            thread = threading.Thread(
                target=self._run_loop, args=[loop], name=self._name, daemon=True
            )
            try:
                start(thread)
            except OutOfResourcesError:
                loop.close()
                raise
            self._loop_thread = thread
            self._loop = loop
        return self._loop

    def _run_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            # A task raised it: asyncio lets that end the loop, also on Triton.
            self._loop_error = error
        finally:
            tasks = asyncio.all_tasks(loop)
            # From here on nothing can be started on it.
            loop.close()
            if self._loop is loop:
                self._end_pending(tasks)

    def _end_pending(self, tasks: set[asyncio.Task[Any]]) -> None:
        """Give what a loop has not finished an end: its model has ended the loop."""
        pending = []
        while self._pending:
            pending.append(self._pending.popitem()[1])
        # First the requests: what a coroutine's `finally` sends is then no answer.
        for each in pending:
            each.loop_ended()
        for each in pending:
            _close(*each.coroutines)
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine = task.get_coro()
            if isinstance(coroutine, Coroutine):
                _close(coroutine)

    def fan_out(self) -> Workers:
        """Return the pool on which ``async_exec`` runs its requests."""
        if self._fan_out is None:
            self._fan_out = Workers(_FAN_OUT, f"{self._name} async_exec")
        return self._fan_out

    def stop_loop(self) -> None:
        """Stop the event loop, if there is one; its tasks are cancelled."""
        loop, thread = self._loop, self._loop_thread
        if loop is None or thread is None:
            return
        self._loop = self._loop_thread = None
        endings: list[asyncio.Task[None]] = []
        with contextlib.suppress(RuntimeError):
            # The model may have ended it.
            loop.call_soon_threadsafe(lambda: endings.append(loop.create_task(_end())))
        if thread is not threading.current_thread():
            thread.join(_JOIN_S)

    def close(self) -> None:
        """Stop the threads; one that cannot be stopped is left behind as a daemon."""
        self.stop_loop()
        for workers in (self._fan_out, self._own):
            if workers is not None:
                workers.shutdown(cancel_futures=True, wait_s=_JOIN_S)


def _close(*coroutines: Closable) -> None:
    """Close coroutines, whatever they do about it."""
    for coroutine in coroutines:
        with contextlib.suppress(BaseException):
            coroutine.close()


def _ignore() -> None:
    """Do nothing."""


async def _end() -> None:
    """Cancel all tasks of the running loop, then stop it."""
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_CANCEL_S)
    loop.stop()


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what nobody awaited, but not what the request itself tells of.

    That is a call of a request that has ended, and what ended the loop.
    """
    told = (Unwind, KeyboardInterrupt, SystemExit)
    if not isinstance(context.get("exception"), told):
        loop.default_exception_handler(context)
