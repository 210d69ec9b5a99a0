"""Ctrl-C, as a terminal or a notebook sends it."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import stage
from devices import RUNTIMES, library

from blsnb.inference_server import Server

from .clients import Clients
from .pools import Pools


class Interrupt:
    """Ctrl-C once a model is at work, and the time until the prompt is back."""

    def __init__(self) -> None:
        self.pressed_s = 0.0
        self._threads: list[threading.Thread] = []

    def press(self, event: str = "asleep", delay_s: float = 0.05) -> None:
        """Interrupt the main thread shortly after a model has set an event."""

        def wait() -> None:
            stage.events[event].wait(10)
            time.sleep(delay_s)
            self.pressed_s = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

        self._threads.append(threading.Thread(target=wait))
        self._threads[-1].start()

    def expect(self, call: Callable[[], object], event: str = "asleep") -> None:
        """Press during a call, which must end with KeyboardInterrupt, and soon."""
        self.press(event)
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - self.pressed_s < 1

    def join(self) -> None:
        """Wait for what was pressed."""
        for thread in self._threads:
            thread.join()


@pytest.fixture
def ctrl_c() -> Iterator[Interrupt]:
    """Ctrl-C as a terminal or a notebook sends it."""
    interrupt = Interrupt()
    # Python itself swallows what is raised in a weak reference's callback.
    gc.collect()
    gc.disable()
    yield interrupt
    gc.enable()
    interrupt.join()


@pytest.fixture
def clients(server):
    """Some threads."""
    with ThreadPoolExecutor(16) as pool:
        yield Clients(server, pool)
        stage.events["go"].set()


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> Pools:
    """Pools to fill; none waits long for an instance that was left behind."""
    monkeypatch.setattr("blsnb.engine.pool._COMES_BACK_S", 0.001)
    return Pools()


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    """The name of a runtime with a device, whose arrays models find on the stage."""
    stage.values["xp"] = library(request.param)
    return request.param


@pytest.fixture
def xp(runtime):
    """The library of its arrays."""
    return stage.values["xp"]


@pytest.fixture
def device(runtime):
    """A server with a device."""
    with Server(runtime=runtime) as server:
        yield server
        stage.clear()
