"""Specification of what is said of a model that still runs for an ended request."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request import abandoned
from blsnb.engine.request.abandoned import AbandonedExecutions
from blsnb.errors import OutOfResourcesError
from blsnb.trace.run_record import RunRecord

HOUR_S = 3600
RUNNING = (
    "m_0 is still running line 3 of model.py, since 12:00:00: Ctrl-C did not end it"
)


def test_it_is_said_since_when_a_model_runs(monkeypatch):
    """The time of day is that of the beginning of its execution."""
    began_ns = CLOCK.now_ns() - HOUR_S * 10**9
    execution = SimpleNamespace(
        call=SimpleNamespace(compute_start_ns=began_ns),
        instance=SimpleNamespace(name="slow"),
    )
    monkeypatch.setattr(abandoned, "line_of", lambda _: " line 3 of model.py")
    first = time.time() - HOUR_S
    text = abandoned._Abandoned(execution, root=None).text()
    last = time.time() - HOUR_S

    assert text in {
        "slow is still running line 3 of model.py, since "
        f"{time.strftime('%H:%M:%S', time.localtime(seconds))}: Ctrl-C did not end it"
        for seconds in range(int(first), int(last) + 1)
    }


@pytest.fixture
def left(monkeypatch):
    """An execution that its client has left at noon, and its call and record."""
    monkeypatch.setattr(abandoned, "_time_of_day", lambda _: "12:00:00")
    monkeypatch.setattr(abandoned, "line_of", lambda _: " line 3 of model.py")
    monkeypatch.setattr(abandoned._Abandoned, "interrupt", lambda *_: None)
    call = SimpleNamespace(
        error="cancelled",
        compute_start_ns=0,
        model=SimpleNamespace(name="m", version=1),
    )
    root = SimpleNamespace(record=RunRecord("1"))
    instance = SimpleNamespace(name="m_0")
    instance.execution = SimpleNamespace(
        call=call,
        inflights=[SimpleNamespace(call=call, root=root)],
        instance=instance,
        thread_id=0,
    )
    return instance.execution


def test_a_call_tells_until_when_its_execution_ran(left, monkeypatch):
    """While it runs, it is listed under its model."""
    changed, call, record = [], left.call, left.inflights[0].root.record
    running = AbandonedExecutions(changed.append)
    monkeypatch.setattr(running, "_started", lambda: None)
    running.add(left, None)
    assert "cancelled: still running line 3 of model.py, since 12:00:00" == call.error
    assert (1, []) == (record.going_on, changed)
    for name in ("", "m"):
        assert {("m", 1): [RUNNING]} == running.running(name)
    assert {} == running.running("other")

    left.instance.execution = None
    running._look()
    assert "cancelled: ran on line 3 of model.py, until 12:00:00" == call.error
    assert (0, [record]) == (record.going_on, changed)
    assert {} == running.running()


def test_without_a_thread_an_abandoned_model_is_left_alone(left, monkeypatch, caplog):
    """It is logged, and again what runs at the end."""

    def start(_):
        raise OutOfResourcesError("no thread is left")

    monkeypatch.setattr(abandoned.Watcher, "start", start)
    running = AbandonedExecutions(lambda _: None)
    running.add(left, None)
    running.close()

    assert [
        "interrupted models are left alone: no thread is left",
        RUNNING,
    ] == caplog.messages
