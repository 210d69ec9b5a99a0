"""Specification of switching the debugger off and on."""

from __future__ import annotations

import os

import pytest

from .cells import SYNC, line_of, run_of
from .debugged import DebuggedKernel

pytestmark = pytest.mark.notebook
TIMES = 5
SLOW_TO_LEAVE = """import sys
if any("debugpy" in each and "adapter" in each for each in sys.orig_argv):
    import threading
    from debugpy.common import messaging
    leave = messaging.JsonMessageChannel._handle_disconnect
    def leave_late(channel):
        threading.Event().wait(0.2)
        leave(channel)
    messaging.JsonMessageChannel._handle_disconnect = leave_late
"""
"""Makes debugpy's adapter keep a client that has disconnected, as on a busy machine."""


@pytest.fixture
def slow_adapter(tmp_path, monkeypatch):
    """A kernel whose adapter is slow to notice that a client has left."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_TO_LEAVE)
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    monkeypatch.setenv("PYTHONPATH", path)
    kernel = DebuggedKernel(tmp_path)
    kernel.run("%load_ext blsnb\nimport blsnb\nblsnb.options.show = False")
    yield kernel
    kernel.end()


def test_the_debugger_can_be_switched_off_and_on_quickly(slow_adapter):
    """The adapter accepts clients while earlier ones leave; breakpoints stop then."""
    for _ in range(TIMES):
        slow_adapter.attach()
        slow_adapter.detach()
    slow_adapter.attach()
    source = SYNC.format(name="late")
    line = line_of(source, "self.factor)")
    slow_adapter.set_dots(source, line)
    slow_adapter.run(source)

    assert [(slow_adapter.path_of(source), line)] == slow_adapter.stops_of(
        run_of("late")
    )


def test_a_debugger_that_is_switched_off_at_a_stop_lets_the_cell_end(off):
    """It can be switched on again, and stops again."""
    source = SYNC.format(name="left")
    off.run(source)
    ends = []
    for _ in range(2):
        off.attach()
        off.set_dots(source, line_of(source, "self.factor)"))
        request = off.start(run_of("left"))
        stopped = off.stop_of(request)
        off.detach()
        ends.append((stopped is not None, off.stop_of(request)))

    assert [(True, None)] * 2 == ends
