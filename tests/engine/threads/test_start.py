"""Errors that name the resource that a thread or an event loop lacks."""

from __future__ import annotations

import errno
import os

import pytest

from blsnb.engine.threads.start import new_loop, start
from blsnb.errors import OutOfResourcesError

NO_THREAD = (
    "no thread can be started ({}): this process, its user or its container has reached"
    " a limit of threads or of memory"
)
ADVICE = (
    "Run fewer requests at once, or raise the limit: ulimit -u, the container's limit "
    "of processes (pids), or its memory."
)


class Short:
    """A thread that the system does not start."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def start(self) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (MemoryError(), "out of memory"),
    ],
)
def test_a_thread_that_cannot_start_is_an_error_with_advice(error, reason):
    """The cause stays."""
    with pytest.raises(OutOfResourcesError) as caught:
        start(Short(error))

    assert (NO_THREAD.format(reason), ADVICE, error) == (
        caught.value.message,
        caught.value.advice,
        caught.value.__cause__,
    )


@pytest.mark.parametrize("before", ["socket.socketpair", "asyncio.new_event_loop"])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "too many open files"),
        (MemoryError(), "out of memory"),
    ],
)
def test_an_event_loop_that_cannot_be_made_is_an_error(
    monkeypatch, before, error, reason
):
    """It is one before asyncio has made a part of the loop, if possible."""

    def refuse():
        raise error

    monkeypatch.setattr(before, refuse)
    with pytest.raises(OutOfResourcesError) as caught:
        new_loop()

    assert f"an event loop cannot be made: {reason}" == caught.value.message


def test_a_new_event_loop_is_open():
    """It leaves no descriptor behind."""

    async def five() -> int:
        return 5

    before = os.listdir("/dev/fd")
    loop = new_loop()
    try:
        assert 5 == loop.run_until_complete(five())
    finally:
        loop.close()

    assert before == os.listdir("/dev/fd")
