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
    """

    server_ns: int
    models_ns: dict[str, int]

    def since(self, before: ProcessorTimes) -> ProcessorTimes:
        """Return what was spent since then."""
        models_ns = {
            name: ns - before.models_ns.get(name, 0)
            for name, ns in self.models_ns.items()
        }
        return ProcessorTimes(self.server_ns - before.server_ns, models_ns)


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
    for child in _children(proc, pid):
        name = _model_of(proc, child)
        if name in models_ns:
            models_ns[name] += _spent_ns(proc, child)
    return ProcessorTimes(_spent_ns(proc, pid), models_ns)


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


def _spent_ns(proc: Path, pid: int) -> int:
    """Return the processor time of the running threads of a process."""
    tasks = (proc / str(pid) / "task").glob("*/schedstat")
    return sum(int((_text(task).split() or ["0"])[0]) for task in tasks)


def _text(path: Path) -> str:
    """Return a file's text; empty if its process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
