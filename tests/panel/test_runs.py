"""Specification of the runs and log lines in the panel."""

from pathlib import Path

import numpy as np
import pytest
from cells import calling
from waiting import until

from blsnb.engine.model_log import ModelLog
from blsnb.panel import run_actions
from blsnb.panel.run_rows import LogRows, page_id_of
from blsnb.parts.server_parts import parts_of
from blsnb.views.documents.wire import page_id

SOURCE = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        pb_utils.Logger.log_info(f"{len(requests)} requests")
        x = pb_utils.get_input_tensor_by_name(requests[0], "X").as_numpy()
        if x[0] < 0:
            raise ValueError("negative")
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", 2 * x)])]
"""
CARELESS = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for _ in range(2):
            pb_utils.InferenceRequest(model_name="gone", inputs=[],
                requested_output_names=[]).exec()
        x = pb_utils.get_input_tensor_by_name(requests[0], "X").as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])]
"""
CONFIG = """
input { name: "X" data_type: TYPE_FP32 dims: -1 }
output { name: "Y" data_type: TYPE_FP32 dims: -1 }
"""
ENSEMBLE = """
name: "steps" platform: "ensemble"
input { name: "X" data_type: TYPE_FP32 dims: -1 }
output { name: "Y" data_type: TYPE_FP32 dims: -1 }
ensemble_scheduling { step {
  model_name: "double" model_version: -1
  input_map { key: "X" value: "X" }
  output_map { key: "Y" value: "Y" }
} }
"""


@pytest.fixture
def run(server):
    """A run of a model."""
    server.define("double", SOURCE, config=CONFIG)
    return infer(server)


def infer(server, name="double"):
    return server.infer(name, {"X": np.ones(2, np.float32)})


def answered(page):
    count = len(page.of("answer"))
    return lambda: len(page.of("answer")) > count


def act(page, name, **about):
    """Return the answer to an action."""
    arrived = answered(page)
    page.act(name, **about)
    assert until(arrived)
    return page.answer


def html(answer):
    offset, size = answer["page"]["html"]
    return answer["buffers"][0][offset : offset + size].decode()


def test_a_run_is_a_row_with_its_time_model_duration_calls_and_errors(
    server, page, run
):
    """By the page id that its document has."""
    page.say(type="watch", what=["runs"])
    assert until(lambda: page.rows("runs", "run"))
    [[name, row]] = page.rows("runs", "run").items()

    assert page_id(run.trace) == name
    assert run.started_at.timestamp() == pytest.approx(row["at_ms"] / 1000, abs=1)
    assert run.duration_ms == pytest.approx(row["duration_us"] / 1000)
    expected = {"model": "double", "calls": 1, "errors": 0, "pinned": False}
    assert expected == {key: row[key] for key in expected}


def test_pinned_and_deleted_runs_are_shown_as_such(server, page, run):
    """A deleted run leaves the list; one that is held stays usable."""
    page.say(type="watch", what=["runs"])
    name = page_id(run.trace)
    act(page, "pin", run=name)
    assert until(lambda: page.rows("runs", "run").get(name, {}).get("pinned"))
    act(page, "delete", run=name)

    assert until(lambda: {} == page.rows("runs", "run"))
    assert [2.0, 2.0] == run["Y"].tolist()


def test_a_run_is_answered_as_its_linked_view_and_connected(
    server, page, run, connected
):
    """So the tab reads every kept tensor from the kernel."""
    answer = act(page, "view", run=page_id(run.trace))

    assert f'data-run="{page_id(run.trace)}"' in html(answer)
    assert [run] == connected


def test_two_runs_are_compared_and_one_is_replayed(server, page, run):
    """A replay is a new run; both are answered as pages."""
    other = infer(server)
    names = {"run": page_id(other.trace), "baseline": page_id(run.trace)}
    compared = act(page, "compare", **names)
    replayed = act(page, "replay", run=page_id(run.trace))

    assert f"-vs-{page_id(run.trace)}" in html(compared)
    assert f"replay of {run.id}" == replayed["page"]["title"]
    assert 3 == len(server.runs)


def test_saving_writes_a_new_file_each_time(server, page, run, tmp_path, monkeypatch):
    """Its name has no character of the model's that a path could misread."""
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        act(page, "save", run=page_id(run.trace))

    expected = [f"double-{run.id}-2.blsrun", f"double-{run.id}.blsrun"]
    assert expected == sorted(path.name for path in tmp_path.iterdir())


def test_saving_replaces_no_file(page, run, tmp_path, monkeypatch):
    """However many there are."""
    monkeypatch.chdir(tmp_path)
    for number in ("", *(f"-{n}" for n in range(2, 120))):
        Path(f"double-{run.id}{number}.blsrun").write_text("mine")
    saved = act(page, "save", run="")["done"]

    assert f"double-{run.id}-120.blsrun" in saved
    assert {"mine"} == {
        path.read_text() for path in tmp_path.iterdir() if "-120" not in path.name
    }


def test_a_run_is_debugged_on_the_main_thread(server, page, run, connected, loop):
    """Other actions are answered while it waits there, or is stopped."""
    name = page_id(run.trace)
    page.act("debug", run=name)
    assert "Run" in act(page, "pin", run=name)["done"]
    assert [] == connected
    (serve,) = loop
    serve()

    assert f"{name} call 0 on MainThread" == page.answer["done"]
    assert [run] == connected


def test_the_first_call_of_a_python_model_is_debugged(server, page, run, loop):
    """An ensemble has no code to stop in."""
    server.define("steps", None, config=ENSEMBLE)
    steps = infer(server, "steps")
    page.act("debug", run=page_id(steps.trace))
    loop.pop()()

    assert f"{page_id(steps.trace)} call 1 on MainThread" == page.answer["done"]


