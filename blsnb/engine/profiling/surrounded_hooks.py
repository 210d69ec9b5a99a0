"""Calls of ``execute`` that a measurement is around."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blsnb.engine.instance.instance import Around, ModelInstance
from blsnb.engine.request.inflight import Execution


@contextlib.contextmanager
def surrounded(instances: Iterable[ModelInstance], around: Around) -> Iterator[None]:
    """Let a function call ``execute`` of instances during the block."""
    before = [(instance, instance.around) for instance in instances]
    for instance, inner in before:
        instance.around = (
            around if inner is None else functools.partial(_nested, around, inner)
        )
    try:
        yield
    finally:
        for instance, inner in before:
            instance.around = inner


def _nested(
    outer: Around,
    inner: Around,
    execution: Execution,
    hook: Callable[[Any], Any],
    requests: Any,
) -> Any:
    __tracebackhide__ = True
    return outer(execution, functools.partial(inner, execution, hook), requests)
