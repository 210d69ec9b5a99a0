"""Untrusted run files of version 2, damaged or not completed."""

from __future__ import annotations

import dataclasses
import math
import os
import random
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from asserting import every
from hypothesis import given, settings
from hypothesis import strategies as st
from reviewed import reviewed
from run_files import DONE, HEAD, boundaries, chunks_of, facts, file_of, json_of
from views.encoded import encode
from views.samples import invoice_run

from blsnb.clock.pausing_clock import Pause
from blsnb.errors import TraceError, TraceFileError
from blsnb.request_fields import RequestFields
from blsnb.results.loaded_run import load_run
from blsnb.trace.dropped import find_call, notices
from blsnb.trace.events import CallFlag
from blsnb.trace.facts import ClockReading, Drop, Profile, RecordingFacts
from blsnb.trace.files.run_file import read_run
from blsnb.trace.files.saved_run import SavedResponse, SavedRun
from blsnb.trace.files.v2.call_values import read_parameter
from blsnb.trace.files.v2.chunks import MAGIC, parsed
from blsnb.trace.files.v2.writer import write_run
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap
from blsnb.trace.profiles.samples import Sampled, SampleProfile, StackFrame
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Trace
from blsnb.views.tree import tree

_FUZZ_S = 3
TRITONS = "blsnb.load_trace() reads trace files of a Triton server"
EXPECTED = "expected a file that run.save() or the recorder wrote as .blsrun"
REFUSALS = Path(__file__).parents[2] / "golden" / "refusals.txt"
TIMED = {"file": "model.py", "source": "", "lines": [[1, 2, 3]]}
SAMPLED = [
    Sampled(3, "invoice_pipeline", (StackFrame("execute", "model.py", 1, True),), 2)
]
MODELS = {"models": [{"name": "outer"}, {"name": "inner", "backend": "python"}]}
TWO_CALLS: dict[str, Any] = {
    "ids": [0, 5],
    "parent": [-1, 0],
    "model": [0, 1],
    "request_start_ns": [100, 200],
    "request_end_ns": [900, 300],
}
MINIMAL: list[Any] = [("HEAD", HEAD), ("MODL", MODELS), ("CALL", TWO_CALLS)]


def tensor(datatype: str, shape: list[int], body: bytes, **columns: Any) -> Any:
    """Return a chunk that describes one tensor."""
    facts = {"name": ["X"], "datatype": [datatype], "shape": [shape], **columns}
    return "TENS", facts, body


@pytest.fixture
def path(tmp_path):
    """Return the path of a file to write."""
    return tmp_path / "a.blsrun"


@pytest.fixture
def refused(path):
    """Read chunks as a file that is refused; return the reason."""

    def refused(*chunks: Any, text: str = "is not a saved run: ") -> str:
        path.write_bytes(file_of(chunks))
        with pytest.raises(TraceFileError) as error:
            read_run(path)
        begin = f"{path} {text}"
        assert str(error.value).startswith(begin)
        return str(error.value).removeprefix(begin)

    return refused


def read(path: Path, *chunks: Any) -> Trace:
    """Return the trace of a file of these chunks."""
    path.write_bytes(file_of(chunks))
    return read_run(path).trace


def small_run() -> SavedRun:
    """Return a run with all kinds of chunks, in 5 kB."""
    trace = invoice_run()
    spans = trace.spans[:4]
    # Without large values.
    spans = tuple(
        dataclasses.replace(
            span,
            id=3 * span.index,
            inputs=tuple(ref for ref in span.inputs if ref.byte_size < 500),
            outputs=tuple(ref for ref in span.outputs if ref.byte_size < 500),
        )
        for span in spans
    )
    sent = (ResponseEvent(7, spans[1].outputs, "", 0), ResponseEvent(8, (), "x", 1))
    last = dataclasses.replace(spans[3], responses=sent, response_count=2)
    spans = (*spans[:3], last)
    models = tuple(model._replace(source="") for model in trace.models)
    trace = dataclasses.replace(
        trace,
        models=models,
        folded=(FoldedCalls(models[0], models[1], 7, 1, 99),),
        gaps=(Gap(0, 1, 1, 7),),
        spans=spans,
        remarks=("a remark",),
        clock=ClockReading(1, 2),
        pauses=(Pause(3, 4),),
        profiles=(
            Profile("lines", 3, {"files": [TIMED]}, b"body"),
            SampleProfile(SAMPLED, 1_100_000, 1_000_000).stored(),
        ),
    )
    outputs = next(span.outputs for span in spans if span.outputs)
    answer = SavedResponse(outputs, None, True, {"k": 1})
    return SavedRun(trace, (answer,), None)


