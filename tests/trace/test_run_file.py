"""Runs on disk: what is saved comes back, and what is no run is refused."""

from __future__ import annotations

import dataclasses
import json
import random
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asserting import every
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import axes, dtypes, tensors
from views.samples import hostile_run, invoice_run

from blsnb.errors import TraceFileError
from blsnb.tensors.dtypes import DType
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace.batching import Batching
from blsnb.trace.events import (
    CallFlag,
    LogLine,
    ModelInfo,
    Origin,
    RequestFields,
    ResponseEvent,
)
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap
from blsnb.trace.run_file import SavedResponse, SavedRun, read_run, write_run
from blsnb.trace.span_columns import FIELDS
from blsnb.trace.spans import Span, Trace
from blsnb.views.tree import tree
from blsnb.views.wire import encode

_FUZZ_S = 3


def facts(value: Any) -> Any:
    """A value with tensors as what can be compared of them."""
    if isinstance(value, TensorRef):
        data = None if value.data is None else bytes(value.data)
        where = value.device, value.byte_size
        return value.name, value.dtype.datatype, value.shape, data, where
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value)]
        return [facts(getattr(value, name)) for name in fields]
    if isinstance(value, tuple | list):
        return type(value).__name__ == "list", [facts(each) for each in value]
    if isinstance(value, dict):
        return {name: facts(each) for name, each in value.items()}
    return repr(value)


# Any trace -------------------------------------------------------------------

NS = st.just(0) | st.integers(1, 1 << 60)
U2, U4 = st.integers(0, (1 << 16) - 1), st.integers(0, (1 << 32) - 1)
TEXT = st.text(max_size=8) | st.just("\ud800 \x00 \u202e</script>")
PARAMETER = (
    st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats()
    | st.just(2.0)
    | TEXT
)


@st.composite
def refs(draw: st.DrawFn) -> TensorRef:
    """A tensor with its value, or with its description only."""
    dtype = draw(dtypes())
    array = draw(tensors(dtype, draw(axes())))
    ref = freeze(draw(TEXT), array, dtype)
    if draw(st.booleans()):
        return ref
    unknown = DType("", "FP4", 0, None, 0)
    return draw(
        st.sampled_from(
            [
                ref.without_data(),
                TensorRef("of a file", unknown, (3,), None, "gpu:1", 0),
            ]
        )
    )


def models() -> st.SearchStrategy[ModelInfo]:
    origin = st.none() | st.builds(Origin, TEXT, st.integers(0, 99))
    version = st.integers(-1, 9)
    texts = (TEXT, TEXT, TEXT, TEXT)
    size = st.integers(0, 1 << 31)
    return st.builds(ModelInfo, TEXT, version, *texts, origin, size)


def fields_of(given: list[TensorRef], count: int) -> dict[str, Any]:
    """How each field of a span is made up."""
    some = st.lists(st.sampled_from(given), max_size=3) if given else st.just([])
    chosen = some.map(tuple)
    texts = st.lists(TEXT, max_size=2).map(tuple)
    joined = st.builds(Batching, U4, st.booleans(), TEXT, TEXT, texts, U4)
    parameters = st.lists(st.tuples(TEXT, PARAMETER), max_size=2).map(tuple)
    response = st.builds(ResponseEvent, NS, chosen, TEXT, U4)
    number = st.integers(0, 1 << 63)
    made = {
        "model": st.integers(0, count - 1),
        "request_fields": st.just(RequestFields())
        | st.builds(
            RequestFields,
            st.integers(-1, 9),
            number | TEXT,
            st.integers(0, 3),
            number,
            number,
            parameters,
        ),
        "flags": U2.map(CallFlag),
        "batching": st.lists(joined, max_size=2).map(tuple),
        "inputs": chosen,
        "outputs": chosen,
        "responses": st.lists(response, max_size=3).map(tuple),
        "logs": st.lists(st.builds(LogLine, NS, TEXT, TEXT), max_size=2).map(tuple),
        "notes": texts,
        "requested_outputs": texts,
    }
    made |= dict.fromkeys(("line", "execution", "batch", "response_count"), U4)
    made |= {name: NS for name in FIELDS if name.endswith("_ns")}
    texts_too = ("instance", "request_id", "error", "error_code")
    return made | dict.fromkeys(texts_too, TEXT)


def gaps_of(spans: int, models: int) -> st.SearchStrategy[Gap]:
    """Where calls may be left out of so many."""
    caller, after = st.integers(-1, spans - 1), st.integers(0, spans)
    return st.builds(Gap, caller, st.integers(0, models - 1), after, st.integers(1, 99))


