"""Runs are exported as Triton's trace files, and imported again."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from trace_files import EXAMPLE, known, refs, traces, value_of
from views import samples

from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace.files.export import write_traces
from blsnb.trace.spans import Trace
from blsnb.trace.triton import values as triton_values
from blsnb.trace.triton.json_form import triton_json
from blsnb.trace.triton.trace_file import read_traces


def text_of(*traces: Trace) -> str:
    return "".join(triton_json(traces))


def again(folder, *traces: Trace) -> list[Trace]:
    return read_traces(write_traces(traces, folder / "trace.json"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One for all generated examples."""
    return tmp_path_factory.mktemp("traces")


def test_the_real_example_is_written_as_it_was():
    """Only the position of timestamps changes."""
    written = json.loads(text_of(*read_traces(EXAMPLE)))
    real = json.loads(EXAMPLE.read_bytes())

    def as_text(events):
        return sorted(json.dumps(event, sort_keys=True) for event in events)

    assert 35 == len(written)
    assert as_text(real) == as_text(written)


def test_calls_precede_their_callers_later_ones_first():
    """The order is a server's; numbers are in order of creation."""
    events = json.loads(text_of(*read_traces(EXAMPLE)))

    assert [3, 2, 1] == list(dict.fromkeys(event["id"] for event in events))
    assert ["child", "child", "bls"] == [
        event["model_name"] for event in events if "model_name" in event
    ]


def test_several_runs_are_one_file(folder):
    """Their calls are numbered consecutively."""
    run, [example] = samples.invoice_run(), read_traces(EXAMPLE)
    text = text_of(run, example)

    named = [event for event in json.loads(text) if "model_name" in event]
    assert sorted(event["id"] for event in named) == list(range(1, 31))
    assert [known(example), known(run)] == [
        known(trace) for trace in again(folder, run, example)
    ]


def test_no_run_is_an_empty_file():
    """The file is valid JSON."""
    assert [] == json.loads(text_of())


def test_a_sample_run_is_imported_again(folder):
    """Names, parents, times and tensors are equal."""
    run = samples.invoice_run()

    [came_back] = again(folder, run)
    assert known(run) == known(came_back)


@given(traces())
def test_any_run_is_imported_again(folder, trace):
    """The file is JSON for any names and values."""
    json.loads(text_of(trace))

    [came_back] = again(folder, trace)
    assert known(trace) == known(came_back)


@pytest.mark.parametrize("tab", [None, 2])
def test_a_file_that_was_written_anew_by_another_program_is_read(folder, tab):
    """Spaces and the order of keys may differ."""
    run = samples.invoice_run()
    path = write_traces([run], folder / "anew.json")
    path.write_text(
        json.dumps(json.loads(path.read_text()), indent=tab, sort_keys=True)
    )

    [came_back] = read_traces(path)
    assert known(run) == known(came_back)


WRITTEN = {
    "floats have six digits": ("FP32", [1.0, 2.5, 1e10, 0.1], "1,2.5,1e+10,0.1"),
    "unless they need more": ("FP32", [1 / 3, 16777217], "0.333333343,16777216"),
    "doubles have up to 17": ("FP64", [1 / 3, 0.1], "0.33333333333333331,0.1"),
    "what is no number": ("FP64", [np.nan, np.inf, -np.inf], "nan,inf,-inf"),
    "booleans are digits": ("BOOL", [True, False], "1,0"),
    "bytes are characters": ("UINT8", [65, 44, 34, 200], 'A,,,",\xc8'),
    "signed ones, too": ("INT8", [65, -1], "A,\xff"),
    "integers are whole": ("UINT64", [2**64 - 1], "18446744073709551615"),
    "half floats are written": ("FP16", [0.1, 2], "0.0999756,2"),
    "strings have quotes": ("BYTES", [b"a", "\xe4".encode()], '"a","\xe4"'),
    "no elements are no text": ("FP32", [], ""),
}


@pytest.mark.parametrize(("datatype", "values", "text"), WRITTEN.values(), ids=WRITTEN)
def test_values_are_written_as_triton_writes_them(datatype, values, text):
    """Formats that cannot be read back are the exception."""
    row = BY_DATATYPE[datatype]
    ref = freeze("X", np.array(values, row.dtype), row)
    data, escaped = triton_values.written(ref)

    assert (text, False) == (json.loads(data), escaped)


