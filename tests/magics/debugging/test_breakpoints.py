"""Specification of breakpoints in the gutter of cells that define models."""

from __future__ import annotations

import pytest

from .cells import ASYNC, DECOUPLED, HEAD, LINE_MAGIC, SYNC, line_of, run_of

pytestmark = pytest.mark.notebook
KINDS = {
    "sync": SYNC,
    "async": ASYNC,
    "decoupled": DECOUPLED,
    "line_magic": LINE_MAGIC,
}
HELPED = SYNC.replace(HEAD, HEAD + "import helper\n").replace(
    "x * self.factor", "helper.twice(x)"
)
HELPER = """%%triton_file helped/1/helper.py
def twice(x):
    return x * 2
"""


@pytest.mark.parametrize("name", KINDS)
def test_a_breakpoint_stops_if_it_is_set_before_the_cell_first_runs(kernel, name):
    """The dot is bound when the model is loaded."""
    source = KINDS[name].format(name=name)
    line = line_of(source, "self.factor)")
    kernel.set_dots(source, line)

    assert [] == kernel.stops_of(source)
    assert [(kernel.path_of(source), line)] == kernel.stops_of(run_of(name))


@pytest.mark.parametrize("name", ["sync", "line_magic"])
def test_a_breakpoint_stops_if_it_is_set_after_the_cell_has_run(kernel, name):
    """The model is not loaded again."""
    source = KINDS[name].format(name=name)
    line = line_of(source, "self.factor)")
    kernel.run(source)
    kernel.set_dots(source, line)

    assert [(kernel.path_of(source), line)] == kernel.stops_of(run_of(name))


@pytest.mark.parametrize("name", ["sync", "async"])
def test_a_breakpoint_stops_if_the_debugger_is_switched_on_later(off, name):
    """The cells of all models are mapped when the debugger is on."""
    source = KINDS[name].format(name=name)
    line = line_of(source, "self.factor)")
    off.run(source)
    off.attach()
    off.set_dots(source, line)

    assert [(off.path_of(source), line)] == off.stops_of(run_of(name))


def test_a_dot_in_initialize_stops_when_the_model_is_loaded(kernel):
    """It stops in the first run of the cell, and in the next."""
    source = SYNC.format(name="initialized")
    line = line_of(source, "self.factor = 2")
    kernel.set_dots(source, line)
    stop = (kernel.path_of(source), line)

    assert [[stop], [stop]] == [kernel.stops_of(source) for _ in range(2)]


def test_a_breakpoint_stops_in_a_cell_that_was_edited_and_run_again(kernel):
    """The lines of the new text count, and the old text stops no longer."""
    old = SYNC.format(name="edited")
    new = old.replace("self.factor = 2", "self.factor = 3\n        self.bias = 0")
    kernel.set_dots(old, line_of(old, "self.factor)"))
    kernel.run(old)
    line = line_of(new, "self.factor)")
    kernel.set_dots(new, line)
    kernel.run(new)

    assert [(kernel.path_of(new), line)] == kernel.stops_of(run_of("edited"))


def test_a_breakpoint_stops_after_an_edit_that_did_not_load(kernel):
    """The model that still serves stops in the cell that defined it."""
    source = SYNC.format(name="kept")
    line = line_of(source, "self.factor)")
    kernel.set_dots(source, line)
    kernel.run(source)
    kernel.run(source.replace("self.factor = 2", "raise ValueError"))

    assert [(kernel.path_of(source), line)] == kernel.stops_of(run_of("kept"))


def test_a_breakpoint_stops_in_either_of_two_cells_with_the_same_text(kernel):
    """A front end knows both by their text, so each has those of the other."""
    source = SYNC.format(name="twice")
    line = line_of(source, "self.factor)")
    stops = []
    for _ in range(2):
        kernel.run(source)
        kernel.set_dots(source, line)
        stops += kernel.stops_of(run_of("twice"))

    assert [(kernel.path_of(source), line)] * 2 == stops


