"""Processor time of each execution of a Python model."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
import types
from collections.abc import Callable, Generator, Iterable
from typing import Any, Self, TypeVar

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.profiling.surrounded_hooks import surrounded
from blsnb.engine.request.inflight import Execution

T = TypeVar("T")
_now_ns = time.thread_time_ns


class ProcessorMeter:
    """Measures the processor time of executions, without that of the models they call.

    Work on threads that a model starts, and in native code with threads of its own, is
    not measured.

    Parameters
    ----------
    instances
        The instances to measure.
    """

    def __init__(self, instances: Iterable[ModelInstance]) -> None:
        self._surrounded = surrounded(tuple(instances), self._execute)
        self._open = threading.local()
        self.computing_ns: dict[int, int] = {}
        """Processor time by the number of the execution."""

    def __enter__(self) -> Self:
        self._surrounded.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._surrounded.__exit__(None, None, None)

    def _execute(
        self, execution: Execution, hook: Callable[[Any], Any], requests: Any
    ) -> Any:
        __tracebackhide__ = True
        number = execution.number
        result = self.run(number, lambda: hook(requests))
        if not asyncio.iscoroutine(result):
            return result
        return _measured(result, lambda work: self.run(number, work))

    def run(self, execution: int, work: Callable[[], T]) -> T:
        """Call a function as a part of an execution."""
        nested: list[int] = getattr(self._open, "nested", [])
        self._open.nested = nested
        nested.append(0)
        start_ns = _now_ns()
        try:
            return work()
        finally:
            spent_ns = _now_ns() - start_ns
            own_ns = spent_ns - nested.pop()
            self.computing_ns[execution] = self.computing_ns.get(execution, 0) + own_ns
            if nested:
                nested[-1] += spent_ns


async def _measured(coroutine: Any, run: Callable[[Callable[[], Any]], Any]) -> Any:
    """Await a coroutine whose every piece is measured."""
    return await _pieces(coroutine, run)


@types.coroutine
def _pieces(
    coroutine: Any, run: Callable[[Callable[[], Any]], Any]
) -> Generator[Any, Any, Any]:
    proceed = functools.partial(coroutine.send, None)
    while True:
        try:
            awaited = run(proceed)
        except StopIteration as end:
            return end.value
        try:
            value = yield awaited
        except BaseException as error:
            proceed = functools.partial(coroutine.throw, error)
        else:
            proceed = functools.partial(coroutine.send, value)
