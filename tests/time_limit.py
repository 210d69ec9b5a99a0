"""Time limits of tests: more on a busy machine, and a report of what took the time.

A test that fails once in a thousand runs must say at once whether its processes were
stuck, or had no processor.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from types import FrameType
from typing import Any

import psutil
import pytest

_STACKS_S = 5.0
_MAX_SHARE = 3.0
_SHORT_S = 1.0


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(
    item: pytest.Item, settings: Any
) -> Generator[None, object, object]:
    """Extend the limit on a busy machine; report what the test's processes did."""
    timer = yield
    expire = signal.getsignal(signal.SIGALRM)
    if not callable(expire):
        return timer
    allowed_s = float(settings.timeout)

    def describe(signum: int, frame: FrameType | None) -> None:
        nonlocal allowed_s
        more_s = settings.timeout * busyness() - allowed_s
        if more_s > _SHORT_S:
            allowed_s += more_s
            signal.setitimer(signal.ITIMER_REAL, more_s)
            return
        item.add_report_section("call", "processes", "\n".join(processes()))
        item.add_report_section("call", "stacks", stacks(frame))
        expire(signum, frame)

    signal.signal(signal.SIGALRM, describe)
    return timer


def busyness() -> float:
    """Return how many processes share a processor, at least 1 and at most 3.

    A test that waits for nothing does not add to the load: it ends at its time limit.
    """
    shared_by = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(1.0, shared_by), _MAX_SHARE)


def processes() -> Iterator[str]:
    """Describe the machine's load, this process and those that it started."""
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    free = psutil.virtual_memory().available >> 20
    yield f"load {load}; {free} MiB of memory available"
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            yield _described(process)
        except psutil.NoSuchProcess:
            yield f"{process.pid}: ended"


def _described(process: psutil.Process) -> str:
    """Return a process's state, times and command."""
    with process.oneshot():
        age = time.time() - process.create_time()
        times = process.cpu_times()
        command = " ".join(process.cmdline())
        return (
            f"{process.pid}: {process.status()}, {process.num_threads()} threads,"
            f" {times.user + times.system:.1f} s of processor in {age:.0f} s: "
            f"{command[:120]!r}"
        )


def stacks(frame: FrameType | None) -> str:
    """Abort the child that a frame waits for, and return what it writes.

    A Python that runs with ``-X faulthandler`` writes the stacks of its threads.
    """
    while frame is not None:
        child = frame.f_locals.get("self")
        if isinstance(child, subprocess.Popen) and child.stderr is not None:
            child.send_signal(signal.SIGABRT)
            return _read(child.stderr.fileno())
        frame = frame.f_back
    return "no child with a pipe for its errors"


def _read(pipe: int) -> str:
    """Read a pipe until its end, for a few seconds."""
    text, deadline = b"", time.monotonic() + _STACKS_S
    while select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
        if not (piece := os.read(pipe, 1 << 16)):
            break
        text += piece
    return text.decode(errors="replace")
