"""The action of a page that executes a recorded call again, in the debugger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from blsnb.debugger.main_thread import MainThread
from blsnb.errors import BlsnbError
from blsnb.trace.comparison import TraceComparison
from blsnb.views.live.queries import QueryError
from blsnb.views.summary import described

_NO_LOOP = (
    "this kernel cannot debug a call for the page: "
    "run.replay(call, debug=True) in a cell does it"
)
_BUSY = "a cell was running: wait for its end or interrupt it, then try again"
_INTERRUPTED = "the call was interrupted"


class Compared(Protocol):
    """A `blsnb.Comparison`."""

    @property
    def trace(self) -> TraceComparison:
        """The calls of both runs, as values."""


class Replayable(Protocol):
    """A `blsnb.Run`."""

    def replay(self, call: int, *, debug: bool) -> Compared:
        """Execute a recorded call again."""


def debug_call(main: MainThread, run: Callable[[], Replayable], call: int) -> str:
    """Execute a call again, with a stop in its ``execute``; return what differs.

    Raises
    ------
    QueryError
        A cell is running; or the call was not executed to its end, its text says why.
    """
    if not main.has_loop:
        raise QueryError("unsupported", _NO_LOOP)
    if not main.is_free:
        raise QueryError("busy", _BUSY)
    try:
        with main.taken():
            compared = run().replay(call, debug=True).trace
    except KeyboardInterrupt:
        raise QueryError("refused", _INTERRUPTED) from None
    except BlsnbError as error:
        raise QueryError("refused", str(error)) from error
    return f"Call {call} has run again: {_outcome(compared)}."


def _outcome(compared: TraceComparison) -> str:
    """Return how a client request differs from its recording."""
    root = compared.this.roots[0]
    change = compared.changes.get(root)
    if change:
        return "; ".join(described(change))
    reasons = [why for why, rows in compared.unknown.items() if root in rows]
    if reasons:
        return f"its outputs could not be compared, {reasons[0]}"
    if compared.this.spans[root].error:
        return "it failed with the recorded error"
    return "its outputs are as recorded"
