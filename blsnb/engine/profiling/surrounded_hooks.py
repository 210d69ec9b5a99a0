"""Calls of ``execute`` that a measurement is around."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.request.inflight import Execution

T = TypeVar("T")
Around = Callable[[Execution | None, Callable[[Any], Any], Any], Any]
"""Receives the execution, the hook and its requests; returns what the hook returns."""


def surround(instances: Iterable[ModelInstance], around: Around) -> None:
    """Let a function call ``execute`` of instances."""
    for instance in instances:
        instance.hook_caller = _Surrounded(around, instance.hook_caller)


def release(instances: Iterable[ModelInstance]) -> None:
    """Undo `surround`."""
    for instance in instances:
        if isinstance(instance.hook_caller, _Surrounded):
            instance.hook_caller = instance.hook_caller.inner


class _Surrounded:
    """Calls the hooks of an instance.

    Parameters
    ----------
    inner
        What is around them otherwise; None for nothing.
    """

    def __init__(self, around: Around, inner: Any) -> None:
        self._around = around
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
        return self._around(execution, hook, requests)
