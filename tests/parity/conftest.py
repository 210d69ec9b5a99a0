"""A real server and a blsnb server with the same models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conformance.reference import real_environment
from restarting_server import RestartingServer

from blsnb.inference_server import Server
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import TritonServer

from . import models


@pytest.fixture(scope="session")
def real() -> TritonEnv:
    """The installed real server of this checkout."""
    return real_environment()


@pytest.fixture(scope="module")
def real_server(
    real: TritonEnv, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RestartingServer]:
    """A real server with the models."""
    folder = tmp_path_factory.mktemp("parity")
    models.write(folder / "models")
    arguments = ["--disable-auto-complete-config"]
    real_server = RestartingServer(
        lambda: TritonServer(real, folder / "models", folder / "log", arguments),
        *models.SOURCES,
    )
    try:
        yield real_server
    finally:
        real_server.close()


@pytest.fixture
def address(real_server: RestartingServer) -> str:
    """The address of the real server."""
    return real_server.address


@pytest.fixture
def ours() -> Iterator[Server]:
    """A blsnb server with the models."""
    with Server(triton_release="24.10") as server:
        models.define(server)
        yield server
