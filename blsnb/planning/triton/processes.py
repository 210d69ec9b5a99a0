"""Processor time of a server on this machine and of its model processes."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from blsnb.planning.machine_meter import PROC, machine_ns, text_of

_STUB = "triton_python_backend_stub"


class ProcessorTimes(NamedTuple):
    """Processor time since the starts of the processes.

    Parameters
    ----------
    server_ns
        Of the server without its model processes.
    models_ns
        Of all processes of each model.
    client_ns
        Of this process, which sends the requests.
    machine_ns, capacity_ns
        Of all processes of the machine on the processors that this process may use,
        and what these could have spent; 0 if it is not known.
    """

    server_ns: int
    models_ns: dict[str, int]
    client_ns: int = 0
    machine_ns: int = 0
    capacity_ns: int = 0

    def since(self, before: ProcessorTimes) -> ProcessorTimes:
        """Return what was spent since then."""
        models_ns = {
            name: ns - before.models_ns.get(name, 0)
            for name, ns in self.models_ns.items()
        }
        return ProcessorTimes(
            self.server_ns - before.server_ns,
            models_ns,
            self.client_ns - before.client_ns,
            self.machine_ns - before.machine_ns,
            self.capacity_ns - before.capacity_ns,
        )

    def times(self, factor: float) -> ProcessorTimes:
        """Return what the processes would have spent on other processors.

        Parameters
        ----------
        factor
            How long the same work takes there, in relation to here.
        """
        return self._replace(
            server_ns=round(self.server_ns * factor),
            models_ns={name: round(ns * factor) for name, ns in self.models_ns.items()},
            client_ns=round(self.client_ns * factor),
        )

    @property
    def others(self) -> float:
        """Share of the processors that other processes used."""
        own_ns = self.server_ns + sum(self.models_ns.values()) + self.client_ns
        others_ns = max(0, self.machine_ns - own_ns)
        return others_ns / self.capacity_ns if self.capacity_ns else 0.0


def processor_times(
    pid: int, models: Collection[str], proc: Path = PROC
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
    server_ns = _spent_ns(proc, pid)
    for child in _children(proc, pid):
        name = _model_of(proc, child)
        if name in models_ns:
            models_ns[name] += _spent_ns(proc, child)
    client_ns = time.process_time_ns()
    return ProcessorTimes(server_ns, models_ns, client_ns, *machine_ns(proc))


def _children(proc: Path, pid: int) -> Iterator[int]:
    for listed in (proc / str(pid) / "task").glob("*/children"):
        for child in map(int, text_of(listed).split()):
            yield child
            yield from _children(proc, child)


def _model_of(proc: Path, pid: int) -> str:
    """Return the model of a process: ``STUB .../MODEL/VERSION/model.py ...``."""
    command = text_of(proc / str(pid) / "cmdline").split("\0")
    if len(command) < 2 or not command[0].endswith(_STUB):
        return ""
    parts = Path(command[1]).parts
    return parts[-3] if len(parts) > 2 else ""


def _spent_ns(proc: Path, pid: int) -> int:
    found = (text_of(task) for task in (proc / str(pid) / "task").glob("*/schedstat"))
    return sum(int(text.split()[0]) for text in found if text)
