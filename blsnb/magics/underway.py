"""Underway: a run that has not ended, and the widget that shows it meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blsnb.engine.threads.waiter import Waiter

if TYPE_CHECKING:
    from blsnb.magics.live_runs import LiveView
    from blsnb.trace.recorder import RunRecord

_MAKING_S = 5.0
"""So long a widget or a document may take to be made, on a busy machine."""


class Underway:
    """A run that has not ended, and its widget if it takes long.

    Parameters
    ----------
    record
        What is recorded of it.
    cell
        The cell in which it began.
    """

    def __init__(self, record: RunRecord, cell: Any) -> None:
        self.record = record
        self.cell = cell
        self.view: LiveView | None = None
        self.live = False
        """Whether a thread makes its widget, or has made it."""
        self._token = [None]
        self._made = Waiter()
        self._over = Waiter()

    def claim(self) -> bool:
        """Whether it is for the caller to make the widget, or to do without one."""
        try:
            self._token.pop()
        except IndexError:
            return False
        return True

    def make_view(self) -> None:
        """Make the widget, once claimed; whoever ends the run waits for it."""
        self.live = True
        try:
            from blsnb.magics.live_runs import LiveView

            self.view = LiveView(self.record)
        finally:
            self._made.wake()

    def finished_view(self) -> LiveView | None:
        """Put the document in the widget's place; None if there is no widget."""
        if not self.claim():
            # Another thread may be at it.
            self._made.wait(_MAKING_S)
        if self.view is not None:
            self.view.finish()
        return self.view

    def end(self) -> None:
        """Note that all is shown that is to be shown of it."""
        self._over.wake()

    def wait(self, seconds: float) -> None:
        """Wait until it has ended; for its document, once it is being made, longer."""
        over = self._over.wait(max(0.0, seconds))
        if not over and self.live and self.record.ended:
            self._over.wait(_MAKING_S)
