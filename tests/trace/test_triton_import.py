"""Trace files that a real server wrote."""

from __future__ import annotations

import json

import pytest
from trace_files import EXAMPLE, GOLDEN, RECORDED, reader
from views.encoded import encode

from blsnb.trace.events import CallFlag, LogLine
from blsnb.trace.spans import Trace
from blsnb.trace.triton.events import Metadata, Stamp, TensorEvent, UnreadRange
from blsnb.trace.triton.trace_file import read_traces
from blsnb.views.tree import tree

NO_OUTPUTS = (
    "The file contains no outputs of this request. It may have failed: a Triton trace "
    "file contains no errors."
)
REJECTED = (
    "This request was rejected before any model computed it. A Triton "
    "trace file does not contain the reason."
)

PIECES = sorted(GOLDEN.glob(f"{RECORDED.name}.*"))


@pytest.fixture(scope="module")
def recorded() -> dict[str, Trace]:
    """The recorded runs by request id."""
    return {trace.request_id: trace for trace in read_traces(RECORDED)}


def test_the_example_is_read_completely():
    """It has 35 events: 3 traces, 26 timestamps and 6 tensors."""
    events = list(reader(EXAMPLE.read_text()))

    kinds = [type(event) for event in events]
    assert [3, 26, 6] == [kinds.count(kind) for kind in (Metadata, Stamp, TensorEvent)]
    assert 35 == len(kinds)
    [trace] = read_traces(EXAMPLE)
    assert [-1, 0, 0] == [span.parent for span in trace.spans]
    assert ("bls", "trace-me") == (trace.title, trace.request_id)
    assert ["", "", "kid2"] == [
        span.request_id if span.parent >= 0 else "" for span in trace.spans
    ]


def test_timestamps_of_the_end_points_are_lines_of_the_log():
    """They are not part of the call, and are not lost."""
    [trace] = read_traces(EXAMPLE)
    root, *children = trace.spans

    assert 1808189242572 == root.request_start_ns
    assert LogLine(1808189116244, "TRACE", "HTTP_RECV_START") == root.logs[0]
    names = [line.text for line in root.logs]
    assert ["HTTP_SEND_START", "HTTP_SEND_END"] == names[-2:]
    assert [(), ()] == [child.logs for child in children]


def test_numbered_pieces_are_one_trace(recorded):
    """They are read by the name without a number, or one by one."""
    assert 18 == len(recorded)
    assert ["b1", "h1", "fail"] == [
        trace.request_id for trace in read_traces(PIECES[0])
    ]
    starts = [trace.start_ns for trace in recorded.values()]
    assert sorted(starts) == starts


def test_nothing_of_a_real_file_is_lost():
    """Invalid JSON is read, too."""
    for piece in PIECES:
        text = piece.read_bytes().decode("utf-8", "surrogateescape")
        assert not [event for event in reader(text) if isinstance(event, UnreadRange)]
    with pytest.raises(ValueError, match="Invalid control character"):
        json.loads(PIECES[2].read_bytes().decode(errors="replace"))


def test_values_of_every_type_are_read(recorded):
    """The file has six digits, and no values of half floats."""
    values = {
        ref.name: None if ref.evicted else ref.view().ravel().tolist()
        for ref in recorded["types"].spans[0].inputs
    }

    assert [True, False, False, True] == values["BOOL"]
    assert [1, 2, 255, 0] == values["UINT8"]
    assert [1, 2, 127, -128] == values["INT8"]
    assert [1, 2, 2**64 - 1, 0] == values["UINT64"]
    assert [1, 2, 2**63 - 1, -(2**63)] == values["INT64"]
    assert "[nan, inf, 0.1, -123457.0]" == str(values["FP64"])
    assert [b"plain", b'quo"te', b"back\\slash", b"new\nline"] == values["STRING"]
    assert values["FP16"] is None
    [half] = [ref for ref in recorded["types"].spans[0].inputs if ref.name == "FP16"]
    assert ((2, 2), 8) == (half.shape, half.byte_size)


def test_bytes_that_break_the_file_are_read(recorded):
    """They contain quotes, commas, backslashes and invalid UTF-8."""
    [ref] = recorded["u8"].spans[0].inputs
    assert [34, 44, 92, 200] == ref.view().ravel().tolist()
    [ref] = recorded["bin"].spans[0].inputs
    assert [b"\xff\x00\x01", 'ä,","'.encode()] == ref.view().ravel().tolist()
    assert 'id"q' in recorded


def test_an_ensemble_is_recognised_by_missing_computation(recorded):
    """It makes requests and computes nothing."""
    trace = recorded["e2"]

    backends = {model.name: model.backend for model in trace.models}
    assert {"ens": "ensemble", "bls": "", "child": ""} == backends
    assert ((1, 2), (), (3, 4), (), ()) == trace.children


def test_responses_are_separated_by_repeated_names(recorded):
    """Their times are those at which the server began to send."""
    [span] = recorded["s1"].spans

    assert span.flags & CallFlag.DECOUPLED
    assert [[1, 2], [2, 3], [3, 4]] == [
        each.outputs[0].view().tolist() for each in span.responses
    ]
    assert [11669348784879, 11669349060247, 11669349319140] == [
        each.ns for each in span.responses
    ]


def test_a_rejected_request_is_an_error(recorded):
    """It ends with its response, since Triton writes no end."""
    [span] = recorded["nar2"].spans

    assert span.flags & CallFlag.ERROR
    assert REJECTED == span.error
    assert 11669389188990 == span.request_end_ns
    assert () == span.notes


def test_a_request_without_outputs_may_have_failed(recorded):
    """The file contains no errors."""
    assert [(NO_OUTPUTS,)] * 2 == [s.notes for s in recorded["fail"].spans]
    assert [()] * 3 == [span.notes for span in recorded["b1"].spans]


def test_every_run_names_its_file(recorded):
    """Title, notes and text have the name."""
    trace = recorded["b1"]

    assert "triton_2.51.0.json" == trace.file
    assert "Read from triton_2.51.0.json" in tree(trace)
    header, _ = encode(trace)
    assert "triton_2.51.0.json" == header["run"]["file"]
    assert header["notes"]["0"][0].startswith("Read from triton_2.51.0.json")
