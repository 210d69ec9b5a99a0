"""Addresses: how they are written, and whom they let in."""

from __future__ import annotations

import ipaddress


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
