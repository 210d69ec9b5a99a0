"""Predict a case, then measure it on a real server."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import blsnb
from benchmarks.planning.case import (
    CLIENTS,
    MEASUREMENTS,
    P50_ERROR,
    P99_ERROR,
    SATURATION_ERROR,
    SHARES,
    Case,
    Sequences,
)
from blsnb.benchmark.arrivals import POISSON, Arrivals, arrivals_at
from blsnb.benchmark.client import Sender
from blsnb.benchmark.level import Level, Load
from blsnb.benchmark.measure import closed_row, open_row
from blsnb.benchmark.samples import Row
from blsnb.parts.requests import client_request
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.calibration import Calibration
from blsnb.planning.machine_meter import least_disturbed
from blsnb.planning.simulation.loads import Mix, Simulated, closed_loop
from blsnb.planning.simulation.station import SimulatedRequest
from blsnb.planning.slowness_meter import metered
from blsnb.planning.triton.processes import ProcessorTimes, processor_times
from blsnb.planning.triton.real_server import RealServer
from blsnb.planning.triton.real_world import RealWorld
from blsnb.request_fields import PLAIN, SEQUENCE_END, SEQUENCE_START, RequestFields

CALIBRATION_S = 8.0
CALIBRATION_REQUESTS = 300
MEASURED_S = 15.0
SATURATED_S = 5.0
SIMULATED = 3_000
_REPETITIONS = 5
"""Simulations of the same arrivals."""
_MAX_REQUESTS = 100_000
_MAX_SEQUENCE_REQUESTS = 10_000
"""Multiple of the length of sequences; then their ids begin again."""
X = {"X": np.ones((1, 4), np.float32)}


@dataclass
class Rate:
    """Predictions and measurements at a rate, in µs; a measurement for each seed."""

    rate: float
    p50: list[float]
    p99: list[float]
    measured_p50: list[float]
    measured_p99: list[float]

    @property
    def p50_error(self) -> float:
        """Relative error of the predicted median."""
        return _median(self.p50) / _median(self.measured_p50) - 1

    @property
    def p99_error(self) -> float:
        """Relative error of the predicted 99th percentile."""
        return _median(self.p99) / _median(self.measured_p99) - 1

    @property
    def is_right(self) -> bool:
        """Whether both are within their limits."""
        low, high = min(self.measured_p99), max(self.measured_p99)
        p99_is_right = (
            abs(self.p99_error) <= P99_ERROR or low <= _median(self.p99) <= high
        )
        return abs(self.p50_error) <= P50_ERROR and p99_is_right


@dataclass
class Result:
    """A case, predicted and measured.

    Parameters
    ----------
    saturation, measured_saturation
        Requests per second of many clients.
    calibration
        Its text.
    """

    name: str
    saturation: float
    measured_saturation: list[float]
    rates: list[Rate]
    calibration: str
    seconds: float

    @property
    def saturation_error(self) -> float:
        """Relative error of the predicted saturation."""
        return self.saturation / _median(self.measured_saturation) - 1

    @property
    def is_right(self) -> bool:
        """Whether all predictions are within their limits."""
        return abs(self.saturation_error) <= SATURATION_ERROR and all(
            rate.is_right for rate in self.rates
        )

    def lines(self) -> list[str]:
        """Return the predictions beside the measurements."""
        found = [f"{self.name}: {_verdict(self.is_right)}, {self.seconds:.0f} s"]
        found.append(
            f"  saturation {self.saturation:7.1f}/s, measured "
            f"{_all(self.measured_saturation, 1)}: {self.saturation_error:+.1%}"
        )
        found += [
            f"  {rate.rate:7.1f}/s  p50 {_median(rate.p50) / 1e3:7.2f} ms, measured "
            f"{_all(rate.measured_p50)}: {rate.p50_error:+.1%};  "
            f"p99 {_median(rate.p99) / 1e3:7.2f} ms, measured "
            f"{_all(rate.measured_p99)}: {rate.p99_error:+.1%}  "
            f"{_verdict(rate.is_right)}"
            for rate in self.rates
        ]
        return found

    def plain(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {**asdict(self), "is_right": self.is_right}


def result_of(plain: dict[str, Any]) -> Result:
    """Return a result from its JSON object."""
    given = {key: value for key, value in plain.items() if key != "is_right"}
    return Result(**{**given, "rates": [Rate(**each) for each in given["rates"]]})


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def _all(values: Sequence[float], scale: float = 1e3) -> str:
    return " ".join(f"{value / scale:.2f}" for value in sorted(values))


def _verdict(is_right: bool) -> str:
    return "right" if is_right else "MISSED"


def run_case(case: Case, report: Callable[[str], None]) -> Result:
    """Calibrate a case, predict it, and measure it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="blsnb-planning-") as name:
        folder = Path(name).resolve()
        case.write(folder)
        with blsnb.Server(model_repository=folder, startup_models="*") as server:
            world = _world_of(server, case)
            report("calibrate")
            calibration = world.calibrate(CALIBRATION_REQUESTS, CALIBRATION_S)
            report("predict")
            saturation = _saturation(calibration, case)
            rates = [round(saturation * share, 1) for share in SHARES]
            predicted = [_predicted(calibration, case, rate) for rate in rates]
            report("measure")
            measured = _measure(world, case, predicted, calibration.probe_ns)
    seconds = time.monotonic() - began
    return Result(case.name, saturation, measured, predicted, str(calibration), seconds)


