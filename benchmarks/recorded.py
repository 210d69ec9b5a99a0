"""Runs of blsnb with a given number of calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import blsnb
from benchmarks.repository import Repository
from benchmarks.server import BlsnbServer

BYTES_EACH = 64


@contextlib.contextmanager
def server(trace_level: str) -> Iterator[blsnb.Server]:
    """Serve the models of the benchmarks."""
    with contextlib.closing(Repository()) as repository:
        server = BlsnbServer(repository, trace_level)
        with contextlib.closing(server):
            yield server.server


def run_of(server: blsnb.Server, calls: int) -> blsnb.Run:
    """Return a run with a number of calls, the first of which makes the others."""
    inputs = {
        "MODEL": ["identity"],
        "BYTES_EACH": [BYTES_EACH],
        "CALLS": [calls - 1],
    }
    return server.infer("measure_exec", inputs)