# What a file may say ---------------------------------------------------------


def test_a_minimal_file_is_read(path):
    """Omitted columns have defaults, and ids may have gaps."""
    trace = read(path, *MINIMAL, ("DONE", DONE))
    outer, inner = trace.spans

    assert ((0, 0, -1), (1, 5, 0)) == (
        (outer.index, outer.id, outer.parent),
        (inner.index, inner.id, inner.parent),
    )
    assert ["outer", "inner"] == [trace.models[s.model].name for s in trace.spans]
    assert (300, 1000, 0) == (
        inner.duration_ns,
        outer.request_end_ns,
        outer.queue_start_ns,
    )
    assert RequestFields() == inner.request_fields
    assert ((), 9, "a.blsrun") == (trace.remarks, trace.taken_ns, trace.file)


def test_the_last_version_of_a_call_counts(path):
    """A recorder writes a call when it starts, and again when it ends."""
    begun = {"ids": [0], "model": [0], "request_start_ns": [100]}
    ended = {**begun, "request_end_ns": [50], "error": ["boom"], "flags": [4]}
    trace = read(path, *MINIMAL[:2], ("CALL", begun), ("CALL", ended), ("DONE", DONE))

    [span] = trace.spans
    assert (50, "boom", False) == (span.duration_ns, span.error, span.running)


def test_calls_come_in_any_order(path):
    """The trace has them in order of their ids, callers first."""
    child = {"ids": [5], "parent": [2], "model": [1], "request_start_ns": [200]}
    caller = {"ids": [2], "model": [0], "request_start_ns": [100]}
    trace = read(path, *MINIMAL[:2], ("CALL", child), ("CALL", caller), ("DONE", DONE))

    assert [(2, -1), (5, 0)] == [(span.id, span.parent) for span in trace.spans]


def test_responses_are_appended_to_their_calls(path):
    """They may come one by one; parameters may follow."""
    responses: list[Any] = [
        ("RESP", {"call": [5, 5], "ns": [210, 220], "number": [0, 1]}),
        ("RESP", {"call": [5], "ns": [230], "number": [2], "error": ["x"],
                  "parameters": [[["k", 1]]]}),
    ]  # fmt: skip
    trace = read(path, *MINIMAL, *responses, ("DONE", DONE))

    inner = trace.spans[1]
    assert [(210, 0, ""), (220, 1, ""), (230, 2, "x")] == [
        (event.ns, event.number, event.error) for event in inner.responses
    ]
    assert 3 == inner.response_count


def test_runs_of_equal_values_are_written_once(path):
    """Counts and values add up to the number of calls."""
    calls = {**TWO_CALLS, "error": {"runs": [[2, "same"]]}}
    trace = read(path, *MINIMAL[:2], ("CALL", calls), ("DONE", DONE))

    assert ["same", "same"] == [span.error for span in trace.spans]


def test_a_tensor_may_share_the_value_of_an_earlier_one(path):
    """The earlier one may be in the same chunk or in an earlier one."""
    first = {
        "name": ["X", "Y"],
        "datatype": {"runs": [[2, "UINT8"]]},
        "shape": [[2], [1, 2]],
        "size": [2, None],
        "same_as": [None, 0],
    }
    later = {"name": ["Z"], "datatype": ["BYTES"], "shape": [[2]], "byte_size": [9]}
    calls = {**TWO_CALLS, "inputs": [[0, 1], [2]]}
    chunks = [("TENS", first, b"ab"), ("TENS", later), ("CALL", calls), ("DONE", DONE)]
    trace = read(path, *MINIMAL[:2], *chunks)

    x, y = trace.spans[0].inputs
    [z] = trace.spans[1].inputs
    assert [97, 98] == x.view().tolist()
    assert [[97, 98]] == y.view().tolist()
    assert x.data is y.data
    assert (9, True) == (z.byte_size, z.evicted)


