"""Runs on disk: they are loaded as saved, and other files are refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from asserting import every
from hypothesis import given, settings
from hypothesis import strategies as st
from run_files import chunks_of, facts
from strategies import axes, dtypes, examples, tensors
from views.encoded import encode
from views.samples import hostile_run, invoice_run

from blsnb.clock.pausing_clock import Pause
from blsnb.request_fields import RequestFields
from blsnb.runtimes.runtime import DeviceUse
from blsnb.tensors.dtypes import DType
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace.events import (
    CallFlag,
    LogLine,
    ModelInfo,
    Origin,
)
from blsnb.trace.facts import (
    Batching,
    ClockReading,
    Copy,
    Drop,
    Profile,
    RecordingFacts,
)
from blsnb.trace.files.run_file import read_run
from blsnb.trace.files.saved_run import SavedResponse, SavedRun
from blsnb.trace.files.v2.call_columns import FACTS
from blsnb.trace.files.v2.tensor_columns import SummarisedTensor
from blsnb.trace.files.v2.writer import write_run
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Span, Trace
from blsnb.views.tree import tree

_FUZZ_S = 3


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


JSON = st.none() | st.dictionaries(
    TEXT, st.lists(st.none() | st.booleans() | st.integers() | TEXT), max_size=2
)


@st.composite
def refs(draw: st.DrawFn) -> TensorRef:
    """Draw a tensor with its value, or only with its description."""
    dtype = draw(dtypes())
    array = draw(tensors(dtype, draw(axes())))
    ref = freeze(draw(TEXT), array, dtype)
    if draw(st.booleans()):
        return ref
    if draw(st.booleans()):
        return SummarisedTensor(ref.without_data(), {"max": draw(JSON)}, True)
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
    """Return strategies for each field of a span."""
    some = st.lists(st.sampled_from(given), max_size=3) if given else st.just([])
    chosen = some.map(tuple)
    texts = st.lists(TEXT, max_size=2).map(tuple)
    joined = st.builds(Batching, U4, st.booleans(), TEXT, TEXT, texts, U4)
    parameters = st.lists(st.tuples(TEXT, PARAMETER), max_size=2).map(tuple)
    response = st.builds(ResponseEvent, NS, chosen, TEXT, U4, parameters)
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
            TEXT,
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
    made |= dict.fromkeys(("line", "execution", "batch"), U4)
    made |= {"response_count": st.integers(3, (1 << 32) - 1)}
    made |= {name: NS for name in FACTS if name.endswith("_ns")}
    copy = st.builds(Copy, NS, NS, TEXT, NS, TEXT, TEXT, st.booleans())
    made |= {"copies": st.lists(copy, max_size=2).map(tuple)}
    made |= {"device_use": st.none() | st.builds(DeviceUse, TEXT, NS, NS, NS)}
    made |= {"response_parameters": parameters, "origin": JSON}
    texts_too = ("instance", "error", "error_code")
    return made | dict.fromkeys(texts_too, TEXT)


def gaps_of(spans: int, models: int) -> st.SearchStrategy[Gap]:
    """Draw gaps between calls."""
    caller, after = st.integers(-1, spans - 1), st.integers(0, spans)
    return st.builds(Gap, caller, st.integers(0, models - 1), after, st.integers(1, 99))


def profiles() -> st.SearchStrategy[Profile]:
    """Draw profiles of any kind; their contents are not checked."""
    data = st.dictionaries(st.sampled_from("abc"), st.lists(st.integers()), max_size=2)
    call = st.none() | st.integers(0, 9)
    return st.builds(Profile, TEXT, call, data, st.binary(max_size=9))


def drops() -> st.SearchStrategy[Drop]:
    """Draw drops of blsnb and of other programs."""
    limits = st.sampled_from(["keep_calls", "trace_budget_bytes", "of another program"])
    last = st.integers(-1, (1 << 31) - 1)
    return st.builds(Drop, st.sampled_from(["calls", "values"]), limits, NS, NS, last)


@st.composite
def runs(draw: st.DrawFn) -> SavedRun:
    """Draw any run, sensible or not."""
    given = draw(st.lists(refs(), max_size=4))
    known = draw(st.lists(models(), min_size=1, max_size=3, unique=True))
    fields = fields_of(given, len(known))
    ids = sorted(draw(st.sets(st.integers(0, (1 << 31) - 1), max_size=4)))
    spans = [
        Span(
            index=row,
            id=id,
            parent=draw(st.integers(-1, row - 1)),
            **{name: draw(how) for name, how in fields.items()},
        )
        for row, id in enumerate(ids)
    ]
    ends = st.sampled_from(known)
    count = st.integers(0, 1 << 40)
    took = st.lists(st.tuples(st.integers(0, 8 * 63), count), max_size=3).map(tuple)
    counts = [st.integers(1, 1 << 40), *[count] * 4]
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
        drops=tuple(draw(st.lists(drops(), max_size=2))),
        recording=draw(st.none() | st.builds(RecordingFacts, JSON, JSON)),
        clock=draw(st.none() | st.builds(ClockReading, NS, NS)),
        pauses=tuple(draw(st.lists(st.builds(Pause, NS, NS), max_size=2))),
        profiles=tuple(draw(st.lists(profiles(), max_size=2))),
    )
    responses = tuple(draw(st.lists(response, max_size=2)))
    return SavedRun(trace, responses, draw(st.none() | TEXT))


def there_and_back(run: SavedRun, folder: Path, **how: Any) -> SavedRun:
    path = folder / "a.blsrun"
    write_run(run, path, **how)
    return read_run(path)


def is_loaded_as_saved(run: SavedRun, folder: Path) -> None:
    """Every call, time and bit is equal; the run has the file's name."""
    back = there_and_back(run, folder)

    named = dataclasses.replace(run.trace, file="a.blsrun")
    assert facts(dataclasses.replace(run, trace=named)) == facts(back)


