"""Loads of a simulation: clients in a closed loop, requests at their times."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blsnb.planning.simulation.simulation import Simulation
from blsnb.planning.simulation.station import SimulatedRequest
from blsnb.request_fields import PLAIN, SEQUENCE_END, SEQUENCE_START, RequestFields

_WARM_SHARE = 0.1


class Kind(NamedTuple):
    """A kind of requests of a load.

    Parameters
    ----------
    share
        Its share of the requests, in relation to those of other kinds.
    fields
        Priority and timeout.
    """

    share: float
    fields: RequestFields = PLAIN


class Mix(NamedTuple):
    """The requests of a load.

    Parameters
    ----------
    kinds
        Kinds of requests, drawn at random.
    lengths
        Numbers of requests of sequences, drawn at random; empty for a load without
        sequences.
    size
        Batch size of each request.
    """

    kinds: tuple[Kind, ...] = (Kind(1.0),)
    lengths: tuple[int, ...] = ()
    size: int = 1

    @property
    def mean_length(self) -> float:
        """Mean number of requests that follow from one arrival."""
        return float(np.mean(self.lengths)) if self.lengths else 1.0


class Simulated:
    """The answers of a simulation.

    Parameters
    ----------
    requests
        Those of clients, in the order of their ends; the first tenth does not count.
    """

    def __init__(self, requests: Sequence[SimulatedRequest]) -> None:
        self.every = requests
        self.kept = requests[int(len(requests) * _WARM_SHARE) :]
        """Those that count."""
        self._good = [each for each in self.kept if not each.error]

    @cached_property
    def latencies_us(self) -> NDArray[np.float64]:
        """Latencies to the last response, in the order of the ends."""
        return np.array([each.ended_ns - each.began_ns for each in self._good]) / 1e3

    @cached_property
    def firsts_us(self) -> NDArray[np.float64]:
        """Latencies to the first response; empty if no request had several."""
        firsts = [each.first_ns - each.began_ns for each in self._good if each.first_ns]
        return np.array(firsts) / 1e3

    @cached_property
    def rate(self) -> float:
        """Answered requests per second."""
        kept, answered = self.kept, len(self._good)
        span_ns = kept[-1].ended_ns - kept[0].ended_ns if kept else 0
        return (answered - 1) / span_ns * 1e9 if span_ns else 0.0

    @property
    def failed(self) -> int:
        """Number of refused requests."""
        return len(self.kept) - len(self._good)

    @property
    def errors(self) -> dict[str, int]:
        """Numbers of refused requests by text."""
        return dict(Counter(each.error for each in self.kept if each.error))

    @property
    def delayed(self) -> int:
        """Number of requests that expired and were executed behind all others."""
        return sum(each.delayed for each in self._good)

    def percentile_us(self, percent: float) -> float:
        """Return a percentile of the latencies; NaN without any."""
        return _percentile(self.latencies_us, percent)

    def first_percentile_us(self, percent: float) -> float:
        """Return a percentile of the latencies to the first response."""
        return _percentile(self.firsts_us, percent)

    def by_priority(self, percent: float) -> dict[int, float]:
        """Return a percentile of the latencies of each priority, in order."""
        groups: dict[int, list[int]] = {}
        for each in self._good:
            groups.setdefault(each.fields.priority, []).append(
                each.ended_ns - each.began_ns
            )
        return {
            priority: _percentile(np.array(groups[priority]) / 1e3, percent)
            for priority in sorted(groups)
        }


def _percentile(found: NDArray[np.float64], percent: float) -> float:
    return float(np.percentile(found, percent)) if len(found) else float("nan")


class _Clients:
    """Sends the requests of a mix, and keeps the answered ones."""

    def __init__(self, simulation: Simulation, model: str, mix: Mix, seed: int) -> None:
        self.ended: list[SimulatedRequest] = []
        self._simulation = simulation
        self._model = model
        self._mix = mix
        self._shares = list(accumulate(kind.share for kind in mix.kinds))
        self._random = random.Random(seed)

    def _fields(self) -> RequestFields:
        kinds = self._mix.kinds
        if len(kinds) == 1:
            return kinds[0].fields
        return self._random.choices(kinds, cum_weights=self._shares)[0].fields

    def send(self, then: Callable[[], None] = lambda: None) -> None:
        """Send a request, or all of a sequence, each when the last was answered."""
        lengths = self._mix.lengths
        if lengths:
            number = self._simulation.new_sequence()
            fields = self._fields()
            length = self._random.choice(lengths)
            self._send_sequence(_in_sequence(fields, number, 0), 0, length, then)
            return

        def answered(request: SimulatedRequest) -> None:
            self.ended.append(request)
            then()

        self._simulation.send(
            self._model, self._mix.size, answered, None, self._fields()
        )

    def _send_sequence(
        self,
        fields: RequestFields,
        position: int,
        length: int,
        then: Callable[[], None],
    ) -> None:
        def answered(request: SimulatedRequest) -> None:
            self.ended.append(request)
            if position + 1 < length and not request.error:
                self._send_sequence(fields, position + 1, length, then)
            else:
                then()

        flags = SEQUENCE_START if position == 0 else 0
        flags |= SEQUENCE_END if position + 1 == length else 0
        sent = fields
        if flags:
            sent = _in_sequence(fields, fields.correlation_id, flags)
        self._simulation.send(self._model, self._mix.size, answered, None, sent)


def _in_sequence(fields: RequestFields, number: int | str, flags: int) -> RequestFields:
    """Return the fields of a request of a sequence; ``_replace`` takes four times."""
    return RequestFields(fields.version, number, flags, *fields[3:])


def closed_loop(
    simulation: Simulation,
    model: str,
    clients: int,
    requests: int,
    mix: Mix = Mix(),  # noqa: B008 - it is immutable
    seed: int = 0,
    apart: bool = True,
) -> Simulated:
    """Send the next request of each client with the end of its last one.

    Parameters
    ----------
    apart
        Whether the others begin at random times within the second request of the first
        client; else all begin with it. Those that begin together may stay together.
    """
    sender = _Clients(simulation, model, mix, seed)
    begins = random.Random(f"clients {seed}")

    def send() -> None:
        if len(sender.ended) <= requests - clients:
            sender.send(send)

    def begin_others() -> None:
        spent_ns = simulation.timeline.now_ns * apart
        for _ in range(min(clients, requests) - 1):
            simulation.timeline.after(int(begins.uniform(0, spent_ns)), begin)
        send()

    def begin() -> None:
        sender.send(send)

    sender.send(begin_others)
    simulation.timeline.run()
    return Simulated(sender.ended)


def open_loop(
    simulation: Simulation,
    model: str,
    times_ns: Sequence[int],
    mix: Mix = Mix(),  # noqa: B008 - it is immutable
    seed: int = 0,
) -> Simulated:
    """Send requests, or begin sequences, at their times."""
    sender = _Clients(simulation, model, mix, seed)
    simulation.run(times_ns, sender.send)
    return Simulated(sender.ended)
