"""Daemon threads that take work in turn."""

from __future__ import annotations

import threading

import pytest

from blsnb.engine.workers import Workers
from blsnb.errors import ServerClosedError


@pytest.fixture
def workers():
    """Two threads."""
    workers = Workers(2, "worker")
    yield workers
    workers.shutdown()


def test_work_gives_its_result(workers):
    """Arguments are passed on."""
    assert 8 == workers.submit(pow, 2, exp=3).result(60)


def test_work_gives_its_error(workers):
    """Whatever it raises, also what is no Exception."""
    error = KeyboardInterrupt()

    def fail() -> None:
        raise error

    assert error is workers.submit(fail).exception(60)
    assert 1 == workers.submit(abs, -1).result(60)


def test_no_more_threads_than_allowed(workers):
    """The third piece waits for one of the first two."""
    both = threading.Barrier(3)
    first = [workers.submit(both.wait, 60) for _ in range(2)]
    third = workers.submit(threading.get_ident)

    assert not third.done()
    both.wait(60)

    assert {0, 1, 2} >= {future.result(60) for future in first}
    assert third.result(60)
    assert 2 == sum(t.name == "worker" for t in threading.enumerate())


def test_an_idle_thread_is_used_again(workers):
    """One piece after another needs one thread."""
    first = workers.submit(threading.get_ident).result(60)
    while workers._busy:
        pass
    workers._idle.acquire()
    workers._idle.release()

    assert first == workers.submit(threading.get_ident).result(60)


def test_threads_are_daemons(workers):
    """They never keep Python alive."""
    assert workers.submit(lambda: threading.current_thread().daemon).result(60)


def test_it_knows_its_threads(workers):
    """So that work need not wait for itself."""
    thread = workers.submit(threading.current_thread).result(60)

    assert workers.has(thread)
    assert not workers.has(threading.current_thread())


def test_shutdown_ends_idle_threads(workers):
    """They are gone when it returns; more work is refused."""
    thread = workers.submit(threading.current_thread).result(60)

    workers.shutdown()

    thread.join(60)
    assert not thread.is_alive()
    with pytest.raises(RuntimeError, match="after shutdown"):
        workers.submit(abs, -1)


def test_what_a_shutdown_drops_may_end_with_an_error_of_its_own():
    """Who waits for it is told that, and so is who comes later."""
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
    """A busy thread is left behind and ends with its work."""
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
