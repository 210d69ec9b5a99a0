"""What the processes of a test were doing when its time was over.

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

import psutil
import pytest

_STACKS_S = 5.0


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item) -> Generator[None, object, object]:
    """Add a section on the test's processes to the report of its time limit."""
    timer = yield
    expire = signal.getsignal(signal.SIGALRM)
    if not callable(expire):
        return timer

    def describe(signum: int, frame: FrameType | None) -> None:
        item.add_report_section("call", "processes", "\n".join(processes()))
        item.add_report_section("call", "stacks", stacks(frame))
        expire(signum, frame)

    signal.signal(signal.SIGALRM, describe)
    return timer


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
