"""Speed of the simulation of plans, for each kind of scheduling."""

from __future__ import annotations

import random
import time
from functools import cache
from typing import NamedTuple

from google.protobuf import text_format

from benchmarks.row import Goal, Row
from benchmarks.servers import Servers
from blsnb.engine.scheduling.rate_limiter import Given
from blsnb.model.config import ModelConfig, schema
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.loads import Kind, Mix, open_loop
from blsnb.planning.simulation.simulation import SimulatedModel, Simulation
from blsnb.request_fields import RequestFields

REQUESTS, ROUNDS = 20_000, 3
GOAL = Goal(least=20_000, unit="calls/s")
_MS = 1_000_000
_BATCHES = "max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 2000 }"
_LEVELS = (
    "max_batch_size: 1 "
    "dynamic_batching { priority_levels: 2 default_priority_level: 2 }"
)
_ALONE = "max_batch_size: 1 dynamic_batching { }"
_IDLE = "max_sequence_idle_microseconds: 60000000"
_DIRECT = f"sequence_batching {{ direct {{ }} {_IDLE} }}"
_OLDEST = f"sequence_batching {{ oldest {{ max_candidate_sequences: 8 }} {_IDLE} }}"
_TENSORS = (
    'input { name: "X" data_type: TYPE_FP32 dims: 1 } '
    'output { name: "Y" data_type: TYPE_FP32 dims: 1 }'
)
_STEPS = " ".join(
    f'step {{ model_name: "{model}" model_version: -1 '
    f'input_map {{ key: "X" value: "{taken}" }} '
    f'output_map {{ key: "Y" value: "{made}" }} }}'
    for model, taken, made in (("a", "X", "T"), ("b", "T", "Y"))
)
_LIMITED = 'rate_limiter { resources { name: "R" global: true count: 1 } }'
_PRIORITIES = Mix((Kind(0.4, RequestFields(priority=1)), Kind(0.6)))
_STREAM = Behaviour(
    1, (Step((), 0, _MS, returns=True), *[Step((), 0, 10 * _MS, sends=1)] * 3)
)
_WAIT = Behaviour(1, (Step((), 0, _MS),))
_NOTHING = Behaviour(1, (Step((), 0),))


class SimulatedLoad(NamedTuple):
    """Models in simulated time, and the requests per second of one of them."""

    models: dict[str, SimulatedModel]
    rate: float
    mix: Mix = Mix()
    limits: Given | None = None

    def simulate(self, requests: int) -> int:
        """Simulate requests; return the number of calls."""
        simulation = Simulation(self.models, 8, rate_limits=self.limits)
        arrivals = requests // int(self.mix.mean_length)
        times_ns = _times_ns(self.rate, arrivals)
        open_loop(simulation, next(iter(self.models)), times_ns, self.mix)
        return simulation.calls


def run(servers: Servers) -> list[Row]:
    """Count simulated requests, of clients and models, per second of a processor."""
    del servers
    return [_row(kind, load) for kind, load in loads().items()]


def _row(kind: str, load: SimulatedLoad) -> Row:
    """Measure a load in rounds, of which the fastest was least disturbed."""
    speed = max(_calls_per_second(load) for _ in range(ROUNDS))
    return Row(f"simulated calls, {kind}", speed, "calls/s", goal=GOAL)


def _calls_per_second(load: SimulatedLoad) -> float:
    _times_ns(load.rate, REQUESTS // int(load.mix.mean_length))
    started = time.process_time()
    calls = load.simulate(REQUESTS)
    return calls / (time.process_time() - started)


@cache
def _times_ns(rate: float, count: int) -> list[int]:
    """Return random times with a mean number in a second."""
    drawn, now_ns, times_ns = random.Random(1), 0.0, []
    for _ in range(count):
        now_ns += drawn.expovariate(rate) * 1e9
        times_ns.append(round(now_ns))
    return times_ns


def loads() -> dict[str, SimulatedLoad]:
    """Return a load for each kind of scheduling."""
    limits: Given = {"R": {None: 1}}
    limited, batching = _model("", 2, _LIMITED), _model(_ALONE, 2, _LIMITED)
    four, one = "max_batch_size: 4", "max_batch_size: 1"
    return {
        "default": SimulatedLoad(_model(), 800),
        "dynamic batching": SimulatedLoad(_model(_BATCHES), 3000),
        "priorities": SimulatedLoad(_model(_LEVELS), 800, _PRIORITIES),
        "priorities, overloaded": SimulatedLoad(_model(_LEVELS), 1200, _PRIORITIES),
        "rate limits": SimulatedLoad(limited, 800, limits=limits),
        "rate limits and batching": SimulatedLoad(batching, 800, limits=limits),
        "sequences, direct": _sequences(f"{four} {_DIRECT}", 4),
        "sequences, direct, overloaded": _sequences(f"{one} {_DIRECT}", 1),
        "sequences, oldest": _sequences(f"{four} {_OLDEST}", 4),
        "sequences, oldest, overloaded": _sequences(f"{one} {_OLDEST}", 1),
        "streams": SimulatedLoad(_model(does=_STREAM), 500),
        "an ensemble of two": SimulatedLoad(_ensemble(), 800),
    }


def _sequences(more: str, count: int) -> SimulatedLoad:
    return SimulatedLoad(_model(more, count), 300, Mix(lengths=(4,)))


def _model(
    more: str = "", count: int = 1, group: str = "", does: Behaviour = _WAIT
) -> dict[str, SimulatedModel]:
    return {"m": _simulated("m", more, count, group, does)}


def _ensemble() -> dict[str, SimulatedModel]:
    steps = f"{_TENSORS} ensemble_scheduling {{ {_STEPS} }}"
    ensemble = _simulated("e", steps, 0, "", _NOTHING)
    return {"e": ensemble} | {name: _simulated(name, _TENSORS) for name in "ab"}


def _simulated(
    name: str, more: str = "", count: int = 1, group: str = "", does: Behaviour = _WAIT
) -> SimulatedModel:
    text = (
        f'name: "{name}" backend: "python" {more} '
        f"instance_group {{ kind: KIND_CPU count: {count} {group} }}"
    )
    config = ModelConfig.of(text_format.Parse(text, schema().ModelConfig()))
    return SimulatedModel(config, lambda size, _: does)
