"""Address: where a Triton server is reached over gRPC."""

from __future__ import annotations

from urllib.parse import urlsplit


def netloc_of(address: str) -> str:
    """Return host and port of an address such as ``"grpc://localhost:8001"``.

    Raises
    ------
    ValueError
        It is another one.
    """
    parts = urlsplit(address)
    if parts.scheme != "grpc" or not parts.netloc or parts.path.strip("/"):
        raise ValueError(f"{address!r} is no address such as grpc://localhost:8001")
    return parts.netloc
