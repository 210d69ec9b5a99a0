"""The outcome of work on another thread, and work that its caller has left."""

from __future__ import annotations

from blsnb.engine.threads.outcome import Abandoned, Outcome


def test_left_work_ends_with_the_work_that_it_left():
    """An instance's own thread can leave a coroutine that continues."""
    outer, inner, ended = Outcome(), Outcome(), []
    Abandoned(outer).then(lambda: ended.append(True))

    def work() -> None:
        raise Abandoned(inner)

    outer.settle(work)
    assert [] == ended
    inner.settle(lambda: None)
    assert [True] == ended


def test_left_work_that_fails_has_ended():
    """Its own error is no reason to wait."""
    outcome, ended = Outcome(), []
    Abandoned(outcome).then(lambda: ended.append(True))

    outcome.settle(lambda: 1 / 0)

    assert [True] == ended
