"""Fixtures of all tests: a server, and the check that nothing is left behind."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import stage
from attacks import AttackReport, figures  # noqa: F401 (a fixture)
from conformance.report import (  # noqa: F401 (hooks)
    pytest_report_header,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)
from crash_retries import pytest_runtest_protocol  # noqa: F401 (a hook)
from dealing import LONG_LIVED, RECORD, ByServers, Recorder
from interrupts import Interrupt, traced_events
from time_limit import pytest_timeout_set_timer  # noqa: F401 (a hook)

from blsnb.inference_server import Server

_IN_MEMORY = Path("/dev/shm")
"""A file system in memory, on Linux."""
_ROOM = 4 * 2**30
"""Minimum free bytes there for temporary files."""
_JOIN_S = 30.0
_SLOW_S = 300
_WITHOUT_SLOW = "not slow"
"""The tests that `make test` selects."""


def _has_room(folder: Path) -> bool:
    """Return whether temporary files, and programs among them, can be in a folder."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    can_execute = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return can_execute and shutil.disk_usage(folder).free >= _ROOM


# jsonschema would compile forty grammars for a format that no notebook has: 1.7 s for
# each process that imports nbformat.
sys.modules.setdefault("rfc3987_syntax", None)
# Hypothesis would fail an example that takes long to run, or to be drawn: on a busy
# machine any of them may. In CI the same examples are drawn each time, so that a change
# is judged by what it does; everywhere else new ones are.
hypothesis.settings.register_profile(
    "busy",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("busy")
# `make test-all`, with slow tests, draws a hundred examples, as Hypothesis does.
hypothesis.settings.register_profile(
    "short", hypothesis.settings.get_profile("busy"), max_examples=40
)
# Nothing that the collection makes is freed before the end.
gc.disable()
# Wherever tests run they mean a server without a GPU, unless they say otherwise.
os.environ["BLSNB_RUNTIME"] = "numpy"
# A disk takes milliseconds for each of the 60,000 folders that the tests remove.
if _has_room(_IN_MEMORY):
    os.environ.setdefault("TMPDIR", str(_IN_MEMORY))
    # pytest has looked it up for the output that it captures.
    tempfile.tempdir = None
# NumPy's threads spin when it is imported, also in each process that tests start: up to
# a tenth of a second of computing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Handle Ctrl-C as in a terminal, even if a script's `&` ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(AttackReport())
    if config.option.markexpr == _WITHOUT_SLOW:
        hypothesis.settings.load_profile("short")
    # Workers, and the runs that tests start, would overwrite what the run records.
    if os.environ.get(RECORD) == "1" and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Recorder())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests, which `make test` omits, more time."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_SLOW_S))


def pytest_collection_finish() -> None:
    """Exempt collected tests from garbage collections.

    Each would look at their 400,000 objects: a fifth of the computing of quick tests.
    """
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Exempt what the tests of a file leave, such as caches, as well."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByServers:
    """Let tests that share a server run in one process."""
    return ByServers(config, log)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server without models, closed after the test."""
    with Server() as server:
        try:
            yield server
        finally:
            stage.clear()


@pytest.fixture
def ctrl_c() -> Iterator[Interrupt]:
    """Ctrl-C as a terminal or a notebook sends it."""
    interrupt = Interrupt()
    # Python suppresses exceptions raised in a weak reference's callback.
    gc.collect()
    gc.disable()
    yield interrupt
    gc.enable()
    interrupt.join()
    # On Python 3.11 an exception that is left pending stops each traced function.
    assert "call" in traced_events()


def _instance_packages() -> set[str]:
    """Return the names of modules of model instances."""
    return {name for name in sys.modules if name.startswith("_blsnb_")}


def _finders() -> list[object]:
    """Return the import hooks."""
    return list(sys.meta_path)


def _left_running(before: set[threading.Thread]) -> list[str]:
    """Return the names of threads that a test has started and that do not end."""
    deadline = time.monotonic() + _JOIN_S
    started = [t for t in threading.enumerate() if t not in before]
    for thread in started:
        thread.join(max(0, deadline - time.monotonic()))
    # IPython keeps its history on a thread for as long as the process lives.
    return [t.name for t in started if t.is_alive() and "IPython" not in t.name]


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """No thread, module, import hook, path or signal handler outlives its test."""
    folder = request.path.relative_to(Path(__file__).parent).parts[0]
    if folder in LONG_LIVED:
        yield
        return
    threads = set(threading.enumerate())
    before = (
        _instance_packages(),
        _finders(),
        list(sys.path),
        signal.getsignal(signal.SIGINT),
    )
    stage.begin()
    yield
    stage.clear()
    left = _left_running(threads)
    after = (
        _instance_packages(),
        _finders(),
        list(sys.path),
        signal.getsignal(signal.SIGINT),
    )
    assert [] == left
    assert before == after
