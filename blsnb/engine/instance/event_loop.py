"""The event loop of one instance."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar, cast

from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.threads import async_exception, coroutines, until_left
from blsnb.engine.threads.coroutines import CancellableAwait, Closable, stop_loop
from blsnb.engine.threads.outcome import Abandoned, Outcome, ends_soon
from blsnb.engine.threads.start import new_loop
from blsnb.engine.threads.start import start as start_thread
from blsnb.errors import OutOfResourcesError

T = TypeVar("T")
JOIN_S = 1.0
"""Seconds that a thread has to end when its instance is closed."""


class LoopEnded(Exception):
    """The model ended the event loop of its instance: its coroutines never resume.

    Parameters
    ----------
    cause
        The exception with which a task ended it; None if it was stopped.
    """

    def __init__(self, cause: BaseException | None) -> None:
        super().__init__()
        self.cause = cause


class _Pending(NamedTuple):
    """A coroutine of an event loop that has not ended."""

    loop_ended: Callable[[], None]
    coroutines: tuple[Closable, ...]
    """The coroutine, and what it awaits."""


class EventLoop:
    """Runs coroutines on its thread, which starts with the first coroutine.

    Parameters
    ----------
    name
        Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        """The exception with which a task ended the loop."""
        self._pending: dict[object, _Pending] = {}
        """Coroutines that have not ended."""

    def run(
        self,
        root: RootRequest,
        coroutine: Coroutine[Any, Any, T] | Generator[Any, Any, T],
        loop_ended: Callable[[LoopEnded], None],
    ) -> T:
        """Run a coroutine on the loop and wait for it.

        Parameters
        ----------
        loop_ended
            Ends the request, if the model ends the event loop.

        Raises
        ------
        Unwind
            The request ended.
        Abandoned
            The request ended, and the coroutine could not be cancelled in time.
        """
        __tracebackhide__ = True
        loop = self.start()
        outcome = Outcome()

        def lost() -> None:
            loop_ended(LoopEnded(self._error))
            outcome.done()

        tasks: list[asyncio.Task[Any]] = []
        work = CancellableAwait(cast(Coroutine[Any, Any, T], coroutine), Unwind)

        def begun(task: asyncio.Task[Any]) -> None:
            tasks.append(task)
            task.add_done_callback(lambda _: outcome.done())

        # The coroutine runs with the caller's context variables. The future is not
        # cancelled: that would not tell when the coroutine has ended.
        try:
            future = self._submit(
                loop, _guarded(root, coroutine, work, begun), lost, coroutine
            )
        except LoopEnded as error:
            loop_ended(error)
            raise Unwind from None
        try:
            root.wait(outcome.waiter)
        except BaseException:
            interrupt = functools.partial(self._interrupt, root, loop, tasks, work)
            has_ended = ends_soon(outcome, interrupt)
            until_left.stop(self.thread_id)
            if not has_ended:
                root.leave_running(sys._current_frames().get(self.thread_id))
                raise Abandoned(outcome) from None
            async_exception.withdraw(self.thread_id)
            raise
        try:
            return future.result()
        finally:
            # A frame of the model's error: its arrays would wait for a collection.
            tasks.clear()
            del future

    def _interrupt(
        self,
        root: RootRequest,
        loop: asyncio.AbstractEventLoop,
        tasks: list[asyncio.Task[Any]],
        work: CancellableAwait,
        is_repeated: bool,
    ) -> None:
        """Interrupt tasks where they wait, or the code that keeps the loop busy."""

        def cancel() -> None:
            work.is_final = work.is_final or is_repeated
            for task in tasks:
                task.cancel()

        with contextlib.suppress(RuntimeError):
            # The loop may have ended in the meantime.
            loop.call_soon_threadsafe(cancel)
        root.interrupt_thread(self.thread_id, is_repeated)

    def start_soon(
        self,
        coroutine: Coroutine[Any, Any, Any],
        failed: Callable[[BaseException], None],
        loop_ended: Callable[[LoopEnded], None],
    ) -> None:
        """Start a coroutine on the loop without waiting for it.

        Parameters
        ----------
        failed
            Receives the exception that leaves the coroutine.
        loop_ended
            Ends the requests, if the model ends the event loop.
        """

        def lost() -> None:
            loop_ended(LoopEnded(self._error))

        async def guarded() -> None:
            try:
                await coroutine
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                failed(error)

        try:
            self._submit(self.start(), guarded(), lost, coroutine)
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
            The coroutine that it awaits, which is closed with it.
        """
        key = object()
        self._pending[key] = _Pending(loop_ended, (coroutine, *inner))
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError:
            # The loop is closed.
            self._pending.pop(key, None)
            coroutines.close(coroutine, *inner)
            raise LoopEnded(self._error) from None
        # Called by the loop, so a coroutine whose end the loop never reported counts as
        # not ended.
        future.add_done_callback(lambda _: self._pending.pop(key, None))
        return future

    def run_for(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
        """Run a coroutine on the loop for at most some seconds.

        Raises
        ------
        TimeoutError
            It has not ended in that time.
        LoopEnded
            The model ended the loop.
        """
        return self._submit(self.start(), coroutine, lambda: None).result(seconds)

    @property
    def thread_id(self) -> int:
        """Identifier of the thread of the event loop; 0 before it starts."""
        thread = self._thread
        return 0 if thread is None or thread.ident is None else thread.ident

    def value_of(self, variable: ContextVar[T]) -> T | None:
        """Return a context variable of the running task; None if no task runs."""
        loop = self._loop
        task = None if loop is None else asyncio.current_task(loop)
        contexts = [] if task is None else coroutines.contexts_of(task)
        return next((each[variable] for each in contexts if variable in each), None)

    def start(self) -> asyncio.AbstractEventLoop:
        """Return the instance's event loop, running in a thread of its own.

        Raises
        ------
        OutOfResourcesError
            The loop cannot be created, or its thread cannot start.
        """
        if self._loop is None:
            loop = new_loop()
            loop.set_exception_handler(_report)
            thread = threading.Thread(
                target=self._run_forever, args=[loop], name=self._name, daemon=True
            )
            try:
                start_thread(thread)
            except OutOfResourcesError:
                loop.close()
                raise
            self._thread = thread
            self._loop = loop
        return self._loop

    def _run_forever(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while True:
                # An interrupt may arrive in the loop after its model has ended.
                with contextlib.suppress(Unwind):
                    loop.run_forever()
                    break
                if self._loop is not loop:
                    break
        except (KeyboardInterrupt, SystemExit) as error:
            # A task raised it, which ends the loop on Triton, too.
            self._error = error
        finally:
            tasks = asyncio.all_tasks(loop)
            is_stopped = self._loop is not loop
            if is_stopped:
                coroutines.end_tasks(loop, tasks, Unwind)
            # No task can be started from here on.
            loop.close()
            if not is_stopped:
                self._end_pending(tasks)

    def _end_pending(self, tasks: set[asyncio.Task[Any]]) -> None:
        """End the pending coroutines of a loop that its model has ended."""
        pending = []
        while self._pending:
            pending.append(self._pending.popitem()[1])
        # The requests end first, so that responses from a `finally` are ignored.
        for each in pending:
            each.loop_ended()
        for each in pending:
            coroutines.close(*each.coroutines)
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine = task.get_coro()
            if isinstance(coroutine, Coroutine):
                coroutines.close(coroutine)

    def stop(self) -> None:
        """Stop the event loop, if there is one, and cancel its tasks."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None
        endings: list[asyncio.Task[None]] = []
        with contextlib.suppress(RuntimeError):
            # The model may have ended the loop.
            loop.call_soon_threadsafe(
                lambda: endings.append(loop.create_task(stop_loop()))
            )
        if thread is not threading.current_thread():
            thread.join(JOIN_S)


