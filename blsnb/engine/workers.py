"""Workers: daemon threads that take pieces of work in turn."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Work = tuple[Future[Any], Callable[[], Any]]


class Workers(Executor):
    """A thread pool that never keeps the process alive.

    `concurrent.futures` waits for its threads when Python ends, and so for model
    code that sleeps, long after Ctrl-C has ended the request.

    Parameters
    ----------
    most
        Number of threads at most; each starts when it is first needed.
    name
        Name of every thread.
    closed
        Makes the error of work that a pool takes no more, or drops, once it is shut
        down; without it that is `concurrent.futures`' own.
    """

    def __init__(
        self, most: int, name: str, closed: Callable[[], Exception] | None = None
    ) -> None:
        self._most = most
        self._name = name
        self._closed_error = closed
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy: set[threading.Thread] = set()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._closed = False

    def submit(
        self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Let a thread do the work.

        Raises
        ------
        RuntimeError
            The pool was shut down; or what it was told to raise then.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise self._refusal()
            self._work.put((future, lambda: work(*args, **kwargs)))
            if not self._idle.acquire(blocking=False):
                self._start_thread()
        return future

    def _refusal(self) -> Exception:
        if self._closed_error is not None:
            return self._closed_error()
        return RuntimeError("cannot schedule new futures after shutdown")

    def _start_thread(self) -> None:
        if len(self._threads) < self._most:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self) -> None:
        me = threading.current_thread()
        while (item := self._work.get()) is not None:
            self._busy.add(me)
            _do(*item)
            # Held on to, it would keep a request alive that nobody can answer.
            del item
            self._busy.discard(me)
            self._idle.release()

    def has(self, thread: threading.Thread) -> bool:
        """Whether a thread is one of these."""
        return thread in self._threads

    def shutdown(
        self, wait: bool = True, *, cancel_futures: bool = False, wait_s: float = 1.0
    ) -> None:
        """Take no more work, and end the threads.

        Parameters
        ----------
        wait
            Wait for the threads that have nothing to do; one that still works is
            left behind, and ends with its work or with the process.
        cancel_futures
            Drop the work that no thread has begun.
        wait_s
            How long to wait.
        """
        with self._lock:
            self._closed = True
        if cancel_futures:
            self._drop_work()
        for _ in self._threads:
            self._work.put(None)
        deadline = time.monotonic() + wait_s
        for thread in self._threads if wait else ():
            if thread not in self._busy and thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _drop_work(self) -> None:
        while True:
            try:
                item = self._work.get_nowait()
            except queue.Empty:
                return
            if item is not None:
                self._drop(item[0])

    def _drop(self, future: Future[Any]) -> None:
        if self._closed_error is None:
            future.cancel()
        elif future.set_running_or_notify_cancel():
            future.set_exception(self._closed_error())


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
