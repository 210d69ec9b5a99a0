"""A repository in simulated time: known queues, shared processors, calls, batches."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from blsnb.planning.simulation.behaviour import Behaviour, Step, behaviour
from blsnb.planning.simulation.cores import Cores, SlicedCores
from blsnb.planning.simulation.loads import Mix, Simulated, closed_loop, open_loop
from blsnb.planning.simulation.simulation import SimulatedModel, Simulation
from blsnb.planning.simulation.timeline import Timeline

from ..configs import MS, computes, config, model, waits


def latencies(models, name, arrivals_ms, cores=64, seed=0, **how):
    """Return the latencies of requests in milliseconds, in the order of their ends."""
    simulation = Simulation(models, cores, seed)
    times_ns = [round(at * MS) for at in arrivals_ms]
    found = open_loop(simulation, name, times_ns, Mix(**how)).every
    return [(request.ended_ns - request.began_ns) / MS for request in found]


def poisson_ms(rate: float, count: int, seed: int = 1) -> list[float]:
    """Return the times of random requests."""
    intervals = np.random.default_rng(seed).exponential(1e3 / rate, count)
    return np.cumsum(intervals).tolist()


def test_a_request_waits_for_an_instance():
    """Two instances execute two requests; the third waits for the first."""
    models = {"m": model("m", waits(10), count=2)}

    assert [10, 10, 18] == latencies(models, "m", [0, 1, 2])


def test_what_a_model_did_is_counted():
    """Its requests, their time in the queue, and that of each instance."""
    simulation = Simulation({"m": model("m", waits(10), count=2)}, 64, 0)
    open_loop(simulation, "m", [0, MS, 2 * MS], Mix(size=3))
    station = simulation.stations["m"]

    assert (3, 3, 9) == (station.requests, station.executions, station.inferences)
    assert 8 * MS == station.queue_ns
    assert [20 * MS, 10 * MS] == [*station.busy_by_instance_ns]


def test_the_first_tenth_of_the_answers_does_not_count():
    """The rate is that of the others, from the first to the last of them."""
    simulation = Simulation({"m": model("m", waits(10))}, 64, 0)
    found = open_loop(simulation, "m", [500 * MS * number for number in range(20)])

    assert (20, 18, 0, {}) == (
        len(found.every),
        len(found.kept),
        found.failed,
        found.errors,
    )
    assert 2.0 == found.rate
    assert [0.0, 0.0] == [Simulated(found.every[:count]).rate for count in (0, 1)]


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_one_instance_is_an_m_d_1_queue(load):
    """The mean latency is that of the formula of Pollaczek and Khinchin."""
    found = latencies({"m": model("m", waits(1))}, "m", poisson_ms(1e3 * load, 60_000))

    expected = 1 + load / (2 * (1 - load))
    assert expected == pytest.approx(np.mean(found), rel=0.06)


def test_several_instances_are_an_m_m_c_queue():
    """The mean wait is that of Erlang's formula."""
    drawn = random.Random(3)
    one = SimulatedModel(config("m", 3), lambda size, _: waits(drawn.expovariate(1.0)))
    found = latencies({"m": one}, "m", poisson_ms(2400, 60_000))
    # Erlang C of 3 servers with 2.4 busy ones.
    busy, servers = 2.4, 3
    terms = [1, busy, busy**2 / 2]
    last = busy**3 / 6 * servers / (servers - busy)
    wait = last / (sum(terms) + last) / (servers - busy)

    assert 1 + wait == pytest.approx(np.mean(found), rel=0.06)


def test_computing_requests_share_the_processors():
    """Three of 10 ms on two processors end after 15 ms; waiting needs none."""
    computing = {"m": model("m", computes(10), count=3)}
    waiting = {"m": model("m", waits(10), count=3)}

    assert [15, 15, 15] == pytest.approx(latencies(computing, "m", [0, 0, 0], cores=2))
    assert [10, 10, 10] == latencies(waiting, "m", [0, 0, 0], cores=2)


def test_shared_processors_are_a_processor_sharing_queue():
    """One core with random work of mean 1 ms at load 0.7 has a mean of 1 / 0.3 ms."""
    drawn = random.Random(5)
    one = SimulatedModel(
        config("m", 500), lambda size, _: computes(drawn.expovariate(1.0))
    )
    found = latencies({"m": one}, "m", poisson_ms(700, 60_000), cores=1)

    assert 1 / 0.3 == pytest.approx(np.mean(found), rel=0.06)


