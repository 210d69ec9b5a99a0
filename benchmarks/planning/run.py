"""Predict a case, then measure it on a real server."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import blsnb
from benchmarks.planning.case import (
    CLIENTS,
    MEASUREMENTS,
    SHARES,
    Case,
    Sequences,
)
from benchmarks.planning.result import Rate, Result, median
from blsnb.benchmark.arrivals import POISSON, Arrivals, arrivals_at
from blsnb.benchmark.client import Sender
from blsnb.benchmark.level import Level, Load
from blsnb.benchmark.measure import closed_row, open_row
from blsnb.benchmark.samples import LoadRow
from blsnb.parts.requests import client_request
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.calibration import Calibration
from blsnb.planning.machine_meter import least_disturbed
from blsnb.planning.simulation.loads import Mix, Simulated, closed_loop
from blsnb.planning.simulation.pace import Slowness
from blsnb.planning.simulation.station import SimulatedRequest
from blsnb.planning.slowness_meter import Costs, metered
from blsnb.planning.triton.phases import RealServer
from blsnb.planning.triton.processes import ProcessorTimes, processor_times
from blsnb.planning.triton.real_world import RealWorld
from blsnb.request_fields import PLAIN, SEQUENCE_END, SEQUENCE_START, RequestFields

CALIBRATION_S = 15.0
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


def run_case(case: Case, report: Callable[[str], None]) -> Result:
    """Calibrate a case, predict it, and measure it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="blsnb-planning-") as name:
        folder = Path(name).resolve()
        case.write(folder)
        with blsnb.Server(model_repository=folder, startup_models="*") as server:
            world = _world_of(server, case)
            report("calibrate")
            calibration = world.calibrate(CALIBRATION_REQUESTS, CALIBRATION_S, Mix())
            report("predict")
            saturation = _saturation(calibration, case)
            rates = [round(saturation * share, 1) for share in SHARES]
            predicted = [_predicted(calibration, case, rate) for rate in rates]
            found = Result(
                case.name, saturation, [], [], predicted, [], str(calibration)
            )
            report("measure")
            for number, row, costs in _measured(world, case, rates):
                _add(found, calibration, case, number, row, costs)
    found.seconds = time.monotonic() - began
    return found


def _add(
    found: Result,
    calibration: Calibration,
    case: Case,
    number: int | None,
    row: LoadRow,
    costs: Costs,
) -> None:
    """Add a measurement, and its prediction with the speed of its time."""
    speed = costs.relative(calibration.probe_ns)
    if number is None:
        found.known_saturation.append(_saturation(calibration, case, speed))
        found.measured_saturation.append(row.throughput)
        return
    found.slowness.append(costs.factor(calibration.probe_ns))
    rate = found.rates[number]
    seed = case.seeds[len(rate.measured_p50)]
    p50, p99 = _latencies(calibration, case, rate.rate, seed, speed)
    rate.known_p50.append(p50)
    rate.known_p99.append(p99)
    rate.measured_p50.append(row.p50_us)
    rate.measured_p99.append(row.p99_us)


def _world_of(server: blsnb.Server, case: Case) -> RealWorld:
    options = {"correlation_id": 1, "sequence_start": True, "sequence_end": True}
    request = client_request(case.root, X, options if case.sequences else {}, "plan")
    return RealWorld(server._parts, request)


def _clients(case: Case) -> int:
    """Return the number of clients that saturate a case."""
    return CLIENTS if case.sequences is None else case.sequences.open


def _saturation(calibration: Calibration, case: Case, speed: Slowness = ()) -> float:
    lengths = () if case.sequences is None else (case.sequences.length,)
    return closed_loop(
        calibration.closed.simulation(observed=speed),
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
            self._senders.append(server.client.sender(messages))

    def send(self, level: Level, number: int, began_ns: int = 0) -> None:
        """Send the next request of a client or of a turn."""
        self._senders[number % len(self._senders)].send(level, number, began_ns)


def _arrivals(rate: float, seed: int) -> Arrivals:
    count = Load(MEASURED_S, _MAX_REQUESTS).count(rate)
    return arrivals_at(POISSON, rate, count, seed)


def _predicted(calibration: Calibration, case: Case, rate: float) -> Rate:
    pairs = [_latencies(calibration, case, rate, seed) for seed in case.seeds]
    p50, p99 = map(list, zip(*pairs, strict=True))
    return Rate(rate, p50, p99, [], [], [], [])


def _latencies(
    calibration: Calibration,
    case: Case,
    rate: float,
    seed: int,
    speed: Slowness = (),
) -> tuple[float, float]:
    """Return the medians of simulated p50 and p99, with the same arrivals."""
    times_ns = _arrivals(rate, seed).times_ns
    answers = [
        _simulated(calibration, case, times_ns, each, speed)
        for each in range(_REPETITIONS)
    ]
    p50, p99 = (
        median([each.percentile_us(percent) for each in answers])
        for percent in (50, 99)
    )
    return p50, p99


def _simulated(
    calibration: Calibration,
    case: Case,
    times_ns: Sequence[int],
    seed: int,
    speed: Slowness,
) -> Simulated:
    ended: list[SimulatedRequest] = []
    fields = _fields(case)
    simulation = calibration.simulation(seed=seed, observed=speed)
    simulation.run(
        times_ns,
        lambda: simulation.send(case.root, 1, ended.append, None, next(fields)),
    )
    return Simulated(ended)


def _undisturbed(
    spent: Callable[[], ProcessorTimes], measure: Callable[[], LoadRow]
) -> tuple[LoadRow, Costs]:
    """Return the measurement that other programs disturbed least."""

    def once() -> tuple[float, tuple[LoadRow, Costs]]:
        before = spent()
        found = metered(measure)
        return spent().since(before).others, found

    return least_disturbed(once, lambda each: each[0])[0][1]


def _measured(
    world: RealWorld, case: Case, rates: Sequence[float]
) -> Iterator[tuple[int | None, LoadRow, Costs]]:
    """Yield measurements: the number of the rate, or None for the saturation."""
    with world.serving({}) as server:
        assert server.target.pid is not None
        spent = partial(processor_times, server.target.pid, list(case.models))
        sender: Sender = server.client.sender(world.messages)
        if case.sequences is not None:
            sender = SequenceSender(server, world.messages[0], case.sequences)
        closed_row(server.client.sender(world.messages), 1, Load(1.0, 20))
        for seed in case.seeds[:MEASUREMENTS]:
            for number, rate in enumerate(rates):
                measure = partial(open_row, sender, _arrivals(rate, seed))
                yield number, *_undisturbed(spent, measure)
            load = Load(SATURATED_S, _MAX_REQUESTS)
            measure = partial(closed_row, sender, _clients(case), load)
            yield None, *_undisturbed(spent, measure)
