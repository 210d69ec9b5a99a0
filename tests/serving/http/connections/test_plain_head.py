"""Heads of plain requests, which are served without tornado."""

from __future__ import annotations

import pytest

from blsnb.serving.http.connections.plain_head import MAX_BODY_BYTES, plain_head

from ..over_http import head


def test_a_plain_head_has_method_target_headers_and_length() -> None:
    """Headers are found in any case; the body is not a part of the head."""
    found = plain_head(head(3, "/v2/models/m/infer?a=b") + b"abc")

    assert found is not None
    assert head(3, "/v2/models/m/infer?a=b") == found.text
    assert ("POST", "/v2/models/m/infer?a=b", 3) == (
        found.method,
        found.target,
        found.length,
    )
    assert "localhost" == found.headers["HOST"] == found.headers["host"]
    assert ["localhost", "localhost", None, "none"] == [
        *map(found.headers.get, ("HOST", "host", "Origin")),
        found.headers.get("Origin", "none"),
    ]


def test_a_plain_head_without_a_length_has_no_body() -> None:
    """What follows it is the next request."""
    sent = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    found = plain_head(sent + sent)

    assert found is not None
    assert (sent, 0) == (found.text, found.length)


@pytest.mark.parametrize(
    "line",
    [
        b"Transfer-Encoding: chunked",
        b"Expect: 100-continue",
        b"Upgrade: h2c",
        b"Trailer: X",
        b"Connection: close",
        b"host: twice",
        b"Content-Length : 3",
        b" folded",
        b"A: \x01",
        b"A: \xe4",
        b"A: b\nC: d",
    ],
)
def test_a_head_with_another_line_is_not_plain(line: bytes) -> None:
    """Tornado decides what it means."""
    sent = head(3)[:-2] + line + b"\r\n\r\n"

    assert plain_head(sent) is None


@pytest.mark.parametrize("length", [MAX_BODY_BYTES + 1, -5, 10**40])
def test_a_head_with_another_length_is_not_plain(length: int) -> None:
    """A body that is large or has no valid length is left to tornado."""
    assert plain_head(head(length)) is None


@pytest.mark.parametrize(
    "sent",
    [
        head(3)[:-1],
        head(3).replace(b"POST", b"HEAD"),
        head(3).replace(b"HTTP/1.1", b"HTTP/1.0"),
        head(3).replace(b" /v2", b" http://h/v2"),
        head(3).replace(b"\r\n", b"\n"),
        head(3).replace(b"localhost", b"x" * 10_000),
    ],
    ids=["incomplete", "method", "version", "whole URL", "line ends", "large"],
)
def test_another_head_is_not_plain(sent: bytes) -> None:
    """Tornado receives it from its first byte."""
    assert plain_head(sent) is None
