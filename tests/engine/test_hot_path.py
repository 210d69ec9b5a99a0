"""What one ``exec()`` may cost: counted, since time is another in every run.

Who makes the way of a request longer than this raises the numbers below, and says in
``docs/performance.md`` what that bought; who makes it shorter lowers them.
"""

import statistics
import sys
import time

import numpy as np
import pytest
import stage
from cells import CONFIG, cell

from .instructions import compiled_calls, functions, instructions

MARGIN = 1.1
INSTRUCTIONS = {(3, 11): 2300, (3, 12): 2160, (3, 13): 2150}
"""Of Python's interpreter, from ``exec()`` of an identity model until its answer."""
COMPILED_CALLS = 45
"""Calls of functions that are not Python's, whose insides are not counted."""
FUNCTIONS = 63
"""Calls of functions that are Python's: each costs as much as ten instructions."""
REFERENCES = 1.5
"""How often a loop of Python's runs in the time of one ``exec()``, at most."""
IDENTITY = cell("return [reply(x_of(request))]")
ASKING = cell(
    """
    def question():
        values = pb_utils.Tensor("X", np.zeros(16, np.float32))
        return pb_utils.InferenceRequest(
            model_name="identity",
            inputs=[values],
            requested_output_names=["Y"],
            trace=request.trace(),
        )
    stage.values["measure"](question)
    return [reply(x_of(request))]
    """
)
WARM = 100


@pytest.fixture
def measured(server):
    """Run a measurement inside a model, with what makes questions to another one."""
    server.define("identity", IDENTITY, config=CONFIG)
    server.define("asking", ASKING, config=CONFIG)

    def run(measure):
        found = []

        def measuring(question):
            for _ in range(WARM):
                question().exec()
            found.append(measure(question))

        stage.values["measure"] = measuring
        server.infer("asking", {"X": np.zeros(1, np.float32)})
        return found[0]

    return run


def test_exec_takes_no_more_instructions_than_it_did(measured):
    """A tenth more fails: the path of a BLS call grows on purpose only."""
    allowed = INSTRUCTIONS.get(sys.version_info[:2])
    if allowed is None:
        pytest.skip("nobody has counted the instructions of this Python yet")
    counts = measured(lambda question: instructions(question().exec))

    assert counts.total() <= MARGIN * allowed, counts.most_common(20)


def test_exec_calls_no_more_compiled_functions_than_it_did(measured):
    """Each may take any time: copies, locks and clocks are among them."""
    counts = measured(lambda question: compiled_calls(question().exec))

    assert counts.total() <= MARGIN * COMPILED_CALLS, counts


def test_exec_calls_no_more_functions_than_it_did(measured):
    """What is made of several small ones is slower for each."""
    counts = measured(lambda question: functions(question().exec))

    assert counts.total() <= MARGIN * FUNCTIONS, counts


def test_exec_takes_no_longer_than_a_loop_of_python(measured):
    """Compared in turns with what the same machine does at the same time."""
    ratio = measured(lambda question: statistics.median(ratios(question)))

    assert ratio <= REFERENCES


def ratios(question, rounds=9, calls=50):
    """Yield how long exec() takes, in parts of the reference."""
    for _ in range(rounds):
        questions = [question() for _ in range(calls)]
        start = time.thread_time_ns()
        for each in questions:
            each.exec()
        middle = time.thread_time_ns()
        for _ in range(calls):
            reference()
        yield (middle - start) / (time.thread_time_ns() - middle)


def reference():
    """Do what a call does, and nothing of it: calls, objects and attributes."""
    for number in range(200):
        thing = Thing(number, (number,))
        thing.last = len(thing.parts)


class Thing:
    """An object as the engine makes them."""

    __slots__ = ("first", "last", "parts")

    def __init__(self, first, parts):
        self.first = first
        self.parts = parts
        self.last = None
