"""Workers that execute batches, one after the other."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest
from shortage import no_thread_starts
from waiting import until

from blsnb.engine.threads.batch_workers import BatchWorkers
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError

Ended = Callable[[], None]


class Batch:
    """A batch whose ``execute`` may do something, before and after its end."""

    def __init__(
        self,
        before: Callable[[], object] = lambda: None,
        after: Callable[[], object] = lambda: None,
    ) -> None:
        self._before = before
        self._after = after
        self.thread: Future[threading.Thread] = Future()

    def __call__(self, ended: Ended) -> None:
        """Execute it, and publish the thread."""
        self._before()
        ended()
        self._after()
        self.thread.set_result(threading.current_thread())


@pytest.fixture
def threads() -> Iterator[Workers]:
    """Two threads."""
    threads = Workers(2, "batch")
    yield threads
    threads.shutdown()


@pytest.fixture
def workers(threads: Workers) -> BatchWorkers:
    """Their batches."""
    return BatchWorkers(threads)


def test_a_worker_executes_the_batch_that_it_submits_at_the_end_of_its_own(workers):
    """No other thread wakes."""
    third = Batch()
    second = Batch(after=lambda: workers.submit(third))
    first = Batch(after=lambda: workers.submit(second))
    workers.submit(first)

    assert 1 == len({batch.thread.result(60) for batch in (first, second, third)})


def test_a_batch_that_is_submitted_during_another_does_not_wait_for_it(workers):
    """The model of one may wait for another."""
    third = Batch()

    def before() -> None:
        workers.submit(third)
        third.thread.result(60)

    second = Batch(before)
    workers.submit(Batch(after=lambda: workers.submit(second)))

    assert second.thread.result(60) is not third.thread.result(60)


def test_two_batches_that_are_submitted_together_run_side_by_side(workers):
    """The worker executes only the first of them."""
    both = threading.Barrier(2)
    batches = [Batch(before=lambda: both.wait(60)) for _ in range(2)]
    first = Batch(after=lambda: [workers.submit(batch) for batch in batches])
    workers.submit(first)

    assert first.thread.result(60) is batches[0].thread.result(60)
    assert first.thread.result(60) is not batches[1].thread.result(60)


def test_a_batch_that_fails_is_followed_by_the_next(workers):
    """Its requests have the error."""
    second = Batch()

    def fail() -> None:
        workers.submit(second)
        raise KeyboardInterrupt

    first = Batch(after=fail)
    workers.submit(first)

    assert second.thread.result(60).is_alive()


def test_other_work_that_waits_for_a_thread_comes_first(workers, threads):
    """A worker with batches without end keeps no thread from others."""
    order: list[str] = []
    go = threading.Event()
    busy = threads.submit(go.wait, 60)
    second = Batch(lambda: order.append("second"))

    def after() -> None:
        threads.submit(order.append, "other")
        workers.submit(second)

    workers.submit(Batch(after=after))
    second.thread.result(60)
    go.set()

    assert ["other", "second"] == order
    assert busy.result(60)


def test_a_worker_keeps_no_batch_that_has_ended(workers):
    """An abandoned request is collected while the next batch runs."""
    go = threading.Event()
    second = Batch(before=lambda: go.wait(60))
    first = Batch(after=lambda: workers.submit(second))
    ended = weakref.ref(first)
    thread = first.thread
    workers.submit(first)
    del first
    thread.result(60)

    assert until(lambda: gc.collect() >= 0 and ended() is None)
    go.set()
    second.thread.result(60)


def test_a_batch_without_a_thread_is_refused(workers):
    """The scheduler finds another one."""
    with no_thread_starts(), pytest.raises(OutOfResourcesError):
        workers.submit(Batch())
