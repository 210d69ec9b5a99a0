"""Specification of how received spans become traces."""

from __future__ import annotations

import pytest
from spans import JSON, assemble, message, model_span, request, span

from blsnb.otlp import assembly
from blsnb.otlp.assembly import (
    CIRCLE,
    NO_VALUES,
    UNKNOWN_PARENT,
    assemble_one,
    outlines,
)
from blsnb.otlp.decoding import decode
from blsnb.trace.triton import calls


def received(*spans):
    return decode(message(*spans), JSON).spans


def events(**times):
    return [{"name": name, "timeUnixNano": ns} for name, ns in times.items()]


def models_of(trace):
    """Return the model of each call."""
    return [trace.models[each.model] for each in trace.spans]


def test_a_call_has_the_times_of_its_events():
    """The span ``compute`` below it has those of the model."""
    times = {"REQUEST_START": 21, "QUEUE_START": 22, "REQUEST_END": 29}
    inner = {"COMPUTE_START": 23, "COMPUTE_INPUT_END": 24, "COMPUTE_OUTPUT_START": 25}
    call = model_span(1, 2, 1, name="m", request_id="r") | {"events": events(**times)}
    compute = span(1, 3, 2, name="compute", events=events(**inner, COMPUTE_END=26))
    [trace] = assemble(received(call, span(1, 1), compute))
    [found] = trace.spans

    assert "r" == found.request_id
    assert (21, 22, 29) == (
        found.request_start_ns,
        found.queue_start_ns,
        found.request_end_ns,
    )
    assert (23, 24, 25, 26) == (
        found.compute_start_ns,
        found.compute_input_end_ns,
        found.compute_output_start_ns,
        found.compute_end_ns,
    )


def test_a_span_without_events_has_its_own_times():
    """Other senders have no events."""
    [trace] = assemble(received(model_span(1, 20), span(1, 21, 20, name="compute")))
    [found] = trace.spans

    assert (20, 30) == (found.request_start_ns, found.request_end_ns)
    assert (21, 31) == (found.compute_start_ns, found.compute_end_ns)
    assert (0, 0) == (found.compute_input_end_ns, found.compute_output_start_ns)


def test_events_of_the_end_point_are_lines_of_the_call():
    """In the order of their times."""
    stamps = events(GRPC_SEND_START=9, GRPC_WAITREAD_END=3)
    [trace] = assemble(received(model_span(1, 2, 1), span(1, 1, events=stamps)))

    lines = [(line.ns, line.text) for line in trace.spans[0].logs]
    assert [(3, "GRPC_WAITREAD_END"), (9, "GRPC_SEND_START")] == lines


def test_a_span_of_another_program_is_a_row_of_its_own():
    """With its name, and the error that it had."""
    client = span(1, 1, name="client", status={"code": 2, "message": "timeout"})
    [trace] = assemble(received(client, span(1, 2, 1, name=""), model_span(1, 3, 2)))

    kinds = [(model.name, model.kind) for model in models_of(trace)]
    assert [("client", "span"), ("span", "span"), ("m", "model")] == kinds
    assert ["timeout", "", ""] == [each.error for each in trace.spans]
    assert [] == [note for each in trace.spans for note in each.notes]


def test_a_model_that_only_makes_requests_is_an_ensemble():
    """A model that computes itself is not."""
    inner = [model_span(1, 3, 2, name="inner"), model_span(1, 4, 3, name="last")]
    computing = span(1, 5, 3, name="compute")
    [trace] = assemble(received(model_span(1, 2, name="outer"), *inner, computing))

    assert {"outer": "ensemble", "inner": "", "last": ""} == {
        model.name: model.backend for model in trace.models
    }


@pytest.mark.parametrize(("version", "expected"), [({"intValue": "3"}, 3), ({}, -1)])
def test_a_call_has_the_version_of_its_model(version, expected):
    """-1 where the sender does not say."""
    call = model_span(1, 2)
    call["attributes"].append({"key": "triton.model_version", "value": version})
    spans = received(call)

    assert [expected] == [model.version for model in assemble(spans)[0].models]
    assert [expected] == [each.version for each in outlines(spans)]


