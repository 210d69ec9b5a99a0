"""Start threads and event loops, with errors that name the missing resource."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

from blsnb.errors import OutOfResourcesError

_NO_THREAD = (
    "no thread can be started ({}): this process, its user or its container has reached"
    " a limit of threads or of memory"
)
_NO_THREAD_ADVICE = (
    "Run fewer requests at once, or raise the limit: ulimit -u, the container's limit "
    "of processes (pids), or its memory."
)


def start(thread: threading.Thread) -> None:
    """Start a thread; raise OutOfResourcesError if the system has none left."""
    try:
        thread.start()
    except (RuntimeError, MemoryError) as error:
        reason = str(error) or "out of memory"
        raise OutOfResourcesError(
            _NO_THREAD.format(reason), advice=_NO_THREAD_ADVICE
        ) from error


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop; raise OutOfResourcesError without descriptors."""
    try:
        # Check first: asyncio complains later about a partly created loop.
        with contextlib.ExitStack() as spare:
            for _ in range(2):
                for each in socket.socketpair():
                    spare.callback(each.close)
        return asyncio.new_event_loop()
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or "out of memory"
        raise OutOfResourcesError(
            f"an event loop cannot be made: {reason.lower()}"
        ) from error
