"""Rate limits: the order of executions, and refused loads."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import until

from .covering import rows
from .elsewhere import elsewhere

SOURCE = """
import os
import threading
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        self.name = args["model_name"]
        self.folder = os.path.dirname(args["model_repository"]) + "/../"

    def note(self, what):
        with open(self.folder + "events", "a") as out:
            out.write(f"{self.name} {what}\\n")

    def execute(self, requests):
        self.note("starts")
        while not os.path.exists(self.folder + "go"):
            threading.Event().wait(0.01)
        self.note("ends")
        y = pb_utils.Tensor("Y", np.array([len(requests)], np.int32))
        return [pb_utils.InferenceResponse([y]) for _ in requests]
"""
CONFIG = 'backend: "python" output { name: "Y" data_type: TYPE_INT32 dims: [ 1 ] }\n'


def group(*needs: str, priority: int = 0, count: int = 1) -> str:
    """Return an instance group with resources such as ``R:1`` or ``device R:1``."""
    resources = ""
    for text in needs:
        name, _, number = text.removeprefix("device ").partition(":")
        where = "false" if text.startswith("device ") else "true"
        resources += f'resources {{ name: "{name}" count: {number} global: {where} }} '
    return (
        f"instance_group {{ count: {count} kind: KIND_CPU rate_limiter {{ {resources}"
        f"priority: {priority} }} }}"
    )


@pytest.fixture
def folder(tmp_path_factory):
    """A fresh folder for each server."""
    return lambda: tmp_path_factory.mktemp("rates")


@contextlib.contextmanager
def running(target, place, models, resources):
    """Run a server with models, and return the result of each load."""
    for name, text in models.items():
        (place / "models" / name / "1").mkdir(parents=True)
        (place / "models" / name / "1" / "model.py").write_text(SOURCE)
        (place / "models" / name / "config.pbtxt").write_text(CONFIG + text)
    with elsewhere(target, place, resources=resources) as server:
        yield server, {name: server.load(name) for name in models}


def waiting(server):
    """Return how many requests wait to be executed."""
    return sum(
        int(float(line.split()[-1]))
        for line in server.metrics().splitlines()
        if line.startswith("nv_inference_pending_request_count{")
    )


def played(server, place, order):
    """Send requests to models while the first executes; return the events.

    All that begins before the first has ended is before the mark.
    """
    events, go = place / "events", place / "go"
    with ThreadPoolExecutor(len(order)) as pool:
        answers = []
        for number, name in enumerate(order):
            answers.append(pool.submit(server.infer, name))
            arrived = number + 1
            until(
                lambda arrived=arrived: (
                    events.exists()
                    and waiting(server) + events.read_text().count("starts") == arrived
                )
            )
        before = events.read_text().splitlines()
        go.touch()
        counts = [answer.result() for answer in answers]
    after = events.read_text().splitlines()[len(before) :]
    if len(before) > 1:
        # Those end in any order.
        after.sort()
    go.unlink()
    events.unlink()
    return [before, after, counts]


ORDERS = {
    "priority 2 gets half the turns": (
        {"a": group("R:1"), "b": group("R:1", priority=2)},
        {},
        ("aabab", "aaaaaabbbbbb", "bbbbaaaa"),
    ),
    "priority 3 gets a third": (
        {"a": group("R:1", priority=1), "b": group("R:1", priority=3)},
        {},
        ("aaaaaaaabbbbbb",),
    ),
    "two instances": (
        {"a": group("R:1", count=2), "b": group("R:1", priority=2)},
        {},
        ("aabab",),
    ),
    "one for each event, and nobody overtakes": (
        {"a": group("R:2"), "b": group("R:1"), "c": group("R:1"), "d": group("Q:1")},
        {},
        ("abcd",),
    ),
    "there is enough for some": (
        {"a": group("R:1", count=3), "b": group("device D:1", count=3)},
        {"R": 2, "D": {0: 2}},
        ("aaa", "bbb"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("models", "resources", "orders"), ORDERS.values(), ids=ORDERS)
def test_executions_take_turns(agree, folder, models, resources, orders):
    """Resources and executions times priority decide."""

    def case(target):
        place = folder()
        with running(target, place, models, resources) as (server, answers):
            return [answers, [played(server, place, order) for order in orders]]

    agree(case)


REFUSED = {
    "nothing given": (
        {
            "two_places": group("R:1", "device R:2"),
            "a": group("R:1"),
            "across": group("device R:2"),
            "b": group("R:1", "R:3"),
        },
        {},
    ),
    "given": (
        {
            "short": group("R:4"),
            "short_device": group("device R:3"),
            "unknown": group("Q:1"),
            "both": group("R:9", "device R:9"),
            "fits": group("R:2"),
            "larger": group("D:4"),
            "of_device": group("device E:3"),
            "other_device": group("device F:1"),
            "twice": group("R:1", "R:3"),
            "nothing": group("Q:0"),
            # The last, since Triton refuses what is loaded next, too.
            "both_fit": group("E:1", "device E:1"),
        },
        {"R": 2, "D": {None: 3, 1: 4}, "E": {None: 3, 0: 1}, "F": {1: 5}},
    ),
}


@rows("r2.6/resource-global-and-per-device", "r2.6/resource-short")
@pytest.mark.timeout(120)  # The real server loads eleven models, one by one.
@pytest.mark.parametrize(("models", "resources"), REFUSED.values(), ids=REFUSED)
def test_what_could_never_execute_does_not_load(agree, folder, models, resources):
    """The text is the real server's; a refused model leaves nothing."""

    def case(target):
        with running(target, folder(), models, resources) as (_, answers):
            return answers

    agree(case)


def test_without_a_limiter_nothing_is_refused(agree, folder):
    """Contradictions are accepted, too."""
    models = {"m": group("R:1", "device R:2")}

    def case(target):
        with running(target, folder(), models, None) as (_, answers):
            return answers

    agree(case)
