"""A run: what one request gave, and what can be seen of it."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, TRIPLE, calling, cell
from faults import FILES, LineFault, lines_of, press_ctrl_c, raise_interrupt

from blsnb import InferenceError, Run, Server, load_run, load_trace
from blsnb.errors import TraceError, TraceFileError
from blsnb.request_fields import RequestFields
from blsnb.results.response import Response
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import freeze
from blsnb.trace.dropped import PIN

RECORDED = Path(__file__).parent / "trace" / "golden" / "triton_2.51.0.json"
X = {"X": np.array([1, 2], np.float32)}
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
ENDLESS = cell("""
sender = request.get_response_sender()
while not request.is_cancelled():
    sender.send(reply(x_of(request)))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
""")


@pytest.fixture
def run(server: Server) -> Run:
    """A run of two calls."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", calling("double"), config=CONFIG)
    return server.infer("outer", X)


def test_a_run_is_one_line(run):
    """The text has model, time, and numbers of calls and models."""
    assert repr(run).startswith("<Run outer: ")
    assert re.search(r": [\d.]+ (µs|ms), 2 calls, 2 models>$", repr(run))


def test_a_failed_run_says_how_many_failed(server):
    """The text is one line; without outputs the error has the reason."""
    server.define("bad", cell("raise ValueError('boom')"), config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("bad", X)
    run = caught.value.run

    assert repr(run).endswith("1 call, 1 model, 1 failed>")
    assert {} == run.outputs
    with pytest.raises(KeyError, match="boom"):
        run["Y"]


def test_a_missing_output_is_an_error_that_lists_outputs(run):
    """The error suggests a similar name."""
    with pytest.raises(KeyError, match="no output 'y'; the response has Y"):
        run["y"]


@pytest.mark.parametrize("of", ["run", "response"])
def test_outputs_are_named_as_those_of_a_dict(of, run):
    """Loops, `in` and `dict(run)` work."""
    given = run if of == "run" else run.responses[0]

    assert ["Y"] == list(given) == given.keys()
    assert "Y" in given
    assert "Z" not in given
    assert [2, 4] == dict(given)["Y"].tolist()


def test_a_run_without_a_response_has_no_names(server):
    """A failed run is an example."""
    with pytest.raises(InferenceError) as caught:
        server.infer("nobody", X)

    assert [] == list(caught.value.run)


def test_one_response_of_a_model_that_is_not_decoupled(run):
    """It is final, and has no error."""
    (response,) = run.responses

    assert (True, None, {}) == (response.final, response.error, response.parameters)
    assert run["Y"] is response["Y"]


def test_arrays_of_a_run_are_the_callers_own(run):
    """Writing to them does not change the record."""
    run["Y"][:] = 0

    (recorded,) = run.trace.spans[0].outputs
    assert [2, 4] == recorded.view().tolist()


def test_a_finished_trace_is_taken_once(run):
    """Later accesses return the same object."""
    assert run.trace is run.trace


def test_a_trace_is_taken_anew_when_values_are_gone():
    """It keeps no values alive beyond the budget."""
    with Server(trace_budget_bytes=20) as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", X)
        before = run.trace
        server.infer("double", X)

        assert before.spans[0].inputs[0].data is not None
        assert run.trace.spans[0].inputs[0].data is None


def test_keep_pins_a_run():
    """It returns the run, for the last line of a cell."""
    with Server(trace_budget_bytes=20, keep_runs=1) as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", X)

        assert run is run.keep()
        for _ in range(3):
            server.infer("double", X)
        assert run.trace.spans[0].inputs[0].data is not None
        assert run.id in {record.id for record in server.runs}


def test_notes_of_all_calls_are_the_runs(server):
    """The notes of a rejected call name the fix."""
    body = 'ask("nobody", request).exec()\nreturn [reply(x_of(request))]'
    server.define("outer", cell(body), config=CONFIG)
    run = server.infer("outer", X)

    assert any("Models that are loaded: outer." in note for note in run.notes)


def test_a_run_is_saved_as_a_page(run, tmp_path):
    """The page is one file that needs nothing else."""
    path = run.save(tmp_path / "run.html")

    assert "<html" in path.read_text(encoding="utf-8")
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["run.pdf", "run", "blsrun"])
def test_a_run_is_saved_as_one_of_two_kinds(name, run, tmp_path):
    """The suffix decides; another one is an error that names both."""
    with pytest.raises(ValueError, match=r"writes \.html .* and \.blsrun .*, not"):
        run.save(tmp_path / name)
    assert [] == list(tmp_path.iterdir())


