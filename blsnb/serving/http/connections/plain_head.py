"""The head of a plain request: the HTTP that clients of Triton send."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_BODY_BYTES = 1 << 20
"""Maximum size of a plain request's body."""
_MAX_HEAD_BYTES = 8192
_END = b"\r\n\r\n"
_HEAD = re.compile(
    rb"(GET|POST) (/[!-~]*) HTTP/1\.1\r\n"
    rb"((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ -~\t]*\r\n)*)\r\n"
)
_OTHER = frozenset({"transfer-encoding", "expect", "upgrade", "trailer"})
"""Headers that change where a request ends, or what follows it."""
_LENGTH = re.compile("[0-9]{1,10}")


class Headers(dict[str, str]):
    """Headers of a plain request by name in lower case; each is found in any case."""

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return a value, or the default."""
        return super().get(name.lower(), default)


@dataclass(frozen=True, slots=True)
class PlainHead:
    """The head of a plain request.

    Parameters
    ----------
    text
        The head as sent, with the empty line at its end.
    length
        Size of the body.
    """

    text: bytes
    method: str
    target: str
    headers: Headers
    length: int


def plain_head(data: bytes | bytearray) -> PlainHead | None:
    """Return the head at the start of what a client sent; None if it is not plain.

    A plain request is ``GET`` or ``POST`` of HTTP/1.1 on a connection that stays, has
    each header once, and its body after a length. An incomplete head is not plain.
    """
    end = data.find(_END, 0, _MAX_HEAD_BYTES)
    if end < 0:
        return None
    text = bytes(data[: end + len(_END)])
    found = _HEAD.fullmatch(text)
    if found is None:
        return None
    headers = _headers(found[3].decode("ascii"))
    length = None if headers is None else _length(headers)
    if headers is None or length is None:
        return None
    method, target = found[1].decode("ascii"), found[2].decode("ascii")
    return PlainHead(text, method, target, Headers(headers), length)


def _headers(lines: str) -> dict[str, str] | None:
    """Return headers by their names in small letters; None if one is repeated."""
    headers: dict[str, str] = {}
    for line in lines.split("\r\n")[:-1]:
        name, _, value = line.partition(":")
        name = name.lower()
        if name in headers:
            return None
        headers[name] = value.strip(" \t")
    return headers


def _length(headers: dict[str, str]) -> int | None:
    """Return the size of the body; None if the request is not plain."""
    if not _OTHER.isdisjoint(headers):
        return None
    if headers.get("connection", "keep-alive").lower() != "keep-alive":
        return None
    text = headers.get("content-length", "0")
    if _LENGTH.fullmatch(text) is None or int(text) > MAX_BODY_BYTES:
        return None
    return int(text)
