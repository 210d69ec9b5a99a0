"""Processes of real servers: failures to start, their ports and shared memory."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from asserting import every

from blsnb.errors import TritonServerError
from blsnb.parity.triton import server_process
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.server_process import (
    LOOPBACK,
    ServerDiedError,
    TritonServer,
    free_ports,
    memory_prefix,
    remove_stale_memory,
)

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


NOT_READY = "^the server was not ready after {} s; its last lines:$"


def pretend(folder: Path, script: str) -> TritonEnv:
    """Return the environment of a server that is a shell script."""
    server = folder / "tritonserver"
    server.write_text(f"#!/bin/sh\n{script}\n")
    server.chmod(0o755)
    return TritonEnv(str(server), "", sys.executable, "", "pretended")


def start(env: TritonEnv, folder: Path, **how) -> None:
    """Start a server, and stop it once it is ready."""
    TritonServer(env, folder, folder / "log", **how).close()


def test_a_server_that_ends_is_reported_with_its_log(tmp_path):
    """The error contains its exit status and the end of its log."""
    env = pretend(tmp_path, "echo 'error: no such disk'; exit 3")
    with pytest.raises(ServerDiedError) as died:
        start(env, tmp_path)

    assert (
        "the server ended with status 3 before it was ready; its last lines:"
    ) == died.value.message
    assert "error: no such disk\n" == died.value.log


def test_a_server_that_does_not_become_ready_is_killed(tmp_path):
    """The processes that it started are killed, too."""
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    env = pretend(tmp_path, f"exec 3> {tmp_path}/held; echo . >&3; sleep 600 & wait")
    with pytest.raises(ServerDiedError, match=NOT_READY.format(r"0\.5")):
        start(env, tmp_path, ready_s=0.5)

    assert b".\n" == os.read(held, 10)
    # The pipe ends with the last process that could write to it.
    assert ([held], [], []) == select.select([held], [], [], 10)
    assert b"" == os.read(held, 10)
    os.close(held)


def test_a_server_is_ready_when_its_last_end_point_is_open(tmp_path):
    """Triton opens HTTP and metrics after gRPC, which already reports readiness."""
    (tmp_path / "server.py").write_text(WITHOUT_METRICS)
    env = pretend(tmp_path, f'exec {sys.executable} {tmp_path}/server.py "$@"')
    with pytest.raises(ServerDiedError, match=NOT_READY.format(3)):
        start(env, tmp_path, ready_s=3)


def test_an_interrupt_ends_the_wait_and_the_server(tmp_path, monkeypatch):
    """The server is killed without a graceful shutdown."""
    env = pretend(tmp_path, f"echo $$ > {tmp_path}/own; exec sleep 600")

    def interrupt(server: TritonServer) -> bool:
        if (tmp_path / "own").exists() and (tmp_path / "own").read_text():
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(TritonServer, "_listens", interrupt)
    with pytest.raises(KeyboardInterrupt):
        start(env, tmp_path)
    assert not Path(f"/proc/{(tmp_path / 'own').read_text().strip()}").exists()


def test_an_interrupt_while_the_process_starts_kills_it(tmp_path, monkeypatch):
    """The interrupt is delivered once the process is known."""
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(server_process.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(pretend(tmp_path, "exec sleep 600"), tmp_path)

    assert [-signal.SIGKILL] == [each.returncode for each in started]


def test_a_program_that_cannot_be_executed_is_reported(tmp_path, monkeypatch):
    """The error contains its path."""
    env = TritonEnv(str(tmp_path / "none"), "", sys.executable, "", "none")
    monkeypatch.setattr(server_process, "die_with_parent", list)
    with pytest.raises(TritonServerError, match=r"/none cannot be run: \[Errno 2\]"):
        start(env, tmp_path)


def test_free_ports_can_be_bound_and_differ():
    """All of them can be bound at once."""
    found = free_ports(20)
    probes = [socket.socket() for _ in found]
    for probe, port in zip(probes, found, strict=True):
        probe.bind((LOOPBACK, port))
        probe.close()

    assert 20 == len(set(found))


@pytest.fixture
def ephemeral(tmp_path, monkeypatch):
    """File that replaces the system's range of ephemeral ports."""
    file = tmp_path / "range"
    monkeypatch.setattr(server_process, "_EPHEMERAL", file)
    return file


def test_free_ports_are_below_the_ephemeral_range(ephemeral):
    """No client can take one by chance while a server starts."""
    ephemeral.write_text("24000\t60999\n")

    assert every(20_000 <= port < 24_000 for port in free_ports(100))


@pytest.mark.parametrize("text", [None, "", "1024 65535", "words"])
def test_ephemeral_ports_are_used_without_a_known_range_below(ephemeral, text):
    """The file is missing on other systems than Linux."""
    if text is not None:
        ephemeral.write_text(text)

    assert 5 == len(set(free_ports(5)))


def test_ports_in_use_are_skipped(ephemeral, monkeypatch):
    """Of a thousand ports the last two free ones are found."""
    taken = set(range(20_000, 21_000)) - {20_123, 20_456}
    monkeypatch.setattr(server_process, "_is_free", lambda port: port not in taken)
    ephemeral.write_text("21000 60999")

    assert {20_123, 20_456} == set(free_ports(2))
    assert 3 == len(set(free_ports(3)))


def test_a_port_that_is_bound_is_in_use():
    """Until it is closed."""
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        port = other.getsockname()[1]

        assert not server_process._is_free(port)

    assert server_process._is_free(port)


def test_linux_publishes_its_ephemeral_range():
    """Its first port is not privileged."""
    if not Path("/proc/sys").exists():
        pytest.skip("not Linux")
    assert server_process._first_ephemeral_port() > 1_000


def test_shared_memory_of_an_ended_process_is_removed(tmp_path):
    """That of running processes, and files with other names, stay."""
    command = [sys.executable, "-c", "import os; print(os.getpid())"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    mine = memory_prefix()
    stale = mine.replace(str(os.getpid()), ended.stdout.strip())
    kept = [f"{mine}8001", mine.replace(str(os.getpid()), "x"), "blsnb_7_1_1", "other"]
    for name in (f"{stale}8001", *kept):
        (tmp_path / name).touch()

    remove_stale_memory(tmp_path)

    assert sorted(kept) == sorted(each.name for each in tmp_path.iterdir())


def test_a_server_that_did_not_start_leaves_no_channel_open():
    """There is no process to end."""
    server, closed = object.__new__(TritonServer), []
    server._creator = server_process.Creator()
    server._channel = SimpleNamespace(close=lambda: closed.append("channel"))

    server.kill()

    assert ["channel"] == closed


def test_a_killed_server_is_not_awaited_forever():
    """A process that waits for a device does not end; the caller continues."""
    limits = []

    def wait(timeout: float | None = None) -> int:
        limits.append(timeout)
        raise subprocess.TimeoutExpired("tritonserver", timeout)

    server = object.__new__(TritonServer)
    server._creator, server._memory = server_process.Creator(), "blsnb_no_server_"
    server._channel = SimpleNamespace(close=lambda: None)
    # No process has this id.
    server._process = SimpleNamespace(pid=2**22 + 1, wait=wait)

    server.kill()

    assert [server_process.STOP_S] == limits