@pytest.mark.parametrize("same_as", [[1, None], [None, 2], [None, -1]])
def test_a_tensor_shares_no_value_of_itself_or_of_a_later_one(same_as, refused):
    """That value is not known yet."""
    columns = {"name": ["X", "Y"], "datatype": ["INT8", "INT8"], "shape": [[1], [1]]}
    refused(*MINIMAL, ("TENS", {**columns, "same_as": same_as}), ("DONE", DONE))


def test_counted_calls_name_their_models_and_callers(path):
    """They refer to model numbers and to ids of neighbouring calls."""
    folded = {
        "folded": {"caller": [0, -1], "model": [1, 0], "calls": [7, 2]},
        "gaps": {"caller": [5, -1], "model": [1, 0], "after": [0, 1], "calls": [7, 2]},
    }
    trace = read(path, *MINIMAL, ("FOLD", folded), ("DONE", DONE))

    inner, outer = trace.folded
    assert ("outer", "inner", 7) == (inner.caller.name, inner.model.name, inner.calls)
    assert (None, "outer", 2) == (outer.caller, outer.model.name, outer.calls)
    assert [(1, 1, 0, 7), (-1, 0, 1, 2)] == list(trace.gaps)


def test_profiles_and_optional_chunks_of_unknown_types_are_saved_again(path):
    """Data of other programs is not lost."""
    profile = ("prof", {"kind": "samples", "call": 5, "stacks": [1]}, b"bytes")
    others = [("xtra", {"a": 1}, b"b"), ("long", {"a": [1] * 200}, b"")]
    trace = read(path, *MINIMAL, profile, *others, ("DONE", DONE))
    again = load_run(load_run(path).save(path)).trace

    assert (Profile("samples", 5, {"stacks": [1]}, b"bytes"),) == trace.profiles
    assert ["xtra", "long"] == [chunk.type for chunk in again.unread]
    assert (trace.profiles, trace.unread) == (again.profiles, again.unread)


def test_dropped_calls_are_known_to_the_file(path):
    """The limit may be another program's."""
    drops = {
        "what": ["calls", "values", "hopes"],
        "limit": ["keep_calls", "quota", "luck"],
        "setting": [2, 7, 0],
        "calls": [4, 1, 1],
        "last": [5, -1, -1],
    }
    folded = {"folded": {"model": []}, "gaps": {"model": []}, "drops": drops}
    read(path, *MINIMAL, ("FOLD", folded), ("DONE", DONE))
    trace = load_run(load_run(path).save(path)).trace

    calls, values = Drop("calls", "keep_calls", 2, 4, 5), Drop("values", "quota", 7, 1)
    assert (calls, values) == trace.drops
    with pytest.raises(TraceError, match="call 3 is no longer kept: keep_calls=2 limi"):
        find_call(trace, 3)
    assert "values of 1 call dropped: quota=7 limits what is kept" in notices(trace)[1]


def test_values_that_another_program_left_out_are_mentioned(path):
    """Files of blsnb have a remark of their own."""
    trace = read(path, *MINIMAL, ("DONE", {**DONE, "left_out": [2, 1500]}))
    again = load_run(load_run(path).save(path)).trace

    told = "The file does not contain the values of 2 tensors (1,500 bytes)."
    assert (told,) == trace.remarks == again.remarks


def test_a_recording_is_read(path):
    """A file of another process has several client requests and no title."""
    head = {"format": 2, "kind": "recording", "process": {"pid": 7}, "settings": {}}
    calls = {"ids": [0, 1], "model": [0, 0], "request_start_ns": [5, 6],
             "origin": [None, {"file": "b", "call": 3}]}  # fmt: skip
    path.write_bytes(file_of([("HEAD", head), MINIMAL[1], ("CALL", calls)]))
    run = load_run(path)

    assert ("outer", 2) == (run.model_name, len(run.trace.roots))
    assert every(span.running for span in run.trace.spans)
    again = load_run(run.save(path)).trace
    assert RecordingFacts({"pid": 7}, {}) == run.trace.recording == again.recording
    assert [None, {"file": "b", "call": 3}] == [span.origin for span in again.spans]


