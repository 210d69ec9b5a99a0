"""Runs show themselves: once, at the end of their cell, or live if they take long."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.display import display

from blsnb.magics import default_server as default
from blsnb.magics.bystanders import Bystanders
from blsnb.magics.frontend import bundle, collapsed
from blsnb.magics.lookout import Lookout
from blsnb.magics.underway import Underway
from blsnb.options import options

if TYPE_CHECKING:
    from blsnb.magics.live_runs import LiveView
    from blsnb.trace.events import Call
    from blsnb.trace.recorder import RunRecord
    from blsnb.trace.spans import Trace

_MOST = 12
_MOST_OPEN = 3
_MOST_LIVE = 3
_MOST_KEPT = 8
_LIVE_AFTER_NS = 500_000_000
_ENDING_NS = 250_000_000
"""So long a cell waits for runs that may be about to end."""


class CellRuns:
    """The runs of one cell: which are shown at its end, and how.

    Told what happens, asked at the end; it displays nothing itself.
    """

    def __init__(self) -> None:
        self._ended: deque[RunRecord] = deque(maxlen=_MOST)
        self._count = 0
        self._shown: set[tuple[str, int]] = set()

    def ended(self, record: RunRecord) -> None:
        """Note a run that ended and has not been shown."""
        self._ended.append(record)
        self._count += 1

    def shown(self, trace: Trace) -> bool:
        """Note a run that is being displayed; return whether it was before."""
        key = trace.run_id, trace.start_ns
        before = key in self._shown
        self._shown.add(key)
        return before

    def left(self) -> tuple[list[Trace], int]:
        """Return the runs to show, oldest first, and how many there were before."""
        traces = [trace_now(record) for record in self._ended if record.calls]
        fresh = [t for t in traces if (t.run_id, t.start_ns) not in self._shown]
        return fresh, self._count - len(self._ended)


class RunDisplay:
    """Watches the default server, and shows the runs of each cell.

    Parameters
    ----------
    live
        Whether there is a page that can show a widget.
    """

    def __init__(self, live: bool) -> None:
        self._live = live
        self._cell: CellRuns | None = None
        self._bystanders: Bystanders | None = None
        self._others: set[str] = set()
        """Runs that no cell has asked for."""
        self._underway: dict[str, Underway] = {}
        self._kept: deque[LiveView] = deque()
        self._lookout = Lookout(self.look)

    def begin_cell(self, *_: Any) -> None:
        """Start to collect: a cell begins to run."""
        self._bystanders = Bystanders()
        self._cell = CellRuns()

    def end_cell(self, *_: Any) -> None:
        """Show what has not been shown: the cell has run."""
        self._wait_for_ends()
        cell, self._cell = self._cell, None
        if cell is None or not options.show:
            return
        traces, left_out = cell.left()
        if left_out:
            text = f"… {left_out:,} earlier runs of this cell are not shown"
            display({"text/plain": text}, raw=True)
        show = bundle if len(traces) <= _MOST_OPEN else collapsed
        for trace in traces:
            display(show(trace), raw=True)

    def _wait_for_ends(self) -> None:
        """Let runs end whose last response the cell has read: what comes is of it.

        A document that comes later is not kept by who executes notebooks.
        """
        until_ns = time.monotonic_ns() + _ENDING_NS
        for run in list(self._underway.values()):
            if run.cell is self._cell:
                run.wait((until_ns - time.monotonic_ns()) / 1e9)

    def shown(self, trace: Trace) -> bool:
        """Note a run that is displayed as a value; return whether it was live."""
        return self._cell is not None and self._cell.shown(trace)

    def observe(self, record: RunRecord, call: Call | None) -> None:
        """Take an event of the recorder; it may come from any thread."""
        if record.of_client or self._is_of_others(record, call):
            return
        if call is None:
            self._ended(record)
        elif self._cell is not None:
            self._update(record, call, self._cell)

    def _is_of_others(self, record: RunRecord, call: Call | None) -> bool:
        """Whether a thread asks that was there before the cell: none of its runs."""
        if call is None:
            known = record.id in self._others
            self._others.discard(record.id)
            return known
        if _begins(call) and (self._cell is None or self._is_bystander()):
            self._others.add(record.id)
        return record.id in self._others

    def _is_bystander(self) -> bool:
        return self._bystanders is not None and self._bystanders.is_running()

    def _ended(self, record: RunRecord) -> None:
        run = self._underway.get(record.id)
        view = None if run is None else run.finished_view()
        cell = self._cell
        if view is not None:
            self._keep(view)
            if cell is not None:
                cell.shown(trace_now(record))
        elif cell is not None:
            cell.ended(record)
        if run is not None:
            run.end()
            self._underway.pop(record.id, None)

    def _keep(self, view: LiveView) -> None:
        """Let a document go on asking its widget for slices; close the oldest."""
        self._kept.append(view)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popleft().close()

    def close(self) -> None:
        """Close the widgets."""
        self._lookout.close()
        while self._kept:
            self._kept.popleft().close()

    def _update(self, record: RunRecord, call: Call, cell: CellRuns) -> None:
        if record.ended:
            # A model's own thread may go on when the answer has left.
            return
        run = self._underway.get(record.id) or self._begun(record, cell)
        if run is None or _is_last(call):
            return
        if run.view is not None:
            run.view.tick()
        else:
            self._make_view(run)

    def _make_view(self, run: Underway) -> None:
        if self._is_long(run) and run.claim():
            run.make_view()

    def look(self) -> bool:
        """Show what goes on without an event, such as responses; whether more may come.

        A run that outlives its cell gets no widget, which would stand in another.
        """
        for run in list(self._underway.values()):
            if run.record.ended:
                continue
            if run.view is not None:
                run.view.look()
            elif run.cell is self._cell:
                self._make_view(run)
        return bool(self._underway)

    def _begun(self, record: RunRecord, cell: CellRuns) -> Underway | None:
        """Note a run that is underway; None if it has ended meanwhile."""
        run = self._underway.setdefault(record.id, Underway(record, cell))
        if not record.ended:
            if self._live:
                self._lookout.wake()
            return run
        # On another thread, which knew nothing of this.
        self._underway.pop(record.id, None)
        return None

    def _is_long(self, run: Underway) -> bool:
        calls = run.record.calls
        start = calls[0].request_start_ns if calls else 0
        if not (start and self._live and options.show):
            return False
        if sum(each.live for each in self._underway.values()) >= _MOST_LIVE:
            return False
        return time.monotonic_ns() - start > _LIVE_AFTER_NS


def _begins(call: Call) -> bool:
    """Whether a run begins with this event: who asks for it is still at it."""
    return call.parent is None and not call.request_start_ns


def _is_last(call: Call) -> bool:
    """Whether a run ends with this event: a widget would come too late."""
    return call.parent is None and bool(call.request_end_ns)


def trace_now(record: RunRecord) -> Trace:
    """Return what is recorded of a run so far."""
    from blsnb.run import take_trace

    return take_trace(record)


def register(shell: Any, runs: RunDisplay) -> Callable[[], None]:
    """Connect to cells and runs; return what takes that away."""
    events = shell.events
    events.register("pre_run_cell", runs.begin_cell)
    events.register("post_run_cell", runs.end_cell)
    stop = default.observe(runs.observe)

    def unregister() -> None:
        stop()
        runs.close()
        events.unregister("pre_run_cell", runs.begin_cell)
        events.unregister("post_run_cell", runs.end_cell)

    return unregister
