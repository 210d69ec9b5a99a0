"""The process of a real server: what does not start says why, and leaves nothing."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

from blsnb.errors import TritonServerError
from blsnb.parity.triton import server_process
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import ServerDiedError, TritonServer

WITHOUT_METRICS = """
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc


class Ready(service_pb2_grpc.GRPCInferenceServiceServicer):
    def ServerReady(self, request, context):
        return service_pb2.ServerReadyResponse(ready=True)


given = dict(each[2:].split("=", 1) for each in sys.argv if "=" in each)
server = grpc.server(ThreadPoolExecutor(1))
service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(Ready(), server)
server.add_insecure_port("127.0.0.1:" + given["grpc-port"])
server.start()
opened = socket.create_server(("127.0.0.1", int(given["http-port"])))
server.wait_for_termination()
"""


def pretend(folder: Path, script: str) -> TritonEnv:
    """Return a server that is a shell script."""
    server = folder / "tritonserver"
    server.write_text(f"#!/bin/sh\n{script}\n")
    server.chmod(0o755)
    return TritonEnv(str(server), "", sys.executable, "", "pretended")


def start(env: TritonEnv, folder: Path, **how) -> None:
    """Start it, and stop it if it starts."""
    TritonServer(env, folder, folder / "log", **how).close()


def test_a_server_that_ends_says_its_last_lines(tmp_path):
    """And its exit status."""
    env = pretend(tmp_path, "echo 'error: no such disk'; exit 3")
    with pytest.raises(ServerDiedError) as died:
        start(env, tmp_path)

    assert "ended with status 3" in died.value.message
    assert "error: no such disk\n" == died.value.log


def test_a_server_that_never_becomes_ready_is_killed(tmp_path):
    """With the processes that it has started."""
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    env = pretend(tmp_path, f"exec 3> {tmp_path}/held; echo . >&3; sleep 600 & wait")
    ticks = []
    with pytest.raises(ServerDiedError, match=r"not ready after 0\.5 s"):
        start(env, tmp_path, ready_s=0.5, tick=lambda: ticks.append(1))

    assert ticks
    assert b".\n" == os.read(held, 10)
    # Its end comes when the last of those who could write has ended.
    assert ([held], [], []) == select.select([held], [], [], 10)
    assert b"" == os.read(held, 10)
    os.close(held)


def test_a_server_is_ready_when_its_last_end_point_is_open(tmp_path):
    """Triton opens HTTP and metrics after gRPC, which already says that it is ready."""
    (tmp_path / "server.py").write_text(WITHOUT_METRICS)
    env = pretend(tmp_path, f'exec {sys.executable} {tmp_path}/server.py "$@"')
    with pytest.raises(ServerDiedError, match="not ready"):
        start(env, tmp_path, ready_s=3)


def test_an_interrupt_ends_the_wait_and_the_server(tmp_path):
    """At once: nobody waits for a server that nobody waits for."""
    env = pretend(tmp_path, f"echo $$ > {tmp_path}/own; exec sleep 600")

    def interrupt() -> None:
        if (tmp_path / "own").exists() and (tmp_path / "own").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(env, tmp_path, tick=interrupt)
    assert not Path(f"/proc/{(tmp_path / 'own').read_text().strip()}").exists()


def test_what_cannot_be_executed_is_told(tmp_path, monkeypatch):
    """By its path."""
    env = TritonEnv(str(tmp_path / "none"), "", sys.executable, "", "none")
    monkeypatch.setattr(server_process, "die_with_us", list)
    with pytest.raises(TritonServerError, match="none cannot be run"):
        start(env, tmp_path)
