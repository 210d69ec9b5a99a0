"""Faults at a chosen line of blsnb."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from asserting import every

import blsnb
from blsnb.files.swap import Swap

_PACKAGE = Path(blsnb.__file__).parent
FILES = tuple(f"files/{name}.py" for name in ("owned", "swap", "whole"))
"""Files that change files; without the handler of Ctrl-C, which is not interrupted."""


class LineFault:
    """Calls a function before one of the lines that a call executes.

    Parameters
    ----------
    number
        Number of the line among those executed, from 1 on.
    rooms
        Files and folders of blsnb whose lines count.
    fault
        The function.
    """

    def __init__(
        self, number: int, rooms: Iterable[str], fault: Callable[[], object]
    ) -> None:
        self._left = number
        paths = [_PACKAGE / room for room in rooms]
        assert every(path.exists() for path in paths), f"a room was renamed: {rooms}"
        self._rooms = tuple(map(str, paths))
        self._fault = fault
        self.where = ""
        """The line; empty if the call executed fewer."""

    def during(self, call: Callable[[], object]) -> None:
        """Call a function with the fault.

        It is called in a generator, which has a stack of handled exceptions of its own:
        CPython leaves one behind where the fault raises at the end of its handler, and
        it would be the context of what later tests raise.
        """
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            next(_calling(call))
        finally:
            sys.settrace(before)

    def _trace(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        counts = frame.f_code.co_filename.startswith(self._rooms)
        return self._local if counts and not self.where else None

    def _local(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "line" and not self.where:
            self._left -= 1
            if not self._left:
                name = Path(frame.f_code.co_filename).name
                self.where = f"{name}:{frame.f_lineno} {frame.f_code.co_name}"
                self._fault()
        return self._local


def _calling(call: Callable[[], object]) -> Iterator[object]:
    yield call()


def raise_interrupt() -> None:
    """Raise `KeyboardInterrupt` at the line, without a signal."""
    raise KeyboardInterrupt


def press_ctrl_c() -> None:
    """Send the signal of Ctrl-C to its handler."""
    signal.raise_signal(signal.SIGINT)


def lines_of(call: Callable[[], object], rooms: Iterable[str]) -> int:
    """Return the number of lines of some rooms that a call executes."""
    return len(functions_of(call, rooms))


def functions_of(call: Callable[[], object], rooms: Iterable[str]) -> list[str]:
    """Return the function of each line of some rooms that a call executes."""
    seen: list[str] = []

    class Listing(LineFault):
        def _local(self, frame: types.FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                seen.append(frame.f_code.co_qualname)
            return self._local

    Listing(0, rooms, lambda: None).during(call)
    return seen


def killed(call: Callable[[], object], rooms: Iterable[str], number: int) -> str:
    """Call a function in a child that is killed before a line; return the line."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:

        def kill() -> None:
            os.write(writing, fault.where.encode())
            os.kill(os.getpid(), signal.SIGKILL)

        fault = LineFault(number, rooms, kill)
        fault.during(call)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        where = file.read()
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) == bool(where), "the child failed"
    return where


def printed_by(program: str | Path, *arguments: object, timeout_s: int = 1500) -> str:
    """Run a Python file that kills its children, and return what it prints."""
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore::DeprecationWarning", program),
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    assert 0 == done.returncode, done.stdout[-300:] + done.stderr
    return done.stdout


def chosen_lines(functions: list[str], step: int) -> list[int]:
    """Return the numbers of every `step`-th line, and of all lines of a swap."""
    numbers = range(1, len(functions) + 1)
    swaps = (n for n in numbers if functions[n - 1] == Swap.apply.__qualname__)
    return sorted({*numbers[::step], *swaps})
