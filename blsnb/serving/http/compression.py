"""HttpCompression: bodies that are packed, as Triton unpacks and packs them."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping

from blsnb.engine.request.validation import RequestError
from blsnb.files.read_budget import Inflated, ReadBudget

GZIP, DEFLATE, IDENTITY = "gzip", "deflate", "identity"
_WEIGHT = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)")


class UnknownEncodingError(RequestError):
    """A body is packed in a way that the server does not know."""

    def __init__(self) -> None:
        super().__init__("Unsupported compression type", "UNSUPPORTED")


def inflated(
    body: bytes, headers: Mapping[str, str]
) -> tuple[bytes, ReadBudget | None]:
    """Return a body as it was before compression, and what reading it may still use.

    Of a damaged one that is returned which can be inflated, as on Triton.

    Returns
    -------
    tuple of bytes and ReadBudget or None
        No budget where the body was not compressed: its client sent all of it.

    Raises
    ------
    UnknownEncodingError
        The header names another compression.
    RequestError
        The body is empty.
    ReadLimitError
        It is too large when inflated.

    References
    ----------
    server: src/data_compressor.h, DecompressData
    """
    encoding = headers.get("Content-Encoding")
    if encoding in (None, IDENTITY):
        return body, None
    if encoding not in (GZIP, DEFLATE):
        raise UnknownEncodingError
    if not body:
        raise RequestError("nothing to be decompressed")
    budget = ReadBudget(len(body), "the compressed body")
    return budget.read(Inflated(body)), budget


def wanted(headers: Mapping[str, str]) -> str:
    """Return the packing that a client prefers of those that Triton has.

    References
    ----------
    server: src/http_server.cc, CompressionTypeUsed
    """
    chosen, most = IDENTITY, 0.0
    for each in headers.get("Accept-Encoding", "").split(","):
        name, comma, text = each.partition(";q=")
        weight = _weight(text) if comma else 1.0
        name = name.lstrip(" ")
        if name in (IDENTITY, DEFLATE, GZIP) and weight > most:
            chosen, most = name, weight
    return chosen


def _weight(text: str) -> float:
    found = _WEIGHT.match(text)
    return float(found[0]) if found else 0.0


def packed(body: bytes, encoding: str) -> bytes:
    """Return a body packed."""
    if encoding == GZIP:
        return gzip.compress(body, 6, mtime=0)
    return zlib.compress(body) if encoding == DEFLATE else body
