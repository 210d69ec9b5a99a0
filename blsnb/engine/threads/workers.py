"""A pool of daemon threads."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple, ParamSpec, TypeVar

from blsnb.engine.threads.outcome import LoopFuture
from blsnb.engine.threads.shares import SharedQueue
from blsnb.engine.threads.start import start
from blsnb.errors import OutOfResourcesError

P = ParamSpec("P")
T = TypeVar("T")
IDLE_S = 10.0
"""Seconds after which a thread without work ends."""


class _Piece(NamedTuple):
    """A piece of work, with the key that holds its slot."""

    key: Hashable
    future: Future[Any] | LoopFuture
    work: Callable[[], Any]


class Worker:
    """A thread of a pool, with the box for its next piece of work."""

    def __init__(self, run: Callable[[Worker], None], name: str) -> None:
        self.box: queue.SimpleQueue[_Piece | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=run, args=(self,), name=name, daemon=True)

    def submit(
        self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Run the one piece of work for which the thread was claimed."""
        future: Future[T] = Future()
        self.box.put(_Piece(None, future, lambda: work(*args, **kwargs)))
        return future


class Workers(Executor):
    """A thread pool that shrinks when idle and never keeps the process alive.

    `concurrent.futures` waits for its threads at exit, even for sleeping model code
    whose request Ctrl-C has ended.

    Parameters
    ----------
    max_threads
        Maximum number of threads, which start on demand.
    name
        Name of every thread.
    closed
        Makes the error for work after shutdown; default: `concurrent.futures`' error.
    keep_idle
        Number of threads that stay when idle. If no further thread can start, work
        waits for them instead of being refused: only for work that is short, or that
        belongs to one thread.
    """

    def __init__(
        self,
        max_threads: int,
        name: str,
        closed: Callable[[], Exception] | None = None,
        keep_idle: int = 0,
    ) -> None:
        self._name = name
        self._closed_error = closed
        self._keep_idle = keep_idle
        self._queue: SharedQueue[_Piece] = SharedQueue(max_threads)
        self._all: dict[threading.Thread, Worker] = {}
        self._idle: list[Worker] = []
        """Idle threads; the most recently used one is last, and is used first."""
        self._lock = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Start the threads that are kept, or raise OutOfResourcesError."""
        with self._lock:
            while len(self._all) < self._keep_idle:
                self._idle.append(self._started())

    def submit(
        self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Run work on a thread; see `submit_for`."""
        return self.submit_for(None, lambda: work(*args, **kwargs))

    def submit_async(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run work on a thread, and settle a future of the running event loop.

        Raises the errors of `submit_for`.
        """
        settled = LoopFuture()
        self._begin(_Piece(None, settled, work), continued=False)
        return settled.future

    def run(self, work: Callable[[], None]) -> None:
        """Run work on a thread, or here if no thread can run it."""
        try:
            self.submit(work)
        except (OutOfResourcesError, RuntimeError):
            work()

    def submit_for(
        self, key: Hashable, work: Callable[[], T], *, continued: bool = False
    ) -> Future[T]:
        """Run work on a thread once its key has a slot; see `Shares`.

        Parameters
        ----------
        key
            For example the name of a model.
        continued
            Whether the work continues something that has begun.

        Raises
        ------
        OutOfResourcesError
            No thread can start; the work is not done.
        RuntimeError
            The pool was shut down; `closed` may make another error.
        """
        future: Future[T] = Future()
        self._begin(_Piece(key, future, work), continued)
        return future

    def _begin(self, piece: _Piece, continued: bool) -> None:
        key = piece.key
        with self._lock:
            self._check_open()
            if not self._queue.enter(key, continued):
                self._queue.wait(key, piece, continued)
                return
            try:
                worker = self._worker(key)
            except OutOfResourcesError:
                if not self._keep_idle or not self._all:
                    raise
                self._queue.wait(key, piece, continued)
            else:
                worker.box.put(piece)

    def claim(self) -> Worker | None:
        """Return a thread that waits for one piece of work; None if all are in use.

        Raises the errors of `submit_for`.
        """
        with self._lock:
            self._check_open()
            return self._worker(None) if self._queue.enter(None) else None

    def _check_open(self) -> None:
        if not self._closed:
            return
        if self._closed_error is not None:
            raise self._closed_error()
        raise RuntimeError("cannot schedule new futures after shutdown")

    def _worker(self, key: Hashable) -> Worker:
        """Return a thread for work with a slot; release the slot if none starts."""
        try:
            return self._idle.pop() if self._idle else self._started()
        except BaseException:
            self._queue.leave(key)
            raise

    def _started(self) -> Worker:
        worker = Worker(self._run, self._name)
        start(worker.thread)
        self._all[worker.thread] = worker
        return worker

    def _run(self, worker: Worker) -> None:
        piece = self._awaited(worker)
        while piece is not None:
            key = piece.key
            _do(piece.future, piece.work)
            # A reference would keep an abandoned request alive.
            piece = None
            piece = self._following(worker, key) or self._awaited(worker)

    def _following(self, worker: Worker, key: Hashable) -> _Piece | None:
        """Return the next piece of a thread; None if it becomes idle."""
        with self._lock:
            self._queue.leave(key)
            found = self._queue.next()
            if found is not None:
                self._start_further()
                return found[1]
            if self._closed:
                worker.box.put(None)
            else:
                self._idle.append(worker)
        return None

    def _start_further(self) -> None:
        """Hand further pieces that may run now to other threads."""
        while (found := self._queue.next()) is not None:
            key, piece = found
            try:
                self._worker(key).box.put(piece)
            except OutOfResourcesError:
                # The next thread that becomes free takes it.
                self._queue.wait(key, piece, continued=True)
                return

    def _awaited(self, worker: Worker) -> _Piece | None:
        """Wait for a piece; return None if the thread is to end."""
        while True:
            try:
                return worker.box.get(timeout=IDLE_S)
            except queue.Empty:
                pass
            with self._lock:
                is_idle = worker in self._idle
                if is_idle and len(self._all) > self._keep_idle:
                    self._idle.remove(worker)
                    del self._all[worker.thread]
                    return None
                if self._closed and not is_idle:
                    # Ctrl-C came after it was taken, and before it was given work.
                    self._all.pop(worker.thread, None)
                    return None

    def has(self, thread: threading.Thread) -> bool:
        """Whether a thread belongs to the pool."""
        return thread in self._all

    @property
    def waiting_count(self) -> int:
        """Number of pieces of work that wait for a thread."""
        return self._queue.waiting_count

    def shutdown(
        self, wait: bool = True, *, cancel_futures: bool = False, wait_s: float = 1.0
    ) -> None:
        """Refuse further work, and end the threads.

        Parameters
        ----------
        wait
            Wait for idle threads, at most ``wait_s``. A busy thread ends with its work
            or with the process.
        cancel_futures
            Drop work that has not started.
        """
        with self._lock:
            self._closed = True
            dropped = self._queue.drop() if cancel_futures else []
            idle, self._idle = self._idle, []
        for piece in dropped:
            self._drop(piece.future)
        for worker in idle:
            worker.box.put(None)
        deadline = time.monotonic() + wait_s
        for worker in idle if wait else ():
            if worker.thread is not threading.current_thread():
                worker.thread.join(max(0.0, deadline - time.monotonic()))

    def _drop(self, future: Future[Any] | LoopFuture) -> None:
        if self._closed_error is None:
            future.cancel()
        elif future.set_running_or_notify_cancel():
            future.set_exception(self._closed_error())


def _do(future: Future[Any] | LoopFuture, work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
        # A frame of the error: arrays of the model would wait for a collection.
        del future
    else:
        future.set_result(result)
