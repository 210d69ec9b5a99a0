"""Limits of gRPC calls in flight, and the threads that run them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple

from blsnb.engine.threads.shares import Shares
from blsnb.engine.threads.workers import Worker, Workers
from blsnb.errors import OutOfResourcesError
from blsnb.printable import counted

MAX_CALLS = 512
"""Maximum number of ``ModelInfer`` calls in flight; one model gets at most half."""
MAX_STREAMS = 128
"""Maximum number of open streams; each uses two threads, even while it is idle."""
_MAX_LOADS = 64
_MAX_READY = 64
"""Maximum number of readiness queries in flight: a model may have a hook for them."""
_MAX_QUERIES = 64
"""Maximum number of threads for other calls, which do not wait for models."""


class ModelSlots:
    """Slots for calls, shared between models. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._shares = Shares(limit)
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def slot(self, model_name: str) -> Iterator[None]:
        """Hold a slot of a model."""
        with self._lock:
            if not self._shares.may_take(model_name):
                held = self._shares.held(model_name)
                raise OutOfResourcesError(
                    f"model '{model_name}' has {counted(held, 'call')} in flight "
                    "already, and the others are kept for other models"
                )
            self._shares.take(model_name)
        try:
            yield
        finally:
            with self._lock:
                self._shares.release(model_name)


class _Pool(NamedTuple):
    """Threads for one kind of call, and the error text if all are in use."""

    threads: Workers
    limit: int
    what: str


def _pool(limit: int, name: str, what: str) -> _Pool:
    return _Pool(Workers(limit, name), limit, what)


class GrpcThreads(Executor):
    """Gives each call a thread from the pool of its kind.

    If its executor refuses a call, gRPC's serving thread ends and no further call is
    served. Therefore a thread is claimed before gRPC submits a call, and `submit` never
    fails. One thread is kept for refusals and one for health checks, so that they work
    even when no thread can start.

    Raises
    ------
    OutOfResourcesError
        One of those two threads cannot start.
    """

    def __init__(self) -> None:
        loads = _pool(_MAX_LOADS, "blsnb grpc load", "loads are in flight")
        self._pools = {
            "ModelInfer": _pool(MAX_CALLS, "blsnb grpc", "calls are in flight"),
            "ModelStreamInfer": _pool(
                MAX_STREAMS, "blsnb grpc stream", "streams are open"
            ),
            "RepositoryModelLoad": loads,
            "RepositoryModelUnload": loads,
            "ModelReady": _pool(
                _MAX_READY, "blsnb grpc ready", "readiness queries are in flight"
            ),
        }
        self._queries = Workers(_MAX_QUERIES, "blsnb grpc query", keep_idle=1)
        self._refusals = Workers(1, "blsnb grpc refusal", keep_idle=1)
        self._claimed: Worker | None = None
        self._unclaimed = self._queries
        """Runs the next call if no thread was claimed for it."""
        try:
            self._queries.start()
            self._refusals.start()
        except OutOfResourcesError:
            self.shutdown()
            raise

    def claim(self, method: str) -> str:
        """Claim a thread for the call that gRPC submits next.

        Returns
        -------
        str
            Why the call must be refused; empty if it has a thread.
        """
        pool = self._pools.get(method.rpartition("/")[2])
        self._unclaimed = self._queries if pool is None else self._refusals
        if pool is None:
            return ""
        try:
            self._claimed = pool.threads.claim()
        except OutOfResourcesError as error:
            return error.message
        except RuntimeError:
            return "the end point is closed"
        if self._claimed is None:
            return f"{pool.limit} {pool.what} already, and no more are taken"
        return ""

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run work on the thread that was claimed for it; never fails."""
        claimed, self._claimed = self._claimed, None
        if claimed is not None:
            return claimed.submit(work, *args, **kwargs)
        try:
            return self._unclaimed.submit(work, *args, **kwargs)
        except RuntimeError as error:
            # The end point is closed, and gRPC cancels the call.
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Accept no more calls, and end idle threads."""
        pools = {pool.threads for pool in self._pools.values()}
        for each in (*pools, self._queries, self._refusals):
            each.shutdown(wait, cancel_futures=cancel_futures)
