"""Runs in progress, and the widgets that show them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from blsnb.engine.threads.waiter import Waiter
from blsnb.engine.threads.watcher import Watcher
from blsnb.errors import OutOfResourcesError
from blsnb.magics.frontend import needs_displayed_widgets, trace_now

if TYPE_CHECKING:
    from blsnb.magics.runs.places import OutputPlace
    from blsnb.trace.run_record import RunRecord
    from blsnb.trace.spans import Trace

_MAKE_TIMEOUT_S = 5.0
"""Maximum wait for a widget or document that another thread is making."""
_REFRESH_PAUSE_S = 0.25
_CLOSE_TIMEOUT_S = 1.0
_log = logging.getLogger(__name__)


class LiveView:
    """Shows a run in its output until it ends.

    The cell's output is a document of the run so far, updated periodically so that a
    saved notebook contains it; in a page the widget replaces it.
    """

    def __init__(self, record: RunRecord, place: OutputPlace) -> None:
        # Deferred: loading the extension must not import the widget library.
        from blsnb.views.live.clocks import KeepClock

        self._record = record
        self._place = place
        self._keep_clock = KeepClock()
        self._updated = Waiter()
        self._updated.wake()
        self._ended = False
        self._view: TraceView | None = None
        if place.takes_widgets:
            from blsnb.views.live.trace_view import TraceView

            self._view = TraceView(self._trace)
        self._has_document = not needs_displayed_widgets()
        if self._has_document:
            self._keep_clock.kept(time.monotonic_ns(), 0)
            self._show_document()
        else:
            place.update(record, self._view)
        self.tick()

    def _show_document(self) -> None:
        from blsnb.views.live import running_page

        shown = {"height": self._view.height} if self._view else {}
        carries_code = self._place.carries_code
        document = running_page.mimebundle(
            self._trace(), carries_code=carries_code, **shown
        )
        self._place.update(self._record, document, raw=True)

    def _trace(self) -> Trace:
        return trace_now(self._record)

    def tick(self) -> None:
        """Send new events to the widget if an update is due."""
        if self._view is not None:
            self._view.tick(time.monotonic_ns())

    def refresh(self) -> None:
        """Update the widget, and periodically the document.

        Called on a thread of its own, so that no model waits for a document.
        """
        self.tick()
        now_ns = time.monotonic_ns()
        if self._has_document and self._keep_clock.due(now_ns, now_ns):
            self._update_document(now_ns)

    def _update_document(self, now_ns: int) -> None:
        self._updated = Waiter()
        try:
            # Read after the waiter is set: `finish` waits for it.
            if not self._ended:
                self._show_document()
                self._keep_clock.kept(now_ns, now_ns, time.monotonic_ns() - now_ns)
        finally:
            self._updated.wake()

    def finish(self) -> None:
        """Replace the widget by the document of the finished run."""
        self._ended = True
        self._updated.wait(_MAKE_TIMEOUT_S)
        view, shown = self._view, {}
        if view is not None:
            view.finish(time.monotonic_ns())
            shown = {"selected": view.selected, "height": view.height}
        self._place.fill(self._record, **shown)

    def close(self) -> None:
        """Close the widget; its document then has embedded previews only."""
        if self._view is not None:
            self._view.close()


class ActiveRun:
    """A run that has not ended, and its widget if it takes long.

    Parameters
    ----------
    record
        Record of the run.
    cell
        The cell in which it began.
    place
        Its output; None if it is not shown.
    """

    def __init__(
        self, record: RunRecord, cell: Any, place: OutputPlace | None = None
    ) -> None:
        self.record = record
        self.cell = cell
        self.place = place
        self.view: LiveView | None = None
        self.is_live = False
        """Whether a thread is making its widget or has made it."""
        self._token = [None]
        self._made = Waiter()
        self._shown = Waiter()

    def claim(self) -> bool:
        """Return True to the first caller, which makes the widget."""
        try:
            self._token.pop()
        except IndexError:
            return False
        return True

    def make_view(self) -> None:
        """Make the widget, after `claim`."""
        self.is_live = True
        try:
            if self.place is not None:
                self.view = LiveView(self.record, self.place)
        finally:
            self._made.wake()

    def finished_view(self) -> LiveView | None:
        """Replace the widget by the document and return it; None without a widget."""
        if not self.claim():
            # Another thread may still be making it.
            self._made.wait(_MAKE_TIMEOUT_S)
        if self.view is not None:
            self.view.finish()
        return self.view

    def end(self) -> None:
        """Note that the run has ended and its document is shown."""
        self._shown.wake()

    def wait(self, seconds: float) -> None:
        """Wait for `end`; longer while the document of an ended run is made."""
        is_shown = self._shown.wait(max(0.0, seconds))
        if not is_shown and self.is_live and self.record.ended:
            self._shown.wait(_MAKE_TIMEOUT_S)


class Refresher:
    """Refreshes the views of active runs; its thread ends when none is left.

    Parameters
    ----------
    refresh
        Refreshes once; returns whether any run is active.
    """

    def __init__(self, refresh: Callable[[], bool]) -> None:
        self._refresh = refresh
        self._watcher: Watcher | None = None
        # The thread that takes the token starts the watcher; the others continue.
        self._token = ["start"]

    def wake(self) -> None:
        """Start the thread; cheap if it already runs."""
        if self._watcher is None:
            self._start()

    def _start(self) -> None:
        try:
            self._token.pop()
        except IndexError:
            return
        watcher = Watcher(self._refresh_once, _REFRESH_PAUSE_S, "blsnb live view")
        try:
            watcher.start()
        except OutOfResourcesError as error:
            # The runs continue; only their views are not refreshed.
            _log.warning("running requests are not shown: %s", error.message)
            self._token.append("start")
            return
        self._watcher = watcher

    def _refresh_once(self) -> None:
        if self._has_active():
            return
        self.close(0)
        # A run that began before this line found the watcher running.
        if self._has_active():
            self.wake()

    def _has_active(self) -> bool:
        try:
            return self._refresh()
        except Exception:
            _log.exception("the views of running requests could not be refreshed")
            return False

    def close(self, timeout_s: float = _CLOSE_TIMEOUT_S) -> None:
        """Stop until `wake` is called again; safe to repeat."""
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(timeout_s)
            self._token.append("start")
