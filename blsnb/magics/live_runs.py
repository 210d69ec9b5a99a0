"""LiveView: a widget while a run executes, its document once it has ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from IPython.display import display

from blsnb.engine.threads.waiter import Waiter
from blsnb.magics.frontend import bundle, has_no_models
from blsnb.run import take_trace
from blsnb.trace.spans import Trace
from blsnb.views.live.clocks import KeepClock

if TYPE_CHECKING:
    from blsnb.trace.recorder import RunRecord

_KEEPING_S = 5.0
"""So long a document may take to be made, on a busy machine."""


class LiveView:
    """Shows a run in the running cell, from now until it ends.

    Its output is a document of what has happened, made anew from time to time for
    who saves the notebook meanwhile; in a page the widget takes its place.

    Parameters
    ----------
    record
        What is recorded of it, while it is recorded.
    """

    def __init__(self, record: RunRecord) -> None:
        # Importing anywidget takes long.
        from blsnb.views.live.trace_view import TraceView

        self._record = record
        self._keep_clock = KeepClock()
        self._kept = Waiter()
        self._kept.wake()
        self._ended = False
        self._view = TraceView(self._trace)
        self._is_kept = not has_no_models()
        if self._is_kept:
            self._keep_clock.kept(time.monotonic_ns(), 0)
            document = self._view.document()
            self._handle = display(document, raw=True, display_id=True)
        else:
            self._handle = display(self._view, display_id=True)
        self.tick()

    def _trace(self) -> Trace:
        return take_trace(self._record)

    def tick(self) -> None:
        """Send what happened, if it is time to."""
        self._view.tick(time.monotonic_ns())

    def look(self) -> None:
        """Do the same, and give it to the notebook, from time to time.

        Called on a thread of its own: no model waits for a document.
        """
        self.tick()
        now_ns = time.monotonic_ns()
        if self._is_kept and self._keep_clock.due(now_ns, now_ns):
            self._keep(now_ns)

    def _keep(self, now_ns: int) -> None:
        self._kept = Waiter()
        try:
            # Read after the waiter is there: whoever ends the run waits for it.
            if not self._ended:
                self._handle.update(self._view.document(), raw=True)
                self._keep_clock.kept(now_ns, now_ns, time.monotonic_ns() - now_ns)
        finally:
            self._kept.wake()

    def finish(self) -> None:
        """Put the finished document in the widget's place."""
        self._ended = True
        self._kept.wait(_KEEPING_S)
        self._view.finish(time.monotonic_ns())
        document = bundle(
            self._trace(), selected=self._view.selected, height=self._view.height
        )
        self._handle.update(document, raw=True)

    def close(self) -> None:
        """Close the widget: its document has embedded previews only from now on."""
        self._view.close()