def test_all_that_another_program_records_is_saved_again(path):
    """Parameters, statistics and redactions are included."""
    tensors = {
        "name": ["X", "SECRET", "BIG"],
        "datatype": ["UINT8"] * 3,
        "shape": [[1]] * 3,
        "byte_size": [None, 1, 1],
        "size": [1, None, None],
        "redacted": [False, True, False],
        "statistics": [None, None, {"max": 3.5, "nan": 0}],
    }
    calls = {**TWO_CALLS, "inputs": [[0, 1, 2], []],
             "response_parameters": [[["b", True], ["i", 1]], []]}  # fmt: skip
    sent = {"call": [5], "ns": [250], "parameters": [[["token", 7]]]}
    file = [*MINIMAL[:2], ("TENS", tensors, b"a"), ("CALL", calls), ("RESP", sent)]
    trace = read(path, *file, ("DONE", DONE))
    again = load_run(load_run(path).save(path)).trace

    assert facts(trace) == facts(again)
    assert (("b", True), ("i", 1)) == again.spans[0].response_parameters
    assert (("token", 7),) == again.spans[1].responses[0].parameters
    _, secret, big = again.spans[0].inputs
    assert (True, True, {"max": 3.5, "nan": 0}) == (
        secret.evicted,
        secret.redacted,
        big.statistics,
    )


def test_all_fields_of_a_request_and_gaps_of_ids_survive(path):
    """A string as correlation id, all parameter types and a large id are kept."""
    parameters = [["b", True], ["i", 1], ["f", 1.0], ["n", ["nan"]], ["s", "1"]]
    calls = {**TWO_CALLS, "ids": [7, 1 << 30], "parent": [-1, 7],
             "correlation_id": ["seven", 9], "version": [3, -1], "priority": [1, 0],
             "timeout_us": [5, 0], "sequence_flags": [3, 0],
             "parameters": [parameters, []]}  # fmt: skip
    read(path, *MINIMAL[:2], ("CALL", calls), ("DONE", DONE))
    trace = load_run(load_run(path).save(path)).trace

    first, second = trace.spans
    assert [7, 1 << 30] == [first.id, second.id]
    assert (3, "seven", 3, 5, 1) == first.request_fields[:5]
    given = dict(first.request_fields.parameters)
    assert "nan" == str(given.pop("n"))
    assert repr({"b": True, "i": 1, "f": 1.0, "s": "1"}) == repr(given)
    assert RequestFields(correlation_id=9) == second.request_fields


# Files that were not completed -----------------------------------------------


def test_a_file_that_was_not_completed_has_a_remark(path):
    """Calls without an end were running."""
    calls = {**TWO_CALLS, "request_end_ns": [None, 100]}
    trace = read(path, *MINIMAL[:2], ("CALL", calls))

    assert [True, False] == [span.running for span in trace.spans]
    assert 300 == trace.taken_ns == trace.end_ns
    assert (
        "The file was not completed: what was written until then is shown.",
    ) == trace.remarks


@pytest.mark.parametrize(
    ("chunks", "last_ns"),
    [
        ([], 0),
        ([("RESP", {"call": [5], "ns": [301]})], 0),
        (MINIMAL[1:], 1000),
        ([*MINIMAL[1:], ("RESP", {"call": [5], "ns": [1001]})], 1001),
    ],
)
def test_a_file_that_was_not_completed_ends_with_its_last_known_time(
    chunks, last_ns, path
):
    """It is that of an event or a response of a call, or 0 without calls."""
    assert last_ns == read(path, MINIMAL[0], *chunks).taken_ns


def test_calls_whose_caller_was_not_written_are_shown_with_a_remark(path):
    """They are client requests; responses without calls are remarked, too."""
    calls = {**TWO_CALLS, "parent": [-1, 3]}
    responses = ("RESP", {"call": [77], "ns": [1]})
    trace = read(path, *MINIMAL[:2], ("CALL", calls), responses, ("DONE", DONE))

    assert [-1, -1] == [span.parent for span in trace.spans]
    assert (
        "The file does not contain the callers of 1 of its calls: they are shown as "
        "client requests.",
        "The file does not contain the calls of 1 response.",
    ) == trace.remarks


def test_what_follows_the_last_chunk_is_ignored_with_a_remark(path):
    """It does not belong to the run."""
    path.write_bytes(file_of([*MINIMAL, ("DONE", DONE)]) + b"more")

    remark = "Ignored after the end of the run: 4 bytes."
    assert (remark,) == read_run(path).trace.remarks


