"""One tritonserver process: started on free ports, awaited, always stopped."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from blsnb.backends.remote_messages import channel_to
from blsnb.errors import TritonServerError
from blsnb.files.interrupts import uninterrupted
from blsnb.files.owned import Creator, remove
from blsnb.parity.triton.environment import TritonEnv

READY_S, STOP_S = 60.0, 10.0
"""Maximum seconds until a server is ready, and until it has ended, also once killed."""
LOOPBACK = "127.0.0.1"
SHARED_MEMORY = Path("/dev/shm")
_POLL_S = 0.05
_LOG_END = 4000
"""Characters at the end of the log that an error contains."""
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST_PORT = 20_000
_MIN_PORTS = 1_000
"""Minimum size of the range from which ports are drawn."""
_random = random.SystemRandom()


class ServerDiedError(TritonServerError):
    """The server process ended or never became ready; the text holds its log."""


class TritonServer:
    """A tritonserver on free loopback ports, in explicit model control mode.

    Parameters
    ----------
    env
        The installation to run.
    repository
        Folder that holds the model folders.
    log
        File that receives everything the server and its models print.
    arguments
        Further arguments of the command.
    ready_s
        Maximum time until the server is ready, in seconds.

    Raises
    ------
    ServerDiedError
        The server ended, or was not ready in time.
    TritonServerError
        The program cannot be executed.
    """

    _process: subprocess.Popen[Any]

    def __init__(
        self,
        env: TritonEnv,
        repository: Path,
        log: Path,
        arguments: Sequence[str] = (),
        *,
        ready_s: float = READY_S,
    ) -> None:
        self.log = log
        self._creator = Creator()
        remove_stale_memory(SHARED_MEMORY)
        self.grpc_port, self.http_port, self.metrics_port = free_ports(3)
        self._memory = f"{memory_prefix()}{self.grpc_port}_"
        backends = [f"--backend-directory={env.backends}"] if env.backends else []
        command = [
            *die_with_parent(),
            env.server,
            f"--model-repository={repository}",
            *backends,
            f"--backend-config=python,shm-region-prefix-name={self._memory}",
            "--model-control-mode=explicit",
            f"--grpc-address={LOOPBACK}",
            f"--grpc-port={self.grpc_port}",
            f"--http-address={LOOPBACK}",
            f"--http-port={self.http_port}",
            f"--metrics-address={LOOPBACK}",
            f"--metrics-port={self.metrics_port}",
            "--exit-timeout-secs=2",
            *arguments,
        ]
        self._channel = channel_to(f"{LOOPBACK}:{self.grpc_port}")
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
        try:
            # An interrupt must not lose a process that was just started.
            uninterrupted(lambda: self._start(command, env))
            self._wait_until_ready(ready_s)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """Id of the process, and of its process group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    def version(self) -> str:
        """Return the server's own version, such as ``2.51.0``."""
        return str(self.stub.ServerMetadata(pb.ServerMetadataRequest()).version)

    def log_end(self) -> str:
        """Return the end of the server's log."""
        return self.log.read_text(errors="replace")[-_LOG_END:]

    def close(self) -> None:
        """Terminate the server gracefully, then kill it and its model processes."""
        if not self._creator.is_current_process:
            return
        try:
            if self.alive:
                self._process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(STOP_S)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the server and its model processes; does nothing in a forked child."""
        if not self._creator.is_current_process:
            return
        self._channel.close()
        if not hasattr(self, "_process"):
            return
        # Some shutdowns leave model processes; they are in the server's group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        # A process that waits for a device ends when its kernel lets it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)
        # A killed process leaves its shared memory.
        for region in SHARED_MEMORY.glob(f"{self._memory}*"):
            region.unlink(missing_ok=True)

    def _start(self, command: list[str], env: TritonEnv) -> None:
        self._process = _start(command, env, self.log)

    def _wait_until_ready(self, ready_s: float) -> None:
        deadline = time.monotonic() + ready_s
        while time.monotonic() < deadline:
            if not self.alive:
                raise ServerDiedError(
                    f"the server ended with status {self._process.returncode} before "
                    "it was ready; its last lines:",
                    self.log_end(),
                )
            if self._listens() and self._is_ready():
                return
            time.sleep(_POLL_S)
        raise ServerDiedError(
            f"the server was not ready after {ready_s:g} s; its last lines:",
            self.log_end(),
        )

    def _is_ready(self) -> bool:
        try:
            return bool(self.stub.ServerReady(pb.ServerReadyRequest(), timeout=5).ready)
        except grpc.RpcError:
            return False

    def _listens(self) -> bool:
        """Whether all end points are open: gRPC opens before the others."""
        for port in (self.grpc_port, self.http_port, self.metrics_port):
            try:
                socket.create_connection((LOOPBACK, port), timeout=5).close()
            except OSError:
                return False
        return True


def _start(command: list[str], env: TritonEnv, log: Path) -> subprocess.Popen[Any]:
    with log.open("wb") as output:
        try:
            # A process group of its own: model processes are the server's children,
            # and Ctrl-C in the terminal must not reach them.
            return subprocess.Popen(
                command,
                env=env.variables(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise TritonServerError(f"{env.server} cannot be run: {error}") from error


def die_with_parent() -> list[str]:
    """Return a command prefix that kills the command when this process is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def free_ports(count: int) -> list[int]:
    """Return ports that are free, and likely to be free when the server binds them.

    They are below the system's ephemeral range, from which a client could take one
    while the server starts.
    """
    first_ephemeral = _first_ephemeral_port()
    if first_ephemeral < _LOWEST_PORT + _MIN_PORTS:
        return _ephemeral_ports(count)
    candidates = range(_LOWEST_PORT, first_ephemeral)
    shuffled = _random.sample(candidates, len(candidates))
    free = list(itertools.islice(filter(_is_free, shuffled), count))
    return free if len(free) == count else _ephemeral_ports(count)


def _first_ephemeral_port() -> int:
    """Return the lowest ephemeral port; 0 if the system does not publish it."""
    try:
        return int(_EPHEMERAL.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _ephemeral_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as opened:
        probes = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in probes:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in probes]


def memory_prefix() -> str:
    """Return the first part of names of shared memory that this process will remove."""
    return f"{_namespace_prefix()}{os.getpid()}_"


def remove_stale_memory(folder: Path) -> None:
    """Remove the shared memory of servers whose starting process was killed."""
    prefix = _namespace_prefix()
    for path in folder.glob(f"{prefix}*"):
        owner = path.name.removeprefix(prefix).partition("_")[0]
        if owner.isdecimal() and not _is_running(int(owner)):
            remove(path)


def _namespace_prefix() -> str:
    try:
        # Containers may share /dev/shm, but process ids differ by namespace.
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    return f"blsnb_{namespace}_"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