@st.composite
def runs(draw: st.DrawFn) -> SavedRun:
    """Any run at all, sensible or not."""
    given = draw(st.lists(refs(), max_size=4))
    known = draw(st.lists(models(), min_size=1, max_size=3, unique=True))
    others = draw(st.lists(models(), max_size=2))
    fields = fields_of(given, len(known))
    spans = [
        Span(
            index=row,
            id=row,
            parent=draw(st.integers(-1, row - 1)),
            **{name: draw(how) for name, how in fields.items()},
        )
        for row in range(draw(st.integers(0, 4)))
    ]
    ends = st.sampled_from([*known, *others])
    count = st.integers(0, 1 << 40)
    took = st.lists(st.tuples(st.integers(0, 8 * 63), count), max_size=3).map(tuple)
    counts = [count] * 5
    folded = st.builds(FoldedCalls, st.none() | ends, ends, *counts, took)
    some = st.lists(st.sampled_from(given), max_size=2) if given else st.just([])
    response = st.builds(
        SavedResponse,
        some.map(tuple),
        st.none() | TEXT,
        st.booleans(),
        st.dictionaries(TEXT, PARAMETER, max_size=2),
    )
    trace = Trace(
        draw(TEXT),
        draw(TEXT),
        draw(TEXT),
        tuple(known),
        tuple(spans),
        draw(NS),
        tuple(draw(st.lists(folded, max_size=2))),
        draw(TEXT),
        tuple(draw(st.lists(TEXT, max_size=2))),
        tuple(draw(st.lists(gaps_of(len(spans), len(known)), max_size=2))),
    )
    responses = tuple(draw(st.lists(response, max_size=2)))
    return SavedRun(trace, responses, draw(st.none() | TEXT))


def there_and_back(run: SavedRun, folder: Path, **how: Any) -> SavedRun:
    path = folder / "a.blsrun"
    write_run(run, path, range(len(run.trace.spans)), **how)
    return read_run(path)


@given(run=runs())
@settings(max_examples=150)
def test_what_is_saved_comes_back(run, tmp_path_factory):
    """Every call, every time, every bit of every tensor; of the file its name."""
    back = there_and_back(run, tmp_path_factory.mktemp("runs"))

    named = dataclasses.replace(run.trace, file="a.blsrun")
    assert facts(dataclasses.replace(run, trace=named)) == facts(back)


def test_every_field_of_a_span_is_kept():
    """A new one must not be forgotten."""
    fields = [field.name for field in dataclasses.fields(Span)]

    assert fields == ["index", "id", *FIELDS]


@pytest.mark.parametrize("trace", [invoice_run(), hostile_run()], ids=["page", "bad"])
def test_what_comes_back_looks_the_same(trace, tmp_path):
    """In words, and as the page reads it."""
    back = there_and_back(SavedRun(trace, (), None), tmp_path).trace

    named = dataclasses.replace(trace, file="a.blsrun")
    assert tree(named) == tree(back)
    assert encode(named) == encode(back)


def test_a_value_that_is_handed_on_is_kept_once(tmp_path):
    """In the file, and when it comes back."""
    trace = invoice_run()
    path = tmp_path / "run.blsrun"
    write_run(SavedRun(trace, (), None), path, range(len(trace.spans)))
    back = read_run(path).trace

    decode, detect = back.spans[1], back.spans[2]
    assert decode.outputs[0].data is detect.inputs[0].data
    with zipfile.ZipFile(path) as file:
        known = json.loads(file.read("run.json"))
        size = file.getinfo("values.bin").file_size
    buffers = {id(r.data): r.data for s in trace.spans for r in (*s.inputs, *s.outputs)}
    streamed = [r for s in trace.spans for e in s.responses for r in e.outputs]
    buffers |= {id(ref.data): ref.data for ref in streamed}
    assert sum(len(data) for data in buffers.values() if data is not None) == size
    assert sum(known["values"]) == size