def test_a_file_cut_off_at_any_byte_is_read_as_far_as_it_goes(path):
    """It is read up to its last complete chunk, with a remark and no wrong value."""
    run = small_run()
    write_run(run, path)
    whole = path.read_bytes()
    ends = boundaries(whole)
    seen = set()
    for size in reversed(range(len(whole))):
        os.truncate(path, size)
        if size < ends[0]:
            with pytest.raises(TraceFileError) as error:
                read_run(path)
            assert str(error.value) == cut_head(path, size)
            continue
        trace = read_run(path).trace
        seen.add(len(trace.spans))
        assert_part(trace, run.trace)
        done = max(end for end in ends if end <= size)
        assert trace.remarks[-1] == (
            "The file was not completed: what was written until then is shown."
            if done == size
            else "The file ends in the middle of a chunk: its first "
            f"{done:,} of {size:,} bytes are shown."
        )

    assert {0, 4} == seen


def cut_head(path: Path, size: int) -> str:
    """Return why a file of this size, cut off in its first chunk, is refused."""
    if not size:
        return f"{path} is not a saved run: it is empty; {EXPECTED}"
    header = len(MAGIC) + 24
    reason = "it ends before the first chunk does"
    if size > len(MAGIC):
        within = "a chunk" if size >= header else "a chunk's header"
        reason = f"the file ends in the middle of {within}"
    return f"{path} is damaged, or only a part of a run: {reason}"


def test_a_damaged_chunk_ends_what_is_read(path):
    """The remark has the number of its first byte."""
    data = bytearray(file_of([*MINIMAL, ("DONE", DONE)]))
    begin = boundaries(data)[2]
    data[begin + 4] ^= 0x80
    path.write_bytes(data)

    assert (
        f"The file is damaged at byte {begin:,}: its first {begin:,} of "
        f"{len(data):,} bytes are shown.",
    ) == read_run(path).trace.remarks


def test_any_changed_byte_is_an_error_or_a_remark(path):
    """A wrong value is never returned."""
    run = small_run()
    write_run(run, path)
    whole = path.read_bytes()
    for at in range(len(whole)):
        byte = bytes([whole[at] ^ 1 << at % 8])
        # The byte before it is as it was again.
        with path.open("r+b") as file:
            file.seek(max(0, at - 1))
            file.write(whole[max(0, at - 1) : at] + byte)
        try:
            trace = read_run(path).trace
        except TraceFileError:
            continue
        assert_part(trace, run.trace)
        assert trace.remarks[-1].startswith("The file ")


def assert_part(part: Trace, whole: Trace) -> None:
    """Assert that a read trace is a part of the written one."""
    for span, written in zip(part.spans, whole.spans, strict=False):
        responses = written.responses[: len(span.responses)]
        flags = span.flags & ~CallFlag.RUNNING
        expected = dataclasses.replace(written, responses=responses)
        expected = dataclasses.replace(expected, flags=flags)
        assert part.models == whole.models
        assert facts(expected) == facts(dataclasses.replace(span, flags=flags))


# Files of others -------------------------------------------------------------


def test_a_file_without_its_first_chunk_is_refused(refused, path):
    """The chunk may be missing or of another type."""
    for data in (MAGIC[:3], MAGIC, MAGIC + b"HEAD"):
        path.write_bytes(data)
        with pytest.raises(TraceFileError, match="is damaged, or only a part of a run"):
            read_run(path)
    assert "it begins with a chunk of the type 'MODL', not 'HEAD'" == refused(
        ("MODL", MODELS)
    )
    assert "it has two chunks of the type 'HEAD'" == refused(*MINIMAL[:1], MINIMAL[0])


def test_a_later_format_or_chunk_is_refused_with_the_release_that_wrote_it(refused):
    """The error says that a newer blsnb is needed."""
    text = refused(("HEAD", {**HEAD, "format": 3}), text="was saved by ")
    assert (
        "blsnb 9.1 in format 3; this blsnb reads format 2: a newer blsnb is "
        "needed" == text
    )
    for written_by, told in ((7, "another blsnb"), ("b" * 41, "b" * 40)):
        head = {**HEAD, "format": 3, "written_by": written_by}
        text = refused(("HEAD", head), text=f"was saved by {told} in format 3; ")
        assert "this blsnb reads format 2: a newer blsnb is needed" == text
    text = refused(*MINIMAL, ("Xtra", {}), text="was saved by ")
    assert (
        "blsnb 9.1 and contains a chunk of the type 'Xtra', which this blsnb does not "
        "know: a newer blsnb is needed" == text
    )


