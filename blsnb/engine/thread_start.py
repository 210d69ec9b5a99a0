"""Start threads, and say what is missing where none can start."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

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
    """Start a thread.

    Raises
    ------
    OutOfResourcesError
        The system has no thread left.
    """
    try:
        thread.start()
    except (RuntimeError, MemoryError) as error:
        reason = str(error) or "out of memory"
        raise OutOfResourcesError(
            _NO_THREAD.format(reason), advice=_NO_THREAD_ADVICE
        ) from error


@contextlib.contextmanager
def naming_resources(what: str) -> Iterator[None]:
    """Say which resource is missing where the system has no descriptor or memory left.

    Parameters
    ----------
    what
        What is made, such as ``"an event loop"``.

    Raises
    ------
    OutOfResourcesError
        It cannot be made.
    """
    try:
        yield
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or "out of memory"
        raise OutOfResourcesError(f"{what} cannot be made: {reason.lower()}") from error