def _world_of(server: blsnb.Server, case: Case) -> RealWorld:
    options = {"correlation_id": 1, "sequence_start": True, "sequence_end": True}
    request = client_request(case.root, X, options if case.sequences else {}, "plan")
    return RealWorld(server._parts, request)


def _clients(case: Case) -> int:
    """Return the number of clients that saturate a case."""
    return CLIENTS if case.sequences is None else case.sequences.open


def _saturation(calibration: Calibration, case: Case) -> float:
    lengths = () if case.sequences is None else (case.sequences.length,)
    return closed_loop(
        calibration.closed.simulation(),
        case.root,
        _clients(case),
        SIMULATED,
        mix=Mix(lengths=lengths),
    ).rate


def _sequence_fields(sequences: Sequences, place: int) -> Iterator[RequestFields]:
    """Yield the fields of the sequences of a place, one sequence after the other."""
    for number in itertools.count():
        sequence, step = divmod(number, sequences.length)
        flags = SEQUENCE_START * (step == 0)
        flags |= SEQUENCE_END * (step == sequences.length - 1)
        identity = 1 + sequence * sequences.open + place
        yield PLAIN._replace(correlation_id=identity, flags=flags)


def _fields(case: Case) -> Iterator[RequestFields]:
    """Yield the fields of requests in their order: the open sequences take turns."""
    if case.sequences is None:
        return itertools.repeat(PLAIN)
    sequences = case.sequences
    places = [_sequence_fields(sequences, each) for each in range(sequences.open)]
    return (next(place) for place in itertools.cycle(places))


class SequenceSender:
    """Sends the requests of open sequences, each of its own client or in turns."""

    stream = False

    def __init__(
        self, server: RealServer, message: RequestMessage, sequences: Sequences
    ) -> None:
        self._senders = []
        for place in range(sequences.open):
            fields = _sequence_fields(sequences, place)
            messages = [
                message.with_fields(**next(fields)._asdict())
                for _ in range(_MAX_SEQUENCE_REQUESTS)
            ]
            self._senders.append(server.sender(messages))

    def send(self, level: Level, number: int, began_ns: int = 0) -> None:
        """Send the next request of a client or of a turn."""
        self._senders[number % len(self._senders)].send(level, number, began_ns)


def _arrivals(rate: float, seed: int) -> Arrivals:
    return arrivals_at(POISSON, rate, Load(MEASURED_S, _MAX_REQUESTS), seed)


def _predicted(calibration: Calibration, case: Case, rate: float) -> Rate:
    found = Rate(rate, [], [], [], [])
    for seed in case.seeds:
        times = _arrivals(rate, seed).times_ns
        answers = [
            _simulated(calibration, case, times, each) for each in range(_REPETITIONS)
        ]
        found.p50.append(_median([each.percentile_us(50) for each in answers]))
        found.p99.append(_median([each.percentile_us(99) for each in answers]))
    return found


def _simulated(
    calibration: Calibration, case: Case, times_ns: Sequence[int], seed: int
) -> Simulated:
    ended: list[SimulatedRequest] = []
    fields = _fields(case)
    calibration.simulation(seed=seed).run(
        case.root, times_ns, ended.append, fields=lambda: next(fields)
    )
    return Simulated(ended)


def _comparable(
    spent: Callable[[], ProcessorTimes], probe_ns: float, measure: Callable[[], Row]
) -> Row:
    """Return the measurement that is most comparable with the calibration.

    That is one in which other programs, and processors that are slower or faster than
    while the models were observed, disturbed least. It is measured again while they
    disturb too much, twice at most, whatever the latencies are.
    """

    def once() -> tuple[float, Row]:
        before = spent()
        row, costs = metered(measure)
        others = spent().since(before).others
        return max(others, abs(costs.factor(probe_ns) - 1)), row

    return least_disturbed(once, lambda each: each[0])[0][1]


def _measure(
    world: RealWorld, case: Case, rates: Sequence[Rate], probe_ns: float
) -> list[float]:
    """Add the measurements of all rates, and return those of the saturation."""
    saturations = []
    with world.serving() as server:
        assert server.pid is not None
        spent = partial(processor_times, server.pid, list(case.models))
        comparable = partial(_comparable, spent, probe_ns)
        sender: Sender = server.sender(world.messages)
        if case.sequences is not None:
            sender = SequenceSender(server, world.messages[0], case.sequences)
        closed_row(server.sender(world.messages), 1, Load(1.0, 20))
        for number in range(MEASUREMENTS):
            for rate in rates:
                arrivals = _arrivals(rate.rate, case.seeds[number])
                row = comparable(partial(open_row, sender, arrivals))
                rate.measured_p50.append(row.p50_us)
                rate.measured_p99.append(row.p99_us)
            load = Load(SATURATED_S, _MAX_REQUESTS)
            row = comparable(partial(closed_row, sender, _clients(case), load))
            saturations.append(row.throughput)
    return saturations
