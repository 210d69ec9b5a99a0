"""Caller: who makes a request, and what waits for the answer."""

from __future__ import annotations

from blsnb.engine.request.inflight import Execution, Inflight, StepLog
from blsnb.engine.request.lifetime import RootRequest


class Caller:
    """Who makes a BLS request.

    Parameters
    ----------
    root
        The request from outside that it serves.
    parent
        The request below which it is drawn; None below none.
    execution
        The execution whose own thread waits for the answer; None if another
        thread does, which ties up no instance.
    line
        Line of the model's source that makes the request; 0 if unknown.
    flags
        Bits of the call in the trace.
    outside
        Whether it is a client, not a model.
    """

    __slots__ = ("execution", "flags", "line", "outside", "parent", "root", "steps")

    def __init__(
        self,
        root: RootRequest,
        parent: Inflight | None,
        execution: Execution | None,
        line: int,
        flags: int = 0,
        outside: bool = False,
    ) -> None:
        self.root = root
        self.parent = parent
        self.execution = execution
        self.line = line
        self.flags = flags
        self.outside = outside
        self.steps: StepLog | None = None
        """Of the ensemble that makes it, if one does."""

    @property
    def blocks(self) -> bool:
        """Whether something waits for the answer that can do nothing else."""
        return self.execution is not None or self.steps is not None