def test_processor_time_is_counted():
    """However it was shared."""
    timeline = Timeline()
    cores = Cores(timeline, 2)
    for at_ms in (0, 1, 2, 3):
        timeline.at(at_ms * MS, lambda: cores.compute(5 * MS, lambda: None))
    timeline.run()

    assert 20 * MS == pytest.approx(cores.busy_ns, abs=10)
    assert 10 * MS <= timeline.now_ns <= 11 * MS


def ends_ms(
    pieces: list[tuple[float, float]], count: int, seed: int = 0, woken: bool = False
) -> list[float]:
    """Return when pieces of work end that take turns on processors.

    Each one is the time at which it comes, and its length, in milliseconds.
    """
    timeline, ends = Timeline(), [0.0] * len(pieces)
    cores = SlicedCores(timeline, count, seed=seed)

    def begin(number: int) -> None:
        def done() -> None:
            ends[number] = timeline.now_ns / MS

        cores.compute(round(pieces[number][1] * MS), done, woken)

    for number, (at_ms, _) in enumerate(pieces):
        timeline.at(round(at_ms * MS), partial(begin, number))
    timeline.run()
    assert sum(ms for _, ms in pieces) * MS == pytest.approx(cores.busy_ns)
    return ends


def test_work_that_comes_preempts_a_piece_that_has_used_its_slice():
    """It comes at 2 ms, and takes the processor for its millisecond at once."""
    assert [11, 3] == ends_ms([(0, 10), (2, 1)], 1)


@pytest.mark.parametrize("at_ms", [0.5, 4.5])
def test_work_that_comes_within_a_slice_waits_for_the_next_tick(at_ms):
    """A slice of a millisecond begins with the piece, and again at each tick."""
    tick_ms = at_ms + 3.5

    assert [11, tick_ms + 1] == ends_ms([(0, 10), (at_ms, 1)], 1)


def test_work_that_comes_while_others_wait_is_behind_them():
    """The second one preempts the first, which has its turn again from 4 to 8 ms."""
    assert [13, 4, 11] == ends_ms([(0, 8), (2, 2), (3, 3)], 1)


def test_short_work_ends_in_its_order():
    """With equal shares all three would end together."""
    assert [1, 2, 3] == ends_ms([(0, 1), (0, 1), (0, 1)], 1)


def test_long_work_takes_turns():
    """From tick to tick, until 6 ms of each are computed."""
    assert [10, 12] == ends_ms([(0, 6), (0, 6)], 1)


def test_a_third_long_piece_shares_one_processor_only():
    """The second one has its processor for itself, and not two thirds of it."""
    ends = ends_ms([(0, 40), (0, 40), (2, 10)], 2)

    assert 20 == pytest.approx(ends[2] - 2, abs=4)
    assert 40 in ends[:2]


def test_a_processor_without_work_takes_what_waits_for_another_one_at_a_tick():
    """The third piece waits for the second one until 2 ms, or until 4 ms for a tick."""
    found = [ends_ms([(0, 8), (0, 2), (0, 3)], 2, seed) for seed in range(20)]

    assert [[8, 2, 5], [8, 2, 7]] == sorted(map(list, set(map(tuple, found))))


def test_the_processor_of_a_waking_process_is_not_idle_yet():
    """Most pieces preempt the first one; the other processor remains idle."""
    pieces = [(0, 8), (2, 1)]
    found = [ends_ms(pieces, 2, seed, woken=True) for seed in range(100)]

    assert 75 == pytest.approx(found.count([9, 3]), abs=15)
    assert 100 == found.count([9, 3]) + found.count([8, 3])


def test_work_that_a_timer_wakes_takes_the_only_idle_processor():
    """No other process has it."""
    found = [ends_ms([(0, 8), (2, 1)], 2, seed) for seed in range(20)]

    assert [[8, 3]] * 20 == found


def test_a_model_that_waited_takes_the_only_idle_processor():
    """Its own timer wakes it; at first, a request of another process does."""
    steps = (Step((), 0, MS), Step((), MS, 0))
    models = {"m": model("m", Behaviour(1, steps)), "long": model("long", computes(9))}
    ends = set()
    for seed in range(20):
        simulation = Simulation(models, 2, seed, in_turns=True)
        simulation.send("long", 1, lambda _: None)
        simulation.send("m", 1, lambda request: ends.add(request.ended_ns / MS))
        simulation.timeline.run()

    assert {2} == ends


