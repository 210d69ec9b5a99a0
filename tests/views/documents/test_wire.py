"""Specification of what travels to the page."""

import dataclasses
import json

import numpy as np
import pytest

from blsnb.trace.events import CallFlag, Origin
from blsnb.trace.excerpt import part_of
from blsnb.views.columns import PHASES
from blsnb.views.documents import wire
from blsnb.views.documents.numbering import Numbering
from blsnb.views.summary import state_of
from views.encoded import decode, encode

from .. import golden_run
from ..samples import BASE_NS, Script, fail, hostile_run, invoice_run, running_run


@pytest.fixture(scope="module")
def run():
    return invoice_run()


def test_the_golden_files_are_sent():
    """Python and the page read the same files; a change of the format fails here."""
    header, buffer = golden_run.encoded()

    assert json.loads(golden_run.HEADER.read_text("utf-8")) == header
    assert golden_run.BUFFER.read_bytes() == buffer


def test_every_column_is_aligned_for_typed_arrays(run):
    """Offsets are multiples of 8 and the counts are the rows of the trace."""
    header, _ = encode(run)
    columns = header["columns"]

    assert {0} == {offset % 8 for _, offset, _ in columns.values()}
    side = ("response_call", "response_us")
    assert {27} == {c for name, (_, _, c) in columns.items() if name not in side}


def test_decoded_columns_are_the_calls_of_the_trace(run):
    """Callers, models, flags and times are those of the trace."""
    columns = decode(*encode(run))

    assert [span.parent for span in run.spans] == columns["parent"].tolist()
    assert [span.model for span in run.spans] == columns["model"].tolist()
    assert [int(span.flags) for span in run.spans] == columns["flags"].tolist()
    assert [span.line for span in run.spans] == columns["line"].tolist()
    starts = [(span.request_start_ns - BASE_NS) / 1000 for span in run.spans]
    assert starts == columns["start_us"].tolist()


def test_the_phases_of_a_call_add_up_to_its_duration(run):
    """The sum is right even for a call that failed early."""
    columns = decode(*encode(run))
    sums = np.nansum([columns[name] for name in PHASES], axis=0)

    durations = [span.duration_ns / 1000 for span in run.spans]
    assert durations == pytest.approx(sums.tolist(), rel=1e-6)


def test_a_phase_without_a_record_is_nan(run):
    """The view does not show it as 0."""
    columns = decode(*encode(run))
    failed = next(s.index for s in run.spans if s.error_code == "INVALID_ARG")

    assert [False, False, False, True, True, True] == [
        bool(np.isnan(columns[name][failed])) for name in PHASES
    ]


def test_the_open_phase_of_a_running_call_lasts_until_the_trace_was_taken():
    """A running call is drawn up to that time."""
    run = running_run(now_us=20_000)
    columns = decode(*encode(run))
    root = [float(columns[name][0]) for name in PHASES]

    assert [2, 140, 60] == root[:3]
    assert 20_000 - 202 == root[3]
    assert np.isnan(root[4:]).all()


@pytest.mark.parametrize(
    ("flag", "state"),
    [
        (CallFlag(0), "done"),
        (CallFlag.ERROR, "error"),
        (CallFlag.CANCELLED, "cancelled"),
    ],
)
def test_the_state_of_a_run_is_that_of_its_client_request(flag, state):
    """A failed BLS call whose error was handled is not a failed run."""
    script = Script()
    script.model("outer")
    root = script.call(None, "outer", 0, 1, 1, 1, 1, flag)
    fail(script.call(root, "outer", 1, 0, 0, 1, 0), "caught")

    assert state == state_of(script.trace())


def test_a_run_with_an_open_call_is_running():
    """A run is running until its last call has ended."""
    assert "running" == state_of(running_run())


def test_times_of_a_stream_are_relative_to_its_call(run):
    """Two columns have the call and the microseconds after its start."""
    columns = decode(*encode(run))
    stream = next(span for span in run.spans if span.responses)

    assert {stream.id} == set(columns["response_call"].tolist())
    first = (stream.responses[0].ns - stream.request_start_ns) / 1000
    assert first == pytest.approx(float(columns["response_us"][0]))
    assert 46 == columns["responses"][stream.index]


def test_responses_are_numbered_where_others_are_only_counted(run):
    """Their numbers are sent then only: a page of other runs does not grow."""
    stream = next(span for span in run.spans if span.responses)
    assert "response_number" not in encode(run)[0]["columns"]
    kept = [each for each in stream.responses if not 3 <= each.number < 40]
    counted = dataclasses.replace(stream, responses=kept)
    spans = [counted if each is stream else each for each in run.spans]
    columns = decode(*encode(dataclasses.replace(run, spans=spans)))

    assert [0, 1, 2, *range(40, 46)] == columns["response_number"].tolist()


def test_a_call_without_decoupled_responses_has_one_when_it_has_ended():
    """A running call has none yet."""
    columns = decode(*encode(running_run()))

    assert (0, 1) == (columns["responses"][0], columns["responses"][1])


def test_some_calls_are_sent_by_id_with_only_their_own_texts(run):
    """A part of a trace has the ids of its calls and no texts of others."""
    header, buffer = encode(run, [24, 13])
    columns = decode(header, buffer)

    assert [24, 13] == columns["id"].tolist()
    assert {"24", "13"} == set(header["errors"])
    assert 27 == header["n"]
    assert {} == header["logs"] | header["sources"]


