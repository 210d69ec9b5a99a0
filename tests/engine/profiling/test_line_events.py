"""Events of lines of `sys.monitoring`, from a stand-in that every Python has."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from blsnb.engine.profiling.line_events import Monitoring
from blsnb.errors import BlsnbError

KINDS = [
    "PY_START",
    "PY_RESUME",
    "PY_THROW",
    "LINE",
    "PY_RETURN",
    "PY_YIELD",
    "PY_UNWIND",
]
CODE = compile("", "a file", "exec")


class FakeMonitoring:
    """Keeps the calls and callbacks of a tool."""

    DISABLE = "off"
    events = SimpleNamespace(**{kind: 1 << n for n, kind in enumerate(KINDS)})

    def __init__(self):
        self.tools = {}
        self.callbacks = {}
        self.calls = []

    def get_tool(self, tool):
        return self.tools.get(tool)

    def use_tool_id(self, tool, name):
        self.tools[tool] = name

    def free_tool_id(self, tool):
        del self.tools[tool]

    def register_callback(self, tool, kind, callback):
        self.callbacks[tool, kind] = callback

    def set_events(self, *given):
        self.calls.append(given)

    def restart_events(self):
        self.calls.append("restart")


class Received:
    """Keeps what is reported of code of interest."""

    def __init__(self):
        self.is_of_interest = True
        self.events = []

    def concerns(self, frame):
        return self.is_of_interest

    def entered(self, frame, is_resumed):
        self.events.append(("entered", frame, is_resumed))

    def line(self, frame, line):
        self.events.append(("line", frame, line))

    def left(self, frame):
        self.events.append(("left", frame))


@pytest.fixture
def monitoring(monkeypatch):
    """A stand-in for `sys.monitoring`."""
    fake = FakeMonitoring()
    monkeypatch.setattr(sys, "monitoring", fake, raising=False)
    return fake


@pytest.mark.parametrize(("taken", "tool"), [({}, 4), ({4: "another"}, 3)])
def test_it_uses_a_free_number_for_a_while(monitoring, taken, tool):
    """Events of other tools stay as they are."""
    monitoring.tools.update(taken)
    events = Monitoring(Received())

    events.start()
    assert {**taken, tool: "blsnb"} == monitoring.tools
    assert [(tool, 127), "restart"] == monitoring.calls
    events.stop()
    assert taken == monitoring.tools
    assert (tool, 0) == monitoring.calls[-1]
    assert {(tool, 1 << n): None for n in range(7)} == monitoring.callbacks


def test_taken_numbers_are_refused_with_their_tools(monitoring):
    """Nothing of them changes."""
    taken = {4: "one", 3: "two", 2: "unrelated"}
    monitoring.tools.update(taken)

    with pytest.raises(BlsnbError) as caught:
        Monitoring(Received()).start()

    assert (
        "lines=True needs a tool number of sys.monitoring, and one, two use them: end "
        "one of these tools, and replay again"
    ) == str(caught.value)
    assert (taken, []) == (monitoring.tools, monitoring.calls)


def test_events_of_code_of_interest_are_reported_with_its_frame(monitoring):
    """Those of other code are switched off, except exceptions, which cannot be."""
    received = Received()
    Monitoring(received).start()

    def report():
        answers = []
        for n, detail in enumerate((1, 2, 3, 17, 4, 5, 6)):
            answers.append(monitoring.callbacks[4, 1 << n](CODE, detail))
        return answers

    assert [None] * 7 == report()
    assert [
        ("entered", False),
        ("entered", True),
        ("entered", True),
        ("line", 17),
        ("left",),
        ("left",),
        ("left",),
    ] == [(name, *rest) for name, _, *rest in received.events]
    assert {report.__code__} == {frame.f_code for _, frame, *_ in received.events}
    received.is_of_interest, received.events = False, []
    assert ["off", "off", None, "off", "off", "off", None] == report()
    assert [] == received.events


def test_execute_is_called_as_it_is():
    """Its thread needs no preparation."""
    assert [3] == Monitoring(Received()).run(lambda requests: [*requests], (3,))