def test_a_breakpoint_stops_in_a_file_beside_the_model(kernel):
    """The cell of a helper is mapped as that of the model is."""
    kernel.run(HELPER)
    kernel.run(HELPED.format(name="helped"))
    kernel.set_dots(HELPER, 3)

    assert [(kernel.path_of(HELPER), 3)] == kernel.stops_of(run_of("helped"))


def test_a_breakpoint_stops_in_a_file_of_an_imported_repository(kernel, tmp_path):
    """JupyterLab's editor names an open file by its text, and a source by its path."""
    text = SYNC.format(name="").partition("\n")[2]
    line = line_of(text, "self.factor)")
    file = tmp_path / "imported" / "1" / "model.py"
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    (tmp_path / "imported" / "config.pbtxt").write_text(
        'input { name: "X" data_type: TYPE_FP32 dims: -1 }\n'
        'output { name: "Y" data_type: TYPE_FP32 dims: -1 }\n'
    )
    kernel.run(f"%triton import {tmp_path}")
    kernel.set_dots(text, line)
    in_the_editor = kernel.stops_of(run_of("imported"))
    kernel.set_dots(text)
    kernel.debug(
        "setBreakpoints", source={"path": str(file)}, breakpoints=[{"line": line}]
    )

    assert [(kernel.path_of(text), line)] == in_the_editor
    assert [line] == [where[1] for where in kernel.stops_of(run_of("imported"))]


def test_breakpoint_stops_in_the_source_of_the_cell(kernel):
    """No frame of blsnb is between the model and the cell that runs it."""
    text = "responses = []"
    source = SYNC.replace(text, f"breakpoint()\n        {text}").format(name="stopping")
    kernel.run(source)
    run = run_of("stopping")
    request = kernel.start(run)
    thread = kernel.stop_of(request)
    sources = [frame["source"]["path"] for frame in kernel.stack(thread)]
    line = kernel.where(thread)[1]
    kernel.finish(thread, request)

    assert [kernel.path_of(source), kernel.path_of(run)] == sources[:2]
    assert line in (line_of(source, "breakpoint()"), line_of(source, text))


def test_the_filters_of_the_user_are_kept(kernel):
    """The package is left out of stacks in addition to them."""
    shown = kernel.run(
        "import pydevd\n"
        "found = pydevd.get_global_debugger()._files_filtering._exclude_filters\n"
        "names = [each.name for each in found]\n"
        "print(len(names) > 2, sum('blsnb/**' in name for name in names))"
    )

    assert ["True 1\n"] == [each["text"] for each in shown]


def test_frames_are_named_by_their_cells(kernel):
    """A frame of a model has the model's name too."""
    source = SYNC.format(name="named")
    kernel.run(source)
    kernel.set_dots(source, line_of(source, "self.factor)"))
    request = kernel.start(run_of("named"))
    thread = kernel.stop_of(request)
    model, cell = [frame["name"] for frame in kernel.stack(thread)][:2]
    kernel.finish(thread, request)

    assert model.startswith("execute (named, In[")
    assert cell.startswith("<module> (In[")


NO_CODE = "there is no code on this line or above it in the cell"


@pytest.mark.parametrize(
    ("text", "line", "bound"),
    [
        ("%%triton_model", 1, None),
        ("class TritonPythonModel", 0, 0),
        ("\n\nclass", 0, -1),
    ],
)
def test_a_dot_without_code_is_moved_or_not_verified(kernel, text, line, bound):
    """A dot moves to code above it; a dot on the magic's line is not verified."""
    source = SYNC.format(name="unbound")
    asked = line or line_of(source, "class Triton") - text.count("\n") // 2
    [dot] = kernel.set_dots(source, asked)

    expected = (True, asked + bound) if bound is not None else (False, asked)
    assert expected == (dot["verified"], dot["line"])
    reason = None if dot["verified"] else NO_CODE
    assert reason == dot.get("message")
