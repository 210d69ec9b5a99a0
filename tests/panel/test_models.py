"""Specification of the models in the panel: their rows, and actions on them."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from waiting import until

from blsnb.errors import ModelLoadError
from blsnb.panel.model_rows import ModelRows
from blsnb.panel.panel import Panel
from blsnb.parts.server_parts import parts_of
from blsnb.trace.events import Origin

from .conftest import Page

SOURCE = """
class TritonPythonModel:
    def execute(self, requests):
        return []
"""
SERVES_ALL = "version_policy { all {} }"

HELD = """
import os
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        while not os.path.exists({path!r}):
            time.sleep(0.01)
        return [pb_utils.InferenceResponse([]) for _ in requests]
"""


def read(rows, server):
    return rows.read(parts_of(server))


def test_a_row_has_the_state_the_origin_and_the_counters_of_a_model(server):
    """As the table of models has them."""
    server.define("double", SOURCE)
    row = read(ModelRows(), server)["double"]

    assert row.pop("load_s") > 0
    assert {
        "name": "double",
        "state": "READY",
        "reason": "",
        "origin": "define()",
        "versions": [1],
        "trouble": [],
        "differs": False,
        "standin": "",
        "running": [],
        "busy": 0,
        "instances": 1,
        "waiting": 0,
    } == row


def test_loads_unloads_failures_and_removals_are_seen_with_the_next_reading(server):
    """However little time there is for files."""
    rows = ModelRows(clock=iter(range(0, 10**12, 10**9)).__next__)
    for name in ("a", "b", "c"):
        server.define(name, SOURCE)
    read(rows, server)
    server.unload("a")
    with pytest.raises(ModelLoadError):
        server.define("b", "def:")
    server.remove("c")
    found = read(rows, server)

    assert ["a", "b"] == list(found)
    assert ("UNAVAILABLE", "unloaded") == (found["a"]["state"], found["a"]["reason"])
    assert ["newer text did not load: SyntaxError"] == [
        text.partition(": inv")[0] for text in found["b"]["trouble"]
    ]


def test_a_row_changes_when_another_text_of_the_same_origin_is_loaded(server):
    """The page then draws the graph again."""
    rows = ModelRows()
    server.define("double", SOURCE)
    before = read(rows, server)
    server.define("double", f"{SOURCE}# changed")

    assert before != read(rows, server)


def test_a_page_that_watches_receives_the_models_and_their_changes(server, panel, page):
    """Another page that does not watch receives nothing."""
    page.say(type="watch", what=["models"])
    server.define("double", SOURCE)

    assert until(lambda: "double" in page.rows("models"))
    server.unload("double")
    assert until(lambda: page.rows("models")["double"]["state"] == "UNAVAILABLE")


def test_the_first_message_is_answered_with_the_release_and_the_actions(page):
    """The page offers the actions that the kernel has."""
    welcome = page.received[0]

    assert "welcome" == welcome["type"]
    assert {"load", "unload", "try"} < set(welcome["actions"])


def test_load_and_unload_are_answered_with_a_sentence(server, page):
    """The model is loaded when the answer arrives."""
    server.define("double", SOURCE)
    page.act("unload", model="double")
    assert until(lambda: page.of("answer"))
    assert "double is unloaded." == page.answer["done"]
    page.act("load", model="double")

    assert until(lambda: page.answer["done"].startswith("double is loaded"))
    assert re.fullmatch(r"double is loaded in \d+ ms\.", page.answer["done"])
    assert "READY" == server.model("double").state


@pytest.mark.parametrize(
    ("message", "code", "text"),
    [
        (
            {"name": "explode", "model": "double"},
            "invalid",
            "name='explode' is not valid; expected one of 'load', 'unload', 'open', "
            "'edit', 'try', 'stats', 'diff', 'export', 'write_back'",
        ),
        (
            {"name": "load", "model": 7},
            "invalid",
            "model=7 is not valid; expected the name of a model",
        ),
        ({"name": "load", "model": ""}, "invalid", "model='' is not valid"),
        ({"name": "load", "model": "x" * 1025}, "invalid", "model='xxx"),
        (
            {"name": "load", "model": "x" * 1024},
            "gone",
            "this kernel has no model 'xxx",
        ),
        (
            {"name": "load", "model": "missing"},
            "gone",
            "this kernel has no model 'missing'",
        ),
        (
            {"name": "write_back", "model": "double"},
            "refused",
            "double: it comes from a cell, not from an imported folder: ",
        ),
        (
            {"name": "load", "model": "double", "v": 9},
            "version",
            "v=9 is not valid; expected 1: rerun the cell",
        ),
        (
            {"type": "evaluate"},
            "unsupported",
            "type='evaluate' is not valid; expected 'action'",
        ),
    ],
)
def test_a_request_that_cannot_be_served_is_answered_with_its_reason(
    server, page, message, code, text
):
    """And nothing of it is executed."""
    server.define("double", SOURCE)
    page.say(**{"type": "action", "id": "a", **message})

    assert until(lambda: page.of("answer"))
    error = page.answer["error"]
    assert (code, text) == (error["code"], error["text"][: len(text)])


def test_cells_are_answered_for_the_page_to_insert(server, page):
    """The kernel inserts nothing itself."""
    server.define("double", SOURCE)
    page.act("edit", model="double")
    assert until(lambda: page.of("answer"))
    assert (["one", "two"], False) == (page.answer["cells"], page.answer["run"])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [([], ""), (["In[3]"], "In[3]"), (["In[3]", "In[5]"], "In[5]")],
)
def test_opening_a_model_names_its_newest_cell(server, page, cells, expected):
    """Each of its versions may come from a cell of its own."""
    server.define("double", SOURCE, config=SERVES_ALL)
    for version, cell in enumerate(cells, start=1):
        source = f"{SOURCE}# {version}\n"
        parts_of(server).control.origins[source] = Origin(cell, 1)
        server.define("double", source, version=version, config=SERVES_ALL)
    page.act("open", model="double")

    assert until(lambda: page.of("answer"))
    place = {"model": "double", "cell": expected, "file": ""}
    assert place == page.answer["place"]


@pytest.mark.parametrize(
    ("files", "opened"),
    [
        (["config.pbtxt"], "config.pbtxt"),
        (["1/model.py"], "1/model.py"),
        (["1/model.py", "1/utils.py"], "1/model.py"),
        (["9/model.py", "10/model.py", "10/model/part.py"], "10/model.py"),
        (["1/other.py"], "1/other.py"),
    ],
)
def test_opening_an_imported_model_names_its_newest_model_file(
    server, page, tmp_path, files, opened
):
    """As seen from the folder in which Jupyter started the kernel."""
    for file in files:
        path = tmp_path / "double" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SOURCE if file.endswith(".py") else "")
    server.import_repository(tmp_path)
    page.act("open", model="double")

    assert until(lambda: page.of("answer"))
    place = {"model": "double", "cell": "", "file": f"../double/{opened}"}
    assert place == page.answer["place"]


def test_a_model_without_a_file_for_a_cell_is_not_edited(server, host):
    """With the reason."""
    server.define("double", SOURCE)
    page = Page()
    panel = Panel(replace(host, cells_of=lambda _: []))
    panel.accept(page, {"v": 1, "type": "hello"})
    page.act("edit", model="double")

    assert until(lambda: page.of("answer"))
    expected = {"code": "refused", "text": "double has no file that a cell could hold"}
    assert expected == page.answer["error"]
    panel.close()


@pytest.mark.parametrize(
    ("action", "runs"),
    [("try", True), ("stats", True), ("diff", True), ("export", False)],
)
def test_lines_run_at_once_unless_they_write_files(server, page, action, runs):
    """The user may first add a folder to the line of an export."""
    server.define("double", SOURCE)
    page.act(action, model="double")

    assert until(lambda: page.of("answer"))
    expected = ([f"%triton {action} double"], runs)
    assert expected == (page.answer["cells"], page.answer["run"])


def test_changed_cells_are_written_back_to_an_imported_folder(server, page, tmp_path):
    """A sentence names the model when the file is written."""
    file = tmp_path / "double" / "1" / "model.py"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    server.import_repository(tmp_path)
    server.define("double", f"{SOURCE}# changed\n")
    page.act("write_back", model="double")

    assert until(lambda: page.of("answer"))
    assert "The folder of double has what its cells changed." == page.answer["done"]
    assert file.read_text().endswith("# changed\n")


def test_closing_the_panel_closes_its_comms(panel, page):
    """So the page learns that the extension was unloaded."""
    panel.close()

    assert page.is_closed


def test_busy_instances_and_the_queue_are_seen_while_requests_run(
    server, page, tmp_path
):
    """Of two requests to one instance, one runs and one waits."""
    path = tmp_path / "go"
    server.define("held", HELD.format(path=str(path)))
    page.say(type="watch", what=["models"])

    def counts():
        row = page.rows("models").get("held", {})
        return row.get("busy"), row.get("waiting")

    with ThreadPoolExecutor(2) as clients:
        runs = [clients.submit(server.infer, "held", {}) for _ in range(2)]
        assert until(lambda: counts() == (1, 1)), counts()
        path.touch()
        for run in runs:
            run.result()
    assert until(lambda: counts() == (0, 0)), counts()
