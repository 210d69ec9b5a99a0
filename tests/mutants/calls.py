"""Write down which functions each test executes, also in processes that it starts.

The instrumented sources of a copy import this file as ``blsnb_calls``, and pytest loads
it as a plugin. It imports neither, as it also runs in the processes of models.
"""

from __future__ import annotations

import os

FOLDER = "BLSNB_CALLS"
"""Environment variable: the folder of the files, one for each process."""
_seen: set[str] = set()
_file = -1
_test = ""


def hit(function: str) -> None:
    """Write the name of a function that a test executes for the first time."""
    global _test
    if function in _seen:
        return
    _seen.add(function)
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if test != _test:
        _test = test
        os.write(_file, f"\t{test}\n".encode())
    os.write(_file, f"{function}\n".encode())


def _open() -> None:
    global _file, _test
    folder = os.environ.get(FOLDER)
    # A test may start a process without this variable.
    path = os.path.join(folder, str(os.getpid())) if folder else os.devnull
    _file, _test = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY), ""


def pytest_runtest_setup() -> None:
    """Begin the set-up of a test, whose fixtures later tests may share."""
    _seen.clear()


def pytest_runtest_call() -> None:
    """Begin the test itself."""
    _seen.clear()


_open()
os.register_at_fork(after_in_child=_open)
