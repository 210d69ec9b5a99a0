"""The path and the headers of a request, as clients send them."""

from __future__ import annotations

import pytest

from blsnb.serving.http.exchange import path_of, raw_headers


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/v2/models", "/v2/models"),
        ("/v2/models?a=b?c", "/v2/models"),
        ("/v2/a%20b", "/v2/a%20b"),
        ("http://host:8000/v2/models?a=b", "/v2/models"),
        ("http://host", "/"),
        ("*", "/"),
        # Tornado decodes a target as Latin-1.
        ("/v2/models/gr\u00c3\u00bcn", "/v2/models/gr\u00fcn"),
        ("/v2/models/\u00fc", "/v2/models/\udcfc"),
        ("/v2/models/\u20ac", "/v2/models/?"),
    ],
)
def test_the_path_of_a_request_is_not_decoded(target: str, path: str) -> None:
    """It has no query, and no host; its bytes are those of UTF-8."""
    assert path == path_of(target)


def test_headers_are_kept_as_sent() -> None:
    """Their names, their order, and repeated ones; not the request's own line."""
    sent = b"\r\nGET /v2: HTTP/1.1\r\nX-B: \t1 \t\r\nx-b:2\r\nnone\r\nC:\xff:d\r\n\r\n"
    expected = (("X-B", "1"), ("x-b", "2"), ("C", "\ufffd:d"))

    assert expected == raw_headers(sent)
