"""Pools of fake instances, for tests that take and release them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.request.inflight import Execution, Inflight
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.pb_utils.message import RequestMessage
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.run_record import RunRecord

MODEL = ModelInfo("model", 1, "python", "cpu", "model", "")


class Instance:
    """The part of an instance that a pool uses."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.execution: Execution | None = None
        self.finalized = 0

    def finalize(self) -> None:
        """Count the call."""
        self.finalized += 1

    def __repr__(self) -> str:
        return self.name


def a_root() -> RootRequest:
    """Return the lifetime of a client request."""
    return RootRequest(RunRecord("1"), 60)


def a_request(root: RootRequest | None = None, model: str = "model") -> Inflight:
    """Return a request in flight."""
    call = Call(MODEL, None, 0)
    return Inflight(RequestMessage(model, ()), root or a_root(), call)


class Pools:
    """Pools with one lock, and their instances."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: list[Instance] = []

    def pool(self, *names: str) -> Any:
        """Return a pool with these instances."""
        return InstancePool([Instance(name) for name in names], self.lock, self.renew)

    def renew(self, old: Any) -> Any:
        """Make a new instance."""
        self.made.append(Instance(f"fresh {old.name}"))
        return self.made[-1]


def begin(pool: Any, request: Inflight, blocks_execute: bool = False) -> Any:
    """Take an instance and execute the request on it."""
    instance = pool.take(request, blocks_execute)
    instance.execution = request.execution = Execution(instance, [request], 1)
    return instance


def end(pool: Any, instance: Any) -> None:
    """Return from ``execute``."""
    instance.execution.inflight.execution = None
    instance.execution = None
    pool.release(instance)


def wait_in(pool: Any, request: Inflight) -> tuple[threading.Thread, list[Any]]:
    """Let another thread take an instance, and return once it waits."""
    taken: list[Any] = []

    def take() -> None:
        try:
            taken.append(pool.take(request, blocks_execute=False))
        except BaseException as error:
            taken.append(type(error))

    thread = threading.Thread(target=take)
    count = pool.waiting_count
    thread.start()
    while pool.waiting_count == count and thread.is_alive():
        pass
    return thread, taken


def given_up(pool: Any, *meanwhile: Callable[[], object]) -> Any:
    """Assign an abandoned slot to a request that ends, too; return that request.

    The others do something between the two.
    """
    request, late = a_request(), a_request()
    instance = begin(pool, request)

    def leave(waiter: Any, notice: Any = None) -> None:
        request.root.end(KeyboardInterrupt())
        pool.replace_abandoned(request.root)
        for action in meanwhile:
            action()
        raise Unwind

    # The moment between its waking and its leaving, which no event marks.
    late.root.wait = leave  # type: ignore[method-assign]
    with pytest.raises(Unwind):
        pool.take(late, blocks_execute=False)
    return instance
