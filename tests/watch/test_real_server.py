"""The spans of a real server, and its trace settings."""

from __future__ import annotations

import pytest

from blsnb.errors import TraceError, TritonServerError
from blsnb.watch.trace_settings import RemoteTraceSettings, described

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
pytestmark = [
    pytest.mark.triton_server,
    pytest.mark.timeout(180),  # A busy machine starts the real server slowly.
]


def test_requests_appear_with_their_calls(real):
    """A request has model, id, times and the calls that pass a trace on."""
    assert 200 == real.infer("pipeline", "one")
    [outline] = real.wait("one")
    assert ("pipeline", 2) == (outline.model, outline.calls)

    trace = real.watch.run("one").trace
    root, child = trace.spans
    names = [trace.models[span.model].name for span in trace.spans]
    assert (["pipeline", "double"], 0) == (names, child.parent)
    times = [ns for _, ns in root.events]
    assert 7 == len(times)
    assert sorted(times) == times
    assert root.request_start_ns <= child.request_start_ns
    # The server may note the end of a child after that of its caller.
    assert child.request_start_ns <= root.request_end_ns
    assert "HTTP_RECV_START" == root.logs[0].text


def test_a_call_without_a_trace_is_missing(real):
    """The server does not send it; the view says so."""
    assert 200 == real.infer("untraced", "two")
    [outline] = real.wait("two")
    assert 1 == outline.calls
    assert "trace=request.trace()" in real.watch.run("two").trace.remarks[0]


def test_spans_carry_no_errors(real):
    """A failed request looks like any other."""
    assert 500 == real.infer("bad", "three")
    [outline] = real.wait("three")
    assert 0 == outline.errors


def test_the_context_of_a_client_is_kept(real):
    """Its trace and its span are those of the run."""
    assert 200 == real.infer("double", "four", traceparent=PARENT, tracestate="a=b")
    [outline] = real.wait("four")
    context = real.watch.run("four").trace.context
    assert (PARENT[3:35], PARENT[36:52], "a=b") == context
    assert outline.run_id.startswith(PARENT[3:35])


def test_an_unknown_request_is_an_error(real):
    """The text says what was received."""
    with pytest.raises(TraceError, match="no request with id 'nobody' was received"):
        real.watch.run("nobody")


def test_rate_level_and_count_change_while_the_server_runs(real):
    """What is printed is what the server then has."""
    settings = RemoteTraceSettings(real.url)
    try:
        settings.change(rate=7, level="timestamps", count=50)
        text = described(settings.read())
        assert (
            "mode opentelemetry, level TIMESTAMPS, 1 of 7 requests, at most 50 more"
        ) == text
    finally:
        settings.change(rate=1, count=-1)


def test_a_stopped_trace_sends_nothing(real):
    """At level OFF requests leave no spans; afterwards they do again."""
    settings = RemoteTraceSettings(real.url)
    settings.change(level="OFF")
    try:
        assert 200 == real.infer("double", "hidden")
    finally:
        settings.change(level="TIMESTAMPS")
    assert 200 == real.infer("double", "visible")
    real.wait("visible")
    assert "hidden" not in {each.request_id for each in real.watch.requests}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"rate": 0}, "rate=0 is not valid; expected 1 or more"),
        ({"level": "ALL"}, "level='ALL' is not valid"),
        ({"count": -2}, "count=-2 is not valid"),
    ],
)
def test_what_cannot_change_is_said_before_it_is_tried(changes, text):
    """No server is asked: none listens at this address."""
    with pytest.raises(ValueError, match=text):
        RemoteTraceSettings("http://127.0.0.1:1").change(**changes)


def test_a_server_that_does_not_respond_is_an_error():
    """The text has its address, without a password."""
    with pytest.raises(TritonServerError, match=r"127\.0\.0\.1:1 does not respond"):
        RemoteTraceSettings("127.0.0.1:1").read()


def test_the_receiver_refuses_the_server_nothing(real):
    """No span of this server was malformed or dropped."""
    counts = real.watch.counts
    assert (0, 0) == (counts.rejected, counts.dropped)
    assert counts.received > 0
