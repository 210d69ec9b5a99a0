"""Monitor: looks at a server from time to time, as long as somebody watches."""

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
from blsnb.views.live.clocks import KeepClock
from blsnb.views.live.overview import Overview

if TYPE_CHECKING:
    from blsnb.views.live.monitor_view import MonitorView

INTERVAL_S = 0.5
UNWATCHED_NS = 600_000_000_000
"""So long a page may be silent: one says nothing while a cell runs."""
_END_S = 1.0
_log = logging.getLogger(__name__)


class Monitor:
    """A server shown live: `display` it, or ask for its `overview`.

    It looks every half second on one thread of its own. That ends when the monitor,
    its widget or the server is closed; it rests while no page has said for ten
    minutes that somebody watches, and goes on when one does.

    Parameters
    ----------
    read
        Reads the server's counters.
    release
        Called once nobody looks any more.
    clock
        Tells the nanoseconds.
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
        """A look and an end do not overlap."""
        self._watcher: Watcher | None = None
        self._watched_ns = clock()
        self._view: MonitorView | None = None
        self._last: Overview | None = None
        self._ends: list[Callable[[Overview], None]] = []
        self._keeps: list[Callable[[], None]] = []
        self._keep_clock = KeepClock()
        self.closed = False

    def __repr__(self) -> str:
        state = "closed" if self.closed else "live" if self.is_looking else "at rest"
        return f"<Monitor, {state}: {self.overview().caption}>"

    def __str__(self) -> str:
        return str(self.overview())

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if self.closed:
            from blsnb.views.live.monitor_view import still

            return still(self.overview())
        return self.widget().document()

    @property
    def is_looking(self) -> bool:
        """Whether the thread runs."""
        return self._watcher is not None

    def overview(self) -> Overview:
        """Return the server as it is now; the last state once this is closed."""
        with self._lock:
            if self._last is None or not self.closed:
                self._last = self._window.add(self._read())
            return self._last

    def widget(self) -> MonitorView:
        """Return the widget, the same every time; from now on it is live.

        Raises
        ------
        RuntimeError
            The monitor was closed.
        """
        from blsnb.views.live.monitor_view import MonitorView

        with self._lock:
            if self.closed:
                raise RuntimeError("the monitor was closed; server.monitor() has a new")
            if self._view is None:
                self._view = MonitorView(self.overview(), self.watched, self.close)
            self.watched()
            return self._view

    def watched(self) -> None:
        """Note that somebody watches, and look from now on."""
        with self._lock:
            self._watched_ns = self._clock()
            if self._watcher is None and not self.closed:
                watcher = Watcher(self.look, INTERVAL_S, "blsnb monitor")
                watcher.start()
                self._watcher = watcher

    def look(self) -> None:
        """Show the server as it is now; rest if nobody has watched for long."""
        with self._lock:
            if self.closed:
                return
            try:
                overview = self.overview()
                if self._view is not None:
                    self._view.show(overview)
                self._keep(overview)
            except Exception:
                _log.exception("a look at the server failed")
            if self._clock() - self._watched_ns >= UNWATCHED_NS:
                self._rest()

    def _keep(self, overview: Overview) -> None:
        now_ns, numbers = self._clock(), overview.numbers
        if self._keep_clock.due(now_ns, numbers):
            for call in self._keeps:
                call()
            took_ns = self._clock() - now_ns
            self._keep_clock.kept(now_ns, numbers, took_ns)

    def _rest(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(0)
        self._release()

    def at_times(self, call: Callable[[], None]) -> None:
        """Call a function when the numbers have changed, at last once a minute.

        A notebook that is saved holds what was shown last, not what is in a page.
        """
        self._keeps.append(call)

    def at_end(self, call: Callable[[Overview], None]) -> None:
        """Call a function with the last state, once this is closed."""
        self._ends.append(call)

    def close(self) -> None:
        """Look no more, and leave the last state; safe to repeat."""
        with self._lock:
            if self.closed:
                return
            last = self._final()
            self.closed = True
            watcher, self._watcher = self._watcher, None
            view, self._view = self._view, None
            self._release()
        if watcher is not None:
            # Not under the lock: the thread may wait for it.
            watcher.close(_END_S)
        self._leave(last)
        if view is not None:
            view.show(last)
            view.close()

    def _final(self) -> Overview:
        """Return the last state, and keep it; the server may be half gone."""
        try:
            last = self.overview()
        except Exception:
            _log.exception("the last look at the server failed")
            last = self._last or Overview(0, math.nan, ())
        self._last = last._replace(ended=True)
        return self._last

    def _leave(self, last: Overview) -> None:
        for call in self._ends:
            try:
                call(last)
            except Exception:
                # A server that closes goes on doing so.
                _log.exception("a monitor's place could not be filled")