def test_the_same_run_gives_the_same_file(tmp_path):
    """It can be compared, and kept under version control."""
    run = SavedRun(invoice_run(), (), None)
    for name in ("a", "b"):
        write_run(run, tmp_path / name, range(27))

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_does_not_fit_is_told(tmp_path):
    """Those that matter least are left out, and the file says how many."""
    trace = invoice_run()
    order = [2, *(row for row in range(27) if row != 2)]
    path = tmp_path / "small.blsrun"
    told = write_run(SavedRun(trace, (), None), path, order, 770_000)
    back = read_run(path).trace

    assert every(ref.data is not None for ref in back.spans[2].outputs)
    missing = [
        ref
        for here, there in zip(trace.spans, back.spans, strict=True)
        for ref, kept in zip(here.inputs, there.inputs, strict=True)
        if ref.data is not None and kept.data is None
    ]
    assert [] != missing
    assert (told,) == back.remarks
    assert "bytes) did not fit in the 770,000 bytes that the file was given." in told
    assert "" == write_run(SavedRun(trace, (), None), path, order)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    """Half a file is none."""
    path = tmp_path / "run.blsrun"
    path.write_text("what was there")
    broken = SavedRun(dataclasses.replace(invoice_run(), title=b"no text"), (), None)
    with pytest.raises(TypeError):
        write_run(broken, path, [])

    assert "what was there" == path.read_text()
    assert [path] == list(tmp_path.iterdir())


# Files of others -------------------------------------------------------------


@pytest.fixture
def refused(tmp_path):
    """Read bytes as a file, which is refused; return the reason."""

    def refused(data: bytes, said: str = "is no run that blsnb saved: ") -> str:
        path = tmp_path / "bad.blsrun"
        path.write_bytes(data)
        with pytest.raises(TraceFileError) as error:
            read_run(path)
        begin = f"{path} {said}"
        assert str(error.value).startswith(begin)
        return str(error.value).removeprefix(begin)

    return refused


def packed(
    folder: Path, text: str | bytes, values: bytes = b"", **members: Any
) -> bytes:
    path = folder / "made.zip"
    with zipfile.ZipFile(path, "w", members.pop("compression", 0)) as file:
        file.writestr("run.json", text)
        file.writestr("values.bin", values)
        for name, content in members.items():
            file.writestr(name, content)
    return path.read_bytes()


def saved(folder: Path) -> tuple[dict[str, Any], bytes]:
    path = folder / "good.blsrun"
    write_run(SavedRun(invoice_run(), (), None), path, range(27))
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("run.json")), file.read("values.bin")


def test_what_is_no_zip_file_is_refused(refused):
    """What it may be instead, and what reads that."""
    assert "it is empty" == refused(b"")
    assert "File is not a zip file" == refused(b"any text")
    for trace in (b'[{"id":1}]', b'\n {"id":1}'):
        assert refused(trace).endswith(
            "; blsnb.load_trace() reads what a Triton server wrote"
        )
    assert "a page that run.save() wrote is to look at" in refused(b"<!doctype html>")


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_half_a_file_is_told_to_be_one(share, refused, tmp_path):
    """A download that broke off, a disk that was full."""
    saved(tmp_path)
    whole = (tmp_path / "good.blsrun").read_bytes()
    said = refused(
        whole[: int(share * len(whole))], "is damaged, or only a part of a run: "
    )

    assert "File is not a zip file" == said


def test_a_changed_byte_of_a_value_is_found(refused, tmp_path):
    """By its checksum, whichever it is."""
    _, values = saved(tmp_path)
    whole = (tmp_path / "good.blsrun").read_bytes()
    at = whole.index(values[:64]) + 30
    changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]

    assert "Bad CRC-32 for file 'values.bin'" == refused(
        changed, "is damaged, or only a part of a run: "
    )


def test_a_zip_file_of_something_else_is_refused(refused, tmp_path):
    """It names what it should hold."""
    path = tmp_path / "arrays.npz"
    np.savez(path, a=1)
    assert "should hold run.json and values.bin, not ['a.npy']" in refused(
        path.read_bytes()
    )
    assert "should hold run.json and values.bin" in refused(
        packed(tmp_path, '{"format":1}', evil=b"")
    )


def test_compressed_values_are_refused(refused, tmp_path):
    """A small file may not ask for any amount of memory."""
    bomb = packed(tmp_path, '{"format":1}', bytes(1 << 20), compression=8)

    assert "values.bin is compressed" in refused(bomb)


@pytest.mark.parametrize("members", [{}, {"more.bin": b""}])
def test_a_later_format_is_refused_by_its_number(members, refused, tmp_path):
    """Who reads it knows that a newer blsnb is needed, whatever else it holds."""
    text = json.dumps({"format": 2, "written_by": "blsnb 9.1"})
    said = refused(packed(tmp_path, text, **members), "was saved by ")

    assert (
        "blsnb 9.1 in format 2; this blsnb reads format 1: a newer one is needed"
        == said
    )