@given(run=runs())
@examples(50)
def test_a_run_is_loaded_as_it_was_saved(run, tmp_path_factory):
    """Whatever its names, values and times are."""
    is_loaded_as_saved(run, tmp_path_factory.mktemp("runs"))


@pytest.mark.slow
def test_many_runs_are_loaded_as_they_were_saved(tmp_path_factory):
    """The same with more examples."""

    @given(run=runs())
    @settings(max_examples=500)
    def check(run: SavedRun) -> None:
        is_loaded_as_saved(run, tmp_path_factory.mktemp("runs"))

    check()


def test_every_field_of_a_span_is_kept():
    """A new field must not be forgotten."""
    fields = {field.name for field in dataclasses.fields(Span)}

    assert fields == {"index", "id", "responses", *FACTS}


@pytest.mark.parametrize("trace", [invoice_run(), hostile_run()], ids=["page", "bad"])
def test_a_loaded_run_looks_the_same(trace, tmp_path):
    """Its text and its page data are equal."""
    back = there_and_back(SavedRun(trace, (), None), tmp_path).trace

    named = dataclasses.replace(trace, file="a.blsrun")
    assert tree(named) == tree(back)
    assert encode(named) == encode(back)


def test_a_shared_value_is_kept_once(tmp_path):
    """File and loaded run have one copy."""
    trace = invoice_run()
    path = tmp_path / "run.blsrun"
    write_run(SavedRun(trace, (), None), path)
    back = read_run(path).trace

    decode, detect = back.spans[1], back.spans[2]
    assert decode.outputs[0].data is detect.inputs[0].data
    size = sum(len(chunk.body) for chunk in chunks_of(path.read_bytes()))
    buffers = {id(r.data): r.data for s in trace.spans for r in (*s.inputs, *s.outputs)}
    streamed = [r for s in trace.spans for e in s.responses for r in e.outputs]
    buffers |= {id(ref.data): ref.data for ref in streamed}
    assert sum(len(data) for data in buffers.values() if data is not None) == size


def test_the_same_run_gives_the_same_file(tmp_path):
    """The file can be compared and kept under version control."""
    run = SavedRun(invoice_run(), (), None)
    for name in ("a", "b"):
        write_run(run, tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_values_that_do_not_fit_are_mentioned(tmp_path):
    """Failed calls keep their values, and the file counts the others."""
    trace = invoice_run()
    failed = dataclasses.replace(trace.spans[2], flags=CallFlag.ERROR)
    spans = (*trace.spans[:2], failed, *trace.spans[3:])
    trace = dataclasses.replace(trace, spans=spans)
    path = tmp_path / "small.blsrun"
    told = write_run(SavedRun(trace, (), None), path, 770_000)
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
    assert "bytes) did not fit in the 770,000 bytes of the file's budget." in told
    assert "" == write_run(SavedRun(trace, (), None), path)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    """A partial file never replaces it."""
    path = tmp_path / "run.blsrun"
    path.write_text("what was there")
    broken = SavedRun(dataclasses.replace(invoice_run(), title=b"no text"), (), None)
    with pytest.raises(TypeError):
        write_run(broken, path)

    assert "what was there" == path.read_text()
    assert [path] == list(tmp_path.iterdir())
