"""HttpOrigin: which web pages may ask, where a browser says that one does."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from blsnb.serving.core.address import is_loopback

REFUSAL = (
    "a web page from elsewhere may not use this server: whoever loads a model runs "
    "code in it"
)


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a browser asks for a page that is from another machine.

    A browser lets every page that somebody opens send requests to this machine's own
    ports, and says in ``Origin`` whose page it is. Clients that are no browsers say
    nothing.
    """
    origin = headers.get("Origin")
    if origin is None:
        return False
    try:
        parts = urlsplit(origin)
        host = parts.hostname or ""
    except ValueError:
        return True
    same = bool(host) and parts.netloc == headers.get("Host", "")
    return not (is_loopback(host) or (same and _is_address(host)))


def _is_address(host: str) -> bool:
    """Whether it is no name, which somebody else may let mean this machine."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
