"""A server of JupyterLab whose kernels are forks of a process with their imports.

A kernel computes for a second until it shows a run, most of it for imports. Run as a
program, with the arguments of `jupyter lab`.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import threading
import traceback
from typing import Any

IMPORTS = (
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "ipywidgets",
    "numpy",
    "blsnb.inference_server",
    "blsnb.magics.extension",
    "blsnb.views.documents.document",
)
"""What each kernel would import; only a cell loads the extension."""
_MOST_BYTES = 1 << 20
_SET_CHILD_SUBREAPER = 36


class ForkedKernel:
    """A kernel's process, with what JupyterLab's server calls of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int | None:
        """Wait for its end, and return the exit status."""
        return self._wait(0)

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def fork_kernels() -> None:
    """Start the process that forks, and let the server ask it for its kernels."""
    # Kernels become children of this process as soon as what forked them has ended.
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    server = os.getpid()
    asking, answering = socket.socketpair(type=socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        asking.close()
        fork_on_request(answering, server)
    answering.close()
    from jupyter_client.provisioning import local_provisioner

    def launch(command: list[str], *, env: dict[str, str], **given: Any) -> Any:
        cwd, env = given.get("cwd") or ".", {**env, "JPY_PARENT_PID": str(server)}
        asking.send(json.dumps([command, cwd, env]).encode())
        return ForkedKernel(int(asking.recv(_MOST_BYTES)))

    local_provisioner.launch_kernel = launch


def fork_on_request(answering: socket.socket, server: int) -> None:
    """Fork a kernel for each request, until the server has ended; does not return."""
    # Looked at when the kernel's application is imported.
    os.environ["JPY_PARENT_PID"] = str(server)
    for name in IMPORTS:
        importlib.import_module(name)
    gc.freeze()
    while request := answering.recv(_MOST_BYTES):
        if (between := os.fork()) == 0:
            try:
                if os.fork() == 0:
                    _run_kernel(answering, server, *json.loads(request))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.waitpid(between, 0)
    os._exit(0)


def _run_kernel(
    answering: socket.socket,
    server: int,
    command: list[str],
    cwd: str,
    env: dict[str, str],
) -> None:
    """Do what `python -m ipykernel_launcher` does, in a session of its own."""
    from ipykernel import kernelapp

    while os.getppid() != server:
        os.sched_yield()
    os.setsid()
    answering.send(str(os.getpid()).encode())
    answering.close()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = command[command.index("ipykernel_launcher") :]
    kernelapp.launch_new_instance()
    # As a process ends, but what it shares with other kernels is not freed.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()


if __name__ == "__main__":
    # The folder of this file has modules with the names of others.
    del sys.path[0]
    # jsonschema would compile forty grammars for a format that no notebook has: 1.5 s.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    if sys.platform == "linux":
        fork_kernels()
    from jupyterlab.labapp import main

    main()
