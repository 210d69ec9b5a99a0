"""What `breakpoint()` says where the notebook's debugger is off."""

from __future__ import annotations

import sys
import types

import pytest

from ..models import DOUBLE, infer

INFER = "answer = blsnb.infer('double', {'X': [1.0]})"
STOPPING = DOUBLE.replace("answers = []", "answers = []; breakpoint()")


@pytest.fixture
def debugger(monkeypatch):
    """A notebook's debugger that is not attached, and its received calls."""
    debugger = types.SimpleNamespace(attached=False, stops=0)

    def debugpy_breakpointhook():
        debugger.stops += 1

    module = types.SimpleNamespace(is_client_connected=lambda: debugger.attached)
    monkeypatch.setitem(sys.modules, "debugpy", module)
    monkeypatch.setattr(sys, "breakpointhook", debugpy_breakpointhook)
    return debugger


def test_an_ignored_breakpoint_is_reported(debugger, notebook):
    """It is reported once, with the cell's line and advice."""
    notebook.run(STOPPING)
    ran = notebook.run(f"import blsnb\nfor _ in range(3):\n    {INFER}")

    [text] = ran.stdout.splitlines()
    begun, _, advice = text.partition(" did not stop: ")
    assert f"breakpoint() at cell {notebook.cell(ago=1)} line" in begun
    assert (
        "the debugger of the notebook is off. Turn it on (the bug at the top right of "
        "JupyterLab) and run the cell again, or use import pdb; pdb.set_trace()."
    ) == advice
    assert 0 == debugger.stops


def test_a_debugger_that_is_attached_stops(debugger, notebook):
    """The model calls the debugger's own hook, as without blsnb."""
    notebook.run(STOPPING)
    notebook.run(infer("double"))
    debugger.attached = True
    ran = notebook.run(infer("double"))

    assert "did not stop" not in ran.stdout
    assert 1 == debugger.stops
    assert "debugpy_breakpointhook" == sys.breakpointhook.__name__


def test_a_debugger_that_is_attached_during_a_cell_stops(debugger, notebook):
    """The hook was replaced when the cell began."""
    attach = "sys.modules['debugpy'].is_client_connected = lambda: True"
    ran = notebook.run(f"import sys\n{attach}\nbreakpoint()")

    assert "did not stop" not in ran.stdout
    assert 1 == debugger.stops


def test_a_hook_of_the_user_is_kept(notebook, monkeypatch):
    """Only the hook of the notebook's debugger is replaced."""
    seen = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: seen.append("stopped"))
    notebook.run("breakpoint()")

    assert ["stopped"] == seen
