"""The outcome of work on another thread, and work that its caller has left."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from blsnb.engine.threads import outcome as outcomes
from blsnb.engine.threads.outcome import Abandoned, Outcome, ends_soon


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


def test_the_result_of_work_is_kept():
    """The thread is known while it works, and the waiting one is woken."""
    outcome, threads = Outcome(), []
    assert not outcome.is_interrupted
    assert not outcome.is_done_within(0)

    def work() -> str:
        threads.append(outcome.thread_id)
        return "result"

    outcome.settle(work)

    assert [threading.get_ident()] == threads
    assert (0, "result", None) == (outcome.thread_id, outcome.get(), outcome.error)
    assert outcome.waiter.wait(0)
    assert outcome.is_done_within(0)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_the_error_of_work_is_kept(kind):
    """Any exception is one."""
    outcome, error = Outcome(), kind("no")

    def work() -> None:
        raise error

    outcome.settle(work)

    with pytest.raises(kind) as caught:
        outcome.get()
    assert error is caught.value is outcome.error
    assert outcome.is_done_within(0)


def test_a_woken_waiter_does_not_mean_that_the_work_is_done():
    """The end of a request wakes it, too."""
    outcome = Outcome()
    outcome.waiter.wake()

    assert not outcome.is_done_within(0)


def test_the_function_is_called_once_when_the_work_is_done():
    """It is called at once if it is done before; the latest one counts."""
    outcome, seen = Outcome(), []
    outcome.then(lambda: seen.append("replaced"))
    outcome.then(lambda: seen.append("then"))
    assert [] == seen
    outcome.settle(lambda: None)
    assert ["then"] == seen
    outcome.then(lambda: seen.append("now"))
    assert ["then", "now"] == seen


def test_work_that_ends_with_the_first_interrupt_is_waited_for():
    """It is not interrupted again."""
    outcome, seen = Outcome(), []

    def interrupt(is_repeated: bool) -> None:
        seen.append(is_repeated)
        outcome.settle(lambda: None)

    assert ends_soon(outcome, interrupt) is True
    assert [False] == seen


def test_work_that_does_not_end_is_interrupted_again(monkeypatch):
    """After 600 ms it is left."""
    assert 600_000_000 == outcomes._INTERRUPTED_NS
    now_ns = iter(range(0, 10**9, 100_000_000))
    clock = SimpleNamespace(monotonic_ns=lambda: next(now_ns))
    monkeypatch.setattr(outcomes, "time", clock)
    outcome, seen, pauses = Outcome(), [], []
    monkeypatch.setattr(outcome, "is_done_within", lambda s: bool(pauses.append(s)))

    assert ends_soon(outcome, seen.append) is False
    assert [False, True, True, True, True] == seen
    assert pauses == pytest.approx([0.3, 0.2, 0.1, 0.02, 0.02, 0.02, 0])


def test_a_further_ctrl_c_ends_the_wait():
    """The work may have ended nevertheless."""
    outcome = Outcome()

    def interrupt(_: bool) -> None:
        raise KeyboardInterrupt

    assert ends_soon(outcome, interrupt) is False
    outcome.settle(lambda: None)
    assert ends_soon(outcome, interrupt) is True