def test_a_run_without_python_code_is_not_debugged(server, page, loop):
    """With the reason."""
    server.define("nothing", SOURCE, config=CONFIG)
    server.standin("nothing", zeros=True)
    run = infer(server, "nothing")
    page.act("debug", run=page_id(run.trace))
    loop.pop()()

    assert "no call of the run" in page.answer["error"]["text"]


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        (
            7,
            "invalid",
            "run=7 is not valid; expected the page id of a run, or empty for the "
            "newest one",
        ),
        ("ffff-0", "gone", "the run is no longer kept: keep_runs limits the runs"),
    ],
)
def test_a_run_that_is_not_kept_is_refused(server, page, run, name, code, text):
    """With the reason."""
    assert {"code": code, "text": text} == act(page, "view", run=name)["error"]


@pytest.mark.parametrize("room", [0, -1])
def test_a_page_that_is_too_large_to_send_is_refused(page, run, monkeypatch, room):
    """The user can save the run instead."""
    size = len(html(act(page, "view", run="")))
    monkeypatch.setattr(run_actions, "_MAX_HTML", size + room)
    text = "the page of the run is too large: save the run"
    expected = None if room == 0 else {"code": "refused", "text": text}

    assert expected == act(page, "view", run="").get("error")


@pytest.mark.parametrize(
    ("action", "done"),
    [
        ("pin", "Run {0} is pinned: no limit drops it."),
        ("unpin", "Run {0} is no longer pinned."),
        ("save", "Run {0} is saved as double-{0}.blsrun in the kernel's folder."),
        ("delete", "Run {0} is deleted."),
    ],
)
def test_an_action_on_a_run_is_answered_with_a_sentence(
    page, run, tmp_path, monkeypatch, action, done
):
    """It names the run and what changed."""
    monkeypatch.chdir(tmp_path)

    assert done.format(run.id) == act(page, action, run="")["done"]


def test_log_lines_arrive_in_order_with_model_and_level(server, page, run):
    """Each line once, with its number."""
    page.say(type="watch", what=["logs"])
    assert until(lambda: page.rows("logs", "number"))
    infer(server)
    assert until(lambda: len(page.rows("logs", "number")) == 2)
    rows = list(page.rows("logs", "number").values())

    assert ["0", "1"] == [row["number"] for row in rows]
    assert {("double", "INFO")} == {(row["model"], row["level"]) for row in rows}


def test_log_lines_name_their_call(server, page, run):
    """By run and number, as the inspector does; a deleted run is not named."""
    parts_of(server).recorder.remove(parts_of(server).recorder.runs[0])
    second = infer(server)
    page.say(type="watch", what=["logs"])
    assert until(lambda: len(page.rows("logs", "number")) == 2)
    rows = page.rows("logs", "number").values()

    assert ["", f"run {second.id} call 0"] == [row["call"] for row in rows]


def texts(rows):
    return [row["text"] for row in rows.values()]


def test_notes_of_blsnb_are_lines_of_the_log():
    """Each line is there once, in order."""
    rows, log = LogRows(), ModelLog(0)
    log.write("double", "INFO", "one", "model.py", 1)
    log.note("double", "INFO", "two")
    assert ["one", "two"] == texts(rows.read(log, []))

    log.note("double", "INFO", "three")
    assert ["one", "two", "three"] == texts(rows.read(log, []))


def test_the_next_server_has_a_log_of_its_own():
    """The lines of the closed one are gone, whichever has more."""
    rows, logs = LogRows(), [ModelLog(0), ModelLog(0)]
    for log, count in zip(logs, (3, 2), strict=True):
        for number in range(count):
            log.note("double", "INFO", f"{count}: {number}")
        found = texts(rows.read(log, []))

    assert ["2: 0", "2: 1"] == found


def test_an_ended_run_has_bars_of_its_longest_calls(server, page, run):
    """Start, length and level, of a thumbnail; the calls of models are below it."""
    server.define("outer", calling("double"), config=CONFIG)
    server.infer("outer", {"X": np.ones(2, np.float32)})
    page.say(type="watch", what=["runs"])
    assert until(lambda: len(page.rows("runs", "run")) == 2)
    *_, row = page.rows("runs", "run").values()

    assert [0, 1] == [level for _, _, level, _ in row["bars"]]
    assert [0, 1, 0, 0] == row["bars"][0]
    ends = [start + length for start, length, _, _ in row["bars"]]
    assert [True, True] == [0 < end <= 1.01 for end in ends]


def test_an_empty_name_means_the_newest_run(server, page, run, connected):
    """As the palette's commands ask for it."""
    newest = infer(server)
    assert f'data-run="{page_id(newest.trace)}"' in html(act(page, "view", run=""))


def test_without_a_run_the_newest_one_is_refused(server, page):
    """With a sentence."""
    error = act(page, "save", run="")["error"]

    assert ("gone", "no run has been recorded") == (error["code"], error["text"])


def test_notes_of_ended_runs_are_rows_with_their_call(server, page):
    """Equal notes of a run are one row."""
    server.define("careless", CARELESS, config=CONFIG)
    run = server.infer("careless", {"X": np.ones(2, np.float32)})
    page.say(type="watch", what=["notes"])
    assert until(lambda: page.rows("notes", "key"))
    rows = list(page.rows("notes", "key").values())

    assert sorted(set(run.notes)) == sorted(row["text"] for row in rows)
    assert len(run.notes) == sum(row["times"] for row in rows)
    assert {(page_id(run.trace), run.id)} == {(row["run"], row["id"]) for row in rows}
    assert ("careless", 0) in {(row["model"], row["call"]) for row in rows}


def test_a_run_without_calls_has_no_row(server):
    """It has only begun."""
    assert "" == page_id_of(parts_of(server).recorder.begin())
