"""The requests that a server waits for when it is closed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
from asserting import every

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.roots import Roots
from blsnb.errors import ServerClosedError
from blsnb.trace.recorder import RunRecord


def root() -> RootRequest:
    """Return the life of a request."""
    return RootRequest(RunRecord(""), 10.0)


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("restless")
def test_they_are_counted_while_others_come_and_go():
    """Those that stay are seen each time."""
    roots, over = Roots(), threading.Event()
    staying = [root() for _ in range(1000)]
    for each in staying:
        roots.add(each)

    def come_and_go() -> None:
        while not over.is_set():
            some = [root() for _ in range(20)]
            for each in some:
                roots.add(each)
            for each in some[::2]:
                roots.discard(each)

    threads = [threading.Thread(target=come_and_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        seen = [set(staying) <= set(roots.all()) for _ in range(200)]
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert every(seen)


def test_what_is_not_done_in_time_is_ended():
    """With the reason; what is done is left alone."""
    roots, done, late = Roots(), root(), root()
    roots.add(done)
    roots.add(late)
    done.done.wake()
    roots.drain(0.0)

    assert done.ended is None
    assert isinstance(late.ended, ServerClosedError)


def test_what_nobody_holds_is_forgotten():
    """It cannot be waited for."""
    roots = Roots()
    roots.add(root())

    assert [] == roots.all()
