"""Recorded: a run of ours with a given number of calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import blsnb
from benchmarks.repository import Repository
from benchmarks.side import Ours

BYTES_EACH = 64


@contextlib.contextmanager
def server(trace_level: str) -> Iterator[blsnb.Server]:
    """Serve the models of the benchmarks."""
    with contextlib.closing(Repository()) as repository:
        side = Ours(repository, trace_level)
        with contextlib.closing(side):
            yield side.server


def run_of(server: blsnb.Server, calls: int) -> blsnb.Run:
    """Return a run of so many calls, the first of which makes the others."""
    asked = {
        "MODEL": ["identity"],
        "BYTES_EACH": [BYTES_EACH],
        "CALLS": [calls - 1],
    }
    return server.infer("measure_exec", asked)
