"""TritonServer: one real tritonserver process; started, waited for, always stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from blsnb.errors import TritonServerError
from blsnb.files.owned import Creator
from blsnb.parity.triton.environment import TritonEnv
from blsnb.parity.triton.ports import free_ports
from blsnb.parity.triton.stale_files import owned, remove_leftovers

READY_S = 60.0
STOP_S = 10.0
_LOOK_S = 0.05
SHARED_MEMORY = Path("/dev/shm")
ANY_SIZE = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
]
_LAST_WORDS = 4000
_MEMORY = "blsnb_"

Tick = Callable[[], None]


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
        Seconds that it has to become ready.
    tick
        Called now and then while it does.

    Raises
    ------
    ServerDiedError
        It ended, or was not ready in time.
    TritonServerError
        It cannot be executed.
    """

    def __init__(
        self,
        env: TritonEnv,
        repository: Path,
        log: Path,
        arguments: Sequence[str] = (),
        *,
        ready_s: float = READY_S,
        tick: Tick = lambda: None,
    ) -> None:
        self.log = log
        self._creator = Creator()
        remove_leftovers(SHARED_MEMORY, _MEMORY)
        grpc_port, http_port, metrics_port = free_ports(3)
        self.grpc_port, self.http_port = grpc_port, http_port
        self.metrics_port = metrics_port
        self._memory = f"{owned(_MEMORY)}{grpc_port}_"
        command = [
            *die_with_us(),
            env.server,
            f"--model-repository={repository}",
            *([f"--backend-directory={env.backends}"] if env.backends else []),
            f"--backend-config=python,shm-region-prefix-name={self._memory}",
            "--model-control-mode=explicit",
            "--grpc-address=127.0.0.1",
            f"--grpc-port={grpc_port}",
            "--http-address=127.0.0.1",
            f"--http-port={http_port}",
            "--metrics-address=127.0.0.1",
            f"--metrics-port={metrics_port}",
            "--exit-timeout-secs=2",
            *arguments,
        ]
        self._process = _start(command, env, log)
        self._channel = grpc.insecure_channel(
            f"127.0.0.1:{grpc_port}", options=ANY_SIZE
        )
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
        try:
            self._wait_until_ready(ready_s, tick)
        except BaseException:
            self.kill()
            raise

    def __repr__(self) -> str:
        return f"TritonServer(pid={self._process.pid}, grpc_port={self.grpc_port})"

    @property
    def pid(self) -> int:
        """Of the process, which leads the group of those that it starts."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    def version(self) -> str:
        """Return the server's own version, such as ``2.51.0``."""
        return str(self.stub.ServerMetadata(pb.ServerMetadataRequest()).version)

    def last_words(self) -> str:
        """Return the end of what it has written."""
        return self.log.read_text(errors="replace")[-_LAST_WORDS:]

    def close(self) -> None:
        """Ask the process to end, then kill it and every model process it left."""
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
        """End the process and its model processes at once; a forked child may not."""
        if not self._creator.is_current_process:
            return
        self._channel.close()
        # Some shutdowns leave model processes; they are in the server's group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        # Who is killed leaves its shared memory.
        for region in SHARED_MEMORY.glob(f"{self._memory}*"):
            region.unlink(missing_ok=True)

    def _wait_until_ready(self, ready_s: float, tick: Tick) -> None:
        deadline = time.monotonic() + ready_s
        while time.monotonic() < deadline:
            tick()
            if not self.alive:
                raise ServerDiedError(
                    f"the server ended with status {self._process.returncode} before "
                    "it was ready; its last lines:",
                    self.last_words(),
                )
            if self._listens() and self._says_ready():
                return
        raise ServerDiedError(
            f"the server was not ready after {ready_s:g} s; its last lines:",
            self.last_words(),
        )

    def _says_ready(self) -> bool:
        try:
            return bool(self.stub.ServerReady(pb.ServerReadyRequest(), timeout=5).ready)
        except grpc.RpcError:
            return False

    def _listens(self) -> bool:
        """Tell whether all end points are open: it opens gRPC before the others."""
        for port in (self.grpc_port, self.http_port, self.metrics_port):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
            except OSError:
                time.sleep(_LOOK_S)
                return False
        return True


def _start(command: list[str], env: TritonEnv, log: Path) -> subprocess.Popen[Any]:
    with log.open("wb") as output:
        try:
            # A group of its own: the model processes are the server's children, and
            # Ctrl-C is not for them.
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


def die_with_us() -> list[str]:
    """Return the prefix by which a command ends when this process is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
