"""The connection of displayed runs to this kernel: which runs it has, who answers."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.magics.frontend import has_no_models

if TYPE_CHECKING:
    from blsnb.run import Run
    from blsnb.trace.recorder import RunRecord
    from blsnb.trace.spans import Trace
    from blsnb.views.live.connection import Connection

_MAX_KNOWN = 10_000
"""Maximum number of page ids kept of runs that are no longer kept."""
_log = logging.getLogger(__name__)


class DisplayedRuns:
    """The runs that a kernel has displayed, and their connection to its pages.

    A displayed run is kept alive by its server or by whoever holds it, never by its
    display. The connection is opened with the first run that a page displays.

    Parameters
    ----------
    shell
        The IPython shell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._sources: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._known: deque[str] = deque(maxlen=_MAX_KNOWN)
        self._workers = Workers(1, "blsnb answers")
        self._connection: Connection | None = None
        """The only one of this kernel; None until a page displays a run."""

    def add(self, source: RunRecord | Trace) -> None:
        """Note a run that is displayed, by what keeps its calls."""
        if self._connection is None and not has_page(self._shell):
            return
        # Deferred: loading the extension must not import the widget library.
        from blsnb.views.documents.wire import page_id
        from blsnb.views.live.connection import Connection

        run = page_id(_trace(source))
        if run not in self._sources:
            self._known.append(run)
        self._sources[run] = source
        if self._connection is None:
            self._connection = Connection(self.find, self._work)

    def find(self, run: str) -> Trace:
        """Return the trace of a displayed run by its page id.

        Raises
        ------
        QueryError
            The run was not displayed by this kernel, or is no longer kept.
        """
        from blsnb.views.live.queries import QueryError, gone

        source = self._sources.get(run)
        if source is not None:
            return _trace(source)
        if run not in self._known:
            raise gone()
        text = (
            "the run is no longer kept: keep_runs limits the runs that are kept, newest"
            " first. run.keep() pins a run, and a run in a variable is kept as well; "
            "run the cell again"
        )
        raise QueryError("dropped", text)

    def _work(self, serve: Callable[[], None]) -> None:
        try:
            self._workers.submit(serve)
        except (OutOfResourcesError, RuntimeError):
            # Without a thread the answer takes time of the cell.
            serve()

    def close(self) -> None:
        """Close the connection: documents then have embedded previews only."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._workers.shutdown(cancel_futures=True)


_runs: DisplayedRuns | None = None


def register(shell: Any) -> Callable[[], None]:
    """Connect displayed runs to the kernel; return a function that disconnects them."""
    global _runs
    runs = _runs = DisplayedRuns(shell)
    return runs.close


def note(source: RunRecord | Trace) -> None:
    """Note a run that is displayed, by what keeps its calls."""
    if _runs is None:
        return
    try:
        _runs.add(source)
    except Exception:
        # Without a connection the document still has embedded previews.
        _log.exception("a run could not be connected to its document")


def note_run(run: Run) -> None:
    """Note a run that is displayed."""
    from blsnb.run import source_of

    note(source_of(run))


def has_page(shell: Any) -> bool:
    """Return whether a page runs the cell that keeps models of hidden widgets.

    Programs that execute notebooks keep the state of every widget in the notebook,
    and exporters then load code from the network. They name no cell.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None or has_no_models():
        return False
    metadata = kernel.get_parent().get("metadata") or {}
    return "cellId" in metadata


def _trace(source: RunRecord | Trace) -> Trace:
    from blsnb.run import take_trace
    from blsnb.trace.spans import Trace

    return source if isinstance(source, Trace) else take_trace(source)
