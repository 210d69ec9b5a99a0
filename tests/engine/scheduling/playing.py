"""Plays requests to a sequence batcher on a virtual clock, as an engine would."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.sequences.batcher import SequenceBatch, SequenceBatcher
from blsnb.engine.scheduling.sequences.rules import EXPIRED, SequenceRefused
from blsnb.model.config import ModelConfig, parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START

MS = 1_000_000


def config_of(
    sequence: str,
    batch: int = 4,
    dims: str = "1",
    instances: int = 1,
    name: str = "m",
    optional: str = "",
) -> ModelConfig:
    """Return the normalised configuration of a sequence model with one input."""
    text = f"""max_batch_size: {batch}
    input {{ name: "D" data_type: TYPE_INT32 dims: [ {dims} ] }} {optional}
    output {{ name: "O" data_type: TYPE_INT32 dims: [ 1 ] }}
    instance_group {{ kind: KIND_CPU count: {instances} }}
    sequence_batching {{ {sequence} }}"""
    return normalise(parse_pbtxt(text), model_name=name)


@dataclass(eq=False)
class Played:
    """A request: its fields, its number of reschedules, and its outcome."""

    name: str
    sequence: int | str
    flags: int
    takes_ms: float
    again: int = 0
    cancelled: bool = False
    answers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Call:
    """One ``execute``: time, instance and requests; ``-`` is a null request."""

    at_ms: float
    instance: int
    names: tuple[str, ...]
    batch: SequenceBatch[Played]


class Stage:
    """Instances that take as long as their requests say, and their batcher."""

    def __init__(self, config: ModelConfig, instances: int = 1) -> None:
        self.batcher: SequenceBatcher[Played] = SequenceBatcher(config, instances)
        self.calls: list[Call] = []
        self.log: list[str] = []
        self.played: dict[str, Played] = {}
        self.queued: dict[str, Queued[Played]] = {}
        self.busy: dict[int, SequenceBatch[Played]] = {}
        self.now_ns = 0
        self.iterative = config.iterative
        self._numbers = itertools.count(1)
        self._order = itertools.count()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._instances = range(instances)

    def at(self, ms: float, event: Callable[[], None]) -> None:
        """Schedule an event."""
        heapq.heappush(self._events, (round(ms * MS), next(self._order), event))

    def send(
        self,
        ms: float,
        name: str,
        sequence: int | str = 0,
        *,
        start: bool = False,
        end: bool = False,
        takes: float = 0.1,
        timeout_ms: int = 0,
        width: int = 1,
        batch: int = 1,
        again: int = 0,
        inputs: Iterable[str] = ("D",),
    ) -> None:
        """Schedule the arrival of a request."""
        played = Played(
            name, sequence, start * SEQUENCE_START | end * SEQUENCE_END, takes, again
        )
        shapes = {each: (width,) for each in inputs}
        self.played[name] = played
        self.queued[name] = Queued(
            played,
            batch,
            shapes,
            timeout_us=timeout_ms * 1000,
            cancelled=lambda: played.cancelled,
        )
        self.at(ms, lambda: self._arrive(played))

    def cancel(self, ms: float, name: str) -> None:
        """Schedule the cancellation of a request."""

        def give_up() -> None:
            self.played[name].cancelled = True

        self.at(ms, give_up)

    def play(self, until_ms: float = 10_000) -> Stage:
        """Run all events up to a time."""
        while self._events and self._events[0][0] <= until_ms * MS:
            self.now_ns, _, event = heapq.heappop(self._events)
            event()
            self._decide()
        return self

    def groups(self) -> list[str]:
        """Return the calls as ``instance: names``, in order."""
        return [f"{call.instance}: {' '.join(call.names)}" for call in self.calls]

    def outcome_of(self, name: str) -> str:
        """Return the only outcome of a request."""
        (outcome,) = self.played[name].answers
        return outcome

    def _arrive(self, played: Played) -> None:
        if self.iterative and not played.sequence:
            played.sequence, played.flags = next(self._numbers), SEQUENCE_START
        self._add(played)

    def _add(self, played: Played) -> None:
        queued = self.queued[played.name]
        try:
            warning = self.batcher.add(
                queued, played.sequence, played.flags, self.now_ns
            )
        except SequenceRefused as refusal:
            played.answers.append(f"{refusal.code} {refusal.message}")
        else:
            self.log += [warning] if warning else []

    def _decide(self) -> None:
        idle = [each for each in self._instances if each not in self.busy]
        decision = self.batcher.decide(self.now_ns, idle)
        for queued in decision.rejected:
            queued.request.answers.append(f"UNAVAILABLE {EXPIRED}")
        for queued in decision.cancelled:
            queued.request.answers.append("CANCELLED")
        for batch in decision.batches:
            self._run(batch)
        if decision.wake_ns is not None:
            assert decision.wake_ns > self.now_ns, "it must not ask to be asked at once"
            self.at(decision.wake_ns / MS, lambda: None)

    def _run(self, batch: SequenceBatch[Played]) -> None:
        assert batch.instance not in self.busy
        members = [each.request if each else None for each in batch.members]
        names = tuple(each.name if each else "-" for each in members)
        self.busy[batch.instance] = batch
        self.calls.append(Call(self.now_ns / MS, batch.instance, names, batch))
        takes_ms = max(each.takes_ms for each in members if each)
        self.at(self.now_ns / MS + takes_ms, lambda: self._over(batch))

    def _over(self, batch: SequenceBatch[Played]) -> None:
        del self.busy[batch.instance]
        for member in batch.members:
            if member is not None:
                self._answer(member.request)
        self.batcher.done(batch, self.now_ns)

    def _answer(self, played: Played) -> None:
        if played.again:
            played.again -= 1
            played.flags = 0
            self._add(played)
            return
        played.answers.append("done")
        if self.iterative:
            self.batcher.end(played.sequence, self.now_ns)
