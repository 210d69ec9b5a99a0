"""What tests of the engine get: clients, pools, devices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import stage
from devices import RUNTIMES, library

from blsnb.inference_server import Server

from .clients import Clients
from .pools import Pools


@pytest.fixture
def clients(server):
    """A thread pool for clients."""
    with ThreadPoolExecutor(16) as pool:
        yield Clients(server, pool)
        stage.events["go"].set()


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> Pools:
    """Pools of instances; an abandoned instance is replaced soon."""
    monkeypatch.setattr("blsnb.engine.instance.pool._RELEASE_S", 0.001)
    return Pools()


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    """The name of a runtime with a device, whose library models find on the stage."""
    stage.values["xp"] = library(request.param)
    return request.param


@pytest.fixture
def xp(runtime):
    """The array library of the runtime."""
    return stage.values["xp"]


@pytest.fixture
def device(runtime):
    """A server with a device."""
    with Server(runtime=runtime) as server:
        yield server
        stage.clear()
