"""Specification of calls that are executed again in the debugger."""

from __future__ import annotations

import pytest

from .cells import PARENT, SYNC, line_of, run_of

pytestmark = pytest.mark.notebook
CHILD = SYNC.format(name="child")


def test_a_replayed_call_stops_at_the_first_line_of_its_execute(kernel):
    """It has the recorded inputs; other models do not stop, and later runs neither."""
    kernel.run(CHILD)
    kernel.run(PARENT)
    kernel.run(run_of("parent"))
    request = kernel.start("replayed = run.replay('child', debug=True)")
    thread = kernel.stop_of(request)
    where = kernel.where(thread)
    first = kernel.below(kernel.variables(thread)["requests"])["0"]
    kernel.finish(thread, request)
    shown = kernel.run("print(replayed.this['Y'].tolist())")

    assert (kernel.path_of(CHILD), line_of(CHILD, "responses = []")) == where
    assert "request inputs: 'X' FP32 [2]: 1.0, 2.0" == first["value"]
    assert ["[2.0, 4.0]\n"] == [each["text"] for each in shown]
    assert [] == kernel.stops_of(run_of("parent"))


def test_a_replay_without_a_debugger_is_refused(off):
    """The error says how to switch it on."""
    off.run(CHILD)
    off.run(run_of("child"))
    [shown] = off.run("run.replay(debug=True)")

    assert "switch on the notebook's" in shown["evalue"]
