"""Ctrl-C in a real kernel: where it hit, and how soon the prompt is back."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import until

from .kernels import Kernel
from .models import FLOW, infer

pytestmark = [
    pytest.mark.notebook,
    pytest.mark.filterwarnings("default"),
]
_PROMPT_S = 1.0
_TRIES = 5
MARK = "model runs now"
HEAD = f"""%%triton_model busy {FLOW}
import threading
import time

import triton_python_backend_utils as pb_utils

"""
SYNC = f"""{HEAD}class TritonPythonModel:
    def execute(self, requests):
        threading.Timer(0.1, print, ("{MARK}",), {{"flush": True}}).start()
"""
ASYNC = SYNC.replace("def execute", "async def execute")
LOOP = """        while True:  # here
            pass  # here
"""
SLEEP = "        time.sleep(60)  # here\n"
AWAIT = """        import asyncio
        await asyncio.sleep(60)  # here
"""
SWALLOW = """        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass
"""
SWALLOW_BUSY = """        while True:
            try:
                for _ in range(1000):
                    pass
            except BaseException:
                pass
"""
SWALLOW_AWAIT = """        import asyncio
        while True:
            try:
                await asyncio.sleep(60)
            except BaseException:
                pass
"""
FINALLY = """        try:
            time.sleep(60)
        finally:
            time.sleep(0.2)
            print("cleaned up", flush=True)
"""
IMPORT = f"""{HEAD}threading.Timer(0.1, print, ("{MARK}",), {{"flush": True}}).start()
while True:  # here
    pass  # here
"""
INITIALIZE = f"""{HEAD}class TritonPythonModel:
    def initialize(self, args):
        threading.Timer(0.1, print, ("{MARK}",), {{"flush": True}}).start()
        while True:  # here
            pass  # here
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory) -> Iterator[Kernel]:
    """A kernel with blsnb, shared by the tests of this file."""
    kernel = Kernel(tmp_path_factory.mktemp("temporary"))
    assert not errors(kernel.run("%load_ext blsnb"))
    yield kernel
    kernel.end()


def errors(outputs: list[Any]) -> list[Any]:
    """Return the errors among outputs."""
    return [output for output in outputs if output.output_type == "error"]


def interrupted(kernel: Kernel, source: str) -> tuple[list[Any], float]:
    """Run a cell and interrupt its model; return all outputs and the seconds."""
    running = kernel.start(source)
    before = kernel.outputs(running, lambda found: MARK in str(found))
    assert MARK in str(before)
    start = time.monotonic()
    kernel.interrupt()
    after = kernel.outputs(running, lambda found: False)
    return [*before, *after], time.monotonic() - start


def interrupted_in_time(kernel: Kernel, source: str) -> list[Any]:
    """Return the outputs of a cell whose prompt is back within a second.

    A busy machine may suspend the kernel for longer: one of several tries counts.
    """
    took: list[float] = []
    while len(took) < _TRIES and (not took or min(took) >= _PROMPT_S):
        outputs, seconds = interrupted(kernel, source)
        took.append(seconds)
    assert min(took) < _PROMPT_S
    return outputs


def traceback_of(outputs: list[Any]) -> str:
    """Return the only error's traceback without colours."""
    (error,) = errors(outputs)
    assert "KeyboardInterrupt" == error.ename
    return re.sub(r"\x1b\[\d*(;\d+)*m", "", "\n".join(error.traceback))


def last_place(text: str) -> str:
    """Return the last location of a traceback, without the cell's number."""
    return re.findall(r"cell In\[\d+\] (line \d+ \(model\.py:\d+\))", text)[-1]


def lines_here(source: str) -> list[str]:
    """Return the locations of running lines as in a traceback."""
    lines = source.splitlines()
    numbers = [n for n, line in enumerate(lines, 1) if line.endswith("# here")]
    return [f"line {number} (model.py:{number - 1})" for number in numbers]


@pytest.mark.parametrize(
    "source",
    [SYNC + SLEEP, ASYNC + AWAIT, IMPORT, INITIALIZE, ASYNC + SLEEP],
    ids=["sync", "async", "import", "initialize", "sleep in async"],
)
def test_the_traceback_ends_in_the_models_line(kernel, source):
    """The traceback names the cell and the line, and shows no frame of blsnb."""
    runs = "execute" in source
    if runs:
        assert not errors(kernel.run(source))
    outputs, _ = interrupted(kernel, infer("busy") if runs else source)

    text = traceback_of(outputs)
    assert last_place(text) in lines_here(source)
    assert "blsnb/engine" not in text
    assert "lifetime.py" not in text


@pytest.mark.parametrize("start", [SYNC, ASYNC], ids=["sync", "async"])
def test_a_busy_loop_ends_in_its_own_line(kernel, start):
    """A loop that never waits ends at once, and its lines end the traceback."""
    assert not errors(kernel.run(start + LOOP))

    outputs = interrupted_in_time(kernel, infer("busy"))

    assert last_place(traceback_of(outputs)) in lines_here(start + LOOP)


@pytest.mark.parametrize(
    "source",
    [
        SYNC + SWALLOW,
        SYNC + SWALLOW_BUSY,
        ASYNC + SWALLOW_BUSY,
        ASYNC + SWALLOW_AWAIT,
    ],
    ids=["sync sleeping", "sync busy", "async busy", "async waiting"],
)
def test_a_model_that_swallows_the_interrupt_ends(kernel, source):
    """The prompt is back within a second, twice, and the kernel survives."""
    assert not errors(kernel.run(source))
    for _ in range(2):
        outputs = interrupted_in_time(kernel, infer("busy"))
        assert "KeyboardInterrupt" in traceback_of(outputs)

    assert not errors(kernel.run("1 + 1"))


def test_a_cleanup_of_200_ms_completes(kernel):
    """The interrupt is not raised again within the grace period."""
    assert not errors(kernel.run(SYNC + FINALLY))

    outputs = interrupted_in_time(kernel, infer("busy"))

    assert "cleaned up" in str(outputs)


def test_the_view_shows_the_interrupted_call_with_its_inputs(kernel):
    """The cell shows the run after the error, with the input's values."""
    assert not errors(kernel.run(SYNC + SLEEP))

    outputs, _ = interrupted(kernel, infer("busy"))

    shown = [each for each in outputs if "blsnb-run" in str(each)]
    assert shown
    found = kernel.run(
        "import re\n"
        "from blsnb.parts.server_parts import parts_of\n"
        "call = parts_of(blsnb.server()).recorder.runs[-1].calls[0]\n"
        "print(call.error, [each.name for each in call.inputs])"
    )
    assert "interrupted ['X']\n" == found[0].text


def test_code_that_cannot_be_interrupted_is_listed_while_it_runs(kernel):
    """Native code continues after the prompt is back."""
    native = "        time.sleep(3)  # here\n"
    source = ASYNC + native
    assert not errors(kernel.run(source))
    interrupted(kernel, infer("busy"))

    shown = str(kernel.run("%triton models"))

    line = re.findall(r"model\.py:(\d+)", lines_here(source)[0])[0]
    assert f"is still running line {line} of model.py, since " in shown
    assert "is still running line" in str(kernel.run("%triton unload busy"))
    assert not errors(kernel.run(source))
    assert until(lambda: "still running" not in str(kernel.run("%triton models")))
