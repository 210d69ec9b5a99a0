"""Polls of a server as long as a page displays it."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from blsnb.dashboard.window import Window
from blsnb.engine.readings import Reading
from blsnb.engine.threads.watcher import Watcher
from blsnb.printable import printable
from blsnb.views.live.clocks import KeepClock
from blsnb.views.live.overview import Overview

if TYPE_CHECKING:
    from blsnb.views.live.monitor_view import MonitorView

INTERVAL_S = 0.5
UNWATCHED_NS = 600_000_000_000
"""Time without a message of a page, after which polling pauses. A page sends none
while a cell runs."""
_END_S = 1.0
_log = logging.getLogger(__name__)


class Monitor:
    """The live view of a server: display it, or read its `overview`.

    A thread polls the server every half second, until the monitor, its widget or the
    server is closed. It pauses after ten minutes without a message of a page, and
    resumes with the next message.

    Parameters
    ----------
    read
        Reads the server's counters.
    release
        Called when polling pauses or ends.
    clock
        Returns a monotonic time in nanoseconds.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        release: Callable[[], None],
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._read = read
        self._release = release
        self._clock = clock
        self._window = Window()
        self._lock = threading.RLock()
        """Polling and closing exclude each other."""
        self._watcher: Watcher | None = None
        self._watched_ns = clock()
        self._view: MonitorView | None = None
        self._last: Overview | None = None
        self._ends: list[Callable[[Overview], None]] = []
        self._keeps: list[Callable[[], None]] = []
        self._keep_clock = KeepClock()
        self.closed = False

    def __repr__(self) -> str:
        state = "closed" if self.closed else "live" if self.is_polling else "paused"
        return printable(f"<Monitor, {state}: {self.overview().caption}>")

    def __str__(self) -> str:
        return str(self.overview())

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if self.closed:
            from blsnb.views.live.monitor_view import still

            return still(self.overview())
        return self.widget().document()

    @property
    def is_polling(self) -> bool:
        """Whether the thread runs."""
        return self._watcher is not None

    def overview(self) -> Overview:
        """Return the state of the server; the last one if the monitor is closed."""
        with self._lock:
            if self._last is None or not self.closed:
                self._last = self._window.add(self._read())
            return self._last

    def widget(self) -> MonitorView:
        """Return the widget, always the same one, and start polling.

        Raises
        ------
        RuntimeError
            The monitor is closed.
        """
        from blsnb.views.live.monitor_view import MonitorView

        with self._lock:
            if self.closed:
                raise RuntimeError("the monitor is closed; make one: server.monitor()")
            if self._view is None:
                self._view = MonitorView(self.overview(), self.keep_alive, self.close)
            self.keep_alive()
            return self._view

    def keep_alive(self) -> None:
        """Start polling, or continue for another ten minutes."""
        with self._lock:
            self._watched_ns = self._clock()
            if self._watcher is None and not self.closed:
                watcher = Watcher(self.poll, INTERVAL_S, "blsnb monitor")
                watcher.start()
                self._watcher = watcher

    def poll(self) -> None:
        """Show the state of the server; pause if no page has sent messages lately."""
        with self._lock:
            if self.closed:
                return
            try:
                overview = self.overview()
                if self._view is not None:
                    self._view.show(overview)
                self._keep(overview)
            except Exception:
                _log.exception("the monitor could not read the server")
            if self._clock() - self._watched_ns >= UNWATCHED_NS:
                watcher, self._watcher = self._watcher, None
                if watcher is not None:
                    watcher.close(0)
                self._release()

    def _keep(self, overview: Overview) -> None:
        now_ns, numbers = self._clock(), overview.numbers
        if self._keep_clock.due(now_ns, numbers):
            for call in self._keeps:
                call()
            took_ns = self._clock() - now_ns
            self._keep_clock.kept(now_ns, numbers, took_ns)

    def on_change(self, call: Callable[[], None]) -> None:
        """Call a function when the numbers have changed, soon or within a minute.

        A saved notebook has the last displayed state, not that of the page.

        Parameters
        ----------
        call
            Called without arguments, on the polling thread.
        """
        self._keeps.append(call)

    def on_close(self, call: Callable[[Overview], None]) -> None:
        """Call a function when the monitor is closed.

        Parameters
        ----------
        call
            Called with the last state.
        """
        self._ends.append(call)

    def close(self) -> None:
        """Stop polling and show the last state. Closing again has no effect."""
        with self._lock:
            if self.closed:
                return
            last = self._final()
            self.closed = True
            watcher, self._watcher = self._watcher, None
            view, self._view = self._view, None
            self._release()
        if watcher is not None:
            # Outside of the lock, which the thread may be waiting for.
            watcher.close(_END_S)
        self._call_ends(last)
        if view is not None:
            view.show(last)
            view.close()

    def _final(self) -> Overview:
        """Return and keep the last state; the server may be closing."""
        try:
            last = self.overview()
        except Exception:
            _log.exception("the monitor could not read the server")
            last = self._last or Overview(0, math.nan, ())
        self._last = last._replace(ended=True)
        return self._last

    def _call_ends(self, last: Overview) -> None:
        for call in self._ends:
            try:
                call(last)
            except Exception:
                # The server must continue to close.
                _log.exception("the end of a monitor could not be displayed")
