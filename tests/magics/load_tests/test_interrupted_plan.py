"""Ctrl-C during a plan and its check, in a real kernel: nothing of them remains."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from waiting import until

from ..kernels import Kernel
from ..models import FLOW, infer

pytestmark = [
    pytest.mark.notebook,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
]
MODEL = f"""%%triton_model waiting {FLOW} --instances 1
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        with open("EXECUTED", "a") as file:
            file.write("x" * len(requests))
        time.sleep(0.01)
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))
        return answers
"""
SETUP = """
%load_ext blsnb
import os, json, threading, blsnb
from blsnb.magics import default_server
load = {"rate": 10, "p99_ms": 5e3, "instances": {"waiting": [2]}}
X = {"X": [1.0]}
"""
STATE = """
task = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
print(json.dumps([
    sorted(each.name for each in threading.enumerate()),
    open(task).read().split(),
    str(default_server.server().config("waiting")),
    [str(each.state) for each in default_server.server().models()],
    sorted(each for each in os.listdir(os.environ["TMPDIR"]) if "check" in each),
]))
"""
PLAN = "plan = blsnb.plan('waiting', X, requests=5, duration_s=0.2, **load)"
SEARCH = """
load |= {"rate": range(5, 300, 5), "instances": {"waiting": range(1, 100)}}
def report(share, step):
    if share > 0.31:
        print("searching", flush=True)
blsnb.plan("waiting", X, calibration=plan.calibration, progress=report, **load)
"""
STAGES = {
    "calibration": (
        "blsnb.plan('waiting', X, requests=10_000, duration_s=60, **load)",
        3,
    ),
    "search": (SEARCH, 0),
    "check": ("plan.check(duration_s=60)", 60),
}
"""Cells, and the number of executions after which each is interrupted."""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kernel, Path]]:
    """A kernel with a model and its plan, and the file of the model's executions."""
    folder = tmp_path_factory.mktemp("interrupted-plan")
    found = Kernel(folder)
    executed = folder / "executed"
    for cell in (SETUP, MODEL.replace("EXECUTED", str(executed)), PLAN):
        assert [] == [each for each in found.run(cell) if each.output_type == "error"]
    yield found, executed
    found.end()


@pytest.mark.parametrize("presses", [1, 2, 4])
@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_ends_a_plan(kernel, stage, presses):
    """The cell ends in an interrupt; nothing of the plan is left behind, also after
    further interrupts.
    """
    notebook, executed = kernel
    cell, executions = STAGES[stage]
    before = state(notebook)
    count = executed.stat().st_size
    request = notebook.start(cell)
    if executions:
        assert until(lambda: executed.stat().st_size >= count + executions, 60)
    else:
        assert "searching" in str(
            notebook.outputs(request, lambda found: "searching" in str(found))
        )
    for _ in range(presses):
        notebook.interrupt()
        notebook.pause(presses - 1)
    outputs = notebook.outputs(request, lambda found: False)

    assert "KeyboardInterrupt" in str(outputs)
    assert until(lambda: [] == state(notebook).beyond(before), 60)
    assert "waiting" in str(notebook.run(infer("waiting")))


class State(NamedTuple):
    """A kernel beside a plan."""

    threads: list[str]
    processes: list[str]
    config: str
    models: list[str]
    folders: list[str]

    def beyond(self, before: State) -> list[str]:
        """Return what was not there before; idle threads may have ended since."""
        threads = Counter(self.threads) - Counter(before.threads)
        others = zip(self._fields[1:], self[1:], before[1:], strict=True)
        return [*threads, *(name for name, now, then in others if now != then)]


def state(notebook: Kernel) -> State:
    """Return threads, processes, the configuration, models and folders of a check."""
    shown = notebook.run(STATE)
    # A busy kernel sends a line and its end one after the other.
    assert {"stream"} == {each.output_type for each in shown}, shown
    return State(*json.loads("".join(each.text for each in shown)))
