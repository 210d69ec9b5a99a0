"""Specification of Ctrl-C while the debugger is on."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.notebook
LOCK = "import builtins, threading\nbuiltins.shut = threading.Lock()\nshut.acquire()"
MODEL = """%%triton_model blocked
import builtins

class TritonPythonModel:
    {}def execute(self, requests):
        print("begun", flush=True)
        builtins.shut.acquire()
"""
CALL = "import blsnb\nblsnb.infer('blocked', {})"


def has_begun(outputs):
    """Whether the model runs."""
    return "begun\n" in [each.get("text") for each in outputs]


def test_ctrl_c_ends_a_cell_whose_coroutine_waits_in_native_code(kernel):
    """No exception stays pending for a thread that runs no Python code."""
    kernel.run(LOCK)
    kernel.run(MODEL.format("async "))
    request = kernel.start(CALL)
    kernel.outputs(request, has_begun)
    kernel.interrupt()
    shown = kernel.outputs(request, lambda found: False)

    assert "KeyboardInterrupt" in [each.get("ename") for each in shown]
    assert ["1\n"] == [each["text"] for each in kernel.run("shut.release()\nprint(1)")]
