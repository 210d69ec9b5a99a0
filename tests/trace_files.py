"""Traces for tests of files: synthetic ones, and the facts that a file contains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import strategies
from hypothesis import strategies as st

from blsnb.files.read_budget import ReadBudget
from blsnb.request_fields import RequestFields
from blsnb.tensors.dtypes import DType
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.responses import ResponseLog
from blsnb.trace.spans import Span, Trace
from blsnb.trace.triton.events import EventReader

GOLDEN = Path(__file__).parent / "trace" / "golden"
EXAMPLE = GOLDEN / "bls_trace_example.json"
RECORDED = GOLDEN / "triton_2.51.0.json"
"""Numbered pieces: 18 requests to a real server, many of them awkward."""

_TIMES = (
    "request_start_ns",
    "queue_start_ns",
    "compute_start_ns",
    "compute_input_end_ns",
    "compute_output_start_ns",
    "compute_end_ns",
    "request_end_ns",
)


def reader(text: str) -> EventReader:
    """Return a reader of a file's text with the default limits."""
    return EventReader(text, ReadBudget(len(text), "a text"))


def known(trace: Trace) -> list[Any]:
    """Return the part of a trace that a Triton trace file can hold."""
    return [_known(trace, span) for span in trace.spans]


def _known(trace: Trace, span: Span) -> Any:
    model = trace.models[span.model]
    outputs = [*span.outputs, *(ref for each in span.responses for ref in each.outputs)]
    return (
        span.parent,
        (model.name, model.version),
        span.request_id,
        span.events,
        list(map(value_of, span.inputs)),
        list(map(value_of, outputs)),
    )


def value_of(ref: TensorRef) -> Any:
    """Return a tensor's values; NaNs are all equal."""
    values = None
    if ref.data is not None:
        array = ref.view()
        nan = array.dtype.kind == "f" and np.isnan(array)
        values = array.tolist() if nan is False else np.where(nan, 0, array).tolist()
        values = values, np.asarray(nan).tolist()
    return ref.name, ref.dtype.datatype, ref.shape, values


@st.composite
def refs(draw: st.DrawFn, dtype: DType | None = None) -> TensorRef:
    """Draw a tensor of any type, possibly without its value."""
    dtype = dtype or draw(strategies.dtypes())
    array = draw(strategies.tensors(dtype, draw(strategies.axes())))
    name = draw(st.text(max_size=5))
    ref = freeze(name, array, dtype)
    gone = array.size and draw(st.booleans()) and draw(st.booleans())
    return ref.without_data() if gone else ref


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Draw calls in order of start, each below any earlier one."""
    names = st.text(max_size=6) | st.just('quo"te\\')
    model = st.builds(
        lambda name, version: ModelInfo(name, version, "python", "cpu", "model", ""),
        names,
        st.integers(1, 9),
    )
    models = draw(st.lists(model, min_size=1, max_size=3))
    calls: list[Call] = []
    for index in range(draw(st.integers(1, 6))):
        parent = calls[draw(st.integers(0, index - 1))] if index else None
        call = Call(draw(st.sampled_from(models)), parent, index)
        _fill(draw, call, start_ns=1 + 1000 * index)
        calls.append(call)
    return trace_of("made", calls, 10_000)


def _fill(draw: st.DrawFn, call: Call, start_ns: int) -> None:
    gaps = st.lists(st.integers(0, 2000), min_size=6, max_size=6)
    times = np.cumsum([start_ns, *draw(gaps)]).tolist()
    reached = draw(st.integers(1, 5))
    for place, name in enumerate(_TIMES):
        if place <= reached or place == len(_TIMES) - 1:
            setattr(call, name, times[place])
    call.request_fields = RequestFields(request_id=draw(st.text(max_size=4)))
    call.inputs = tuple(draw(st.lists(refs(), max_size=2)))
    named = draw(st.lists(refs(), max_size=2, unique_by=lambda ref: ref.name))
    count = draw(st.integers(0, 3))
    if count and named:
        call.responses = ResponseLog(count, 1 << 20)
        for _ in range(count):
            call.responses.add(call.request_end_ns, tuple(named), "")
    else:
        call.outputs = tuple(named)
    call.ended = True
