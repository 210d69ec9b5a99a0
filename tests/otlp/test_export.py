"""Runs as OpenTelemetry spans, parsed by OpenTelemetry's own package."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from typing import Any

import numpy as np
import pytest
from asserting import some
from cells import CONFIG, DOUBLE, cell
from collector import Collector, collecting
from spans import GOLDEN, NAMES, assemble, message, model_span, span

from blsnb import CollectorError, InferenceError, Run, Server, TraceError, load_trace
from blsnb.otlp import protobuf_form
from blsnb.otlp.decoding import decode, decode_document
from blsnb.otlp.encoding import document, spans_of
from blsnb.otlp.sending import endpoint_of
from blsnb.serving.endpoints import serve
from blsnb.trace.facts import ClockReading, TraceContext

TRACE_FILE = GOLDEN.parents[2] / "trace" / "golden" / "bls_trace_example.json"
X = {"X": np.array([1, 2], np.float32)}
PIPE = cell("""
traced = ask("child", request, request_id="kid", trace=request.trace()).exec()
failed = ask("fail", request, trace=request.trace()).exec()
return [reply(answer_of(traced))]
""")
FAIL = cell("raise pb_utils.TritonModelException('no luck')")
TYPES = {"json": "application/json", "protobuf": "application/x-protobuf"}


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A Collector on a free port."""
    with collecting() as found:
        yield found


@pytest.fixture
def run(server: Server) -> Run:
    """The run of the pipeline that the real server's golden file has, too."""
    server.define("child", DOUBLE, config=CONFIG)
    server.define("fail", FAIL, config=CONFIG)
    server.define("pipe", PIPE, config=CONFIG)
    return server.infer("pipe", X, request_id="r1")


def parsed(body: bytes, content_type: str) -> list[Any]:
    """Return the spans of a request as opentelemetry-proto reads them."""
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

    request = trace_service_pb2.ExportTraceServiceRequest()
    if content_type == TYPES["json"]:
        # OTLP/JSON has hexadecimal ids, of which protobuf's JSON knows nothing: as
        # base64 they are other bytes, but the same ones everywhere.
        json_format.Parse(body, request)
    else:
        request.ParseFromString(body)
    [resource] = request.resource_spans
    [scope] = resource.scope_spans
    return list(scope.spans)


def tree_of(spans: list[Any]) -> list[tuple[Any, ...]]:
    """Return names, parents, attributes and events, without ids and times.

    The ids of calls in attributes are numbers that a server counts.
    """
    names = {span.span_id: span.name for span in spans}
    return [
        (
            span.name,
            names.get(span.parent_span_id, ""),
            span.kind,
            [
                (a.key, a.value.int_value or a.value.string_value)
                for a in span.attributes
            ],
            [event.name for event in span.events],
        )
        for span in spans
    ]


@pytest.mark.parametrize("format", ["json", "protobuf"])
def test_spans_have_the_names_and_the_tree_of_the_real_server(run, collector, format):
    """All but the times of its HTTP end point, which a call in Python does not have."""
    run.export_otlp(collector.url, format=format)
    [received] = collector.received
    ours = tree_of(parsed(received.body, received.content_type))

    with GOLDEN.open("rb") as file:
        real = tree_of(parsed(file.readline(), TYPES["json"]))
    real[-1] = (*real[-1][:-1], ["INFER_RESPONSE_COMPLETE"])
    assert ("/v1/traces", TYPES[format]) == received[:2]
    assert real == ours


