"""Ports for servers that are started in a moment, and bind them only then."""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LENT = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 20_000
_FEWEST = 1_000
_chance = random.SystemRandom()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now, nor is likely to in a moment.

    They are below those that the system lends to clients, and to servers that do
    not care: of these one would be gone before a server that starts slowly has it.
    """
    lowest_lent = _lowest_lent()
    if lowest_lent < _LOWEST + _FEWEST:
        return _any(count)
    tried = _chance.sample(range(_LOWEST, lowest_lent), lowest_lent - _LOWEST)
    free = list(itertools.islice(filter(_is_free, tried), count))
    return free if len(free) == count else _any(count)


def _lowest_lent() -> int:
    """Return the first port that the system lends; 0 where it does not say."""
    try:
        return int(_LENT.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _any(count: int) -> list[int]:
    with contextlib.ExitStack() as opened:
        probes = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in probes:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in probes]
