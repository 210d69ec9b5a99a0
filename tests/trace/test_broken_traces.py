"""Trace files that are cut off, damaged, or made to be a nuisance."""

from __future__ import annotations

import contextlib
import json
import random
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import examples
from trace_files import EXAMPLE, GOLDEN, RECORDED, known, reader
from views.encoded import encode

from blsnb import TraceFileError
from blsnb.files.read_budget import ReadLimitError
from blsnb.options import options
from blsnb.trace.files.export import write_traces
from blsnb.trace.files.v2.chunks import MAGIC
from blsnb.trace.spans import Trace
from blsnb.trace.triton.events import Metadata, Stamp, UnreadRange
from blsnb.trace.triton.trace_file import read_traces
from blsnb.views.documents import document
from blsnb.views.tree import tree

CIRCLE = "In the file this request is its own ancestor; the cycle is cut here."
NO_END = (
    "The file does not contain this request's REQUEST_END: its last known time is "
    "shown as its end."
)
NO_METADATA = "The file contains requests of this one, but not the request itself."
NO_TIMES = "The file contains no timestamps of this request."

PIECES = sorted(GOLDEN.glob(f"{RECORDED.name}.*"))


@pytest.fixture
def read(tmp_path):
    """Read a text as a file."""

    def read(text: str | bytes) -> list[Trace]:
        path = tmp_path / "trace.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_traces(path)

    return read


def file_of(*events: dict) -> str:
    return json.dumps(events, separators=(",", ":"))


def about(id_: int, parent: int | None = None, name: str = "m") -> dict:
    event = {"id": id_, "model_name": name, "model_version": 1}
    return event if parent is None else event | {"parent_id": parent}


def stamp(id_: int, name: str, ns: int) -> dict:
    return {"id": id_, "timestamps": [{"name": name, "ns": ns}]}


def whole(id_: int, parent: int | None = None, at: int = 10) -> list[dict]:
    """Return the minimum events of a request."""
    start, end = stamp(id_, "REQUEST_START", at), stamp(id_, "REQUEST_END", at + 5)
    return [about(id_, parent), start, end]


def notes_of(trace: Trace) -> list[tuple[str, ...]]:
    return [span.notes for span in trace.spans]


def test_events_come_in_any_order(read):
    """Events of several requests may be mixed."""
    events = json.loads(EXAMPLE.read_text())
    random.Random(1).shuffle(events)

    [trace], [real] = read(file_of(*events)), read_traces(EXAMPLE)
    mixed, sorted_ = known(trace), known(real)
    assert [each[:4] for each in sorted_] == [each[:4] for each in mixed]


def test_a_file_cut_off_has_a_remark_about_its_end(read):
    """Events before the end are shown, and missing ones are noted at each call."""
    text = EXAMPLE.read_text()
    at = text.index('{"id":1,"activity"')
    [trace] = read(text[: at + 30])

    assert 3 == len(trace.spans)
    assert (
        "Read from trace.json, a trace file of a Triton server. Such a file contains "
        "no errors, logs, sources or instances.",
        f"trace.json: 30 bytes from byte {at:,} on, to its end, could not be read.",
    ) == trace.remarks
    assert NO_END in trace.spans[0].notes


@pytest.mark.parametrize(
    "damage",
    [
        "\0\0\0",
        "}}}",
        '{"id":',
        "\ud800".encode("utf-8", "surrogatepass"),
        '{"id":7,"timestamps":[{"name":"X","ns":1}}]',
    ],
)
def test_damage_in_the_middle_costs_what_it_covers(read, damage):
    """Its position is reported in bytes, and all other events are read."""
    text = EXAMPLE.read_bytes()
    at = text.index(b'{"id":2,"activity"')
    damage = damage if isinstance(damage, bytes) else damage.encode()
    [trace] = read(text[:at] + damage + b"," + text[at:])

    [real] = read_traces(EXAMPLE)
    assert known(real) == known(trace)
    size = len(damage) + 1
    assert (
        f"trace.json: {size} bytes from byte {at:,} on could not be read."
    ) == trace.remarks[-1]


