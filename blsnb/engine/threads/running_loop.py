"""Model code runs as on a thread without a running event loop.

A notebook executes a cell in a task of its kernel's loop, on the thread on which models
run. On Triton ``asyncio.run()`` in a model works, and `asyncio.get_running_loop` fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
# Python 3.14 has one current task for each thread, not for each loop.
_swap_current_task: Callable[[asyncio.AbstractEventLoop, Any], Any] = getattr(
    asyncio.tasks, "_swap_current_task", lambda loop, task: None
)


def without_loop(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function, hiding the loop that runs on this thread."""
    __tracebackhide__ = True
    loop = asyncio._get_running_loop()
    if loop is None:
        return function(*arguments)
    task = _swap_current_task(loop, None)
    asyncio._set_running_loop(None)
    try:
        return function(*arguments)
    finally:
        asyncio._set_running_loop(loop)
        _swap_current_task(loop, task)
