"""Servers that send their runs to an OpenTelemetry Collector."""

from __future__ import annotations

import json
import logging
import re
import threading
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest
import stage
import tritonclient.grpc
import waiting
from cells import CONFIG, DOUBLE, cell
from collector import Collector, collecting
from spans import assemble

from blsnb import Server
from blsnb.otlp import sending
from blsnb.otlp.decoding import decode
from blsnb.parts import exporter as exporters
from blsnb.parts.server_parts import parts_of
from blsnb.serving.endpoints import serve
from blsnb.trace.spans import Trace

X = {"X": np.array([1, 2], np.float32)}
BODY = b'{"inputs":[{"name":"X","datatype":"FP32","shape":[1],"data":[1]}]}'
TRACE_ID, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS = {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01", "tracestate": "a=b"}
SPANS_PER_RUN = 3
"""Spans of a request, of its model and of the computation."""
PIPE = cell("""
stage.seen.append(request.trace().get_context())
response = ask("double", request, trace=request.trace()).exec()
return [reply(answer_of(response))]
""")


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A Collector on a free port."""
    with collecting() as found:
        yield found


@pytest.fixture
def exporting(collector: Collector) -> Iterator[Server]:
    """A server that sends to it, with a model and its caller."""
    with Server(otlp=collector.url) as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("pipe", PIPE, config=CONFIG)
        yield server


def traces(collector: Collector, count: int = 1) -> list[Trace]:
    """Return the received traces, once there are that many."""

    def received() -> list[Trace]:
        bodies = [each.body for each in list(collector.received)]
        spans = [s for b in bodies for s in decode(b, "application/json").spans]
        ids = dict.fromkeys(span.trace_id for span in spans)
        return [t for i in ids for t in assemble([s for s in spans if s.trace_id == i])]

    assert waiting.until(lambda: len(received()) >= count)
    return received()


def test_each_run_is_sent_after_its_end(exporting, collector):
    """With its calls, in the order of the requests."""
    for number in range(3):
        exporting.infer("pipe", X, request_id=f"r{number}")

    found = traces(collector, 3)
    assert ["r0", "r1", "r2"] == [trace.request_id for trace in found]
    assert {("pipe", "double")} == {tuple(m.name for m in t.models) for t in found}


def test_a_model_can_pass_the_context_on(exporting, collector):
    """It names the model's own span, in Triton's form."""
    exporting.infer("pipe", X)
    [context] = stage.seen
    [trace] = traces(collector)
    version, trace_id, span_id, flags = json.loads(context)["traceparent"].split("-")
    assert ("00", trace.context.trace_id, "01") == (version, trace_id, flags)

    [received] = collector.received
    [scope] = json.loads(received.body)["resourceSpans"][0]["scopeSpans"]
    names = {span["spanId"]: span["name"] for span in scope["spans"]}
    assert "pipe" == names[span_id]


def test_some_requests_are_sent(collector):
    """One of three, and at most two; models of the others have no context to pass."""
    with Server(otlp=collector.url, otlp_rate=3, otlp_count=2) as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("pipe", PIPE, config=CONFIG)
        for number in range(1, 11):
            server.infer("pipe", X, request_id=f"r{number}")
    found = traces(collector, 2)

    assert ["r3", "r6"] == [trace.request_id for trace in found]
    assert [2, 2] == [len(trace.spans) for trace in found]
    assert [3, 6] == [number for number, seen in enumerate(stage.seen, 1) if seen]


def test_without_a_collector_there_is_no_context(server):
    """As on a Triton server that sends no spans."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("pipe", PIPE, config=CONFIG)
    server.infer("pipe", X)
    assert [None] == stage.seen


def test_the_context_of_an_http_client_is_kept(exporting, collector):
    """Its span is the parent, and models pass its trace on."""
    with serve(exporting, http=0, grpc=None, metrics=None) as endpoints:
        url = f"http://{endpoints.addresses['HTTP']}/v2/models/pipe/infer"
        with urllib.request.urlopen(urllib.request.Request(url, BODY, HEADERS)):
            pass
    [trace] = traces(collector)
    assert (TRACE_ID, PARENT_ID, "a=b") == trace.context
    context = json.loads(stage.seen[0])
    assert ("a=b", TRACE_ID) == (context["tracestate"], context["traceparent"][3:35])


def test_the_context_of_a_grpc_client_is_kept(exporting, collector):
    """As over HTTP."""
    given = tritonclient.grpc.InferInput("X", [1], "FP32")
    given.set_data_from_numpy(np.array([1], np.float32))
    with serve(exporting, http=None, grpc=0, metrics=None) as endpoints:
        address = endpoints.addresses["gRPC"]
        with tritonclient.grpc.InferenceServerClient(address) as client:
            client.infer("double", [given], headers=HEADERS)
    [trace] = traces(collector)
    assert (TRACE_ID, PARENT_ID, "a=b") == trace.context


@pytest.mark.parametrize(
    "traceparent",
    [
        "garbage",
        f"00-{'0' * 32}-{PARENT_ID}-01",
        f"00-{TRACE_ID}-{'0' * 16}-01",
        f"01-{TRACE_ID}-{PARENT_ID}-01-x",
    ],
)
def test_an_invalid_context_is_ignored(exporting, collector, traceparent):
    """The run has a trace of its own, as on Triton."""
    with serve(exporting, http=0, grpc=None, metrics=None) as endpoints:
        url = f"http://{endpoints.addresses['HTTP']}/v2/models/double/infer"
        headers = {"traceparent": traceparent}
        with urllib.request.urlopen(urllib.request.Request(url, BODY, headers)):
            pass
    [trace] = traces(collector)
    assert "" == trace.context.parent_id
    assert TRACE_ID != trace.context.trace_id


def test_a_collector_that_does_not_answer_delays_no_request(exporting, collector):
    """Requests end while a message waits for its answer; closing ends, too."""
    collector.may_answer.clear()
    exporting.infer("double", X)
    assert waiting.until(lambda: collector.received)
    for _ in range(100):
        exporting.infer("double", X)
    assert 1 == len(collector.received)
    collector.may_answer.set()
    assert 101 == len(traces(collector, 101))


def test_without_a_collector_the_oldest_are_dropped_and_counted(monkeypatch, caplog):
    """The log says so once, and the number at the end; no request fails."""
    monkeypatch.setattr(exporters, "MAX_RUNS", 3)
    monkeypatch.setattr(exporters, "MAX_WAITING_SPANS", 6)
    monkeypatch.setattr(exporters, "_DELAY_S", 0.01)
    with collecting() as gone:
        url = gone.url
    with caplog.at_level(logging.WARNING, "blsnb.otlp"), Server(otlp=url) as server:
        server.define("double", DOUBLE, config=CONFIG)
        for _ in range(50):
            server.infer("double", X)
    first, *_, last = [record.getMessage() for record in caplog.records]
    assert first.startswith(f"no spans are sent: {url}/v1/traces does not respond")
    lost = re.fullmatch(
        rf"(\d+) spans? and (\d+) runs? were not sent to {re.escape(url)}/v1/traces",
        last,
    )
    assert lost
    spans, runs = map(int, lost.groups())
    assert 50 == spans / SPANS_PER_RUN + runs
    assert 2 == len(caplog.records)


def test_closing_sends_what_waits(collector, caplog):
    """A script that ends loses no run, reads no warning, and sends no run twice."""
    with (
        caplog.at_level(logging.WARNING, "blsnb.otlp"),
        Server(otlp=collector.url) as server,
    ):
        server.define("double", DOUBLE, config=CONFIG)
        server.infer("double", X, request_id="last")
        recorder = parts_of(server).recorder
        recorder.changed(recorder.runs[-1])
    assert ["last"] == [trace.request_id for trace in traces(collector)]
    bodies = [decode(each.body, "application/json") for each in collector.received]
    assert SPANS_PER_RUN == sum(len(body.spans) for body in bodies)
    assert [] == caplog.messages


def test_closing_begins_no_message_after_its_time(collector, monkeypatch):
    """A message in flight ends, those that wait behind it are dropped."""
    monkeypatch.setattr(sending, "MAX_SPANS", 1)
    monkeypatch.setattr(exporters, "_FLUSH_S", 0.0)
    collector.may_answer.clear()
    server = Server(otlp=collector.url)
    server.define("double", DOUBLE, config=CONFIG)
    server.infer("double", X)
    collector.wait()
    closing = threading.Thread(target=server.close)
    closing.start()
    exporter = parts_of(server).exporter
    assert waiting.until(lambda: exporter._end_s is not None)
    collector.may_answer.set()
    closing.join()
    assert 1 == len(collector.received)


def test_an_invalid_address_is_an_error():
    """When the server is made, not when something is sent."""
    with pytest.raises(ValueError, match="expected a URL such as"):
        Server(otlp="localhost:4318")
    with pytest.raises(TypeError, match="otlp=5 is not valid"):
        Server(otlp=5)


@pytest.mark.parametrize(
    ("limit", "maximum", "requests", "lost"),
    [
        ("MAX_RUNS", 3, 3, []),
        ("MAX_RUNS", 3, 4, ["0 spans and 1 run were not sent to"]),
        ("MAX_RUN_BYTES", 16, 1, []),
        ("MAX_RUN_BYTES", 15, 1, ["0 spans and 1 run were not sent to"]),
    ],
)
def test_as_many_runs_wait_as_the_maximum(
    monkeypatch, caplog, collector, limit, maximum, requests, lost
):
    """An input and an output of eight bytes each; the oldest runs are dropped."""
    monkeypatch.setattr(exporters, limit, maximum)
    monkeypatch.setattr(exporters, "_DELAY_S", 60)
    with Server(otlp=collector.url) as server:
        server.define("double", DOUBLE, config=CONFIG)
        for _ in range(requests):
            server.infer("double", X)
    said = [record.getMessage() for record in caplog.records]

    assert [f"{each} {collector.url}/v1/traces" for each in lost] == said
