"""Daemon threads that run pieces of work."""

from __future__ import annotations

import threading

import pytest
from asserting import every
from shortage import no_thread_starts
from waiting import until

from blsnb.engine.threads import workers as module
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError, ServerClosedError


@pytest.fixture
def workers():
    """A pool with two threads."""
    workers = Workers(2, "worker")
    yield workers
    workers.shutdown()


def test_work_returns_its_result(workers):
    """Arguments are passed on."""
    assert 8 == workers.submit(pow, 2, exp=3).result(60)


def test_work_raises_its_error(workers):
    """Any exception is raised, even a BaseException."""
    error = KeyboardInterrupt()

    def fail() -> None:
        raise error

    assert error is workers.submit(fail).exception(60)
    assert 1 == workers.submit(abs, -1).result(60)


def test_no_more_threads_than_allowed(workers):
    """The third piece of work waits for one of the first two."""
    both = threading.Barrier(3)
    first = [workers.submit(both.wait, 60) for _ in range(2)]
    third = workers.submit(threading.get_ident)

    assert not third.done()
    both.wait(60)

    assert {0, 1, 2} >= {future.result(60) for future in first}
    assert third.result(60)
    assert 2 == sum(t.name == "worker" for t in threading.enumerate())


def test_an_idle_thread_is_used_again(workers):
    """Successive pieces of work need one thread."""
    first = workers.submit(threading.get_ident).result(60)
    while not workers._idle:
        pass

    assert first == workers.submit(threading.get_ident).result(60)


def test_threads_are_daemons(workers):
    """They never keep Python alive."""
    assert workers.submit(lambda: threading.current_thread().daemon).result(60)


def test_it_knows_its_threads(workers):
    """Work need not wait for itself."""
    thread = workers.submit(threading.current_thread).result(60)

    assert workers.has(thread)
    assert not workers.has(threading.current_thread())


def test_shutdown_ends_idle_threads(workers):
    """They have ended when it returns; further work is refused."""
    thread = workers.submit(threading.current_thread).result(60)
    assert until(lambda: workers._idle)

    workers.shutdown()

    assert not thread.is_alive()
    with pytest.raises(RuntimeError, match=r"after shutdown$"):
        workers.submit(abs, -1)


def test_what_a_shutdown_drops_may_end_with_an_error_of_its_own():
    """Waiting and later callers get the error."""
    workers = Workers(1, "worker", ServerClosedError)
    began, go_on = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        go_on.wait(60)

    running = workers.submit(work)
    waiting = workers.submit(abs, -1)
    assert began.wait(60)
    workers.shutdown(cancel_futures=True)

    with pytest.raises(ServerClosedError):
        waiting.result(60)
    with pytest.raises(ServerClosedError):
        workers.submit(abs, -1)
    go_on.set()
    assert running.result(60) is None


def test_shutdown_drops_what_has_not_begun():
    """A busy thread ends with its work."""
    workers = Workers(1, "worker")
    began, go_on = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        go_on.wait(60)

    running = workers.submit(work)
    waiting = workers.submit(abs, -1)
    assert began.wait(60)

    workers.shutdown(cancel_futures=True)

    assert waiting.cancelled()
    assert not running.done()
    go_on.set()
    assert running.result(60) is None


def test_work_that_finds_no_thread_is_refused_and_never_done(workers):
    """The error names the missing resource; later work has a thread again."""
    done = []
    with (
        no_thread_starts(),
        pytest.raises(OutOfResourcesError, match="no thread can be started"),
    ):
        workers.submit(done.append, "refused")

    workers.submit(done.append, "later").result(60)
    assert ["later"] == done


def test_an_idle_thread_serves_where_no_other_can_start(workers):
    """Only work that needs a new thread is refused."""
    workers.submit(abs, 1).result(60)
    assert until(lambda: bool(workers._idle))

    with no_thread_starts():
        assert 2 == workers.submit(abs, -2).result(60)


def test_a_pool_closes_after_a_thread_could_not_start(workers):
    """The pool does not wait for a thread that never ran."""
    with no_thread_starts(), pytest.raises(OutOfResourcesError):
        workers.submit(abs, 1)

    workers.shutdown()

    assert 0 == len(workers._all)


def test_kept_threads_take_what_no_new_thread_can_do():
    """Their work is short, so it waits instead of being refused."""
    workers = Workers(4, "worker", keep_idle=1)
    workers.start()
    go_on = threading.Event()
    with no_thread_starts():
        first = workers.submit(go_on.wait, 60)
        others = [workers.submit(abs, -n) for n in range(3)]
        go_on.set()

        assert first.result(60)
        assert [0, 1, 2] == [future.result(60) for future in others]
    assert 1 == len(workers._all)
    workers.shutdown()


def test_a_kept_thread_that_cannot_start_is_an_error():
    """The error comes at the start, not later."""
    workers = Workers(4, "worker", keep_idle=1)

    with no_thread_starts(), pytest.raises(OutOfResourcesError):
        workers.start()
    workers.shutdown()


def test_a_pool_shrinks_again(monkeypatch):
    """Idle threads end, except those that are kept."""
    monkeypatch.setattr(module, "IDLE_S", 0.02)
    workers = Workers(8, "worker", keep_idle=1)
    together = threading.Barrier(8)
    for future in [workers.submit(together.wait, 60) for _ in range(8)]:
        future.result(60)

    assert until(lambda: 1 == len(workers._all))
    assert 3 == workers.submit(abs, -3).result(60)
    workers.shutdown()


def test_one_key_leaves_threads_to_others():
    """Its work waits while that of other keys runs."""
    workers = Workers(4, "worker")
    go_on = threading.Event()
    hog = [workers.submit_for("hog", go_on.wait) for _ in range(8)]

    assert 5 == workers.submit_for("other", lambda: 5).result(60)
    assert until(lambda: 2 == len(workers._all) - len(workers._idle))
    go_on.set()
    assert every(future.result(60) for future in hog)
    workers.shutdown()


def test_dropped_work_of_a_key_is_not_done():
    """A pool that is shut down drops waiting work."""
    workers = Workers(2, "worker")
    go_on = threading.Event()
    running = workers.submit_for("hog", go_on.wait)
    waiting = workers.submit_for("hog", lambda: None)
    workers.shutdown(cancel_futures=True)
    go_on.set()

    assert waiting.cancelled()
    assert running.result(60)


def test_a_claimed_thread_does_one_piece_of_work(workers):
    """Afterwards it serves the pool."""
    first, second = workers.claim(), workers.claim()
    assert first is not None
    assert second is not None
    assert workers.claim() is None

    assert 8 == first.submit(pow, 2, exp=3).result(60)
    assert 9 == second.submit(pow, 3, exp=2).result(60)
    assert until(lambda: 2 == len(workers._idle))
    assert 1 == workers.submit(abs, -1).result(60)


def test_no_thread_is_claimed_where_none_can_start(workers):
    """The slot is not lost."""
    for _ in range(3):
        with no_thread_starts(), pytest.raises(OutOfResourcesError):
            workers.claim()

    claimed = workers.claim()
    assert claimed is not None
    assert 1 == claimed.submit(abs, -1).result(60)


def test_a_thread_that_was_taken_and_got_no_work_ends_with_its_pool(
    workers, monkeypatch
):
    """Ctrl-C may come in between, on the thread that has work."""
    monkeypatch.setattr(module, "IDLE_S", 0.02)
    taken = workers.claim()
    workers.shutdown()

    assert until(lambda: not taken.thread.is_alive())
    assert 0 == len(workers._all)
