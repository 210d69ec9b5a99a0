"""One real tritonserver process: started, waited for, and always stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from blsnb.parity.environment import TritonEnv

READY_S = 60.0
STOP_S = 10.0
SHARED_MEMORY = Path("/dev/shm")


class ServerDiedError(Exception):
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
    """

    def __init__(
        self,
        env: TritonEnv,
        repository: Path,
        log: Path,
        arguments: Sequence[str] = (),
    ) -> None:
        self.log = log
        grpc_port, http_port, metrics_port = free_ports(3)
        self.grpc_port, self.http_port = grpc_port, http_port
        self.metrics_port = metrics_port
        self._memory = f"blsnb_{os.getpid()}_{grpc_port}_"
        command = [
            *die_with_us(),
            env.server,
            f"--model-repository={repository}",
            f"--backend-directory={env.backends}",
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
        with log.open("wb") as output:
            # A group of its own: the model processes are the server's children.
            self._process = subprocess.Popen(
                command,
                env=env.variables(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._channel = grpc.insecure_channel(
            f"127.0.0.1:{grpc_port}",
            options=[("grpc.max_receive_message_length", -1)],
        )
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
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

    def close(self) -> None:
        """Ask the process to end, then kill it and every model process it left."""
        self._channel.close()
        if self.alive:
            self._process.terminate()
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        # Some shutdowns leave model processes; they are in the server's group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        # Who is killed leaves its shared memory.
        for region in SHARED_MEMORY.glob(f"{self._memory}*"):
            region.unlink(missing_ok=True)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            if not self.alive:
                raise ServerDiedError(self._last_words())
            try:
                grpc.channel_ready_future(self._channel).result(timeout=0.25)
                if self.stub.ServerReady(pb.ServerReadyRequest(), timeout=5).ready:
                    return
            except (grpc.FutureTimeoutError, grpc.RpcError):
                continue
        raise ServerDiedError(f"not ready after {READY_S:.0f} s\n{self._last_words()}")

    def _last_words(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


def die_with_us() -> list[str]:
    """Return the prefix by which a command ends when this process is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
