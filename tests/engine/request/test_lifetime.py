"""The lifetime of a client request: its end, its deadline, and waits for it."""

from __future__ import annotations

import _signal
import contextlib
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest
import stage

from blsnb.engine.request import interrupts, lifetime, open_requests
from blsnb.engine.request.interrupts import Repeater
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.open_requests import interruptible
from blsnb.engine.threads.waiter import Waiter
from blsnb.errors import RequestInterrupted, WouldHang
from blsnb.trace.run_record import RunRecord


def folders() -> list[Path]:
    """Return the folders of models."""
    return [Path("/models")]


@pytest.fixture
def root() -> RootRequest:
    """A request that has not ended."""
    root = RootRequest(RunRecord("1"), 60)
    root.folders = folders
    return root


def is_repeated() -> bool:
    """Return whether any thread repeats Ctrl-C."""
    running = sys._current_frames().values()
    return any(
        frame.f_code is Repeater._run.__code__
        for each in running
        for frame, _ in traceback.walk_stack(each)
    )


def test_a_running_request_passes_its_checks(root):
    """A check does nothing."""
    root.check()

    assert not root.cancelled


def test_an_ended_request_leaves_model_code(root):
    """The BaseException is not caught by ``except Exception``."""
    root.end(KeyboardInterrupt())

    with pytest.raises(Unwind):
        root.check()
    assert root.cancelled
    assert not issubclass(Unwind, Exception)


def test_only_after_ctrl_c_a_model_may_clean_up_for_300_ms(root, monkeypatch):
    """Its logs and responses then end it."""
    now_ns = [1_000_000_000]
    clock = SimpleNamespace(now_ns=lambda: now_ns[0])
    monkeypatch.setattr(lifetime, "CLOCK", clock)
    root.check_after_grace()
    root.end(RequestInterrupted())

    now_ns[0] += 300_000_000
    root.check_after_grace()
    now_ns[0] += 1
    with pytest.raises(Unwind):
        root.check_after_grace()
    hanging = RootRequest(RunRecord("2"), 60)
    hanging.end(WouldHang("why"))
    with pytest.raises(Unwind):
        hanging.check_after_grace()


def test_the_first_reason_counts(root):
    """A hang that is found while Ctrl-C unwinds does not replace it."""
    first = KeyboardInterrupt()
    root.end(first)
    root.end(ValueError())

    assert first is root.ended


def test_ending_wakes_every_wait(root):
    """All waiting threads are woken."""
    ended: list[str] = []

    def wait() -> None:
        try:
            root.wait(Waiter())
        except Unwind:
            ended.append("unwound")

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(root._waiters) < 3:
        pass
    root.end(KeyboardInterrupt())
    for thread in threads:
        thread.join()

    assert ["unwound"] * 3 == ended


def test_a_wait_after_the_end_returns_at_once(root):
    """No wake-up is lost between the two."""
    root.end(KeyboardInterrupt())

    with pytest.raises(Unwind):
        root.wait(Waiter())
    assert set() == root._waiters


def test_a_wait_is_reported_once_and_continues():
    """A long wait is reported, and continues until it is woken."""
    root = RootRequest(RunRecord("1"), 0.001)
    waiter = Waiter()
    told: list[float] = []

    def notice(seconds: float) -> None:
        told.append(seconds)
        waiter.wake()

    root.wait(waiter, notice)

    assert [0.001] == told


def test_the_deadline_cancels_and_does_not_interrupt():
    """The model can check for it; nothing is raised."""
    root = RootRequest(RunRecord("1"), 60, time.monotonic_ns() - 1)

    root.check()

    assert root.cancelled


def test_an_interrupt_in_the_users_code_is_raised(root):
    """Outside the engine it is a KeyboardInterrupt that ends the request."""
    left_at = 0
    with interruptible(root, RootRequest.complete):
        signal.raise_signal(signal.SIGINT)
        left_at += 1

    assert 0 == left_at
    with pytest.raises(KeyboardInterrupt):
        root.raise_ended()


@pytest.mark.parametrize(
    ("module", "name"),
    [(open_requests, "InterruptHandler"), (interrupts, "Waiter")],
    ids=["handler made", "thread started"],
)
def test_ctrl_c_within_the_handler_of_another_is_repeated_by_one_thread(
    root, monkeypatch, module, name
):
    """That thread has ended with the request: later code is not interrupted."""
    usual, presses = getattr(module, name), iter([signal.SIGINT])

    def pressed(*arguments: object) -> object:
        for number in presses:
            signal.raise_signal(number)
        return usual(*arguments)

    with interruptible(root, RootRequest.complete):
        monkeypatch.setattr(module, name, pressed)
        signal.raise_signal(signal.SIGINT)

    assert isinstance(root.ended, KeyboardInterrupt)
    assert not is_repeated()


def test_ctrl_c_in_the_last_line_of_a_request_is_not_repeated(root, monkeypatch):
    """The handler is still there, and the request has closed what it knew of."""
    usual = _signal.getsignal

    def pressed(number: int) -> object:
        signal.raise_signal(number)
        return usual(number)

    with interruptible(root, RootRequest.complete):
        monkeypatch.setattr(_signal, "getsignal", pressed)

    assert isinstance(root.ended, KeyboardInterrupt)
    assert not is_repeated()


def test_another_interrupt_than_ctrl_c_passes(root):
    """A model that raises it itself does not end the request."""
    with pytest.raises(KeyboardInterrupt), interruptible(root, RootRequest.complete):
        raise KeyboardInterrupt

    assert root.ended is None


@pytest.mark.parametrize("has_response", [True, False])
def test_only_a_hang_lets_a_client_read_what_came_before(root, has_response):
    """Every other end is raised at once."""
    root.end(WouldHang("nobody answers"))

    with pytest.raises(WouldHang) if not has_response else contextlib.nullcontext():
        root.raise_ended(has_response=has_response)


def test_ctrl_c_is_raised_whatever_came_before(root):
    """An earlier response does not prevent it."""
    root.end(KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        root.raise_ended(has_response=True)


def test_an_interrupt_in_the_engine_is_noted(root, ctrl_c):
    """A wait is woken, and no state is left inconsistent."""
    with interruptible(root, RootRequest.complete):
        stage.events["asleep"].set()
        ctrl_c.press()
        with pytest.raises(Unwind):
            root.wait(Waiter())

    assert isinstance(root.ended, KeyboardInterrupt)


def test_another_thread_installs_no_handler(root):
    """Only the main thread receives signals."""
    before = signal.getsignal(signal.SIGINT)
    inside: list[object] = []

    def work() -> None:
        with interruptible(root, RootRequest.complete):
            inside.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert [before] == inside


def test_a_handler_that_was_installed_during_the_request_stays(root):
    """A debugger may install its own while a model runs."""
    before = signal.getsignal(signal.SIGINT)
    try:
        with interruptible(root, RootRequest.complete):
            signal.signal(signal.SIGINT, signal.SIG_IGN)

        assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
