"""What a run computes from its trace: times, tables, files for other programs."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, calling, cell

from blsnb import InferenceError, Server, load_run, load_trace
from blsnb.errors import MissingOutputError, TraceError

RECORDED = Path(__file__).parents[1] / "trace" / "golden" / "triton_2.51.0.json"
DECOUPLED = "model_transaction_policy { decoupled: true }"
PIECES = cell("""
sender = request.get_response_sender()
sender.send(reply(x_of(request)))
sender.send(reply(x_of(request)))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
""")
X = {"X": np.array([1, 2], np.float32)}


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
    assert stream is runs["s1"].responses
    assert {} == runs["nar2"].outputs
    assert "was rejected before any" in runs["nar2"].error


def test_a_value_that_a_file_does_not_hold_is_an_error():
    """Other outputs of the same response can be read."""
    runs = {run.trace.request_id: run for run in load_trace(RECORDED)}

    assert [[1, 2], [255, 0]] == runs["types"]["UINT8"].tolist()
    with pytest.raises(TraceError, match="does not hold the value of output 'FP16'"):
        runs["types"]["FP16"]


def test_an_output_that_was_not_recorded_names_the_level_that_does():
    """A run of times only has no responses once the caller has dropped its own."""
    with Server(trace_level="timestamps") as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.infer("double", X)

        with pytest.raises(MissingOutputError) as missing:
            server.runs[-1]["Y"]

    assert "no output 'Y': it was not recorded; at trace_level='tensors' it is" == str(
        missing.value
    )


def test_an_output_of_a_stream_that_was_not_recorded_names_the_level_that_does():
    """The times of its responses are recorded."""
    with Server(trace_level="timestamps") as server:
        server.define("pieces", PIECES, config=f"{CONFIG}\n{DECOUPLED}")
        list(server.stream("pieces", X))

        assert 3 == len(server.runs[-1].responses)
        with pytest.raises(
            MissingOutputError,
            match=r"'Y': it was not recorded; at trace_level='tensors' it is$",
        ):
            server.runs[-1]["Y"]


@pytest.mark.parametrize("level", ["tensors", "timestamps"])
def test_the_run_of_a_stream_has_no_output_before_the_first_response(level):
    """Reading the response changes that, and the text of the stream."""
    with Server(trace_level=level) as server:
        server.define("double", DOUBLE, config=CONFIG)
        stream = server.stream("double", X)

        with pytest.raises(MissingOutputError, match=r"'Y': no response was read$"):
            stream.run["Y"]
        assert "<Stream of double: 0 responses read>" == repr(stream)
        next(stream)
        assert [2, 4] == stream.run["Y"].tolist()
        assert "<Stream of double: 1 response read>" == repr(stream)


def test_a_run_is_exported_for_perfetto(run, tmp_path):
    """Any other format is refused."""
    path = run.export_trace(tmp_path / "run.json", format="perfetto")

    assert path.read_text().startswith('{"displayTimeUnit":"ns","traceEvents":[')
    with pytest.raises(ValueError, match="format='xml' is not valid"):
        run.export_trace(path, format="xml")
    with pytest.raises(TypeError, match="format=3 is not valid; expected a string"):
        run.export_trace(path, format=3)


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


def test_notes_of_all_calls_are_the_runs(server):
    """The notes of a rejected call name the fix."""
    body = 'ask("nobody", request).exec()\nreturn [reply(x_of(request))]'
    server.define("outer", cell(body), config=CONFIG)
    run = server.infer("outer", X)

    assert any("Models that are loaded: outer." in note for note in run.notes)


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
