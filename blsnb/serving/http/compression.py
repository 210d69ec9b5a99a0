"""HttpCompression: bodies that are packed, as Triton unpacks and packs them."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping

from blsnb.engine.validation import RequestError

GZIP, DEFLATE, IDENTITY = "gzip", "deflate", "identity"
_ANY_FORMAT = 32 + zlib.MAX_WBITS
_PIECE = 1 << 20
_WEIGHT = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)")


class UnknownEncodingError(RequestError):
    """A body is packed in a way that the server does not know."""

    def __init__(self) -> None:
        super().__init__("Unsupported compression type", "UNSUPPORTED")


def unpacked(body: bytes, headers: Mapping[str, str], most: int) -> bytes:
    """Return a body as it was before it was packed.

    Of one that is damaged what can be had is returned, as on Triton.

    Parameters
    ----------
    most
        Size that it may have.

    Raises
    ------
    UnknownEncodingError
        The header names another packing.
    RequestError
        There is nothing to unpack, or it is too large.

    References
    ----------
    server: src/data_compressor.h, DecompressData
    """
    encoding = headers.get("Content-Encoding")
    if encoding in (None, IDENTITY):
        return body
    if encoding not in (GZIP, DEFLATE):
        raise UnknownEncodingError
    if not body:
        raise RequestError("nothing to be decompressed")
    unpacker = zlib.decompressobj(_ANY_FORMAT)
    found, left = bytearray(), body
    try:
        while left and not unpacker.eof:
            found += unpacker.decompress(left, _PIECE)
            left = unpacker.unconsumed_tail
            if len(found) > most:
                raise RequestError(f"the body has more than {most} bytes, unpacked")
        found += unpacker.flush()
    except zlib.error:
        pass
    return bytes(found)


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