def test_many_damages_are_counted(read):
    """Only the first ones are reported one by one."""
    events = [json.dumps(event) for event in whole(1)]
    [trace] = read("[" + ",%,".join([*events, *events]) + "]")

    *first, last = trace.remarks[1:]
    assert ["trace.json: 2 bytes from byte"] * 3 == [each[:29] for each in first]
    assert "trace.json: 2 more such places." == last


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "no JSON",
        '{"traceEvents":[{"ph":"X","name":"a","ts":1}]}',
        '[{"id":"1","model_name":"m"}]',
        '[{"id":true,"timestamps":[{"name":"REQUEST_START","ns":1}]}]',
        '[{"id":-1,"timestamps":[{"name":"REQUEST_START","ns":1}]}]',
        "\0" * 1000,
        b"\x89PNG\r\n\x1a\n",
        "[" * 100_000,
        '[{"id":' + "9" * 10_000,
    ],
    ids=lambda text: str(text[:20]),
)
def test_a_file_that_is_not_a_trace_is_an_error(read, text):
    """The error names the file."""
    with pytest.raises(TraceFileError, match=r"json is not a trace file of a Triton"):
        read(text)


def test_many_small_events_of_another_layout_are_read():
    """The work for what cannot be read is limited, not that for what can."""
    text = "[" + ",\n".join(['{"id": 7, "model_name": "m"}'] * 5_000) + "]"

    assert [Metadata] * 5_000 == [type(each) for each in reader(text)]


@pytest.mark.parametrize(("cut", "rest"), [('"x": ', "1}"), ('"x": -Infinit', "y}")])
def test_an_event_may_be_longer_than_the_first_look(cut, rest):
    """That look ends after 4,096 characters, also in the middle of a number."""
    begun = '{"id": 1, "model_name": "m",'
    text = begun + cut.rjust(4096 - len(begun)) + rest

    assert [Metadata] == [type(each) for each in reader(text)]


@pytest.mark.parametrize("name", ["GRPC_WAITREAD_END", "HTTP_RECV_END"])
def test_waiting_for_a_request_is_not_its_end(read, name):
    """A connection waits for the next request."""
    waits = stamp(1, name, 100)
    [trace] = read(file_of(about(1), stamp(1, "REQUEST_START", 5), waits))

    assert (5, 5) == (trace.start_ns, trace.end_ns)


@pytest.mark.parametrize(
    ("id_", "ns", "kind"),
    [
        (0, 0, Stamp),
        (2**64 - 1, 2**63 - 1, Stamp),
        (2**64, 1, UnreadRange),
        (1, 2**63, UnreadRange),
    ],
)
def test_a_number_that_triton_cannot_write_is_unread(id_, ns, kind):
    """Ids have 64 bits, times one less."""
    assert [kind] == [type(each) for each in reader(file_of(stamp(id_, "X", ns)))]


def test_a_saved_run_is_not_a_trace(tmp_path):
    """The error names the function that reads it."""
    path = tmp_path / "a.blsrun"
    path.write_bytes(MAGIC + b"more")
    with pytest.raises(TraceFileError) as refused:
        read_traces(path)

    assert (
        f"{path} is not a trace file of a Triton server. It may be a saved run: use "
        "blsnb.load_run()."
    ) == str(refused.value)


def test_a_file_that_is_not_there_is_pythons_own_error(tmp_path):
    """The error is FileNotFoundError."""
    with pytest.raises(FileNotFoundError):
        read_traces(tmp_path / "trace.json")


def test_a_file_that_is_too_large_is_refused(read, monkeypatch):
    """The error has limit, option, and how a server writes smaller files."""
    monkeypatch.setattr(options, "read_limit_bytes", 1 << 20)

    with pytest.raises(
        TraceFileError,
        match=r"more than 1,048,576 bytes of memory.*read_limit_bytes.*\. A server "
        r"started with --trace-config triton,log-frequency=1000 writes smaller files, "
        r"which can be read one by one\.$",
    ):
        read(" " * ((1 << 20) + 1))


def test_a_caller_that_is_not_in_the_file_has_a_place(read):
    """Its calls are shown together."""
    [trace] = read(file_of(*whole(2, parent=1, at=10), *whole(3, parent=1, at=30)))

    assert "model not in the file" == trace.title
    assert [-1, 0, 0] == [span.parent for span in trace.spans]
    assert (10, 35) == (trace.start_ns, trace.end_ns)
    assert [(NO_METADATA,), (), ()] == notes_of(trace)


@pytest.mark.parametrize("parents", [[1], [2, 1], [2, 3, 1], [2, 3, 2]])
def test_a_circle_of_callers_is_cut(read, parents):
    """A request without a caller is a client request."""
    events = [each for id_, up in enumerate(parents, 1) for each in whole(id_, up)]
    traces = read(file_of(*events))

    assert len(parents) == sum(len(trace.spans) for trace in traces)
    notes = [note for trace in traces for span in trace.spans for note in span.notes]
    assert 1 == notes.count(CIRCLE)