def without_counters(tree: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return a tree without the ids of calls, which a server counts from its start."""
    return [
        (*row[:3], [a for a in row[3] if not a[0].startswith("triton.trace_")], row[4])
        for row in tree
    ]


@pytest.mark.parametrize("line", range(len(NAMES)))
def test_spans_of_the_real_server_are_sent_on_as_they_were_received(line):
    """With the times of its end points, which are events of the request."""
    whole = GOLDEN.read_bytes().splitlines()[line]
    [trace] = assemble(decode(whole, TYPES["json"]).spans)
    sent = document(spans_of(trace, ClockReading(0, 0)))

    real, ours = (
        parsed(each, TYPES["json"]) for each in (whole, json.dumps(sent).encode())
    )
    assert without_counters(tree_of(real)) == without_counters(tree_of(ours))
    assert [
        [(event.name, event.time_unix_nano) for event in span.events] for span in real
    ] == [
        [(event.name, event.time_unix_nano) for event in span.events] for span in ours
    ]


def test_spans_of_other_programs_have_no_facts_of_a_model():
    """They are those between a client's request and that of a model."""
    other = {"name": "gateway", "status": {"code": 2, "message": "late"}}
    spans = decode(message(span(1, 1, **other), model_span(1, 2, 1)), TYPES["json"])
    [trace] = assemble(spans.spans)
    found = spans_of(trace, ClockReading(0, 0))

    assert ["m", "gateway", "InferRequest"] == [each["name"] for each in found]
    assert [2, 0, 1] == [len(each["events"]) for each in found]
    assert [True, False, False] == ["attributes" in each for each in found]
    assert {"message": "late", "code": 2} == found[1]["status"]


def test_messages_name_the_service_as_the_real_server_does(run, collector):
    """Only the library that sent them is blsnb."""
    run.export_otlp(collector.url)
    real = json.loads(GOLDEN.read_text().splitlines()[0])["resourceSpans"][0]
    [ours] = json.loads(collector.received[0].body)["resourceSpans"]

    def attributes(resource):
        found = resource["resource"]["attributes"]
        return {each["key"]: each["value"]["stringValue"] for each in found}

    assert attributes(real) | {
        "telemetry.sdk.version": metadata.version("blsnb"),
        "telemetry.sdk.name": "blsnb",
        "telemetry.sdk.language": "python",
    } == attributes(ours)
    assert list(attributes(real)) == list(attributes(ours))
    assert real["scopeSpans"][0]["scope"] == ours["scopeSpans"][0]["scope"]


@pytest.mark.parametrize("format", ["json", "protobuf"])
def test_times_are_those_of_the_run(run, collector, format):
    """They are the time of day, and differ from the run's by no nanosecond."""
    run.export_otlp(collector.url, format=format)
    [received] = collector.received
    spans = parsed(received.body, received.content_type)

    root, child, fail = run.trace.spans
    began_ns = int(run.started_at.timestamp() * 1e9)
    sent = {span.name: span for span in spans if span.name != "compute"}
    offset_ns = sent["pipe"].start_time_unix_nano - root.request_start_ns
    assert abs(sent["pipe"].start_time_unix_nano - began_ns) < 1000
    for call in (root, child, fail):
        name = run.trace.models[call.model].name
        times = [(e.name, e.time_unix_nano - offset_ns) for e in sent[name].events]
        known = dict(call.events)
        assert [(str(n), known[n]) for n in known if str(n) in dict(times)] == times
        assert call.request_end_ns == sent[name].end_time_unix_nano - offset_ns


@pytest.mark.parametrize("format", ["json", "protobuf"])
def test_exported_spans_are_the_same_trace_when_received(run, collector, format):
    """Calls, callers, times, request ids and errors are those of the run."""
    run.export_otlp(collector.url, format=format)
    [received] = collector.received

    [trace] = assemble(decode(received.body, received.content_type).spans)
    shift_ns = trace.start_ns - run.trace.start_ns
    for ours, theirs in some(zip(run.trace.spans, trace.spans, strict=True)):
        assert (ours.id, ours.parent) == (theirs.id, theirs.parent)
        assert run.trace.models[ours.model][:2] == trace.models[theirs.model][:2]
        assert [(a, ns + shift_ns) for a, ns in ours.events] == list(theirs.events)
        assert (ours.request_id, ours.error) == (theirs.request_id, theirs.error)


def test_json_ids_are_hexadecimal_and_stay_the_same(run, collector):
    """Exporting twice sends the same ids: a Collector does not show the run twice."""
    run.export_otlp(collector.url)
    run.export_otlp(collector.url)
    first, second = (json.loads(each.body) for each in collector.received)

    assert first == second
    spans = first["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert {32} == {len(bytes.fromhex(s["traceId"]).hex()) for s in spans}
    assert len(spans) == len({s["spanId"] for s in spans})


def test_tensors_are_sent_on_request_only(run, collector):
    """With tensors=True they arrive with their values; else nothing of them leaves."""
    run.export_otlp(collector.url)
    run.export_otlp(collector.url, tensors=True)
    without, with_tensors = collector.received

    [trace] = assemble(decode(without.body, without.content_type).spans)
    assert not any(span.has_tensors for span in trace.spans)
    [trace] = assemble(decode(with_tensors.body, with_tensors.content_type).spans)
    [sent], [received] = run.trace.spans[0].outputs, trace.spans[0].outputs
    assert ("Y", sent.shape, bytes(sent.data)) == (
        received.name,
        received.shape,
        bytes(received.data),
    )


def test_a_tensor_is_an_event_of_its_call(run):
    """An input when it is queued, an output when it is computed."""
    [sent] = [
        span
        for span in spans_of(run.trace, ClockReading(0, 0), tensors=True)
        if span["name"] == "pipe"
    ]
    root, facts = run.trace.spans[0], {"datatype": "FP32", "byte_size": 8}
    [*_, queued, answered] = (
        decode_document({"resourceSpans": [{"scopeSpans": [{"spans": [sent]}]}]})
        .spans[0]
        .events
    )

    for event, name, ns, tensor, values in (
        (queued, "TENSOR_QUEUE_INPUT", root.queue_start_ns, "X", [1, 2]),
        (answered, "TENSOR_BACKEND_OUTPUT", root.compute_output_start_ns, "Y", [2, 4]),
    ):
        facts |= {"name": tensor, "shape": [2], "data": np.float32(values).tobytes()}
        expected = {f"triton.tensor.{key}": value for key, value in facts.items()}
        assert (name, ns, expected) == event


SIZES = {
    "the size of its shape": ([1], "AAAAAA==", ["X"]),
    "no value": ([1], None, ["X"]),
    "another size": ([3], "AAAAAA==", []),
    "a negative axis": ([-1], "AAAAAA==", []),
    "no number": (["1"], "AAAAAA==", []),
}


@pytest.mark.parametrize("case", SIZES)
def test_a_tensor_that_contradicts_its_shape_is_left_out(case):
    """A tensor of a foreign sender is checked before it is shown."""
    sizes, data, expected = SIZES[case]
    kinds = {int: "intValue", str: "stringValue"}
    facts = {
        "triton.tensor.name": {"stringValue": "X"},
        "triton.tensor.datatype": {"stringValue": "FP32"},
        "triton.tensor.shape": {
            "arrayValue": {"values": [{kinds[type(n)]: str(n)} for n in sizes]}
        },
        "triton.tensor.byte_size": {"intValue": "4"},
    }
    if data is not None:
        facts["triton.tensor.data"] = {"bytesValue": data}
    event = {
        "name": "TENSOR_QUEUE_INPUT",
        "timeUnixNano": "5",
        "attributes": [{"key": k, "value": v} for k, v in facts.items()],
    }
    span = {
        "traceId": "a" * 32,
        "spanId": "b" * 16,
        "name": "m",
        "startTimeUnixNano": "5",
        "endTimeUnixNano": "6",
        "events": [event],
    }
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}

    [trace] = assemble(decode(json.dumps(body).encode(), TYPES["json"]).spans)
    assert expected == [ref.name for ref in trace.spans[0].inputs]


def test_a_failed_call_has_the_status_error(server, collector):
    """Triton sets no status; the text is that of the client's error."""
    server.define("fail", FAIL, config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("fail", X)
    caught.value.run.export_otlp(collector.url)

    [received] = collector.received
    spans = {span.name: span for span in parsed(received.body, received.content_type)}
    assert (2, caught.value.message) == (
        spans["fail"].status.code,
        spans["fail"].status.message,
    )
    assert 0 == spans["InferRequest"].status.code


def test_a_long_run_is_sent_in_messages_of_512_spans(server, collector):
    """As a Triton server sends them."""
    server.define("child", DOUBLE, config=CONFIG)
    server.define(
        "pipe",
        cell("""
        for _ in range(300):
            response = ask("child", request, trace=request.trace()).exec()
        return [reply(answer_of(response))]
        """),
        config=CONFIG,
    )
    assert 603 == server.infer("pipe", X).export_otlp(collector.url)

    counts = [
        len(decode(each.body, each.content_type).spans) for each in collector.received
    ]
    assert [512, 91] == counts


def test_a_context_of_a_client_is_kept(run):
    """The spans belong to its trace, and the request's is below its span."""
    context = TraceContext("a" * 32, "b" * 16, "vendor=1")
    trace = replace(run.trace, context=context)
    spans = spans_of(trace, ClockReading(0, 1 << 60))

    assert {"a" * 32} == {span["traceId"] for span in spans}
    assert {"vendor=1"} == {span["traceState"] for span in spans}
    assert "b" * 16 == spans[-1]["parentSpanId"]
    decoded = decode(json.dumps(document(spans)).encode(), TYPES["json"])
    assert context == assemble(decoded.spans)[0].context


def test_a_collector_that_refuses_is_an_error_with_its_answer(run, collector):
    """HTTP errors and rejected spans name the address and the reason."""
    partial = b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"%b"}}'
    for status, answer, text in (
        (503, b"too busy", "refuses the spans: HTTP 503 too busy"),
        (503, b"", "refuses the spans: HTTP 503 Service Unavailable"),
        (503, b"a" * 300, f"refuses the spans: HTTP 503 {'a' * 200}"),
        (200, partial % b"no", "refuses 2 spans: no"),
        (200, partial % (b"a" * 300), f"refuses 2 spans: {'a' * 200}"),
    ):
        collector.status, collector.answer = status, answer
        with pytest.raises(CollectorError) as refused:
            run.export_otlp(collector.url)
        assert f"{collector.url}/v1/traces {text}" == str(refused.value)


