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
        self._instances = tuple(instances)
        self._open = threading.local()
        self.computing_ns: dict[int, int] = {}
        """Processor time by the number of the execution."""

    def __enter__(self) -> Self:
        for instance in self._instances:
            instance.hook_caller = _MeteredHooks(self, instance.hook_caller)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: types.TracebackType | None,
    ) -> None:
        for instance in self._instances:
            if isinstance(instance.hook_caller, _MeteredHooks):
                instance.hook_caller = instance.hook_caller.inner

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


class _MeteredHooks:
    """Calls ``execute`` where its processor time is measured.

    Parameters
    ----------
    inner
        What is around it otherwise; None for nothing.
    """

    def __init__(self, meter: ProcessorMeter, inner: Any) -> None:
        self._meter = meter
        self.inner = inner

    def call(self, work: Callable[[], T]) -> T:
        """Call another hook."""
        __tracebackhide__ = True
        return work() if self.inner is None else self.inner.call(work)

    def execute(
        self, execution: Execution | None, hook: Callable[[Any], Any], requests: Any
    ) -> Any:
        """Call ``execute``; return its responses, or its coroutine."""
        __tracebackhide__ = True
        if self.inner is not None:
            hook = functools.partial(self.inner.execute, execution, hook)
        if execution is None:
            return hook(requests)
        meter, number = self._meter, execution.number
        result = meter.run(number, lambda: hook(requests))
        if not asyncio.iscoroutine(result):
            return result
        return _measured(result, lambda work: meter.run(number, work))


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
