"""LiveView: a widget while a run executes, its document once it has ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from IPython.display import display

from blsnb import views
from blsnb.magics.display import bundle
from blsnb.run import take_trace
from blsnb.trace.spans import Trace

if TYPE_CHECKING:
    from blsnb.trace.recorder import RunRecord


class LiveView:
    """Shows a run in the running cell, from now until it ends.

    Parameters
    ----------
    record
        What is recorded of it, while it is recorded.
    """

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._view = views.TraceView(self._trace)
        self._handle = display(self._view, display_id=True)
        self.tick()

    def _trace(self) -> Trace:
        return take_trace(self._record)

    def tick(self) -> None:
        """Send what happened, if it is time to."""
        self._view.tick(time.monotonic_ns())

    def finish(self) -> None:
        """Put the finished document in the widget's place."""
        self._view.finish(time.monotonic_ns())
        document = bundle(
            self._trace(), selected=self._view.selected, height=self._view.height
        )
        self._handle.update(document, raw=True)

    def close(self) -> None:
        """Close the widget: its document has embedded previews only from now on."""
        self._view.close()
