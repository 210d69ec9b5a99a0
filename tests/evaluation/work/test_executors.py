"""Rows on executors of others: broken ones, interrupts, and models sent on request."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from blsnb.errors import BlsnbError
from blsnb.evaluation.plain import Chunk, Row
from blsnb.evaluation.work import executors
from blsnb.evaluation.work.chunks import Chunks
from blsnb.evaluation.work.executors import RowsInExecutor
from blsnb.evaluation.work.server_copy import Opening
from blsnb.evaluation.work.tasks import Task

from .places import by_number, opening, rows

pytestmark = pytest.mark.xdist_group("evaluation workers")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opening]:
    """Return what workers open."""
    with opening(tmp_path_factory.mktemp("models")) as found:
        yield found


@pytest.fixture
def runner(opened: Opening) -> Iterator[RowsInExecutor]:
    """Return a place on two threads."""
    with ThreadPoolExecutor(2) as pool:
        made = RowsInExecutor(Recording(pool), opened, 2)
        yield made
        made.close()


class Recording(Executor):
    """Passes tasks to a pool and notes whether they carry the models."""

    def __init__(self, pool: Executor) -> None:
        self.pool = pool
        self.with_models: list[bool] = []
        self.open = 0
        self.most_open = 0
        self.lock = threading.Lock()

    def submit(  # type: ignore[override] # only tasks of an evaluation
        self, function: Callable[[Task], Any], task: Task
    ) -> Future[Any]:
        """Submit a task."""
        self.with_models.append(task.archive is not None)
        with self.lock:
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        future = self.pool.submit(function, task)
        future.add_done_callback(self._count)
        return future

    def _count(self, future: Future[Any]) -> None:
        with self.lock:
            self.open -= 1


def recording(runner: RowsInExecutor) -> Recording:
    """Return the executor of a place."""
    assert isinstance(runner.executor, Recording)
    return runner.executor


def test_the_models_are_sent_once_per_process(runner: RowsInExecutor) -> None:
    """Two threads are one process: later chunks carry a digest only."""
    found = by_number(runner, Chunks(rows(range(40)), size=1))
    assert list(range(40)) == [result.number for result in found]
    assert sum(recording(runner).with_models) in (1, 2)
    again = by_number(runner, Chunks(rows(range(4)), size=1))
    assert [6, 2] == again[3].outputs["Y"].tolist()
    assert not any(recording(runner).with_models[-4:])


def test_at_most_two_chunks_wait_for_each_process(runner: RowsInExecutor) -> None:
    """Rows are read no faster than they are executed."""
    by_number(runner, Chunks(rows(range(40)), size=1))
    assert recording(runner).most_open <= 4


def test_a_model_that_does_not_load_ends_the_evaluation(opened: Opening) -> None:
    """The error has the text of the load in the other process."""
    broken = opened._replace(copy=replace(opened.copy, models=("absent",), digest="x"))
    with ThreadPoolExecutor(1) as pool:
        runner = RowsInExecutor(pool, broken)
        with pytest.raises(BlsnbError, match=r"executor cannot evaluate: .*absent"):
            list(runner.results(Chunks(rows([1]))))
        runner.close()


def test_a_broken_pool_ends_the_evaluation_with_a_hint(opened: Opening) -> None:
    """The rows before it are yielded; the error says how to continue."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        runner = RowsInExecutor(pool, opened)
        found = []
        chunks = Chunks(rows([1, 2, 3, -1, 5, 6]), size=1)
        with pytest.raises(BlsnbError) as caught:
            found.extend(runner.results(chunks))
        runner.close()
    assert isinstance(caught.value.__cause__, BrokenProcessPool)
    assert f"the executor failed after {len(found)} rows" in str(caught.value)
    assert "resume='FILE'" in str(caught.value)


def test_a_pool_that_was_shut_down_is_an_error(opened: Opening) -> None:
    """Nothing is executed."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(BlsnbError, match="the executor failed after 0 rows"):
        list(RowsInExecutor(pool, opened).results(Chunks(rows([1]))))


def test_an_input_that_cannot_be_sent_fails_its_row(opened: Opening) -> None:
    """The other rows of the chunk are executed."""
    chunk = Chunk(0, (*rows([7]), Row(1, {"X": lambda: 0})))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        runner = RowsInExecutor(pool, opened)
        found = [each for results in runner.results([chunk]) for each in results]
        runner.close()
    by_row = {result.number: result for result in found}
    assert by_row[1].error.startswith("input 'X' cannot be sent to another process: ")
    assert [14, 2] == by_row[0].outputs["Y"].tolist()


def test_ctrl_c_yields_what_ends_in_time(
    runner: RowsInExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks in flight are awaited for a moment, and no more are taken."""
    monkeypatch.setattr(executors, "GRACE_S", 60.0)
    chunks = Chunks(rows(range(100)), size=1)
    taken = []

    def with_interrupt() -> Iterator[Chunk]:
        for chunk in chunks:
            taken.append(chunk.number)
            if len(taken) == 10:
                signal.raise_signal(signal.SIGINT)
            yield chunk

    found = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(runner.results(with_interrupt()))
    assert 10 == len(taken)
    assert len(found) <= 9


def test_dask_never_returns_an_earlier_result(opened: Opening) -> None:
    """Two equal tasks have different tokens."""
    chunk = Chunk(0, (Row(0, {"X": np.array([1, 1])}),))
    tasks = [Task(opened.copy, opened.settings, chunk) for _ in range(2)]
    assert 2 == len({task.__dask_tokenize__() for task in tasks})


class Scheduler:
    """The client of a scheduler that loses its workers, as Dask's client shows it."""

    def __init__(self, *counts: int) -> None:
        self.counts = list(counts)

    def nthreads(self) -> dict[str, int]:
        """Return the workers; the last count stays."""
        count = self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]
        return dict.fromkeys(map(str, range(count)), 1)


class Lost(Executor):
    """Keeps all tasks, and never starts one until a number of checks was made."""

    def __init__(self, *counts: int) -> None:
        self._client = Scheduler(*counts)

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        """Return a future that nothing settles."""
        return Future()


def test_dask_without_workers_ends_the_evaluation(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it has had some: the first ones may wait in the queue of a cluster."""
    monkeypatch.setattr(executors, "_CHECK_S", 0.001)
    monkeypatch.setattr(executors, "_LOST_S", 0.003)
    executor = Lost(0, 0, 0, 0, 0, 2, 0, 1, 0)
    with pytest.raises(BlsnbError, match="after 0 rows: RuntimeError: all of its work"):
        list(RowsInExecutor(executor, opened, 2).results(Chunks(rows([1]))))

    assert [0] == executor._client.counts
