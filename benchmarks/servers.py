"""The servers of a comparison, each started when it is first used."""

from __future__ import annotations

import functools
import itertools
import statistics
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from benchmarks.repository import Repository
from benchmarks.rounds import samples as rounds_of
from benchmarks.server import BenchmarkedServer, BlsnbServer, TritonServer
from blsnb.parity.triton.environment import installed

TIMESTAMPS, TENSORS, TRITON = "timestamps", "tensors", "triton"
Started = TypeVar("Started", bound=BenchmarkedServer)
BenchmarkRequest = tuple[str, dict[str, int | str]]
Reading = Callable[[dict[str, np.ndarray]], Iterable[float]]


class Servers:
    """blsnb at two trace levels, and the real server if it is installed."""

    def __init__(self) -> None:
        self.repository = Repository()
        self.env = installed()
        self._started: list[BenchmarkedServer] = []

    @functools.cached_property
    def timestamps(self) -> BenchmarkedServer:
        """Blsnb without recorded values."""
        return self._start(BlsnbServer(self.repository, TIMESTAMPS))

    @functools.cached_property
    def tensors(self) -> BenchmarkedServer:
        """Blsnb with recorded values."""
        return self._start(BlsnbServer(self.repository, TENSORS))

    @functools.cached_property
    def triton(self) -> TritonServer | None:
        """The real server; None if it is not installed."""
        return (
            None
            if self.env is None
            else self._start(TritonServer(self.repository, self.env))
        )

    def _start(self, server: Started) -> Started:
        self._started.append(server)
        return server

    def compare(
        self,
        requests: dict[str, BenchmarkRequest],
        rounds: int,
        levels: tuple[str, ...] = (TIMESTAMPS,),
        reading: Reading = lambda outputs: outputs["NANOSECONDS"],
    ) -> dict[tuple[str, str], float]:
        """Return the median of each server for each request, in µs.

        Parameters
        ----------
        requests
            By name: a model and its inputs.
        reading
            Returns the nanoseconds in the outputs.
        """
        found = self.samples(requests, rounds, levels, reading)
        return {
            key: statistics.median(itertools.chain(*taken))
            for key, taken in found.items()
        }

    def samples(
        self,
        requests: dict[str, BenchmarkRequest],
        rounds: int,
        levels: tuple[str, ...] = (TIMESTAMPS,),
        reading: Reading = lambda outputs: outputs["NANOSECONDS"],
    ) -> dict[tuple[str, str], list[list[float]]]:
        """Return all numbers of each server for each request, by round, in µs.

        The parameters are those of `compare`.
        """
        names = [*levels, *([TRITON] if self.env else [])]
        found = rounds_of(
            {
                (key, name): functools.partial(
                    lambda server, model, inputs: reading(
                        server.infer(model, **inputs)
                    ),
                    getattr(self, name),
                    *request,
                )
                for key, request in requests.items()
                for name in names
            },
            rounds,
        )
        return {
            key: [[value / 1000 for value in taken] for taken in each]
            for key, each in found.items()
        }

    def close(self) -> None:
        """Stop all servers."""
        for server in self._started:
            server.close()
        self.repository.close()
