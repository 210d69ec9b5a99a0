"""The kernel's side of a page: displayed runs, progress bars, what the page can do."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from IPython.core.error import UsageError
from IPython.display import DisplayHandle, display

from blsnb.debugger.main_thread import MainThread, watch_cells
from blsnb.engine.threads.workers import Workers
from blsnb.magics import default_server as default
from blsnb.options import options

if TYPE_CHECKING:
    from blsnb.magics.line import Line
    from blsnb.results.replay import Replayer
    from blsnb.results.run import Run
    from blsnb.trace.run_record import RunRecord
    from blsnb.trace.spans import Trace
    from blsnb.views.live.connection import Connection

_MAX_KNOWN = 10_000
"""Maximum number of page ids remembered to tell dropped runs from unknown ones."""
_log = logging.getLogger(__name__)


def needs_displayed_widgets() -> bool:
    """Whether the page connects only those widgets that are displayed themselves.

    Elsewhere a widget can replace a document in the page, while a saved
    notebook keeps the document.
    """
    return "VSCODE_PID" in os.environ or "google.colab" in sys.modules


def bundle(trace: Trace, **how: Any) -> dict[str, Any]:
    """Return the document of a finished run, as `blsnb.options` specify it."""
    from blsnb.views.documents import document

    shown: dict[str, Any] = document.mimebundle(
        trace, embed_previews=options.embed_previews, **how
    )
    if options.static == "png":
        from blsnb.views.figures import figure

        shown["image/png"] = figure.png(trace)
        # Exporters to LaTeX prefer it to a picture.
        del shown["text/latex"]
    return shown


def collapsed(trace: Trace, **how: Any) -> dict[str, Any]:
    """Return the document of a finished run, folded to its title."""
    from blsnb.printable import printable
    from blsnb.views.summary import facts, heading

    shown = bundle(trace, **how)
    title = printable(", ".join([heading(trace), *facts(trace)]))
    shown["text/html"] = (
        f"<details><summary>{escape(title)}</summary>{shown['text/html']}</details>"
    )
    return shown


def trace_now(source: RunRecord | Trace) -> Trace:
    """Return the trace of a run so far."""
    from blsnb.results.traced import take_trace
    from blsnb.trace.spans import Trace

    return source if isinstance(source, Trace) else take_trace(source)


class ProgressBar:
    """A progress bar that becomes a line of text at its end.

    It is shown immediately, so that prints of a model are below it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = ""
        self._handle: DisplayHandle | None = None
        self(0.0, "not begun")

    def __call__(self, share: float, text: str) -> None:
        """Show a share between 0 and 1, which is hidden at 0, and a text."""
        self._text = text
        percent = f"{share:.0%} " if share else ""
        value = f'value="{share:.3f}" ' if share else ""
        label = f"{self._name}: {text}"
        self._show(
            f'<progress {value}max="1" aria-label="{escape(label)}"></progress> '
            f"{percent and f'{percent}· '}{escape(label)}",
            f"{percent}{label}",
        )

    def end(self) -> None:
        """Replace the bar by its last text."""
        text = f"{self._name}: {self._text}"
        self._show(f"<small>{escape(text)}</small>", text)

    def _show(self, page: str, plain: str) -> None:
        shown = {"text/html": page, "text/plain": plain}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


@contextlib.contextmanager
def progress_bar(
    line: Line, name: str, subcommand: str
) -> Iterator[ProgressBar | None]:
    """Show the progress in a page; report a ValueError as an error of the line."""
    bar = ProgressBar(name) if line.live else None
    try:
        yield bar
    except ValueError as error:
        raise UsageError(f"%triton {subcommand}: {error}") from error
    finally:
        if bar is not None:
            bar.end()


