"""The plan of an evaluation: every row ends once, whatever happens to the workers."""

from __future__ import annotations

import random
from collections import Counter, deque

from hypothesis import given
from hypothesis import strategies as st

from blsnb.evaluation.plain import Chunk, Row
from blsnb.evaluation.work.plan import (
    GRACE_S,
    MAX_DEATHS,
    MAX_IN_FLIGHT,
    Fail,
    StopWorker,
    Submit,
    WorkPlan,
)


def chunks_of(count: int, size: int) -> list[Chunk]:
    """Return chunks of rows without sequences."""
    rows = [Row(number, {}) for number in range(count)]
    starts = range(0, count, size)
    return [
        Chunk(number, tuple(rows[start : start + size]))
        for number, start in enumerate(starts)
    ]


class World:
    """Workers in virtual time: slow ones, rows that kill, and kills at random.

    Parameters
    ----------
    poison
        Numbers of the rows that kill each worker that executes them.
    kills
        Number of further kills, at random moments.
    """

    def __init__(
        self,
        chunks: list[Chunk],
        workers: int,
        seed: int,
        *,
        poison: frozenset[int] = frozenset(),
        kills: int = 0,
    ) -> None:
        self.random = random.Random(seed)
        self.chunks = deque(chunks)
        self.poison = poison
        self.kills = kills
        self.plan = WorkPlan(range(workers))
        self.inbox: dict[int, deque[Chunk]] = {
            worker: deque() for worker in range(workers)
        }
        self.dead = set(self.inbox)
        self.now = 0.0
        self.executed: Counter[int] = Counter()
        self.failed: Counter[int] = Counter()
        self.most_in_flight = 0
        self.alone_at_kill: Counter[int] = Counter()
        self.ended = False

    def run(self, interrupt_at: float | None = None) -> None:
        """Run until the plan says that nothing more will happen."""
        for _ in range(100_000):
            self.now += 0.01
            if interrupt_at is not None and self.now >= interrupt_at:
                self.plan.interrupted(self.now)
            self.feed()
            self.obey()
            if self.ended:
                return
            self.happen()
        raise AssertionError("the plan never ends")

    def feed(self) -> None:
        """Add chunks while the plan wants them, as an actor does."""
        while self.plan.wants_chunk:
            if not self.chunks:
                self.plan.end()
                return
            self.plan.add(self.chunks.popleft())
            self.obey()

    def obey(self) -> None:
        """Do what the plan decides."""
        while (action := self.plan.decide(self.now)) is not None:
            if isinstance(action, StopWorker):
                self.ended = True
                return
            if isinstance(action, Fail):
                self.failed.update(row.number for row in action.rows)
            if isinstance(action, Submit):
                assert action.worker not in self.dead
                self.inbox[action.worker].append(action.chunk)
                in_flight = len(self.inbox[action.worker])
                self.most_in_flight = max(self.most_in_flight, in_flight)

    def happen(self) -> None:
        """Let one random worker start, answer or die."""
        worker = self.random.choice(list(self.inbox))
        if worker in self.dead:
            self.dead.discard(worker)
            self.plan.started(worker)
        elif self.kills and self.random.random() < 0.2:
            self.kills -= 1
            self.kill(worker)
        elif self.inbox[worker]:
            self.execute(worker)

    def execute(self, worker: int) -> None:
        """Answer the oldest chunk of a worker, or die of it."""
        chunk = self.inbox[worker][0]
        if self.poison & {row.number for row in chunk.rows}:
            self.kill(worker)
            return
        assert self.inbox[worker].popleft() == self.plan.answered(worker)
        self.executed.update(row.number for row in chunk.rows)

    def kill(self, worker: int) -> None:
        """Kill a worker, with its chunks."""
        if self.inbox[worker]:
            rows = self.inbox[worker][0].rows
            self.alone_at_kill.update(row.number for row in rows if len(rows) == 1)
        self.inbox[worker].clear()
        self.dead.add(worker)
        self.plan.died(worker)


COUNTS = st.integers(0, 60)


@given(COUNTS, st.integers(1, 9), st.integers(1, 4), st.integers(), st.integers(0, 30))
def test_each_row_ends_once_although_workers_are_killed(
    count: int, size: int, workers: int, seed: int, kills: int
) -> None:
    """Each row is executed or fails exactly once; two chunks at most wait."""
    world = World(chunks_of(count, size), workers, seed, kills=kills)
    world.run()
    assert Counter(range(count)) == world.executed + world.failed
    assert world.most_in_flight <= MAX_IN_FLIGHT
    expected = {
        number for number, kills in world.alone_at_kill.items() if kills >= MAX_DEATHS
    }
    assert expected == set(world.failed)


