"""The port to which servers send their spans."""

from __future__ import annotations

import gzip
import http.client
import json
import sys
from collections.abc import Iterator

import pytest
from spans import JSON, message, request, span

from blsnb.otlp import decoding, protobuf_form
from blsnb.watch import receiver as receivers
from blsnb.watch.receiver import Receiver
from blsnb.watch.store import SpanStore

PROTOBUF = "application/x-protobuf"
BODY = message(*request(1))


@pytest.fixture
def store() -> SpanStore:
    """The store of the receiver."""
    return SpanStore()


@pytest.fixture
def receiver(store: SpanStore) -> Iterator[Receiver]:
    """A receiver on a free port."""
    found = Receiver(store, port=0)
    yield found
    found.close()


def post(
    receiver: Receiver,
    body: bytes = BODY,
    path: str = "/v1/traces",
    method: str = "POST",
    **headers: str,
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"Content-Type": JSON} | named
    try:
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_json_is_kept(receiver, store):
    """The answer is the empty one of OTLP."""
    assert (200, b"{}") == post(receiver)
    assert ["m"] == [each.model for each in store.outlines()]


def test_protobuf_is_kept(receiver, store):
    """As Collectors send it, compressed too."""
    body = protobuf_form.encode(json.loads(BODY))
    assert (200, b"") == post(receiver, body, Content_Type=PROTOBUF)
    packed = gzip.compress(body)
    answer = post(receiver, packed, Content_Type=PROTOBUF, Content_Encoding="gzip")
    assert (200, b"") == answer
    assert (4, 2) == (store.counts.received, store.counts.kept)


def test_gzip_is_inflated(receiver, store):
    """Of JSON."""
    packed = gzip.compress(BODY)
    assert (200, b"{}") == post(receiver, packed, Content_Encoding="gzip")
    assert 2 == store.counts.kept


def test_protobuf_without_its_package_is_refused(receiver, store, monkeypatch):
    """The answer names the command that installs it."""
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.collector.trace.v1", None)
    status, text = post(receiver, b"", Content_Type=PROTOBUF)
    assert 415 == status
    assert b"pip install 'blsnb[otlp]'" in text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1"])
def test_web_pages_are_refused(receiver, store, origin):
    """A request with an Origin comes from a page, whatever page it is."""
    status, text = post(receiver, Origin=origin)
    assert (403, b"web pages may not send spans") == (status, text)
    assert 0 == store.counts.received


def test_a_refusal_is_plain_text(receiver):
    """Also one that another page would be shown."""
    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=60)
    connection.request("POST", "/v1/traces", b"{", {"Content-Type": JSON})
    answer = connection.getresponse()
    connection.close()

    assert 400 == answer.status
    assert "text/plain; charset=utf-8" == answer.headers["Content-Type"]
    assert "Server" not in answer.headers


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"[" * 100_000, {}, 400),
        (BODY, {"Content_Type": "text/plain"}, 415),
        (BODY, {"Content_Encoding": "br"}, 415),
        (BODY, {"Content_Encoding": "gzip"}, 400),
        (gzip.compress(BODY)[:-9], {"Content_Encoding": "gzip"}, 400),
        (b"\xff\xff", {"Content_Type": PROTOBUF}, 400),
    ],
)
def test_malformed_requests_are_refused(receiver, store, body, headers, status):
    """The next request is kept all the same."""
    assert status == post(receiver, body, **headers)[0]
    assert 200 == post(receiver)[0]
    assert 2 == store.counts.received


def test_limits_hold_after_decompression(receiver, store, monkeypatch):
    """A small body that inflates beyond the limit is refused."""
    monkeypatch.setattr(decoding, "MAX_BODY_BYTES", 10_000)
    packed = gzip.compress(message(*request(1)) + b" " * 20_000)
    assert len(packed) < 1000
    assert 413 == post(receiver, packed, Content_Encoding="gzip")[0]
    assert 0 == store.counts.received


def test_many_small_values_are_refused_before_they_are_parsed(receiver, monkeypatch):
    """The memory of parsed JSON is limited, not only its text."""
    monkeypatch.setattr(decoding, "_MEMORY_BYTES", 100_000)
    assert 413 == post(receiver, b"[" + b"{}," * 5000 + b"{}]")[0]


def test_bodies_of_all_requests_share_a_limit(receiver, store, monkeypatch):
    """Beyond it the sender has to try again; what was answered is held no more."""
    statuses = []
    for limit in (100, len(BODY), len(BODY), len(BODY) - 1, len(BODY)):
        monkeypatch.setattr(receivers, "_MAX_HELD_BYTES", limit)
        statuses.append(post(receiver)[0])

    assert [503, 200, 200, 503, 200] == statuses


def test_malformed_spans_are_counted(receiver, store):
    """The others are kept; the answer says how many were rejected."""
    bad = [span(1, 5) | {"traceId": wrong} for wrong in ("", "0" * 32, "xyz", 7)]
    status, text = post(receiver, message(*request(1), *bad))
    reason = "a span needs valid ids and times"
    assert 200 == status
    assert {
        "partialSuccess": {"rejectedSpans": "4", "errorMessage": reason}
    } == json.loads(text)
    assert (2, 4) == (store.counts.received, store.counts.rejected)

    one = protobuf_form.encode(json.loads(message(span(1, 5) | {"traceId": "0" * 32})))
    status, body = post(receiver, one, Content_Type=PROTOBUF)
    assert (
        200,
        protobuf_form.answer(
            json.loads(text)
            | {"partialSuccess": {"rejectedSpans": "1", "errorMessage": reason}}
        ),
    ) == (status, body)
    assert "2 spans received, 5 malformed" == str(store.counts)


def test_a_refusal_has_its_reason_and_may_be_logged(receiver, caplog):
    """A type that is not supported is a mistake in the settings of the sender."""
    text = (
        "Content-Type 'text/plain' is not supported; expected application/json or "
        "application/x-protobuf"
    )
    assert (415, text.encode()) == post(receiver, Content_Type="text/plain")
    assert [f"a request with spans was refused: {text}"] == caplog.messages

    packed = gzip.compress(BODY)[:-9]
    assert (400, b"the request is not complete gzip data") == post(
        receiver, packed, Content_Encoding="gzip"
    )
    assert 1 == len(caplog.messages)


def test_other_paths_and_methods_are_refused(receiver):
    """Only traces are received."""
    assert 404 == post(receiver, path="/v1/metrics")[0]
    assert 405 == post(receiver, b"", method="GET")[0]


def test_a_reachable_address_requires_the_token(store):
    """It is random, in the path, and in no text of the receiver."""
    receiver = Receiver(store, "0.0.0.0", 0)
    try:
        assert len(receiver.token) >= 32
        assert 404 == post(receiver)[0]
        assert 404 == post(receiver, path="/wrong/v1/traces")[0]
        assert 200 == post(receiver, path=f"/{receiver.token}/v1/traces")[0]
        address = f"0.0.0.0:{receiver.port}"
        assert f"<Receiver {address}>" == repr(receiver)
        assert f"http://{address}/TOKEN/v1/traces" == receiver.url("TOKEN")
        assert f"http://{address}/{receiver.token}/v1/traces" == receiver.url()
    finally:
        receiver.close()


def test_a_port_in_use_is_an_error(receiver, store):
    """The text names the port."""
    with pytest.raises(OSError, match=f"port {receiver.port}"):
        Receiver(store, port=receiver.port)


def test_closing_releases_the_port(receiver, store):
    """Closing again has no effect."""
    receiver.close()
    receiver.close()
    Receiver(store, port=receiver.port).close()
