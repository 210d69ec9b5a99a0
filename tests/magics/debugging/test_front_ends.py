"""Specification of front ends other than JupyterLab, and of unknown debuggers."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import pytest
from cells import CONFIG, DOUBLE

from blsnb import Server
from blsnb.magics import default_server as default
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


def test_a_breakpoint_is_not_verified_if_the_debugger_is_unknown(unknown, tmp_path):
    """The reply names the reason; breakpoints in other cells are left alone."""

    async def set_breakpoints(message):
        given = message["arguments"]["breakpoints"]
        return {"body": {"breakpoints": [each | {"verified": True} for each in given]}}

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

    found = [reply["body"]["breakpoints"][0] for reply in replies]
    assert [False, True] == [each["verified"] for each in found]
    assert found[0]["message"] == unknown.refusal
    assert {"setBreakpoints": set_breakpoints} == handlers


VARIABLES = [
    ({"type": "Tensor", "value": "'X' FP32 [1]: 1.0"}, "Tensor 'X' FP32 [1]: 1.0"),
    ({"type": "InferenceRequest", "value": "request inputs: none"}, None),
    ({"type": "Tensor", "value": "<blsnb.Tensor object>"}, "Tensor"),
    ({"type": "Tensor"}, "Tensor "),
    ({"type": "int", "value": "1"}, "int"),
    ({"value": "1"}, None),
]


def test_values_are_described_as_their_types(unknown):
    """A tree of variables shows only these; a value without a text has none."""

    async def variables(message):
        return {"body": {"variables": [dict(given) for given, _ in VARIABLES]}}

    handlers = {"variables": variables}
    requests = KernelRequests(handlers, variables, unknown)
    requests.take_part()
    reply = asyncio.run(handlers["variables"]({}))
    expected = [shown for _, shown in VARIABLES]
    expected[1] = "InferenceRequest inputs: none"

    assert expected == [each.get("type") for each in reply["body"]["variables"]]


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """The file of a model in a folder that the default server has imported."""
    file = tmp_path / "models" / "double" / "1" / "model.py"
    file.parent.mkdir(parents=True)
    file.write_text(DOUBLE)
    (file.parent / "__init__.py").touch()
    (file.parents[1] / "config.pbtxt").write_text(CONFIG)
    with Server(model_repository=tmp_path / "models") as server:
        monkeypatch.setattr(default._default, "server", server)
        yield file


def test_the_text_of_an_editor_is_that_of_an_imported_file(imported, tmp_path):
    """Only a Python file that is open elsewhere is mapped, as long as texts agree."""
    debugger = CellDebugger(CellBook(SimpleNamespace()))
    other = str(tmp_path / "open.py")

    def opened(source, text):
        debugger.note_opened(source, text)
        return {lines.file: src for src, lines in debugger._opened.items()}

    assert {} == opened(str(tmp_path / "open.txt"), DOUBLE)
    assert {} == opened(str(imported), DOUBLE)
    assert {} == opened(other, "")
    assert {str(imported): other} == opened(other, DOUBLE)
    assert {} == opened(other, f"{DOUBLE}# edited\n")
