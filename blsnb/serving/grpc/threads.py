"""GrpcThreads: the threads of calls over gRPC, which are found before a call begins."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any, NamedTuple, ParamSpec, TypeVar

from blsnb.engine.threads.workers import Worker, Workers
from blsnb.errors import OutOfResourcesError

P = ParamSpec("P")
T = TypeVar("T")
MOST_CALLS = 512
"""Maximum number of ``ModelInfer`` calls in flight; one model gets half of them."""
MOST_STREAMS = 128
"""Maximum number of open streams; each ties up two threads, also while it is idle."""
_MOST_LOADS = 64
_MOST_READY = 64
"""Maximum number of readiness queries in flight: a model may answer them itself."""
_MOST_QUERIES = 64
"""Maximum number of threads for all other calls: none of them waits for a model."""


class _Kind(NamedTuple):
    """Threads for one kind of call, and what they are all doing when none is left."""

    threads: Workers
    most: int
    what: str


def _kind(most: int, name: str, what: str) -> _Kind:
    return _Kind(Workers(most, name), most, what)


class GrpcThreads(Executor):
    """Gives each call a thread, and each kind of call threads of its own.

    gRPC's serving thread ends when the executor of its calls refuses one, and no call
    is answered from then on. Therefore a thread is claimed before gRPC submits a call,
    and what submits never fails. One thread is kept for refusals, another one for
    health checks: neither has to start when no thread can.

    Raises
    ------
    OutOfResourcesError
        One of those threads cannot start.
    """

    def __init__(self) -> None:
        loads = _kind(_MOST_LOADS, "blsnb grpc load", "loads are in flight")
        self._kinds = {
            "ModelInfer": _kind(MOST_CALLS, "blsnb grpc", "calls are in flight"),
            "ModelStreamInfer": _kind(
                MOST_STREAMS, "blsnb grpc stream", "streams are open"
            ),
            "RepositoryModelLoad": loads,
            "RepositoryModelUnload": loads,
            "ModelReady": _kind(
                _MOST_READY, "blsnb grpc ready", "readiness queries are in flight"
            ),
        }
        self._queries = Workers(_MOST_QUERIES, "blsnb grpc query", keep=1)
        self._refusals = Workers(1, "blsnb grpc refusal", keep=1)
        self._claimed: Worker | None = None
        self._next = self._queries
        """Does what has no thread of its own."""
        try:
            self._queries.start()
            self._refusals.start()
        except OutOfResourcesError:
            self.shutdown()
            raise

    def claim(self, method: str) -> str:
        """Find a thread for the call that gRPC submits next.

        Returns
        -------
        str
            Why the call must be refused; empty if it has a thread.
        """
        kind = self._kinds.get(method.rpartition("/")[2])
        self._next = self._queries if kind is None else self._refusals
        if kind is None:
            return ""
        try:
            self._claimed = kind.threads.claim()
        except OutOfResourcesError as error:
            return error.message
        except RuntimeError:
            return "the end point is closed"
        if self._claimed is None:
            return f"{kind.most} {kind.what} already, and no more are taken"
        return ""

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Let the thread do the work that was found for it; never fails."""
        claimed, self._claimed = self._claimed, None
        if claimed is not None:
            return claimed.submit(work, *args, **kwargs)
        try:
            return self._next.submit(work, *args, **kwargs)
        except RuntimeError as error:
            # The end point is closed, and gRPC cancels the call.
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Take no more calls, and end the threads that have nothing to do."""
        pools = {kind.threads for kind in self._kinds.values()}
        for pool in (*pools, self._queries, self._refusals):
            pool.shutdown(wait, cancel_futures=cancel_futures)