@pytest.mark.parametrize(
    "answer", [b"", b"{}", b"\x12\x00", b"[]", b'{"partialSuccess":null}']
)
def test_an_answer_without_rejected_spans_is_a_success(run, collector, answer):
    """A Collector may answer with nothing, or in protobuf."""
    collector.answer = answer

    assert 7 == run.export_otlp(collector.url)


def test_nothing_that_listens_is_an_error_with_the_address(run, collector):
    """The text says what to check."""
    with collecting() as gone:
        url = gone.url
    with pytest.raises(CollectorError) as refused:
        run.export_otlp(url)
    assert (
        f"{url}/v1/traces does not respond: [Errno 111] Connection refused. Check that "
        "a Collector listens there."
    ) == str(refused.value)


def test_a_port_for_grpc_is_an_error_that_names_the_one_for_http(server, run):
    """A Collector has both, with neighbouring numbers."""
    with serve(server, http=None, grpc=0, metrics=None) as endpoints:
        url = f"http://{endpoints.addresses['gRPC']}/v1/traces"
        with pytest.raises(CollectorError) as refused:
            run.export_otlp(url)

    assert (
        f"{url} does not respond with HTTP; use the Collector's port for HTTP, by "
        "default 4318, not the one for gRPC"
    ) == str(refused.value)


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://a:1", "http://a:1/v1/traces"),
        ("https://a/", "https://a/v1/traces"),
        ("http://a/in?k=1", "http://a/in?k=1"),
    ],
)
def test_a_url_without_a_path_gets_the_usual_one(url, endpoint):
    """Another path is that of a Collector behind a proxy."""
    assert endpoint == endpoint_of(url)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:4318", "ftp://x", "http://", "http://x:0"]
)
def test_an_invalid_url_is_an_error(run, url):
    """The text has the value, and an example."""
    with pytest.raises(ValueError, match=r"^url=") as refused:
        run.export_otlp(url)
    assert (
        f"url={url!r} is not valid; expected a URL such as "
        "'http://127.0.0.1:4318/v1/traces'"
    ) == str(refused.value)


