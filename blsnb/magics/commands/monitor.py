"""``%triton monitor``: the whole server as a live widget, or as a table."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.display import DisplayHandle, display

from blsnb.magics import default_server as default
from blsnb.magics.frontend import has_no_models
from blsnb.magics.line import Line

if TYPE_CHECKING:
    from blsnb.dashboard.monitor import Monitor
    from blsnb.views.live.overview import Overview

SUMMARY = "show the whole server live: models, rates, latencies, queues, errors"


class Monitors:
    """The monitors of a shell; they close with the extension."""

    def __init__(self) -> None:
        self._shown: weakref.WeakSet[Monitor] = weakref.WeakSet()

    def show(self, line: Line) -> None:
        """Show the server in the running cell: live in a page, else as text."""
        if line.text:
            raise UsageError("usage: %triton monitor")
        monitor = default.server().monitor()
        self._shown.add(monitor)
        if not line.live:
            print(monitor)
            return
        widget = monitor.widget()
        if has_no_models():
            handle = display(widget, display_id=True)
        else:
            handle = display(widget.document(), raw=True, display_id=True)
            monitor.on_change(lambda: handle.update(widget.document(), raw=True))
        monitor.on_close(lambda last: _show_last(handle, last))

    def close(self) -> None:
        """Close all monitors."""
        for monitor in list(self._shown):
            monitor.close()


def _show_last(handle: DisplayHandle, last: Overview) -> None:
    """Replace the widget by a table, which a saved notebook keeps."""
    from blsnb.views.live.monitor_view import still

    handle.update(still(last, time.localtime()), raw=True)