@pytest.mark.parametrize("version", [0, 1, "2", 2.5, None, True])
def test_an_unknown_format_is_refused(version, refused):
    """Another program wrote the file."""
    text = refused(("HEAD", {**HEAD, "format": version}))

    assert f"its format is {version!r}, and this file should have 2" == text


INVALID_CALLS: list[tuple[str, Any]] = [
    ("ids", [0, -1]),
    ("ids", [0, 1 << 31]),
    ("ids", 3),
    ("ids", [0]),
    ("parent", [-1, 5]),
    ("parent", [-1, 9]),
    ("parent", [-2, 0]),
    ("model", [0, 2]),
    ("model", [0, True]),
    ("request_start_ns", [1, -1]),
    ("request_end_ns", [1, -201]),
    ("request_end_ns", [1, 1.5]),
    ("flags", [0, 1 << 16]),
    ("flags", [0, True]),
    ("inputs", [[], [0]]),
    ("inputs", [[], [-1]]),
    ("error", ["", None]),
    ("error", "text"),
    ("error", {"runs": [[1, ""]]}),
    ("error", {"runs": [[1 << 40, ""]]}),
    ("error", {"runs": [[2, 3]]}),
    ("error", {"all": ""}),
    ("logs", [[[1, 2, 3]], []]),
    ("parameters", [[["k", None]], []]),
    ("parameters", [[["k", [None]]], []]),
    ("correlation_id", [None, 0]),
    ("device_use", [[1], None]),
    ("instance", [1, ""]),
    ("requested_outputs", [["a"], [1]]),
    ("parameters", [[["k", ["nine"]]], []]),
    ("parameters", [{}, []]),
    ("response_count", [0, -1]),
    ("execution", [0, "1"]),
]
INVALID_CHUNKS: list[Any] = [
    ("MODL", {}),
    ("MODL", {"models": [{}]}),
    ("MODL", {"models": [{"name": "m", "origin": [1]}]}),
    ("MODL", []),
    tensor("FP32", [1], b"", size=[4]),
    tensor("FP4", [4], b"abcd", size=[4]),
    tensor("INT8", [3], b"abcd", size=[4]),
    tensor("INT8", [4], b"abcd"),
    tensor("INT8", [0], b"", size=[-1]),
    tensor("BYTES", [1], b"\1\0\0\0", size=[4]),
    tensor("BYTES", [1], b"\0\0\0", size=[3]),
    tensor("BYTES", [2], bytes(4), size=[4]),
    tensor("BYTES", [1], bytes(8), size=[8]),
    tensor("INT8", [], b"", same_as=[0]),
    tensor("INT8", [1] * 65, b""),
    ("RESP", {"call": [0], "ns": [-1]}),
    ("RESP", {}),
    ("FOLD", {"folded": {"model": [9]}, "gaps": {"model": []}}),
    ("FOLD", {"folded": {"model": []}, "gaps": {"model": [9], "calls": [1]}}),
    ("FOLD", {"folded": {"model": []}, "gaps": {"model": [0], "calls": [0]}}),
    ("ANSW", {"responses": {"final": [1]}}),
    ("PAUS", {"paused": [[1]]}),
    ("prof", {"call": -1}),
    ("rmrk", {"remarks": [1]}),
    ("DONE", {}),
    ("DONE", {"taken_ns": 9, "left_out": [1]}),
    ("DONE", {"taken_ns": 9, "left_out": {}}),
    ("HEAD", HEAD),
    ("CALL", {**TWO_CALLS, "ids": [0, 0]}),
    tensor("INT8", [-1], b"", size=[0]),
    tensor("INT8", [1], b"", redacted=[1]),
    tensor("INT8", [1], b"ab", size=[1]),
    ("prof", {"kind": 1}),
    ("RESP", {"call": [0], "ns": [1], "outputs": [[0]]}),
    ("FOLD", {"folded": [], "gaps": {"model": []}}),
    ("FOLD", {"folded": {"model": [1], "calls": [0]}, "gaps": {"model": []}}),
    ("FOLD", {"folded": {"model": [1]}, "gaps": {"model": []}}),
    tensor("INT8", [1], b"", statistics=[[1]]),
    tensor("INT8", [1], b"", statistics=[0]),
    ("ANSW", {"responses": {"final": [True], "error": [5]}}),
]


