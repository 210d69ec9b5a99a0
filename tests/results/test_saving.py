"""Saved runs: pages, files that are read again, and what interrupts a save."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, cell
from faults import FILES, LineFault, lines_of, press_ctrl_c, raise_interrupt
from whole_text import whole

from blsnb import InferenceError, Server, load_run, load_trace
from blsnb.errors import TraceFileError

X = {"X": np.array([1, 2], np.float32)}
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"


def test_a_run_is_saved_as_a_page(run, tmp_path):
    """The page is one file that needs nothing else."""
    path = run.save(tmp_path / "run.html")

    assert "<html" in path.read_text(encoding="utf-8")
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("run.pdf", ".pdf"),
        ("run", "no suffix"),
        ("blsrun", "no suffix"),
    ],
)
def test_a_run_is_saved_as_one_of_two_kinds(name, kind, run, tmp_path):
    """The suffix decides; another one is an error that names both."""
    text = (
        f"'{tmp_path / name}' ends in {kind}; expected .html (a page to look at) or "
        ".blsrun (a run that blsnb.load_run() reads)"
    )
    with pytest.raises(ValueError, match=whole(text)):
        run.save(tmp_path / name)
    assert [] == list(tmp_path.iterdir())


def test_a_run_is_saved_and_loaded(run, tmp_path):
    """It has the outputs and the view of the saved one."""
    loaded = load_run(run.save(tmp_path / "run.blsrun"))

    assert f"<Imported{repr(run)[1:]}" == repr(loaded)
    assert [2, 4] == loaded["Y"].tolist()
    assert run.notes == loaded.notes
    assert "run.blsrun" == loaded.trace.file
    assert [span.events for span in run.trace.spans] == [
        span.events for span in loaded.trace.spans
    ]
    loaded["Y"][:] = 0
    assert [2, 4] == loaded.trace.spans[0].outputs[0].view().tolist()


def test_a_failed_run_is_loaded_with_its_error(server, tmp_path):
    """It has no outputs."""
    server.define("bad", cell("raise ValueError('boom')"), config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("bad", X)
    loaded = load_run(caught.value.run.save(tmp_path / "bad.blsrun"))

    assert caught.value.message == loaded.error
    assert {} == loaded.outputs


def test_a_stream_is_loaded_with_its_responses(server, tmp_path):
    """Each response with its error, its flag and its parameters."""
    body = """
    sender = request.get_response_sender()
    for k in range(3):
        sender.send(reply(x_of(request) * k))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """
    decoupled = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
    server.define("many", cell(body), config=decoupled)
    stream = server.stream("many", X)
    read = list(stream)
    loaded = load_run(stream.run.save(tmp_path / "many.blsrun"))

    assert [repr(each) for each in read] == [repr(each) for each in loaded.responses]
    assert [each.final for each in read] == [each.final for each in loaded.responses]
    assert [[0, 0], [1, 2], [2, 4]] == [r["Y"].tolist() for r in loaded.responses[:3]]


def test_a_child_that_still_executes_has_its_inputs(server):
    """Its caller has all responses before its ``execute`` returns."""
    child = """
    sender = request.get_response_sender()
    sender.send(reply(x_of(request)), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    stage.sleep("returned")
    """
    parent = """
    [response, *_] = ask("child", request).exec(decoupled=True)
    return [pb_utils.InferenceResponse(response.output_tensors())]
    """
    server.define("child", cell(child), config=DECOUPLED)
    server.define("parent", cell(parent), config=CONFIG)
    run = server.infer("parent", X)
    inputs = [span.inputs for span in run.trace.spans]

    assert [["X"], ["X"]] == [[each.name for each in found] for found in inputs]


def test_values_beyond_the_budget_are_left_out_with_a_warning(run, tmp_path):
    """Response values come first; the run names those that are missing."""
    with pytest.warns(UserWarning, match="2 tensors .* did not fit in the 8 bytes"):
        run.save(tmp_path / "small.blsrun", budget_bytes=8)
    loaded = load_run(tmp_path / "small.blsrun")

    assert [2, 4] == loaded["Y"].tolist()
    assert loaded.trace.spans[0].inputs[0].evicted
    assert "did not fit" in loaded.trace.remarks[0]


def test_a_budget_is_not_negative(run, tmp_path):
    """A negative budget is refused, and nothing is written."""
    with pytest.raises(ValueError, match="budget_bytes=-1 is not valid"):
        run.save(tmp_path / "run.blsrun", budget_bytes=-1)

    assert [] == list(tmp_path.iterdir())


def test_a_home_is_found_by_its_tilde(run, tmp_path, monkeypatch):
    """The tilde is expanded as in a shell."""
    monkeypatch.setenv("HOME", str(tmp_path))
    there = [tmp_path / name for name in ("run.blsrun", "run.html", "c.html", "t.json")]

    assert there == [
        run.save("~/run.blsrun"),
        run.save("~/run.html"),
        run.compare(run).save("~/c.html"),
        run.export_trace("~/t.json"),
    ]
    assert sorted(there) == sorted(tmp_path.iterdir())
    assert [2, 4] == load_run("~/run.blsrun")["Y"].tolist()
    [imported] = load_trace("~/t.json")
    assert imported.model_name == run.model_name


@pytest.mark.parametrize("name", ["run.blsrun", "run.html"])
def test_a_file_that_cannot_be_written_is_named(name, run, tmp_path):
    """The error has its final name."""
    path = tmp_path / "nowhere" / name
    with pytest.raises(FileNotFoundError) as error:
        run.save(path)
    assert str(path) == error.value.filename
    note = f"There is no folder '{path.parent}'. Create it, or correct the path."
    assert [note] == error.value.__notes__

    folder = tmp_path / name
    folder.mkdir()
    with pytest.raises(IsADirectoryError) as error:
        run.save(folder)
    assert str(folder) == error.value.filename
    assert [folder] == list(tmp_path.iterdir())


def test_a_saved_run_replaces_an_older_file(run, server, tmp_path):
    """The file is replaced completely, and no other file remains."""
    path = run.save(tmp_path / "run.blsrun")
    later = server.infer(run.model_name, {"X": np.ones(2, np.float32)})
    later.save(path)

    assert [2, 2] == load_run(path)["Y"].tolist()
    assert [path] == list(tmp_path.iterdir())


def test_a_run_without_calls_is_saved_with_its_response(tmp_path):
    """The file has the name of the requested model."""
    with Server(trace_level="off") as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", {"X": np.ones(2, np.float32)})
    loaded = load_run(run.save(tmp_path / "run.blsrun"))

    assert ("double", [2, 2]) == (loaded.model_name, loaded["Y"].tolist())
    assert 0 == len(loaded.trace.spans)


def test_what_load_trace_cannot_read_names_what_can(run, tmp_path):
    """A run that was saved is not a trace file of a Triton server."""
    path = run.save(tmp_path / "run.blsrun")
    with pytest.raises(TraceFileError, match=r"use blsnb\.load_run\(\)"):
        load_trace(path)


@pytest.mark.parametrize("name", ["run.html", "run.blsrun"])
@pytest.mark.parametrize(
    ("interrupt", "step"),
    [
        pytest.param(raise_interrupt, 7, id="raised"),
        pytest.param(press_ctrl_c, 7, id="signal"),
        pytest.param(raise_interrupt, 1, id="raised anywhere", marks=pytest.mark.slow),
        pytest.param(press_ctrl_c, 1, id="signal anywhere", marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_leaves_the_old_file_or_the_new(
    run, tmp_path, name, interrupt, step, figures
):
    """Ctrl-C at any line of saving leaves no other file in the folder."""
    path = tmp_path / name
    rooms = (*FILES, "results", "trace/files/run_file.py")
    run.save(path)
    lines = lines_of(lambda: run.save(path), rooms)
    new = path.read_bytes()

    for number in range(1, lines + 1, step):
        path.write_text("old")
        fault = LineFault(number, rooms, interrupt)
        with pytest.raises((KeyboardInterrupt, ValueError)) as caught:
            fault.during(lambda: run.save(path))
        # The ZIP file, too, may find itself left too early; no signal does that.
        assert KeyboardInterrupt in (caught.type, type(caught.value.__context__))
        assert interrupt is raise_interrupt or caught.type is KeyboardInterrupt
        assert path.read_bytes() in (b"old", new), fault.where
        assert [path] == list(tmp_path.iterdir()), fault.where
    figures(interrupts=len(range(1, lines + 1, step)))


@pytest.mark.parametrize("name", ["run.html", "run.blsrun"])
def test_the_next_save_removes_what_a_killed_one_left(run, tmp_path, name):
    """The temporary file has a unique name, and its owner has ended."""
    left = tmp_path / f".{name}.blsnb-{'0' * 16}"
    left.write_text("half")

    assert [run.save(tmp_path / name)] == list(tmp_path.iterdir())
