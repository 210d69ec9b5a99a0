"""Which stops end a step that has left its request."""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace

import pytest
import stage
from cells import CONFIG, DOUBLE, cell

from blsnb.debugger import steps as module
from blsnb.debugger.process_debugger import Stop
from blsnb.debugger.steps import DebuggerSteps


class Call:
    """A call, and the one that made it."""

    def __init__(self, parent):
        self.parent = parent
        self.instance = ""


class Executed:
    """An execution of one call."""

    def __init__(self, call):
        self.inflight = SimpleNamespace(call=call)
        self.inflights = [self.inflight]


def execution(parent=None):
    """Return an execution whose only call another execution has made."""
    return Executed(Call(None if parent is None else parent.inflight.call))


def stop(*, is_step: bool) -> Stop:
    """Return a stop in the frame of a test."""
    return Stop(sys._getframe(), True, is_step, *[lambda: None] * 3)


@pytest.fixture
def steps(monkeypatch):
    """Steps of one thread, whose step began in the execution `running`."""
    current = DebuggerSteps()
    monkeypatch.setattr(module, "attached", lambda: None)
    running = [None]
    monkeypatch.setattr(module, "execution_of", lambda frame: running[0])

    def run(found, command=""):
        running[0] = found
        if command:
            at = stop(is_step=False)
            current.stopped(at)
            current.request(command)
            current.resumed(at.frame)

    return SimpleNamespace(run=run, has_ended=current.has_ended)


@pytest.mark.parametrize("command", ["next", "stepIn", "stepOut"])
def test_a_step_ends_with_the_execution_in_which_it_began(steps, command):
    """A breakpoint of the next one stops; so does the step where it began."""
    began = execution()
    steps.run(began, command)
    assert steps.has_ended(stop(is_step=True)) is False

    steps.run(execution())
    assert steps.has_ended(stop(is_step=True)) is True
    assert steps.has_ended(stop(is_step=False)) is False


def test_a_step_goes_on_in_a_child_and_outside_of_models(steps):
    """A child descends from the execution, through any number of calls."""
    began = execution()
    steps.run(began, "stepIn")
    for found in (execution(began), execution(execution(began)), None):
        steps.run(found)
        assert steps.has_ended(stop(is_step=True)) is False


def test_without_a_step_nothing_has_ended(steps):
    """Neither before the first one nor after the thread has continued."""
    steps.run(execution())
    assert steps.has_ended(stop(is_step=True)) is False

    steps.run(execution(), "next")
    steps.run(execution(), "continue")
    steps.run(execution())
    assert steps.has_ended(stop(is_step=True)) is False


def test_a_step_keeps_no_execution(steps):
    """It has the tensors of its requests; the step of one that is gone has ended."""
    began = execution()
    steps.run(began, "next")
    freed = weakref.ref(began)
    del began
    steps.run(execution())
    gc.collect()

    assert freed() is None
    assert steps.has_ended(stop(is_step=True)) is True


CALLING = cell(
    """
    def name():
        stage.seen.append(calls_models(sys._getframe(1)))
        return "double"

    first = name()
    one = ask(name(), request).exec()
    two = [ask(each, request).exec() for each in [name()]]
    return [reply(answer_of(one))]
    """
).replace(
    "import asyncio\n",
    "import asyncio\nimport sys\n\nfrom blsnb.debugger.steps import calls_models\n",
    1,
)


def test_only_a_statement_of_a_model_that_calls_one_is_stepped_into(server):
    """Also one with a comprehension; the same words in other code call none."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", CALLING, config=CONFIG)
    server.infer("outer", {"X": [1.0]})

    assert [False, True, True] == stage.seen
    stage.seen.append(module.calls_models(sys._getframe()) and "".exec())
    assert stage.seen[-1] is False