def test_a_run_is_saved_and_loaded(run, tmp_path):
    """It has the outputs and the view of the saved one."""
    loaded = load_run(run.save(tmp_path / "run.blsrun"))

    assert repr(loaded) == f"<Imported{repr(run)[1:]}"
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


def test_the_fields_of_a_request_are_recorded(server):
    """All fields that are needed to repeat it are recorded."""
    server.define("double", DOUBLE, config=CONFIG)
    inner = 'ask("double", request, timeout=5, parameters={"k": 1}).exec()'
    server.define("outer", cell(f"return [reply(answer_of({inner}))]"), config=CONFIG)
    run = server.infer(
        "outer", X, outputs=["Y"], version=1, correlation_id=7, sequence_start=True
    )

    outer, double = run.trace.spans
    assert RequestFields(1, 7, 1) == outer.request_fields
    assert RequestFields(timeout_us=5, parameters=(("k", 1),)) == double.request_fields
    assert ("Y",) == outer.requested_outputs == double.requested_outputs


def test_a_run_is_compared_with_an_earlier_one(run, server):
    """The comparison shows which outputs differ, and by how much."""
    server.define("double", TRIPLE, config=CONFIG)
    comparison = server.infer("outer", X).compare(run)

    assert re.fullmatch(
        "<Comparison outer: vs .* baseline, 2 changed>", repr(comparison)
    )
    assert [0, 1] == [change.call for change in comparison.changes]
    [difference] = comparison.differences
    assert (2.0, (1,)) == (difference.largest, difference.index)
    assert run is comparison.baseline


def test_a_comparison_names_the_calls_that_are_new_and_missing(run, server):
    """Its text is that of the notebook."""
    server.define("other", TRIPLE, config=CONFIG)
    server.define("outer", calling("other"), config=CONFIG)
    comparison = server.infer("outer", X).compare(run)

    assert [1] == [span.index for span in comparison.new]
    assert [1] == [span.index for span in comparison.missing]
    assert {} == comparison.not_compared
    lines = str(comparison).splitlines()
    assert lines[0].endswith("baseline, 1 changed, 1 new, 1 missing")
    # In the order of their times.
    double, other = sorted(lines[3:5])
    assert re.fullmatch("    double  .*  missing", double)
    assert re.fullmatch("    other  .*  new", other)


def test_what_a_file_does_not_hold_is_not_compared(run, tmp_path):
    """Missing values are not reported as equal."""
    with pytest.warns(UserWarning, match="did not fit"):
        run.save(tmp_path / "run.blsrun", budget_bytes=0)
    comparison = run.compare(load_run(tmp_path / "run.blsrun"))

    assert repr(comparison).endswith("baseline, no change known, 2 not compared>")
    ((why, calls),) = comparison.not_compared.items()
    assert list(run.trace.spans) == calls
    assert why.startswith("run.blsrun does not hold the values: run.save(budget_bytes=")
    assert why.endswith(PIN)


def test_values_that_are_no_longer_kept_are_not_compared():
    """The reason is the limit that dropped them."""
    with Server(trace_budget_bytes=20) as server:
        server.define("double", DOUBLE, config=CONFIG)
        runs = [server.infer("double", {"X": [1.0, 2.0]}) for _ in range(2)]
        (why,) = runs[1].compare(runs[0]).not_compared

    assert why.startswith("values are no longer kept: trace_budget_bytes=20 limits")
    assert why.endswith(PIN)


def test_a_running_stream_is_compared_as_far_as_it_is_recorded(server, tmp_path):
    """Its inputs are recorded at its end: until then they are not new."""
    server.define("many", ENDLESS, config=DECOUPLED)
    stream = server.stream("many", X)
    next(stream)
    running = stream.run
    early = running.compare(running)
    loaded = load_run(running.save(tmp_path / "early.blsrun"))
    again = load_run(loaded.save(tmp_path / "again.blsrun"))
    stream.cancel()

    assert ("It was saved while it was still running.",) == again.trace.remarks
    assert ["still running"] == list(early.not_compared)
    assert [] == early.changes


def test_a_run_is_compared_with_runs_only(run):
    """Other values are an error."""
    with pytest.raises(TypeError, match=r"other=3 is not valid; expected a blsnb\.Run"):
        run.compare(3)


def test_a_response_is_one_line():
    """The text has its outputs, its error, or "empty"."""
    tensor = freeze("Y", np.zeros(2, np.float32), BY_DATATYPE["FP32"])

    assert "<Response: empty>" == repr(Response((), None, True, {}))
    assert "<Response: boom>" == repr(Response((), "boom", True, {}))
    assert "Y" in repr(Response((tensor,), None, True, {}))


