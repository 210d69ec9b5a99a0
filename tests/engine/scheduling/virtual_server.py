"""Instances that take virtual time, fed by a batcher; every event at its time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from blsnb.engine.scheduling.batching.batch import Batch, Queued, QueueFull
from blsnb.engine.scheduling.batching.dynamic_batcher import DynamicBatcher
from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.normalization import normalise

MS = 1_000_000
EXECUTES_MS = 10


class Ask(NamedTuple):
    """One request: its arrival, its shape, and its duration."""

    name: int
    at_ms: float
    size: int = 1
    shape: tuple[int, ...] = (2,)
    extra: bool = False
    priority: int = 0
    timeout_us: int = 0
    executes_ms: float = EXECUTES_MS
    leaves_ms: float | None = None


class Call(NamedTuple):
    """One ``execute``: its time and its requests."""

    at_ms: float
    names: list[int]


@dataclass
class Outcome:
    """The outcome of all requests, each with its time."""

    calls: list[Call] = field(default_factory=list)
    rejected: list[tuple[float, int]] = field(default_factory=list)
    cancelled: list[tuple[float, int]] = field(default_factory=list)
    refused: list[tuple[float, int]] = field(default_factory=list)
    batches: list[Batch[Ask]] = field(default_factory=list)

    @property
    def groups(self) -> list[list[int]]:
        """Return the requests of each execution, in order."""
        return [call.names for call in self.calls]

    def because(self, position: int) -> str:
        """Return the reason why a batch started."""
        return self.batches[position].sent_because.words

    def left_out(self, position: int) -> dict[int, str]:
        """Return the requests that a batch left out, with the reasons."""
        pairs = self.batches[position].left_out
        return {queued.request.name: reason.words for queued, reason in pairs}


def model(
    batching: str = "",
    *,
    dims: int = -1,
    largest: int = 8,
    instances: int = 1,
    ragged: bool = False,
    optional: bool = False,
) -> ModelConfig:
    """Return the configuration of a model with a dynamic batcher."""
    spare = 'input { name: "Z" data_type: TYPE_FP32 dims: [ 1 ] optional: true }'
    return normalise(
        parse_pbtxt(f"""
            backend: "python" max_batch_size: {largest}
            input {{ name: "X" data_type: TYPE_FP32 dims: [ {dims} ]
                     allow_ragged_batch: {str(ragged).lower()} }}
            {spare if optional else ""}
            output {{ name: "Y" data_type: TYPE_FP32 dims: [ {dims} ] }}
            instance_group {{ kind: KIND_CPU count: {instances} }}
            dynamic_batching {{ {batching} }}
        """),
        model_name="m",
    )


def asks(*at_ms: float, first: int = 0, **like: object) -> list[Ask]:
    """Return a numbered request for each time."""
    return [Ask(first + n, at, **like) for n, at in enumerate(at_ms)]  # type: ignore[arg-type]


class VirtualServer:
    """Tell a batcher what happens, and do what it says.

    Parameters
    ----------
    also_at_ms
        When to ask it without any reason.
    """

    def __init__(
        self, config: ModelConfig, requests: Iterable[Ask], also_at_ms: Iterable[float]
    ) -> None:
        self.batcher = DynamicBatcher[Ask](config)
        self.idle = self.instances = len(config.instance_names())
        self.outcome = Outcome()
        self._gone: set[int] = set()
        self._numbers = count()
        self._wake_ns: int | None = None
        self._events: list[tuple[int, int, str, Ask | None]] = []
        for ask in requests:
            self._plan(ask.at_ms, "comes", ask)
            if ask.leaves_ms is not None:
                self._plan(ask.leaves_ms, "leaves", ask)
        for at_ms in also_at_ms:
            self._plan(at_ms, "asks")

    def run(self) -> Outcome:
        """Continue until no event is left."""
        while self._events or self._wake_ns is not None:
            if self._wake_ns is not None and self._is_next(self._wake_ns):
                self._decide(self._wake_ns)
                continue
            now_ns, _, what, ask = heapq.heappop(self._events)
            self._happens(what, ask, now_ns)
        assert 0 == len(self.batcher)
        return self.outcome

    def _plan(self, at_ms: float, what: str, ask: Ask | None = None) -> None:
        # Of two events at one time, the one planned first comes first.
        event = (round(at_ms * MS), next(self._numbers), what, ask)
        heapq.heappush(self._events, event)

    def _is_next(self, wake_ns: int) -> bool:
        return not self._events or wake_ns < self._events[0][0]

    def _happens(self, what: str, ask: Ask | None, now_ns: int) -> None:
        if what == "leaves" and ask is not None:
            self._gone.add(ask.name)
            return
        if what == "ends":
            self.idle += 1
        if ask is not None:
            self._comes(ask, now_ns)
        self._decide(now_ns)

    def _comes(self, ask: Ask, now_ns: int) -> None:
        shapes = {"X": ask.shape} | ({"Z": (1,)} if ask.extra else {})
        queued = Queued(
            ask,
            ask.size,
            shapes,
            ask.priority,
            ask.timeout_us,
            lambda: ask.name in self._gone,
        )
        try:
            self.batcher.add(queued, now_ns)
        except QueueFull:
            self.outcome.refused.append((now_ns / MS, ask.name))

    def _decide(self, now_ns: int) -> None:
        decision = self.batcher.decide(now_ns, self.idle)
        self._wake_ns = decision.wake_ns
        assert self._wake_ns is None or self._wake_ns > now_ns
        for batch in decision.batches:
            self._start(batch, now_ns)
        at_ms = now_ns / MS
        for queued in decision.rejected:
            self.outcome.rejected.append((at_ms, queued.request.name))
        for queued in decision.cancelled:
            self.outcome.cancelled.append((at_ms, queued.request.name))

    def _start(self, batch: Batch[Ask], now_ns: int) -> None:
        self.idle -= 1
        assert self.idle >= 0
        members = [queued.request for queued in batch.members]
        self.outcome.batches.append(batch)
        self.outcome.calls.append(Call(now_ns / MS, [ask.name for ask in members]))
        takes_ms = max(ask.executes_ms for ask in members)
        self._plan(now_ns / MS + takes_ms, "ends")


def run(
    config: ModelConfig, requests: Iterable[Ask], also_at_ms: Iterable[float] = ()
) -> Outcome:
    """Return what becomes of requests."""
    return VirtualServer(config, requests, also_at_ms).run()