def test_an_unknown_format_is_an_error(run):
    """The text has the value and the two formats."""
    text = "^format='grpc' is not valid; expected 'json' or 'protobuf'$"
    with pytest.raises(ValueError, match=text):
        run.export_otlp("http://127.0.0.1:1", format="grpc")


PROTOBUF = (
    "^OpenTelemetry spans as protobuf need the package opentelemetry-proto: "
    r"pip install 'blsnb\[otlp\]'$"
)


def test_protobuf_needs_a_package(run, collector, monkeypatch):
    """Its absence is one sentence with the command that installs it."""
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.collector.trace.v1", None)
    with pytest.raises(ImportError, match=PROTOBUF):
        run.export_otlp(collector.url, format="protobuf")


def test_a_trace_file_without_the_time_of_day_is_refused(collector):
    """Triton's trace files have no time of day, which spans need."""
    [run] = load_trace(TRACE_FILE)
    with pytest.raises(
        TraceError,
        match=r"^this run was read from a file without the time of day, which "
        r"OpenTelemetry spans need; export a run of a server, or one saved as "
        r"\.blsrun$",
    ):
        run.export_otlp(collector.url)


def test_a_body_that_is_no_protobuf_is_refused():
    """The text has the reason of the package."""
    with pytest.raises(ValueError, match=r"^the body is not an OTLP export request: ."):
        decode(b"\xff", TYPES["protobuf"])
    assert ([], 0) == decode(b"", TYPES["protobuf"])


def test_an_answer_as_protobuf_has_the_rejected_spans():
    """Senders read their number and the reason."""
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

    partial = {"rejectedSpans": "3", "errorMessage": "no"}
    body = protobuf_form.answer({"partialSuccess": partial})
    found = trace_service_pb2.ExportTraceServiceResponse.FromString(body)

    assert (3, "no") == (
        found.partial_success.rejected_spans,
        found.partial_success.error_message,
    )