async def _guarded(
    root: RootRequest,
    coroutine: Coroutine[Any, Any, T] | Generator[Any, Any, T],
    work: CancellableAwait,
    begun: Callable[[asyncio.Task[Any]], None],
) -> T:
    """Await a model's coroutine; note where its request left it.

    Parameters
    ----------
    begun
        Receives the task.
    """
    task = asyncio.current_task()
    assert task is not None
    begun(task)
    # As in `EventLoop.run`: the task keeps the error.
    del task
    try:
        root.check()
        if isinstance(coroutine, Generator):
            # Until 3.11 asyncio takes it for a coroutine; a task says what
            # is wrong with it.
            return await asyncio.ensure_future(cast(Coroutine[Any, Any, T], coroutine))
        result: T = await work
        return result
    except BaseException as error:
        if work.interrupted_at is not None:
            root.note_interrupted_at(work.interrupted_at)
        # Twice: the interrupt may be raised again during the first one.
        with contextlib.suppress(Unwind):
            root.ended_by(error)
        root.ended_by(error)
        raise
    finally:
        # Twice, as above.
        with contextlib.suppress(Unwind):
            work.close()
        work.close()


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report the exception of a task that nothing awaited.

    The end of its request, or of the loop, is reported by the request itself.
    """
    known = (Unwind, KeyboardInterrupt, SystemExit)
    if not isinstance(context.get("exception"), known):
        loop.default_exception_handler(context)