def test_what_is_missing_is_said():
    """A span whose caller did not arrive, values, and a circle."""
    [lost] = assemble(received(model_span(1, 3, 2)))
    [whole] = assemble(received(*request(1)))
    [circle] = assemble(received(model_span(1, 2, 3), model_span(1, 3, 2)))

    assert [UNKNOWN_PARENT] == [note for each in lost.spans for note in each.notes]
    assert [] == [note for each in whole.spans for note in each.notes]
    assert [CIRCLE] == [note for each in circle.spans for note in each.notes]
    assert {(NO_VALUES,)} == {each.remarks for each in (lost, whole, circle)}
    assert (
        "A Triton server's OpenTelemetry spans contain no tensors and no errors, and "
        "only those BLS requests that a model makes with trace=request.trace()."
    ) == NO_VALUES
    assert "The span of this call's caller was not received." == UNKNOWN_PARENT
    assert (
        "In the received spans this call is its own ancestor; the cycle is cut here."
    ) == CIRCLE


def test_one_request_of_a_trace_is_found_by_its_id():
    """A client may make several in one trace."""
    spans = received(model_span(1, 4, name="b"), model_span(1, 2, name="a"))
    first, second = outlines(spans)

    assert ["a", "b"] == [first.model, second.model]
    assert ["b"] == [m.name for m in assemble_one(spans, second.run_id).models]
    assert assemble_one(spans, "other") is None
    assert ["a", "b"] == [each.models[0].name for each in assemble(spans)]


def test_an_outline_sums_up_a_request():
    """Its first call, the time of all calls, and the spans with an error."""
    failed = model_span(1, 30, 10, name="b") | {"status": {"code": 2}}
    spans = received(model_span(1, 10, 5, name="a", request_id="r"), failed)
    [outline] = outlines([*spans, *received(span(1, 5, endTimeUnixNano="99"))])

    assert ("a", "r", 10, 30, 2) == (
        outline.model,
        outline.request_id,
        outline.start_ns,
        outline.duration_ns,
        outline.calls,
    )
    assert (1, True) == (outline.errors, outline.is_complete)


def test_an_outline_without_a_call_has_the_times_of_its_span():
    """Its calls have not arrived, or it failed before."""
    [outline] = outlines(received(span(1, 5)))

    assert ("InferRequest", -1, "", 5, 10, 0) == outline[1:7]


def test_models_beyond_the_limit_are_one(monkeypatch):
    """A sender could name each call's model anew."""
    monkeypatch.setattr(calls, "_MAX_MODELS", 2)
    [trace] = assemble(
        received(*(model_span(1, n, n - 1, name=f"m{n}") for n in (1, 2, 3, 4)))
    )

    assert ["m1", "m2", *["further models"] * 2] == [
        each.name for each in models_of(trace)
    ]


def test_calls_beyond_the_limit_are_counted(monkeypatch):
    """A shorter trace is whole."""
    spans = received(*(model_span(1, n, n - 1) for n in (1, 2, 3)))
    remarks = []
    for limit in (2, 3, 4):
        monkeypatch.setattr(assembly, "_MAX_CALLS", limit)
        [trace] = assemble(spans)
        remarks.append((len(trace.spans), trace.remarks))

    assert [
        (2, (NO_VALUES, "The first 2 calls of 3 spans are shown.")),
        (3, (NO_VALUES,)),
        (3, (NO_VALUES,)),
    ] == remarks


def test_calls_at_the_limit_have_their_times(monkeypatch):
    """Their computing is found behind further calls."""
    monkeypatch.setattr(assembly, "_MAX_CALLS", 2)
    [trace] = assemble(
        received(
            *(model_span(1, n, 1 if n > 1 else 0) for n in (1, 2, 3)),
            span(1, 4, 2, name="compute", startTimeUnixNano="7"),
        )
    )

    assert [0, 7] == [each.compute_start_ns for each in trace.spans]


def test_a_trace_has_the_context_of_its_client():
    """Its id is that of the topmost span that arrived."""
    [trace] = assemble(received(model_span(1, 3, 2) | {"traceState": "a=b"}))

    ids = f"{1:032x}", f"{3:016x}"
    assert "-".join(ids) == trace.run_id
    assert (ids[0], f"{2:016x}", "a=b") == trace.context
    assert (0, 0) == trace.clock
    assert [0] == [each.id for each in trace.spans]
