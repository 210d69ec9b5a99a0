"""Display of runs: in the place reserved at their start, live if they take long."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.threads.snapshot import ThreadSnapshot
from blsnb.files.interrupts import without_interrupts
from blsnb.magics import default_server as default
from blsnb.magics.runs.live_runs import ActiveRun, LiveView, Refresher
from blsnb.magics.runs.places import CellPlaces, OutputPlace
from blsnb.options import options

if TYPE_CHECKING:
    from blsnb.trace.events import Call
    from blsnb.trace.run_record import RunRecord
    from blsnb.trace.spans import Trace

_MAX_LIVE = 3
"""Maximum number of runs shown live at once."""
_MAX_OPEN_WIDGETS = 8
"""Maximum number of widgets kept open after their runs have ended."""
_LIVE_AFTER_NS = 500_000_000
"""Duration from which a run is shown live."""
_END_TIMEOUT_NS = 250_000_000
"""Maximum wait at the end of a cell for runs that are about to end."""


class RunDisplay:
    """Observes the default server and shows the runs of each cell.

    Parameters
    ----------
    live
        Whether there is a page that can show a widget.
    cell_name
        Returns the name of the cell that runs on this thread, such as ``"In[3]"``.
    next_name
        Returns the name of a cell that begins.
    """

    def __init__(
        self,
        live: bool,
        cell_name: Callable[[], str] = str,
        next_name: Callable[[Any], str] = lambda info: "",
    ) -> None:
        self._live = live
        self._cell_name = cell_name
        self._next_name = next_name
        self._name = ""
        self._cell: CellPlaces | None = None
        self._threads_before: ThreadSnapshot | None = None
        """Threads alive before the cell began."""
        self._foreign: set[str] = set()
        """Runs that no cell started."""
        self._active: dict[str, ActiveRun] = {}
        self._going_on: dict[str, OutputPlace] = {}
        """Places of the ended runs with executions that continue."""
        self._open_views: deque[LiveView] = deque()
        self._refresher = Refresher(self.refresh)

    def begin_cell(self, info: Any = None) -> None:
        """Collect runs from now on: a cell begins."""
        self._threads_before = ThreadSnapshot()
        self._cell = CellPlaces(self._live)
        self._name = self._next_name(info)

    def end_cell(self, *_: Any) -> None:
        """Show the runs of the cell that have not been shown.

        Nothing is left to interrupt: a further Ctrl-C must not cost the view.
        """
        without_interrupts(self._end_cell)

    def _end_cell(self) -> None:
        self._wait_for_ends()
        cell, self._cell = self._cell, None
        if cell is not None:
            cell.fill()

    def clear(self) -> None:
        """Forget the places of the cell, whose output has been cleared."""
        if self._cell is not None:
            self._cell.clear()

    def _wait_for_ends(self) -> None:
        """Wait for runs whose last response the cell has read.

        Programs that execute notebooks drop a document that arrives later.
        """
        until_ns = time.monotonic_ns() + _END_TIMEOUT_NS
        for run in list(self._active.values()):
            if run.cell is self._cell:
                run.wait((until_ns - time.monotonic_ns()) / 1e9)

    def has_place(self, trace: Trace) -> bool:
        """Whether a run is shown in a place of the current cell."""
        return self._cell is not None and self._cell.of(trace) is not None

    def is_silent(self, trace: Trace) -> bool:
        """Whether a run of the current cell must not be shown."""
        return self._cell is not None and self._cell.is_silent(trace)

    def hide(self, trace: Trace) -> None:
        """Leave the place of a run empty, because the cell shows the run elsewhere."""
        place = None if self._cell is None else self._cell.of(trace)
        if place is not None:
            place.empty()

    def observe(self, record: RunRecord, call: Call | None) -> None:
        """Receive an event of the recorder, on any thread."""
        if record.of_client or self._is_foreign(record, call):
            return
        if call is not None and _is_first(call):
            # A thread that the cell started has no frame of it.
            self._name = record.cell = self._cell_name() or self._name
        if record.is_hidden:
            return
        if call is None:
            self._ended(record)
        elif self._cell is not None:
            self._update(record, call, self._cell)

    def _is_foreign(self, record: RunRecord, call: Call | None) -> bool:
        """Whether the run was started by a thread that is older than the cell."""
        if call is None:
            is_known = record.id in self._foreign
            self._foreign.discard(record.id)
            return is_known
        if _is_first(call) and (self._cell is None or self._is_earlier_thread()):
            self._foreign.add(record.id)
        return record.id in self._foreign

    def _is_earlier_thread(self) -> bool:
        before = self._threads_before
        return before is not None and before.has_current()

    def _ended(self, record: RunRecord) -> None:
        run = self._active.get(record.id)
        if run is None:
            self._show_end_of_execution(record)
            return
        if record.going_on and run.place is not None:
            self._going_on[record.id] = run.place
        view = run.finished_view()
        if view is not None:
            self._keep_open(view)
        elif run.place is not None and (
            # The cell ended before the run, and left its place empty.
            run.cell is not self._cell or run.place.is_captured
        ):
            run.place.fill(record)
        run.end()
        self._active.pop(record.id, None)

    def _show_end_of_execution(self, record: RunRecord) -> None:
        """Show again a run that Ctrl-C ended, when its last execution has ended."""
        if not record.going_on:
            place = self._going_on.pop(record.id, None)
            if place is not None:
                place.refill(record)

    def _keep_open(self, view: LiveView) -> None:
        """Keep a widget that serves slices to its document; close the oldest one."""
        self._open_views.append(view)
        if len(self._open_views) > _MAX_OPEN_WIDGETS:
            self._open_views.popleft().close()

    def close(self) -> None:
        """Close the widgets."""
        self._refresher.close()
        while self._open_views:
            self._open_views.popleft().close()

    def _update(self, record: RunRecord, call: Call, cell: CellPlaces) -> None:
        if record.ended:
            # A thread of the model may continue after the response was sent.
            return
        run = self._active.get(record.id) or self._begun(record, cell)
        if run is None or _is_last(call):
            return
        if run.view is not None:
            run.view.tick()
        else:
            self._make_view(run)

    def _make_view(self, run: ActiveRun) -> None:
        if self._is_long(run) and run.claim():
            run.make_view()

    def refresh(self) -> bool:
        """Refresh views between events; return whether any run is active.

        A run that outlives its cell gets no widget, which would appear in another cell.
        A run that has ended is shown before its cell ends.
        """
        cell = self._cell
        if cell is not None:
            cell.fill_ended(self._active)
        for run in list(self._active.values()):
            if run.record.ended:
                continue
            if run.view is not None:
                run.view.refresh()
            elif run.cell is self._cell:
                self._make_view(run)
        return bool(self._active)

    def _begun(self, record: RunRecord, cell: CellPlaces) -> ActiveRun | None:
        """Note a run that has begun; return None if it has already ended."""
        place = None
        if options.show:
            place = cell.reserve(record)
        else:
            cell.silence(record)
        run = self._active.setdefault(record.id, ActiveRun(record, cell, place))
        if not record.ended:
            if self._live:
                self._refresher.wake()
            return run
        # It ended on another thread before it was noted.
        self._active.pop(record.id, None)
        return None

    def _is_long(self, run: ActiveRun) -> bool:
        calls = run.record.calls
        start = calls[0].request_start_ns if calls else 0
        if not (start and self._live and run.place) or run.place.is_captured:
            return False
        if sum(each.is_live for each in self._active.values()) >= _MAX_LIVE:
            return False
        return CLOCK.now_ns() - start > _LIVE_AFTER_NS


def _is_first(call: Call) -> bool:
    """Whether a run begins with this event, on the thread that started it."""
    return call.parent is None and not call.request_start_ns


def _is_last(call: Call) -> bool:
    """Whether a run ends with this event, so that it needs no widget."""
    return call.parent is None and bool(call.request_end_ns)


def register(shell: Any, runs: RunDisplay) -> Callable[[], None]:
    """Connect to cells and runs; return a function that disconnects."""
    events = shell.events
    events.register("pre_run_cell", runs.begin_cell)
    events.register("post_run_cell", runs.end_cell)
    stop = default.observe(runs.observe)
    stop_clear = _observe_clear(shell.display_pub, runs.clear)

    def unregister() -> None:
        stop()
        stop_clear()
        runs.close()
        events.unregister("pre_run_cell", runs.begin_cell)
        events.unregister("post_run_cell", runs.end_cell)

    return unregister


def _observe_clear(publisher: Any, clear: Callable[[], None]) -> Callable[[], None]:
    """Call a function when a cell's output is cleared; return a function to stop."""
    if not hasattr(publisher, "register_hook"):
        return lambda: None

    def hook(message: Any) -> Any:
        if message["header"]["msg_type"] == "clear_output":
            clear()
        return message

    publisher.register_hook(hook)
    return lambda: publisher.unregister_hook(hook)