def test_a_synchronous_call_holds_the_instance_of_its_caller():
    """The second request waits for the child of the first."""
    parent = Behaviour(1, (Step((), 0, MS, "child"), Step((0,), 0, MS)))
    models = {"p": model("p", parent), "child": model("child", waits(8))}

    assert [10, 19] == latencies(models, "p", [0, 1])


def test_calls_at_once_take_as_long_as_the_longest():
    """The next own work begins with the end of both."""
    steps = (Step((), 0, 0, "a"), Step((), 0, 0, "b"), Step((0, 1), 0, MS))
    models = {
        "p": model("p", Behaviour(1, steps)),
        "a": model("a", waits(3)),
        "b": model("b", waits(5)),
    }

    assert [6] == latencies(models, "p", [0])


BATCHING = "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 2000 }"


def test_a_batch_waits_for_the_delay_or_its_largest_size():
    """The engine's batcher decides."""
    models = {"m": model("m", waits(10), more=BATCHING)}
    full = latencies(models, "m", [0, 0, 0, 0])
    one = latencies(models, "m", [0])

    assert [10] * 4 == full
    assert [12] == one


def test_a_batch_is_drawn_by_its_size():
    """A request of three is a batch of three."""
    asked = []

    def draw(size, _):
        asked.append(size)
        return waits(1, size)

    models = {"m": SimulatedModel(config("m", 1, BATCHING), draw)}
    latencies(models, "m", [0, 0.5, 100], size=2)

    assert [4, 2] == asked


def test_the_same_seed_gives_the_same_answers():
    """Another one gives others."""
    models = {"m": model("m", waits(1), waits(3))}
    arrivals = poisson_ms(300, 200)
    one, again, other = (
        latencies(models, "m", arrivals, seed=seed) for seed in (1, 1, 2)
    )

    assert one == again != other


def test_an_observed_execution_is_repeated():
    """Its own work lies between the calls that it waited for."""
    observed = behaviour(0, 100, [(10, 30, "a", 1), (12, 50, "b", 2), (55, 90, "c", 1)])

    assert [
        Step((), 10, 0, "a", 1),
        Step((), 2, 0, "b", 2),
        Step((0, 1), 5, 0, "c", 1),
        Step((2,), 10),
    ] == list(observed.steps)
    assert 27 == observed.own_ns


def test_a_call_that_ends_beside_another_one_is_waited_for_in_between():
    """As with `asyncio.as_completed`."""
    observed = behaviour(0, 70, [(10, 20, "a", 1), (10, 60, "b", 1), (25, 40, "c", 1)])

    assert [(), (), (0,), (1, 2)] == [step.after for step in observed.steps]
    assert [10, 0, 5, 10] == [step.computing_ns for step in observed.steps]


def closed_ms(simulation, clients, requests=400, seed=0):
    """Return the latencies of a closed loop, in ms."""
    found = closed_loop(simulation, "m", clients, requests, seed=seed)
    return [float(us) / 1e3 for us in found.latencies_us]


def test_each_request_has_one_of_the_observed_overheads():
    """They are random, and the same for the same seed."""
    one = replace(model("m", waits(1)), overhead_ns=MS, overheads_ns=(MS, 3 * MS))
    first, again, other = (
        closed_ms(Simulation({"m": one}, 8, seed), 1) for seed in (1, 1, 2)
    )

    assert {2.0, 4.0} == set(first)
    assert 0.4 < first.count(4.0) / len(first) < 0.6
    assert first == again
    assert first != other


def test_observed_overheads_do_not_change_which_executions_are_drawn():
    """Plans with and without them differ by nothing else."""
    plain = model("m", waits(1), waits(2))
    drawn = replace(plain, overheads_ns=(MS,))
    found = closed_ms(Simulation({"m": plain}, 8), 1)

    assert [ms + 1 for ms in found] == closed_ms(Simulation({"m": drawn}, 8), 1)


@pytest.mark.parametrize("seed", range(3))
def test_clients_of_a_closed_loop_do_not_run_in_lockstep(seed):
    """Those that miss a batch wait for its end, and their batch starts then."""
    # Clients that began together would stay together: a batch of four each 5 ms.
    more = "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 2000 }"
    simulation = Simulation({"m": model("m", waits(5), more=more)}, 8)

    assert 10.0 == np.median(closed_ms(simulation, 4, seed=seed))
