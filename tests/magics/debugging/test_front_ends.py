"""Specification of front ends other than JupyterLab, and of unknown debuggers."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import pytest

from blsnb.magics.cell_book import CellBook
from blsnb.magics.debugging.cell_debugger import CellDebugger
from blsnb.magics.debugging.kernel_requests import KernelRequests

from .cells import SYNC, line_of, run_of

VS_CODE = {
    "clientID": "vscode",
    "clientName": "Visual Studio Code",
    "supportsVariableType": True,
    "supportsVariablePaging": True,
    "supportsRunInTerminalRequest": True,
    "locale": "en",
}


@pytest.mark.notebook
def test_the_messages_of_vs_code_stop_in_the_cell(off):
    """Derived from its kernelDebugAdapter, not recorded: cells are dumped first."""
    source, run = SYNC.format(name="sent_by_code"), run_of("sent_by_code")
    line = line_of(source, "self.factor)")
    off.debug("debugInfo")
    off.attach(**VS_CODE)
    paths = {cell: off.path_of(cell) for cell in (source, run)}
    reply = off.debug(
        "setBreakpoints",
        source={"name": "notebook.ipynb", "path": paths[source]},
        lines=[line],
        breakpoints=[{"line": line}],
        sourceModified=False,
    )
    off.debug("setExceptionBreakpoints", filters=[])
    off.debug("configurationDone")
    stops = [*off.stops_of(source), *off.stops_of(run)]

    assert [True] == [dot["verified"] for dot in reply["body"]["breakpoints"]]
    assert [(paths[source], line)] == stops


@pytest.fixture
def unknown(monkeypatch):
    """A debugger of another version, which has none of the names."""
    pydevd = SimpleNamespace(get_global_debugger=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pydevd", pydevd)
    return CellDebugger(CellBook(SimpleNamespace()))


def test_an_unknown_debugger_is_reported_once(unknown, capsys):
    """No cell fails because of it."""
    for _ in range(3):
        unknown.begin_cell()

    assert 1 == capsys.readouterr().err.count("does not know this version of debugpy")


def test_a_dot_is_not_verified_if_the_debugger_is_unknown(unknown, tmp_path):
    """The reply names the reason; dots in other cells are left alone."""

    async def set_breakpoints(message):
        dots = message["arguments"]["breakpoints"]
        return {"body": {"breakpoints": [{"verified": True, **dot} for dot in dots]}}

    async def forward(message):
        return message

    handlers = {"setBreakpoints": set_breakpoints}
    requests = KernelRequests(handlers, forward, unknown)
    requests.take_part()
    replies = []
    for text in (SYNC.format(name="m"), "x = 1\ny = 2\n"):
        file = tmp_path / "cell.py"
        file.write_text(text)
        arguments = {"source": {"path": str(file)}, "breakpoints": [{"line": 2}]}
        message = {"command": "setBreakpoints", "arguments": arguments}
        replies.append(asyncio.run(handlers["setBreakpoints"](message)))
    requests.leave()

    dots = [reply["body"]["breakpoints"][0] for reply in replies]
    assert [False, True] == [dot["verified"] for dot in dots]
    assert dots[0]["message"] == unknown.refusal
    assert {"setBreakpoints": set_breakpoints} == handlers