def test_calls_are_sent_by_id_after_others_were_dropped(run):
    """Callers, texts, responses and notes are those of the same calls as before."""
    kept = part_of(run, 2)
    dropped = dataclasses.replace(run, spans=without(run, 4, 9, 17))
    ids = [span.id for span in dropped.spans]
    header, buffer = encode(dropped)
    whole, everything = encode(run)
    columns, before = decode(header, buffer), decode(whole, everything)

    assert ids == columns["id"].tolist()
    for name in ("parent", "line", "start_us", "flags"):
        assert before[name][ids].tolist() == columns[name].tolist()
    for table in ("errors", "notes", "logs", "requests"):
        here = {call: text for call, text in whole[table].items() if int(call) in ids}
        assert here == header[table]
    assert set(columns["response_call"].tolist()) <= set(ids)
    assert [2] == decode(*encode(kept))["id"].tolist()


def without(run, *calls):
    """The spans of a run without some leaves, at new positions."""
    left = [span for span in run.spans if span.id not in calls]
    place = {span.index: row for row, span in enumerate(left)} | {-1: -1}
    return tuple(
        dataclasses.replace(span, index=row, parent=place[span.parent])
        for row, span in enumerate(left)
    )


def test_ids_that_are_positions_are_not_sent(run):
    """A page of a whole run does not grow."""
    assert "id" not in encode(run)[0]["columns"]


def test_numbers_of_models_and_instances_stay_the_same_while_a_trace_changes():
    """A call that was sent keeps its instance and model when others are added."""
    numbering = Numbering()
    early = encode(running_run(5_000), numbering=numbering)
    late = encode(invoice_run(), numbering=numbering)
    models = [model["name"] for model in early[0]["models"]]
    last_first = tuple(reversed(invoice_run().models))
    turned = dataclasses.replace(invoice_run(), models=last_first)
    again = encode(turned, numbering=numbering)

    assert models == [model["name"] for model in late[0]["models"]][: len(models)]
    assert late[0]["models"] == again[0]["models"]

    sent = decode(*early)["instance"].tolist()
    assert sent == decode(*late)["instance"][: len(sent)].tolist()
    assert early[0]["instances"] == late[0]["instances"][: len(early[0]["instances"])]
    assert "" == late[0]["instances"][0]


def test_the_source_of_a_model_is_sent_once(run):
    """The inspector shows the line of a call in the source of its caller."""
    header, _ = encode(run)

    assert ["0"] == list(header["sources"])
    assert "class TritonPythonModel" in header["sources"]["0"]


def test_notes_on_the_run_come_before_those_of_its_first_call(run):
    """Notes on the whole run are shown with the client request."""
    header, _ = encode(run, notes=["a note"])

    assert ["a note", *run.spans[0].notes] == header["notes"]["0"]


def test_runs_of_different_kernels_never_share_an_id():
    """Kernels number their runs alike, and one page may show several of them."""
    script = Script()
    script.model("m")
    script.call(None, "m", 5, 1, 1, 1, 1)

    assert wire.page_id(script.trace()) != wire.page_id(invoice_run())


def test_all_texts_of_a_model_can_be_sent_as_utf_8():
    """Lone surrogates are written as escapes."""
    header, _ = encode(hostile_run())

    text = json.dumps(header, ensure_ascii=False, allow_nan=False)
    assert "\\ud800" in text.encode().decode()


def test_long_texts_are_cut_to_four_kilobytes():
    """One error cannot make a notebook large."""
    script = Script()
    script.model("m")
    fail(script.call(None, "m", 0, 1, 1, 1, 1), "ü" * 9000)
    error = encode(script.trace())[0]["errors"]["0"]

    assert 4095 == len(error.encode())
    assert error.endswith("…")


def test_the_first_hundred_log_lines_are_sent_and_the_others_counted():
    """A model that logs in a loop does not flood the page."""
    run = invoice_run()
    many = [run.spans[0].logs[0]] * 250
    script = Script()
    script.model("m")
    script.call(None, "m", 0, 1, 1, 1, 1).logs = many
    lines = encode(script.trace())[0]["logs"]["0"]

    assert 101 == len(lines)
    assert [250.0, "INFO", "page 1 of 1"] == lines[0]
    assert "… 150 more lines" == lines[-1][2]


def test_thousands_of_long_errors_share_one_budget():
    """All texts together stay small, however many calls fail."""
    script = Script()
    script.model("m")
    for at in range(1000):
        fail(script.call(None, "m", at, 1, 1, 1, 1), "x" * 4000)
    errors = encode(script.trace())[0]["errors"]

    assert sum(map(len, errors.values())) < 800_000
    assert 200 == len(errors["999"].encode())


def test_an_empty_trace_has_empty_columns():
    """A run that never started can be shown."""
    header, buffer = encode(type(invoice_run())("0", "", "", (), (), 0))

    assert 0 == header["n"]
    assert {0} == {len(column) for column in decode(header, buffer).values()}


def test_a_model_from_a_cell_has_the_position_of_its_source(run):
    """The page shows the line of the cell and that of the file."""
    origin = Origin("In[12]", 1)
    models = (run.models[0]._replace(origin=origin), *run.models[1:])
    header, _ = encode(dataclasses.replace(run, models=models))

    assert ["In[12]", 1] == header["models"][0]["origin"]
    assert "origin" not in header["models"][1]


@pytest.mark.parametrize(("version", "shown"), [(0, 0), (-1, "")])
def test_version_0_is_shown_and_an_unknown_one_is_not(version, shown):
    """Folder 0 of a repository is a version; -1 stands for none."""
    script = Script()
    script.model("m", version=version)
    script.call(None, "m", 0, 1, 1, 1, 1)
    header, _ = encode(script.trace())

    assert [shown] == [model["version"] for model in header["models"]]
