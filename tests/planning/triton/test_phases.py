"""Loads of a calibration, and what they took."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from blsnb.benchmark.level import Load, Sample
from blsnb.errors import TritonServerError
from blsnb.parity.triton.executed import Executed
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.calibration import CalibratedModel
from blsnb.planning.machine_meter import busy_remarks, least_disturbed
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.triton import agreement, calibrate, phases
from blsnb.planning.triton.calibrate import crowd_of
from blsnb.planning.triton.observation import Observation, TracedModels
from blsnb.planning.triton.phases import Computing, Loaded, Phase, arriving
from blsnb.planning.triton.processes import ProcessorTimes
from blsnb.request_fields import PLAIN, SEQUENCE_END, SEQUENCE_START

from ..configs import config, waits


class Counting:
    """A server that counts requests; each one is answered at once."""

    pid = None
    stream = False

    def __init__(self, error: str = "") -> None:
        self.sent = 0
        self.error = error

    @property
    def client(self):
        """Its client: this server itself."""
        return self

    target = client

    def sender(self, messages):
        """Return a sender: this server itself."""
        return self

    def send(self, level, number, began_ns=0):
        """Answer a request after a microsecond."""
        self.sent += 1
        ended_ns = began_ns + 1_000
        level.add(number, Sample(began_ns, ended_ns, ended_ns, 1, self.error))

    def executions(self):
        """Return one execution of a nanosecond for each request."""
        return {"a": {1: Executed(self.sent, self.sent)}}


def test_a_warm_up_reaches_each_instance_several_times():
    """The first execution of an instance is slower; what is measured comes after it."""
    server = Counting()
    phase = Loaded(server, {"a": 1, "b": 6}).closed([], 1, Load(10, 40))

    assert (40, 58) == (phase.requests, phase.sent)
    assert {"a": {1: Executed(40, 40)}} == phase.executed


def test_requests_come_at_random_times_that_are_the_same_each_time():
    """A tenth of them is no part of the median, but of all costs."""
    server = Counting()
    arrivals = arriving(200, 0.5)
    phase = Loaded(server, {"a": 1}).opened([], arrivals)

    assert arriving(200, 0.5).times_ns == arrivals.times_ns
    assert (100, 1_000) == (phase.requests, phase.latency_ns)
    assert {"a": {1: Executed(100, 100)}} == phase.executed


def test_a_refused_request_ends_a_phase():
    """Its text is the reason."""
    with pytest.raises(TritonServerError, match="refused a request: no"):
        Loaded(Counting("no"), {"a": 1}).closed([], 1, Load(10, 5))


def crowd(identity, batching: str):
    """Return the clients, and the requests, of a model with three instances."""
    fields = PLAIN._replace(correlation_id=identity, flags=SEQUENCE_START)
    root = config("m", 3, f"max_batch_size: 2 sequence_batching {{ {batching} }}")
    return crowd_of(
        Observation(
            "m",
            {"m": root},
            [RequestMessage("m", (), (), fields)],
            {},
            {"m": 1},
            Load(1, 1),
            Mix(lengths=(1,)),
            None,
        )
    )


@pytest.mark.parametrize("identity", [7, "user"])
@pytest.mark.parametrize(
    ("batching", "expected"),
    [
        ("direct { }", 6),
        ("oldest { max_candidate_sequences: 1 }", 3),
        ("oldest { max_candidate_sequences: 9 }", 16),
    ],
)
def test_each_slot_of_a_model_with_sequences_has_a_client(identity, batching, expected):
    """Each request begins and ends a sequence of its own."""
    clients, messages = crowd(identity, batching)
    fields = [each.fields for each in messages]

    assert expected == clients
    assert {SEQUENCE_START | SEQUENCE_END} == {each.flags for each in fields}
    assert len(fields) == len({each.correlation_id for each in fields}) > clients
    assert {type(identity)} == {type(each.correlation_id) for each in fields}


def disturbed(*shares: float):
    """Return phases that other processes disturbed, one after the other."""
    rest = iter(shares)

    def measure():
        spent = ProcessorTimes(0, {}, 0, round(next(rest) * 1_000), 1_000)
        return Phase(1, 1, 1.0, spent, 0, 1, {})

    return least_disturbed(measure, lambda each: each.others)


def test_a_disturbed_load_is_measured_again_twice_at_most():
    """The least disturbed measurement counts, which may be an early one."""
    found = [disturbed(*each) for each in ((0.1, 0), (0.3, 0.02), (0.3, 0.2, 0.4, 0))]

    assert [(0.1, 1), (0.02, 2), (0.2, 3)] == [
        (phase.others, attempts) for phase, attempts in found
    ]


def test_a_repeated_load_counts_all_requests_that_it_sent(monkeypatch):
    """The traces of all of them are waited for."""
    busy_ns = itertools.accumulate(itertools.repeat(500))
    monkeypatch.setattr(
        phases,
        "processor_times",
        lambda *_: ProcessorTimes(0, {}, 0, (now := next(busy_ns)), now * 2),
    )
    server = Counting()
    server.pid = 1
    loaded = Loaded(server, {"a": 1})
    closed = loaded.closed([], 1, Load(10, 40))
    opened = loaded.opened([], arriving(200, 0.1))

    assert [(3, 40, 123), (3, 20, 60)] == [
        (each.attempts, each.requests, each.sent) for each in (closed, opened)
    ]


@pytest.mark.parametrize("count", [3, 4])
def test_traces_of_all_requests_are_waited_for(monkeypatch, count):
    """A server writes them some time after its responses."""
    monkeypatch.setattr(phases, "_POLL_S", 0.001)
    written = iter([["a"], ["a", "b"], ["a", "b", "c", "d"][:count]])
    target = SimpleNamespace(traces=lambda: next(written))

    assert count == len(phases.traces_of(SimpleNamespace(target=target), 3))


def remarks(*found: Phase) -> list[str]:
    """Return what a calibration of phases says about others."""
    return list(agreement.remarks(TracedModels({}, {}, 0, found[:1]), found[1:]))


def test_a_calibration_says_what_was_measured_again():
    """And whether it was disturbed nevertheless."""
    spent = ProcessorTimes(0, {}, 0, 250, 1_000)
    busy = Phase(1, 1, 1.0, spent, 0, 1, {}, 3)
    calm = busy._replace(processors=spent._replace(machine_ns=0), attempts=1)

    assert [] == remarks(calm, calm)
    again = remarks(calm, calm._replace(attempts=2))
    text = (
        "Other processes disturbed {} of the 2 loads, which {} measured again; the "
        "measurement that they disturbed least counts."
    )
    assert [text.format(1, "was")] == again
    assert (text.format(1, "was"), *busy_remarks(0.25)) == tuple(remarks(calm, busy))
    assert text.format(2, "were") == remarks(busy, busy)[0]


def test_a_model_computes_as_long_as_on_the_plain_server():
    """How that depends on the batch size is traced; a request costs the server, too."""
    # A model that the plain server has not executed computes for no time.
    traced = TracedModels({}, {"m": Computing(1e6, 1e6), "n": Computing(1e6)}, 0)
    spent = ProcessorTimes(0, {"m": 60_000_000, "n": 0})
    counted = {"m": {1: Executed(10, 1), 2: Executed(10, 1)}, "n": {}}
    plain = Phase(1, 1, 1.0, spent, 0, 1, counted)
    found = [agreement._spent(name, traced, plain, 5e3) for name in ("m", "n")]

    assert [Computing(1.2e6 + 5e3, 1.2e6), Computing()] == found


class LoadedFor:
    """A server under load whose requests take 10 ms; 1,000 clients finish in 2 s."""

    def __init__(self) -> None:
        self.loads: list[object] = []

    def closed(self, messages, clients, load):
        """Note the number of clients."""
        self.loads.append(clients)
        return self._phase(1_000)

    def opened(self, messages, arrivals):
        """Note the rate."""
        self.loads.append(arrivals.rate)
        return self._phase(len(arrivals.times_ns))

    def _phase(self, count):
        executed = {"m": {1: Executed(count, count * 10_000_000)}}
        return Phase(count, count, 1e7, None, 1_000_000_000, 3_000_000_000, executed)


def test_requests_at_random_have_shares_of_the_rate_of_a_closed_loop(monkeypatch):
    """The moderate load comes last, and the calibration knows all rates."""
    loaded = LoadedFor()
    monkeypatch.setattr(calibrate, "loaded_server", lambda *_: loaded)
    root = config("m", 16)
    message = RequestMessage("m", ())
    load = Load(0.4, 1)
    watched = Observation("m", {"m": root}, [message], {}, {"m": 1}, load, Mix(), None)
    traced = TracedModels({"m": CalibratedModel(root, {1: [waits(10)]})}, {}, 0)
    found = calibrate.observe_plain(Counting(), watched, traced)

    assert [16, 150, 300] == loaded.loads
    assert [500, 150, 300] == [each.measured_rate for each in found.reproductions]
    assert (
        "How much the models of this server compute is unknown: all of their time "
        "counts as waiting, so that processors limit nothing in the plan.",
    ) == found.remarks
