"""Processor time of a server on this machine and of its model processes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_STUB = "triton_python_backend_stub"


class ProcessorTimes(NamedTuple):
    """Processor time since the starts of the processes.

    Parameters
    ----------
    server_ns
        Of the server without its model processes.
    models_ns
        Of all processes of each model.
    delayed_ns
        Time in which these processes could have run, and had no processor.
    """

    server_ns: int
    models_ns: dict[str, int]
    delayed_ns: int = 0

    def since(self, before: ProcessorTimes) -> ProcessorTimes:
        """Return what was spent since then."""
        models_ns = {
            name: ns - before.models_ns.get(name, 0)
            for name, ns in self.models_ns.items()
        }
        return ProcessorTimes(
            self.server_ns - before.server_ns,
            models_ns,
            self.delayed_ns - before.delayed_ns,
        )

    @property
    def delay(self) -> float:
        """How long they waited for a processor, as a share of what they computed."""
        return self.delayed_ns / max(1, self.server_ns + sum(self.models_ns.values()))


def processor_times(
    pid: int, models: Collection[str], proc: Path = _PROC
) -> ProcessorTimes:
    """Read the processor time of a server and of its model processes.

    Parameters
    ----------
    pid
        Id of the server's process.
    models
        Names of the models; a process belongs to the one whose folder is in its
        command.
    proc
        Folder of the system's facts on processes.
    """
    models_ns = dict.fromkeys(models, 0)
    server_ns, delayed_ns = _times_ns(proc, pid)
    for child in _children(proc, pid):
        name = _model_of(proc, child)
        if name in models_ns:
            spent_ns, waited_ns = _times_ns(proc, child)
            models_ns[name] += spent_ns
            delayed_ns += waited_ns
    return ProcessorTimes(server_ns, models_ns, delayed_ns)


def _children(proc: Path, pid: int) -> Iterator[int]:
    for listed in (proc / str(pid) / "task").glob("*/children"):
        for child in map(int, _text(listed).split()):
            yield child
            yield from _children(proc, child)


def _model_of(proc: Path, pid: int) -> str:
    """Return the model of a process: ``STUB .../MODEL/VERSION/model.py ...``."""
    command = _text(proc / str(pid) / "cmdline").split("\0")
    if len(command) < 2 or not command[0].endswith(_STUB):
        return ""
    parts = Path(command[1]).parts
    return parts[-3] if len(parts) > 2 else ""


def _times_ns(proc: Path, pid: int) -> tuple[int, int]:
    """Return the processor time of a process's threads, and their waits for one."""
    spent_ns = delayed_ns = 0
    for task in (proc / str(pid) / "task").glob("*/schedstat"):
        found = _text(task).split()
        if len(found) > 1:
            spent_ns += int(found[0])
            delayed_ns += int(found[1])
    return spent_ns, delayed_ns


def _text(path: Path) -> str:
    """Return a file's text; empty if its process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
