"""Hosts and ports that end points bind, and how many connections they accept."""

from __future__ import annotations

import ipaddress
import resource

_FILES_SHARE = 4
"""The inverse share of the process's file descriptors that connections may use."""
_MAX_CONNECTIONS = 4096


def address_of(host: str, port: int) -> str:
    """Return host and port as a client takes them: ``"127.0.0.1:8000"``."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether a name or an address is always this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def max_connections() -> int:
    """Return the maximum number of connections of a port."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files <= 0:
        return _MAX_CONNECTIONS
    return min(files // _FILES_SHARE, _MAX_CONNECTIONS)