@pytest.mark.parametrize("version", [0, "2", 2.5, None, True])
def test_a_format_that_never_was_is_refused(version, refused, tmp_path):
    """It is another program's file."""
    said = refused(packed(tmp_path, json.dumps({"format": version})))

    assert f"its format is {version!r}, and this release reads 1" == said


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "[" * 100_000, '{"format":1}', "\xff", '"\\ud800']
)
def test_json_that_is_no_run_is_refused(text, refused, tmp_path):
    """Also where it is deep, cut off, or lacks everything."""
    refused(packed(tmp_path, text.encode("latin-1")))


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("parent", 3, 3),
        ("parent", 0, -2),
        ("model", 1, 9),
        ("model", 1, True),
        ("request_start_ns", 5, -1),
        ("request_end_ns", 5, 1 << 63),
        ("request_end_ns", 5, 1.5),
        ("flags", 2, 1 << 16),
        ("inputs", 0, [999]),
        ("inputs", 0, [-1]),
        ("error", 0, None),
        ("logs", 0, [[1, 2, 3]]),
        ("responses", 0, [[1]]),
        ("request_fields", 0, [1, 2]),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(column, row, value, refused, tmp_path):
    """Callers stand before their calls, numbers are in range, texts are texts."""
    known, values = saved(tmp_path)
    known["calls"][column][row] = value

    refused(packed(tmp_path, json.dumps(known), values))


@pytest.mark.parametrize(
    "gap", [[27, 0, 0, 1], [-2, 0, 0, 1], [0, 9, 0, 1], [0, 0, 0, 0], [0]]
)
def test_calls_that_are_left_out_nowhere_are_refused(gap, refused, tmp_path):
    """Their caller and their model are there, and they are some."""
    known, values = saved(tmp_path)

    refused(packed(tmp_path, json.dumps(known | {"gaps": [gap]}), values))


def test_a_file_of_an_older_release_has_no_gaps(tmp_path):
    """It is read as it always was."""
    known, values = saved(tmp_path)
    del known["gaps"]
    path = tmp_path / "older.blsrun"
    path.write_bytes(packed(tmp_path, json.dumps(known), values))

    assert () == read_run(path).trace.gaps


def test_values_that_do_not_fit_their_tensors_are_refused(refused, tmp_path):
    """Shape, type and size go together, and values fill their file."""
    known, values = saved(tmp_path)
    assert "bytes of values" in refused(packed(tmp_path, json.dumps(known), values[1:]))
    for change in ([1, 1], [1 << 40] * 40, [-1]):
        described = json.loads(json.dumps(known["tensors"]))
        described[0][2] = change
        text = json.dumps({**known, "tensors": described})
        refused(packed(tmp_path, text, values))


def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path):
    """Bytes changed anywhere, values replaced; what is read can be shown."""
    rng = random.Random(2)
    path = tmp_path / "run.blsrun"
    write_run(SavedRun(invoice_run(), (), None), path, range(27), 3000)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        known, values = json.loads(file.read("run.json")), file.read("values.bin")
    known["calls"] = {n: column[:6] for n, column in known["calls"].items()}
    until = time.monotonic() + _FUZZ_S
    read = refused = 0
    while time.monotonic() < until:
        if rng.random() < 0.5:
            data = _scratched(whole, rng)
        else:
            text = json.dumps(_changed(json.loads(json.dumps(known)), rng))
            data = packed(tmp_path, text, values)
        path.write_bytes(data)
        try:
            trace = read_run(path).trace
        except TraceFileError:
            refused += 1
        else:
            read += 1
            tree(trace)
            encode(trace)

    assert read > 5
    assert refused > 5


def _scratched(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed))
        # The directory at the end is where zip files are hurt most.
        if rng.random() < 0.5:
            at = len(changed) - 1 - rng.randrange(200)
        changed[at] = rng.randrange(256)
    return bytes(changed[: rng.randrange(len(data))] if rng.random() < 0.1 else changed)


_ODD = (None, True, -1, 0, 3, 1 << 31, 1 << 62, 1 << 70, 1e300, "", "x", [], {}, [[]])


def _changed(value: Any, rng: random.Random) -> Any:
    """Replace one value, at any depth."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    if not keys:
        return rng.choice(_ODD)
    key = rng.choice(list(keys))
    if isinstance(value[key], dict | list) and rng.random() < 0.9:
        value[key] = _changed(value[key], rng)
    elif rng.random() < 0.1:
        del value[key]
    else:
        value[key] = rng.choice(_ODD)
    return value
