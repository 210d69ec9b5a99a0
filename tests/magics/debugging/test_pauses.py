"""Specification of requests that a debugger stops for longer than they may take."""

from __future__ import annotations

import pytest

from .cells import ASYNC, AWAITING, PARENT, SYNC, line_of, run_of

pytestmark = pytest.mark.notebook
LIMITED = """import blsnb
run = blsnb.infer("parent", {"X": [1.0, 2.0]}, client_timeout_s=0.6)"""
SHOWN = """print(run["Y"].tolist(), [n for span in run.trace.spans for n in span.notes])
paused_ns = sum(pause.duration_ns for pause in run.trace.pauses)
print(paused_ns > 1e9, run.duration_ms < 600)"""


@pytest.mark.parametrize("parent", [PARENT, AWAITING], ids=["exec", "async_exec"])
def test_a_pause_is_no_time_of_the_request(off, parent):
    """No deadline passes, no wait is reported, and the run records the pause."""
    off.run("blsnb.options.hang_notice_s = 0.3")
    child = SYNC.format(name="child")
    off.run(child)
    off.run(parent)
    off.run(LIMITED)
    off.attach()
    off.set_dots(child, line_of(child, "self.factor)"))
    request = off.start(LIMITED)
    thread = off.stop_of(request)
    off.hold(1.2)
    off.finish(thread, request)
    shown = off.run(SHOWN)

    assert ["[2.0, 4.0] []\nTrue True\n"] == [each.get("text") for each in shown]


@pytest.mark.parametrize("model", [SYNC, ASYNC], ids=["function", "coroutine"])
def test_an_interrupt_ends_a_request_that_is_stopped(kernel, model):
    """No thread stays stopped, no traceback is ours; the next run stops again."""
    cell = model.format(name="child")
    kernel.run(cell)
    line = line_of(cell, "self.factor)")
    kernel.set_dots(cell, line)
    request = kernel.start(run_of("child"))
    kernel.stop_of(request)
    kernel.interrupt()
    shown = kernel.outputs(request, lambda found: False)

    assert ["KeyboardInterrupt"] == [each["ename"] for each in shown if "ename" in each]
    assert "" == "".join(each["text"] for each in shown if each.get("name") == "stderr")
    assert [(kernel.path_of(cell), line)] == kernel.stops_of(run_of("child"))