def test_a_caller_comes_first_although_its_times_are_later(read):
    """A call's row always follows its caller's."""
    [trace] = read(file_of(*whole(1, at=50), *whole(2, parent=1, at=10)))

    assert [-1, 0] == [span.parent for span in trace.spans]
    assert 10 == trace.start_ns


def test_the_first_of_two_values_counts(read):
    """A file may contain an event twice."""
    again = [about(1, name="other"), stamp(1, "REQUEST_END", 99)]
    [trace] = read(file_of(*whole(1), *again))

    assert ("m", 15) == (trace.title, trace.end_ns)
    assert ("REQUEST_END", 99) == (
        trace.spans[0].logs[0].text,
        trace.spans[0].logs[0].ns,
    )


def test_a_value_may_be_a_trace_itself(read):
    """Unescaped, it looks like events of the file."""
    inside = '[{"id":1,"x":1},{"id":2,"model_name":"no","model_version":1}]'
    value = (
        '{"id":1,"activity":"TENSOR_QUEUE_INPUT","tensor":{"name":"X",'
        f'"data":"\\"{inside}\\"","shape":"1","dtype":"BYTES"}}}}'
    )
    [trace] = read(f"[{value},{file_of(*whole(1))[1:]}")

    [ref] = trace.spans[0].inputs
    assert [inside.encode()] == ref.view().tolist()
    assert 1 == len(trace.remarks)


def test_pieces_are_read_in_the_order_of_their_numbers(tmp_path):
    """Piece 2 comes before piece 10."""
    for number in (10, 2, 0):
        path = tmp_path / f"trace.json.{number}"
        path.write_text(f"?{file_of(*whole(number + 1))}")
    (tmp_path / "trace.json.old").write_text("?")
    remarks = read_traces(tmp_path / "trace.json")[0].remarks

    assert [
        f"trace.json.{number}: 2 bytes from byte 0 on could not be read."
        for number in (0, 2, 10)
    ] == list(remarks[1:])


def test_a_request_without_an_end_ends_with_its_last_call(read):
    """A killed server writes no end."""
    events = [about(1), stamp(1, "REQUEST_START", 5), *whole(2, parent=1, at=10)]
    [trace] = read(file_of(*events))

    assert 15 == trace.spans[0].request_end_ns
    assert not trace.running
    assert (NO_END,) == trace.spans[0].notes


def test_a_file_without_timestamps_still_shows_the_call_graph(read):
    """A server may trace tensors only."""
    [trace] = read(file_of(about(1), about(2, 1), about(3, 2)))

    assert [-1, 0, 1] == [span.parent for span in trace.spans]
    assert [(NO_TIMES,)] * 3 == notes_of(trace)


def test_a_long_run_is_folded(read):
    """It is folded like a recorded run."""
    calls = [each for id_ in range(2, 12_002) for each in whole(id_, 1, at=id_)]
    [trace] = read(file_of(*whole(1), *calls))

    assert 12_001 == trace.call_count
    assert len(trace.spans) < 10_300


def test_more_models_than_can_be_numbered_are_one(read):
    """A file may contain any number of names."""
    calls = [about(id_, 1, name=f"m{id_}") for id_ in range(2, 10_102)]
    [trace] = read(file_of(*whole(1), *calls))

    assert 10_001 >= len(trace.models)
    assert "further models" in {model.name for model in trace.models}


@pytest.mark.parametrize(
    "change",
    [
        {"shape": "-1"},
        {"shape": [1]},
        {"shape": "1," * 64 + "1"},
        {"shape": "1" * 20},
        {"shape": "\u0661"},
        {"data": 1},
        {"name": None},
        {"dtype": {}},
    ],
    ids=str,
)
def test_an_invalid_tensor_is_left_out(read, change):
    """A remark reports it."""
    tensor = {"name": "X", "data": "1", "shape": "1", "dtype": "FP32"} | change
    event = {"id": 1, "activity": "TENSOR_QUEUE_INPUT", "tensor": tensor}
    [trace] = read(file_of(event, *whole(1)))

    assert () == trace.spans[0].inputs
    assert "from byte 1 on could not be read" in trace.remarks[-1]


HOSTILE_TENSORS = {
    "a shape that fits no memory": ("1000000000000,1000000000", "FP32", "1"),
    "a shape that fits no number": ("9" * 19 + "," + "9" * 19, "FP32", "1"),
    "an empty shape": ("", "FP32", "7"),
    "64 axes": ("1," * 63 + "1", "FP32", "7"),
    "a type of its own": ("1", "COMPLEX", "1"),
    "not even": ("0,0,0", "UINT8", "abc"),
}