def test_the_reasons_of_refusals_are_the_reviewed_ones(refused):
    """Callers have lower ids, fields have types and ranges, types have their rules."""
    # ``BLSNB_WRITE_GOLDEN=1`` writes the file anew.
    lines = [
        f"CALL {column}={values!r}: "
        + refused(*MINIMAL[:2], ("CALL", {**TWO_CALLS, column: values}), ("DONE", DONE))
        for column, values in INVALID_CALLS
    ]
    for chunk in INVALID_CHUNKS:
        lines.append(f"{chunk}: {refused(*MINIMAL, chunk, ('DONE', DONE))}")
    text = "\n".join(lines) + "\n"

    assert reviewed(REFUSALS, text) == text


@pytest.mark.parametrize("text", [b"[" * 10_000, b"[]", b"NaN", b'{"run":1e999}'])
def test_json_that_is_no_object_is_refused(text, path):
    """It may be nested deeply or have too large numbers."""
    head = struct.pack("<4sHHIQ", b"HEAD", 0, 0, len(text), 0)
    checksum = zlib.crc32(text, zlib.crc32(head)).to_bytes(4, "little")
    path.write_bytes(MAGIC + head + checksum + text)

    with pytest.raises(TraceFileError, match="is not a saved run"):
        read_run(path)


def test_a_parameter_that_is_too_large_for_a_float_is_refused():
    """An infinity is written as a string."""
    assert math.inf == read_parameter(["inf"])
    with pytest.raises(ValueError, match="finite"):
        read_parameter(parsed(b"1e999"))


def test_models_are_limited(path):
    """Their numbers have 16 bits."""
    path.write_bytes(
        file_of([MINIMAL[0], ("MODL", {"models": [{"name": ""}] * 60_001})])
    )
    with pytest.raises(TraceFileError, match="more than 60,000 models"):
        read_run(path, limit_bytes=1 << 30)


@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=5)
def test_changed_chunks_are_read_or_refused_and_nothing_else(seed, tmp_path_factory):
    """Values are replaced and checksums corrected; a run that is read can be drawn."""
    rng = random.Random(seed)
    path = tmp_path_factory.mktemp("fuzz") / "a.blsrun"
    write_run(small_run(), path)
    whole = [
        (each.type, json_of(each), each.body) for each in chunks_of(path.read_bytes())
    ]
    until = time.monotonic() + _FUZZ_S / 5
    while time.monotonic() < until:
        at = rng.randrange(len(whole))
        type, value, body = whole[at]
        chunk = type, changed(value, rng), body
        path.write_bytes(file_of([*whole[:at], chunk, *whole[at + 1 :]]))
        try:
            trace = read_run(path).trace
        except TraceFileError:
            continue
        tree(trace)
        encode(trace)


_ODD = (None, True, -1, 0, 3, 1 << 31, 1 << 62, 1 << 70, 1e300, "", "x", [], {}, [[]])


def changed(value: Any, rng: random.Random) -> Any:
    """Return a copy with one replaced value."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        return {**value, key: changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        return [*value[:at], changed(value[at], rng), *value[at + 1 :]]
    return rng.choice(_ODD)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", f"it is empty; {EXPECTED}"),
        (b"any text", f"it does not begin like one; {EXPECTED}"),
        (b"PK\x03\x04", f"it does not begin like one; {EXPECTED}"),
        (b'[{"id":1}]', f"it does not begin like one; {TRITONS}"),
        (b'\xef\xbb\xbf\n {"id":1}', f"it does not begin like one; {TRITONS}"),
        (
            b"<!doctype html>",
            "it does not begin like one; an HTML page of run.save() is for viewing; "
            "save the run as .blsrun as well",
        ),
    ],
)
def test_a_file_that_is_not_a_run_is_refused(data, reason, path):
    """The error says what it may be, and what reads it."""
    path.write_bytes(data)

    with pytest.raises(TraceFileError) as error:
        read_run(path)

    assert f"{path} is not a saved run: {reason}" == str(error.value)