def test_strings_that_triton_would_break_the_file_with_are_escaped():
    """Each is a JSON string, and a key marks it."""
    values = np.array([b'a"b', b"c\\d", b"\xff\n"], np.object_)
    data, escaped = triton_values.written(freeze("X", values, BY_DATATYPE["BYTES"]))

    assert escaped
    assert ['a"b', "c\\d", "\udcff\n"] == json.loads(f"[{json.loads(data)}]")


@given(refs())
def test_any_value_is_imported_again(ref):
    """Every bit is equal, except kinds of NaN."""
    data, escaped = triton_values.written(ref)
    text = json.loads(data)
    read = triton_values.read(
        ref.name, ref.dtype.datatype, ref.shape, text, None if escaped else data[1:-1]
    )

    assert value_of(ref) == value_of(read)
    assert "BYTES" == ref.dtype.datatype or ref.byte_size == read.byte_size


def test_short_floats_are_read_to_the_nearest():
    """Six digits may be below or above the value."""
    bits = np.arange(0x0080, 0x7F00, 7, np.uint16)
    ref = TensorRef("X", BY_DATATYPE["BF16"], bits.shape, bits.tobytes())
    data, _ = triton_values.written(ref)

    read = triton_values.read("X", "BF16", ref.shape, json.loads(data))
    assert ref.data == read.data


UNREADABLE = {
    "too few elements": ("FP32", (3,), "1,2"),
    "no number": ("FP32", (1,), "x"),
    "out of range": ("UINT16", (1,), "65536"),
    "negative": ("UINT64", (1,), "-1"),
    "a float for an integer": ("INT32", (1,), "1.5"),
    "no boolean": ("BOOL", (1,), "2"),
    "no character": ("UINT8", (1,), "\u20ac"),
    "too many characters": ("UINT8", (1,), "ab"),
    "a string without quotes": ("BYTES", (1,), "a"),
    "half a string": ("BYTES", (1,), '"'),
    "a type that Triton does not have": ("FP8", (1,), "1"),
    "half floats, which Triton leaves out": ("FP16", (2,), ""),
    "more elements than there can be": ("FP32", (2**62, 2**62), "1"),
    "more axes than NumPy has": ("FP32", (1,) * 40, "1"),
    "empty, but too large": ("FP64", (0, 2**62, 2**62), ""),
}


@pytest.mark.parametrize(
    ("datatype", "shape", "text"), UNREADABLE.values(), ids=UNREADABLE
)
def test_a_value_that_is_not_there_is_absent(datatype, shape, text):
    """The tensor's description is read."""
    ref = triton_values.read("X", datatype, shape, text, text)

    assert (None, shape, datatype) == (ref.data, ref.shape, ref.dtype.datatype)


@pytest.mark.parametrize("text", ["a", '"', '"a', '"a","b"', '"a",1', "1", '"a","b'])
@pytest.mark.parametrize("triton", [True, False])
def test_strings_that_are_not_as_many_as_they_should_be_are_absent(text, triton):
    """Triton's and blsnb's files escape quotes differently."""
    verbatim = text.replace('"', r"\"") if triton else None
    ref = triton_values.read("X", "BYTES", (1,), text, verbatim)

    assert ref.data is None


def test_a_quote_in_a_string_that_another_program_wrote_anew_is_a_quote():
    """It does not know the strings inside the string."""
    ref = triton_values.read("X", "BYTES", (2,), '"a"b","c"')

    assert [b'a"b', b"c"] == ref.view().tolist()


def test_a_string_is_read_as_it_stands():
    """Triton writes a backslash for a backslash."""
    ref = triton_values.read("X", "BYTES", (2,), "", r"\"C:\new\",\"a\\b\"")

    assert [rb"C:\new", rb"a\\b"] == ref.view().tolist()


def test_a_file_is_there_only_when_it_is_whole(tmp_path):
    """A failure leaves the old file unchanged."""
    path = write_traces([samples.invoice_run()], tmp_path / "trace.json")
    before = path.read_bytes()

    def traces_that_fail():
        yield samples.invoice_run()
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        write_traces(traces_that_fail(), path)
    assert before == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())


def test_an_unknown_format_is_named(tmp_path):
    """The error lists the formats."""
    with pytest.raises(
        ValueError, match="format='x' is not valid; expected 'triton' or 'perfetto'"
    ):
        write_traces([], tmp_path / "x", "x")


def test_a_running_call_has_no_end_in_the_file():
    """Calls that have not reached an activity lack it."""
    run = samples.running_run()
    ended = Counter(
        event["timestamps"][0]["name"]
        for event in json.loads(text_of(run))
        if "timestamps" in event
    )["REQUEST_END"]

    assert sum(not span.running for span in run.spans) == ended < len(run.spans)