@pytest.mark.parametrize(
    ("shape", "dtype", "data"), HOSTILE_TENSORS.values(), ids=HOSTILE_TENSORS
)
def test_a_tensor_may_claim_any_size(read, shape, dtype, data):
    """No memory of that size is allocated, and the tensor can be shown."""
    tensor = {"name": "X", "data": data, "shape": shape, "dtype": dtype}
    event = {"id": 1, "activity": "TENSOR_QUEUE_INPUT", "tensor": tensor}
    [trace] = read(file_of(*whole(1), event))

    [ref] = trace.spans[0].inputs
    assert dtype == ref.dtype.datatype
    assert "text/html" in document.mimebundle(trace)


DEEP = [each for id_ in range(1, 5000) for each in whole(id_, id_ - 1 or None, at=id_)]


def test_a_chain_of_calls_may_be_deeper_than_pythons_own(read):
    """Reading does not use recursion."""
    [trace] = read(file_of(*DEEP))

    assert 4999 == len(trace.spans)
    assert "text/html" in document.mimebundle(trace)


SLOW = {
    "events without an end": '{"id":1,"model_name":"' * 30_000,
    "objects in objects": '{"id":1,"a":' * 60_000,
    "lists that never end": '{"id":[' * 1500 + "1," * 300_000,
    "tensors without an end": (
        '{"id":1,"activity":"A","tensor":{"name":"","data":"' * 15_000
    ),
    "a boundary far behind": '{"id":x' * 150_000 + '},{"id":',
    "boundaries only": '},{"id":' * 80_000,
    "values full of ends": (
        '{"id":1,"activity":"A","tensor":{"name":"","data":"'
        + '","shape":"1","dtype":"A"},{"id":' * 20_000
    ),
    "spaces": "{" + " " * 500_000 + '{"id"' * 3,
    "a long number": '[{"id":1,"timestamps":[{"name":"X","ns":' + "1" * 500_000,
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_reading_takes_bounded_time(text):
    """Half a megabyte of adversarial text is read or given up within seconds."""
    began = time.thread_time()
    with contextlib.suppress(ReadLimitError):
        list(reader(text))

    assert time.thread_time() - began < 5


# Fuzzing ----------------------------------------------------------------------

SEEDS = [EXAMPLE.read_bytes(), *(piece.read_bytes() for piece in PIECES)]
SPLICES = [
    *(bytes([each]) for each in b'\\"{}[],:\0\xff 0-'),
    b'{"id":1,',
    b'"}]',
    b'"parent_id":1',
    b"99999999999999999999",
    b"1e999",
    b"null",
]


@st.composite
def broken_files(draw: st.DrawFn) -> bytes:
    """Draw a real file with a few accidents."""
    data = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        upto = at + draw(st.integers(0, 40))
        match draw(st.sampled_from(["cut", "drop", "splice", "repeat", "swap"])):
            case "cut":
                data = data[:at]
            case "drop":
                data = data[:at] + data[upto:]
            case "splice":
                data = data[:at] + draw(st.sampled_from(SPLICES)) + data[at:]
            case "repeat":
                data = data[:upto] + data[at:]
            case "swap":
                data = data[:at] + draw(st.binary(max_size=8)) + data[upto:]
    return data


def judge(data: bytes, folder) -> None:
    """Read and show a file; only documented errors may be raised."""
    path = folder / "fuzzed.json"
    path.write_bytes(data)
    try:
        traces = read_traces(path)
    except TraceFileError:
        return
    assert traces
    for trace in traces:
        encode(trace)
        tree(trace)
        assert not trace.running
    again = read_traces(write_traces(traces, path))
    assert [len(trace.spans) for trace in traces] == [len(t.spans) for t in again]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One for all examples."""
    return tmp_path_factory.mktemp("fuzz")


@examples(500)
@given(broken_files())
@example(b'[{"id":1,"timestamps":[{"name":"REQUEST_START","ns":0}]}]')
def test_a_broken_file_is_read_as_far_as_it_goes(folder, data):
    """The result can be shown and written again."""
    judge(data, folder)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_thousand_broken_files(folder, figures):
    """The same holds for minutes of examples."""

    @settings(max_examples=20_000)
    @given(broken_files())
    def check(data):
        judge(data, folder)

    check()
    figures(broken_trace_files=20_000)