class DisplayedRuns:
    """The runs that a kernel has displayed, and their connection to its pages.

    Displaying a run does not keep it alive; its server or a reference of the user does.
    The connection is opened when a page displays the first run.

    Parameters
    ----------
    shell
        The IPython shell.
    prepare
        Called before a call is executed in the debugger.
    """

    def __init__(self, shell: Any, prepare: Callable[[], None]) -> None:
        self.main = MainThread(getattr(shell, "kernel", None))
        self._shell = shell
        self._prepare = prepare
        self._sources: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._replayers: WeakValueDictionary[str, Any] = WeakValueDictionary()
        """Execute the calls of runs of other servers than the default one."""
        self._known: deque[str] = deque(maxlen=_MAX_KNOWN)
        self._workers = Workers(1, "blsnb answers")
        self._connection: Connection | None = None
        """The connection of this kernel; None until a page displays a run."""

    def add(
        self,
        source: RunRecord | Trace,
        *,
        in_page: bool = False,
        replayer: Replayer | None = None,
    ) -> None:
        """Note a displayed run by the object that keeps its calls.

        Parameters
        ----------
        in_page
            Whether a page is known to display it; otherwise see `has_page`.
        replayer
            Executes its calls again; None for the default server.
        """
        is_shown = in_page or self._connection is not None
        if not is_shown and not has_page(self._shell):
            return
        # Deferred: loading the extension must not import the widget library.
        from blsnb.views.documents.wire import page_id
        from blsnb.views.live.connection import Connection

        run = page_id(trace_now(source))
        if run not in self._sources:
            self._known.append(run)
        self._sources[run] = source
        if replayer is not None:
            self._replayers[run] = replayer
        if self._connection is None:
            self._connection = Connection(
                self.find, self._workers.run, self.debug, self.main.submit
            )

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
            return trace_now(source)
        if run not in self._known:
            raise gone()
        text = (
            "the run is no longer kept: keep_runs limits the runs that are kept, newest"
            " first. run.keep() pins a run, and a run in a variable is kept as well; "
            "run the cell again"
        )
        raise QueryError("dropped", text)

    def debug(self, run: str, call: int) -> str:
        """Execute a call of a displayed run in the debugger; return what differs."""
        # Deferred: loading the extension must not import the views.
        from blsnb.debugger.page_action import debug_call

        def prepared() -> Run:
            self._prepare()
            return self._run(run)

        return debug_call(self.main, prepared, call)

    def _run(self, run: str) -> Run:
        from blsnb.results.run import ImportedRun, Run
        from blsnb.trace.run_record import RunRecord

        replayer = self._replayers.get(run)
        source = self._sources.get(run)
        if isinstance(source, RunRecord):
            return Run.of(source, replayer or _default_replayer())
        return ImportedRun(self.find(run), replayer=replayer)

    def close(self) -> None:
        """Close the connection: documents then have embedded previews only."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._workers.shutdown(cancel_futures=True)


_runs: DisplayedRuns | None = None


def connect(shell: Any, prepare: Callable[[], None]) -> Callable[[], None]:
    """Connect displayed runs to the kernel; return a function that disconnects them."""
    global _runs
    runs = _runs = DisplayedRuns(shell, prepare)
    unwatch = watch_cells(shell, runs.main)

    def disconnect() -> None:
        global _runs
        unwatch()
        _runs = None
        runs.close()

    return disconnect


def note(
    source: RunRecord | Trace,
    *,
    in_page: bool = False,
    replayer: Replayer | None = None,
) -> None:
    """Note a displayed run by the object that keeps its calls."""
    # Deferred: loading the extension must not import the engine.
    from blsnb.trace.run_record import RunRecord

    if isinstance(source, RunRecord):
        source.is_displayed = True
    if _runs is None:
        return
    try:
        _runs.add(source, in_page=in_page, replayer=replayer)
    except Exception:
        # Without a connection the document still has embedded previews.
        _log.exception("a run could not be connected to its document")


def note_run(run: Run, *, in_page: bool = False) -> None:
    """Note a run that is displayed."""
    from blsnb.results.run import replayer_in, source_of

    note(source_of(run), in_page=in_page, replayer=replayer_in(run))


def debug(run: str, call: int) -> str:
    """Execute a call of a displayed run again in the debugger; return what differs.

    Raises
    ------
    QueryError
        A cell is running, the extension was unloaded, or the call failed to run.
    """
    from blsnb.views.live.queries import gone

    if _runs is None:
        raise gone()
    return _runs.debug(run, call)


def on_main_thread(call: Callable[[], None]) -> None:
    """Call a function on the kernel's main thread, or at once while a cell runs."""
    if _runs is None:
        call()
    else:
        _runs.main.submit(call)


def call_interruptibly(
    call: Callable[[], None],
    during_cell: Callable[[Callable[[], None]], None] = lambda work: work(),
) -> None:
    """Call a function of a page so that Ctrl-C ends it.

    Pages send the messages of widgets to threads of their own, which no interrupt
    reaches. It is called between cells on the kernel's main thread, as a cell is, or at
    once while a cell runs, which Ctrl-C then ends.

    Parameters
    ----------
    during_cell
        Calls it while a cell runs, possibly on another thread.
    """
    if _runs is None:
        during_cell(call)
        return
    main = _runs.main

    def run() -> None:
        if not main.is_free:
            during_cell(call)
            return
        with contextlib.suppress(KeyboardInterrupt), main.taken():
            call()

    main.submit(run)


def has_page(shell: Any) -> bool:
    """Return whether a page, and no program, runs the cell.

    Programs that execute notebooks keep the state of every widget in the notebook,
    and exporters then load code from the network. They name no cell.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None or needs_displayed_widgets():
        return False
    metadata = kernel.get_parent().get("metadata") or {}
    return "cellId" in metadata


def _default_replayer() -> Replayer | None:
    from blsnb.parts.server_parts import parts_of

    server = default.started()
    return None if server is None else parts_of(server).requests
