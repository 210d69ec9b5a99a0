"""``%triton monitor``: the whole server live, or as a table where there is no page."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING

from IPython.display import DisplayHandle, display

from blsnb.magics.frontend import has_no_models

if TYPE_CHECKING:
    from blsnb.dashboard.monitor import Monitor
    from blsnb.views.live.overview import Overview

SUMMARY = "show the whole server live: models, rates, latencies, queues, errors"


class Monitors:
    """The monitors that this shell shows: they end with the extension."""

    def __init__(self) -> None:
        self._shown: weakref.WeakSet[Monitor] = weakref.WeakSet()

    def show(self, monitor: Monitor, *, live: bool) -> None:
        """Show a server in the running cell.

        Parameters
        ----------
        live
            Whether there is a page; else it is a table, once.
        """
        self._shown.add(monitor)
        if not live:
            print(monitor)
            return
        widget = monitor.widget()
        if has_no_models():
            handle = display(widget, display_id=True)
        else:
            handle = display(widget.document(), raw=True, display_id=True)
            monitor.at_times(lambda: handle.update(widget.document(), raw=True))
        monitor.at_end(lambda last: _leave(handle, last))

    def close(self) -> None:
        """End them all."""
        for monitor in list(self._shown):
            monitor.close()


def _leave(handle: DisplayHandle, last: Overview) -> None:
    """Leave a table in the place of the widget, which a saved notebook has not."""
    from blsnb.views.live.monitor_view import still

    handle.update(still(last, time.localtime()), raw=True)