@given(
    st.integers(1, 60),
    st.integers(1, 16),
    st.integers(1, 3),
    st.integers(),
    st.frozensets(st.integers(0, 59), max_size=4),
)
def test_only_rows_that_kill_their_worker_fail(
    count: int, size: int, workers: int, seed: int, poison: frozenset[int]
) -> None:
    """A row that kills every worker fails after two deaths; its neighbours succeed."""
    world = World(chunks_of(count, size), workers, seed, poison=poison)
    world.run()
    bad = poison & set(range(count))
    assert Counter(bad) == world.failed
    assert Counter(set(range(count)) - bad) == world.executed
    assert {number: MAX_DEATHS for number in bad} == dict(world.alone_at_kill)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 3), st.integers())
def test_an_interrupted_plan_awaits_the_chunks_in_flight_and_submits_no_more(
    count: int, size: int, workers: int, seed: int
) -> None:
    """After an interrupt no chunk is sent, and no row is counted twice."""
    world = World(chunks_of(count, size), workers, seed)
    world.run(interrupt_at=0.1)
    assert world.executed <= Counter(range(count))
    assert not any(world.inbox.values())


def test_an_interrupted_plan_stops_although_a_worker_never_answers() -> None:
    """The grace period bounds the wait for a model that never returns."""
    plan = WorkPlan([0])
    plan.started(0)
    [chunk] = chunks_of(1, 1)
    plan.add(chunk)
    assert Submit(0, chunk) == plan.decide(0.0)
    plan.interrupted(5.0)
    assert plan.decide(5.0) is None
    assert plan.wait_s(5.0) == GRACE_S
    assert StopWorker() == plan.decide(5.0 + GRACE_S)


def test_a_second_interrupt_does_not_extend_the_grace_period() -> None:
    """The first interrupt determines when the plan stops."""
    plan = WorkPlan([0])
    plan.interrupted(5.0)
    plan.interrupted(6.0)
    assert GRACE_S - 1.0 == plan.wait_s(6.0)


def test_the_chunks_behind_the_executed_one_are_repeated_whole() -> None:
    """A killed worker was executing its oldest chunk: only that one is cut."""
    plan = WorkPlan([0])
    plan.started(0)
    first, second = chunks_of(8, 4)
    plan.add(first)
    plan.decide(0.0)
    plan.add(second)
    plan.decide(0.0)
    plan.died(0)
    plan.started(0)
    sent = []
    while isinstance(action := plan.decide(0.0), Submit):
        sent.append([row.number for row in action.chunk.rows])
        plan.answered(0)
    assert [[0, 1], [2, 3], [4, 5, 6, 7]] == sent


def test_a_sequence_that_kills_fails_whole() -> None:
    """A sequence is never cut: its rows fail together, the others succeed."""
    rows = [
        Row(0, {}, sequence=7, sequence_start=True),
        Row(1, {}, sequence=7, sequence_end=True),
        Row(2, {}),
    ]
    world = World([Chunk(0, tuple(rows))], 1, 0, poison=frozenset({1}))
    world.run()
    assert Counter([0, 1]) == world.failed
    assert Counter([2]) == world.executed


def test_a_chunk_that_cannot_be_sent_keeps_its_other_rows() -> None:
    """The rows that can be sent are submitted again."""
    plan = WorkPlan([0])
    plan.started(0)
    [chunk] = chunks_of(3, 3)
    plan.add(chunk)
    plan.decide(0.0)
    plan.refused(0, chunk.rows[1:])
    assert Submit(0, chunk._replace(rows=chunk.rows[1:])) == plan.decide(0.0)


def test_a_row_that_ends_two_workers_fails():
    """It is executed twice, not more often."""
    plan = WorkPlan([0])
    [chunk] = chunks_of(1, 1)
    plan.add(chunk)
    actions = []
    for _ in range(2):
        plan.started(0)
        actions.append(plan.decide(0.0))
        plan.died(0)
    plan.started(0)

    assert [Submit(0, chunk)] * 2 == actions
    assert Fail(chunk.rows) == plan.decide(0.0)
