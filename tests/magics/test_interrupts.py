"""Ctrl-C in a real kernel: where it hit, and how soon the prompt is back."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from .kernels import Kernel, seconds_without_cpu
from .models import FLOW, infer

pytestmark = [
    pytest.mark.notebook,
    pytest.mark.filterwarnings("default"),
]
_PROMPT_S = 1.0
_TRIES = 3
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
NATIVE_SLEEP = "        time.sleep(3)  # here\n"
AWAIT = """        import asyncio
        await asyncio.sleep(60)  # here
"""
SWALLOW = """        while True:  # here
            try:
                time.sleep(60)  # here
            except BaseException:  # here
                pass  # here
"""
SWALLOW_BUSY = """        while True:  # here
            try:
                for _ in range(1000):  # here
                    pass  # here
            except BaseException:  # here
                pass  # here
"""
SWALLOW_AWAIT = """        import asyncio
        while True:
            try:
                await asyncio.sleep(60)  # here
            except BaseException:
                pass
"""
FINALLY = """        try:
            time.sleep(60)
        finally:
            time.sleep(0.2)
            print("cleaning")
            pb_utils.Logger.log_info("cleaning")
            print("cleaned", "up", flush=True)
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


NATIVE = """        import held_lock
        held_lock.lock.acquire()  # here
"""
LOCK = """import sys, threading, types
sys.modules["held_lock"] = held_lock = types.ModuleType("held_lock")
held_lock.lock = threading.Lock()
held_lock.lock.acquire()
"""
CONFIG = """own_thread = '''
name: "owned"
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ -1 ] }
parameters { key: "BLSNB_THREAD" value { string_value: "instance" } }
'''
"""
OWN_THREAD = SYNC.replace(f"busy {FLOW}", "owned --config own_thread")
CLEAN = """        try:
            time.sleep(60)
        except BaseException:
            import os, signal
            try:
                os.kill(os.getpid(), signal.SIGINT)
                print("ignored", flush=True)
                time.sleep(60)
            finally:
                print("second", flush=True)
"""
CHILD = f"""%%triton_model child {FLOW}
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        import threading
        threading.Timer(0.1, print, ("{MARK}",), {{"flush": True}}).start()
        while True:  # here
            pass  # here
"""
PARENT = f"""%%triton_model parent {FLOW}
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        asked = pb_utils.InferenceRequest(
            model_name="child", requested_output_names=["Y"],
            inputs=requests[0].inputs(),
        )
        asked.exec()
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


def interrupted(
    kernel: Kernel, source: str, presses: int = 1
) -> tuple[list[Any], float]:
    """Run a cell and interrupt its model; return all outputs and the seconds.

    The seconds are those in which the machine let the kernel and this process run.
    """
    running = kernel.start(source)
    before = kernel.outputs(running, lambda found: MARK in str(found))
    assert MARK in str(before)
    clock = _Clock(kernel.pid, os.getpid())
    for _ in range(presses):
        kernel.interrupt()
        kernel.pause(presses - 1)
    after = kernel.outputs(running, lambda found: False)
    return [*before, *after], clock.seconds


class _Clock:
    """The time since its making, without what processes waited for a processor."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._waited_s = seconds_without_cpu(*pids)
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds in which the processes could run."""
        elapsed = time.monotonic() - self._start
        return elapsed - max(0.0, seconds_without_cpu(*self._pids) - self._waited_s)


def interrupted_in_time(kernel: Kernel, source: str) -> list[Any]:
    """Return the outputs of a cell whose prompt is back within a second.

    The fastest of a few counts: processors of a virtual machine have slow spells.
    """
    outputs, seconds = interrupted(kernel, source)
    for _ in range(_TRIES - 1):
        if seconds >= _PROMPT_S:
            _, seconds = interrupted(kernel, source)
    assert seconds < _PROMPT_S
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
    [SYNC + SLEEP, ASYNC + AWAIT, IMPORT, INITIALIZE, ASYNC + NATIVE_SLEEP],
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
    """The prompt is back within a second, twice, and nothing runs on."""
    assert not errors(kernel.run(source))
    for _ in range(2):
        outputs = interrupted_in_time(kernel, infer("busy"))
        assert last_place(traceback_of(outputs)) in lines_here(source)
        assert "ran on" not in str(outputs)
        assert "still running" not in str(outputs)


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


@pytest.mark.parametrize(
    "source",
    [
        ASYNC + NATIVE,
        OWN_THREAD + NATIVE,
        OWN_THREAD.replace("def execute", "async def execute") + NATIVE,
    ],
    ids=["async", "own thread", "async on own thread"],
)
def test_code_that_cannot_be_interrupted_is_listed_while_it_runs(kernel, source):
    """Native code continues after the prompt is back."""
    assert not errors(kernel.run(LOCK + CONFIG))
    assert not errors(kernel.run(source))
    interrupted(kernel, infer(source.split()[1]))

    shown = str(kernel.run("%triton models"))

    line = re.findall(r"model\.py:(\d+)", lines_here(source)[0])[0]
    assert f"is still running line {line} of model.py, since " in shown
    assert not errors(kernel.run(source))
    assert not errors(kernel.run("held_lock.lock.release()"))
    assert until(lambda: "still running" not in str(kernel.run("%triton models")))


def test_what_runs_on_is_shown_also_after_an_unload(kernel):
    """Models, monitor, unload and view name the line and the time until it ends."""
    source = ASYNC + NATIVE
    assert not errors(kernel.run(LOCK))
    assert not errors(kernel.run(source))
    line = re.findall(r"model\.py:(\d+)", lines_here(source)[0])[0]
    running = f"still running line {line} of model.py, since "

    outputs, _ = interrupted(kernel, infer("busy"))

    (view,) = [each for each in outputs if "blsnb-run" in str(each)]
    assert running in view.data["text/plain"]
    monitor = "print(blsnb.server().monitor())"
    for cell in ("%triton models", monitor, "%triton unload busy"):
        assert running in str(kernel.run(cell)), cell
    for cell in ("%triton models", monitor, "%triton remove busy"):
        assert running in str(kernel.run(f"{cell}\n%triton models")), cell
    # The view changes where it stands, while another cell runs.
    kernel.updates.clear()
    freed = kernel.start("held_lock.lock.release(); import time; time.sleep(30)")
    kernel.outputs(freed, lambda found: bool(kernel.updates))
    kernel.interrupt()
    kernel.outputs(freed, lambda found: False)
    shown = str(kernel.updates)
    assert "interrupted: ran on line 10 of model.py, until " in shown
    for cell in ("%triton models", monitor):
        assert running not in str(kernel.run(cell)), cell


def test_a_second_press_ends_the_cleanup_of_the_first(kernel):
    """It is raised at once, and not only when the grace has passed."""
    assert not errors(kernel.run(SYNC + CLEAN))

    outputs = interrupted_in_time(kernel, infer("busy"))

    assert "second" in str(outputs)
    assert "ignored" not in str(outputs)


@pytest.mark.parametrize("source", [SYNC + LOOP, ASYNC + LOOP, SYNC + SWALLOW])
def test_ten_fast_presses_are_one(kernel, source):
    """One traceback without a frame of blsnb, and the view."""
    assert not errors(kernel.run(source))

    outputs, _ = interrupted(kernel, infer("busy"), presses=10)

    text = traceback_of(outputs)
    assert "blsnb/" not in text
    assert last_place(text) in lines_here(source)
    # Jupyter itself prints the name of the exception that hits it later.
    texts = str([each for each in outputs if each.output_type == "stream"])
    assert "Error in callback" not in texts
    assert any("blsnb-run" in str(each) for each in outputs)
    assert "2" == kernel.run("1 + 1")[0].data["text/plain"]


@pytest.mark.parametrize("is_async", [False, True], ids=["exec", "async_exec"])
def test_the_traceback_of_nested_models_leads_to_the_child(kernel, is_async):
    """The parent's line stands above the child's, where that runs on its thread."""
    parent = PARENT
    if is_async:
        parent = PARENT.replace("def execute", "async def execute")
        parent = parent.replace("asked.exec()", "await asked.async_exec()")
    assert not errors(kernel.run(CHILD))
    assert not errors(kernel.run(parent))

    outputs = interrupted_in_time(kernel, infer("parent"))

    places = re.findall(r"line \d+ \(model\.py:\d+\)", traceback_of(outputs))
    assert "line 10 (model.py:9)" in places
    if not is_async:
        assert places.index("line 10 (model.py:9)") < len(places) - 1
        assert places[-1] in lines_here(CHILD)
    assert until(lambda: "still running" not in str(kernel.run("%triton models")))


@pytest.mark.parametrize("now", [True, False], ids=["killed", "asked"])
def test_a_restart_in_a_call_leaves_no_process_and_no_folder(tmp_path, now):
    """The folders of a killed kernel go when the next one makes a server."""
    kernel = Kernel(tmp_path)
    try:
        assert not errors(kernel.run("%load_ext blsnb"))
        assert not errors(kernel.run(ASYNC + SLEEP))
        running = kernel.start(infer("busy"))
        kernel.outputs(running, lambda found: MARK in str(found))
        folders, pid = set(tmp_path.iterdir()), kernel.pid
        assert folders

        kernel.restart(now=now)

        assert pid != kernel.pid
        assert until(lambda: not Path(f"/proc/{pid}").exists())
        assert not errors(kernel.run("%load_ext blsnb\nimport blsnb; blsnb.server()"))
        assert until(lambda: not folders & set(tmp_path.iterdir()))
    finally:
        kernel.end()