def test_a_response_without_outputs_says_so():
    """The error has no empty list."""
    with pytest.raises(KeyError, match="has no outputs"):
        Response((), None, True, {})["Y"]


def test_a_run_is_exported_as_a_trace_file_and_read_back(run, tmp_path):
    """Triton's format has calls, callers and times."""
    path = run.export_trace(tmp_path / "run.json")
    [imported] = load_trace(path)

    assert repr(imported).startswith("<ImportedRun outer: ")
    assert run["Y"].tolist() == imported["Y"].tolist()
    assert [span.events for span in run.trace.spans] == [
        span.events for span in imported.trace.spans
    ]
    assert imported is imported.keep()
    assert "run.json" in imported.save(tmp_path / "run.html").read_text()


def test_an_imported_run_has_the_responses_of_a_stream():
    """A rejected request has no reason in such a file."""
    runs = {run.trace.request_id: run for run in load_trace(RECORDED)}

    stream = runs["s1"].responses
    assert [[1, 2], [2, 3], [3, 4]] == [each["Y"].tolist() for each in stream]
    assert [False, False, True] == [each.final for each in stream]
    assert {} == runs["nar2"].outputs
    assert "was rejected before any" in runs["nar2"].error


def test_a_value_that_a_file_does_not_hold_is_an_error():
    """Other outputs of the same response can be read."""
    runs = {run.trace.request_id: run for run in load_trace(RECORDED)}

    assert [[1, 2], [255, 0]] == runs["types"]["UINT8"].tolist()
    with pytest.raises(TraceError, match="does not hold the value of output 'FP16'"):
        runs["types"]["FP16"]


def test_a_run_is_exported_for_perfetto(run, tmp_path):
    """Any other format is refused."""
    path = run.export_trace(tmp_path / "run.json", format="perfetto")

    assert path.read_text().startswith('{"displayTimeUnit":"ns","traceEvents":[')
    with pytest.raises(ValueError, match="format='xml' is not valid"):
        run.export_trace(path, format="xml")


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


def test_a_run_has_its_duration_and_the_time_of_its_start(server):
    """Milliseconds and a time of day with time zone are available."""
    server.define("m", DOUBLE, config=CONFIG)
    before = datetime.now().astimezone()
    run = server.infer("m", {"X": [1.0]})

    assert (run.trace.end_ns - run.trace.start_ns) / 1e6 == run.duration_ms
    assert before <= run.started_at <= datetime.now().astimezone()


def test_a_saved_run_keeps_the_time_of_its_start(server, tmp_path):
    """Another process reads the same time."""
    server.define("m", DOUBLE, config=CONFIG)
    run = server.infer("m", {"X": [1.0]})
    loaded = load_run(run.save(tmp_path / "run.blsrun"))

    assert run.duration_ms == loaded.duration_ms
    assert abs(run.started_at - loaded.started_at) < timedelta(milliseconds=1)


def test_the_calls_are_a_pandas_table(server):
    """There is a row for each call, with the ids of call and caller as integers."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    server.define("inner", DOUBLE, config=CONFIG)
    server.define("outer", calling("inner"), config=CONFIG)
    table = server.infer("outer", {"X": [1.0]}).to_pandas()

    [outer, inner] = table.index
    assert "call" == table.index.name
    assert ["outer", "inner"] == list(table.model)
    assert [pandas.NA, outer] == list(table.caller)
    assert [inner] == list(table.index[table.caller == outer])
    assert [4, 4] == list(table.loc[inner, ["input_bytes", "output_bytes"]])
    assert table.duration_ms[inner] <= table.duration_ms[outer]


def test_a_failed_request_is_a_table_of_the_same_types(server):
    """Tables of several runs can be concatenated: what is missing has no other type."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(InferenceError) as caught:
        server.infer("unknown", {"X": [1.0]})
    failed = caught.value.run.to_pandas()

    assert ["NOT_FOUND"] == list(failed.error_code)
    assert ["Int64", "Int64", "float64", "float64"] == [
        str(failed.dtypes[name]) for name in ("caller", "line", "queue_ms", "start_ms")
    ]


def test_without_pandas_a_sentence_says_what_to_install(server, monkeypatch):
    """The package is an optional dependency."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    server.define("m", DOUBLE, config=CONFIG)

    with pytest.raises(ImportError, match=r"pip install 'blsnb\[pandas\]'"):
        server.infer("m", {"X": [1.0]}).to_pandas()
