"""``%triton monitor``: the whole server as a live widget, or as a table."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.display import DisplayHandle, display

from blsnb.errors import TritonServerError
from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import SUMMARIES
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import needs_displayed_widgets
from blsnb.magics.line import Line

if TYPE_CHECKING:
    from blsnb.dashboard.monitor import Monitor
    from blsnb.views.live.overview import Overview


def monitor_flags() -> Flags:
    """Return the parser of ``%triton monitor``."""
    flags = Flags("%triton monitor", f"{SUMMARIES['monitor']}.")
    flags.add_argument(
        "--url",
        help="the HTTP port of a real Triton server to show, such as 127.0.0.1:8000; "
        "its statistics have no percentiles",
    )
    flags.add_argument(
        "--metrics",
        metavar="URL",
        help="its metrics port, which knows the waiting requests (port 8002)",
    )
    return flags


class Monitors:
    """The monitors of a shell; they close with the extension."""

    def __init__(self) -> None:
        self._shown: weakref.WeakSet[Monitor] = weakref.WeakSet()

    def run(self, line: Line) -> None:
        """Show the server in the running cell: live in a page, else as text."""
        flags = monitor_flags()
        given = flags.parse(line.words)
        if given.metrics and not given.url:
            flags.error("--metrics needs --url")
        if given.url is None:
            monitor = default.server().monitor()
        else:
            monitor = _remote(given.url, given.metrics)
        self._shown.add(monitor)
        if not line.live:
            print(monitor)
            return
        widget = monitor.widget()
        if needs_displayed_widgets():
            handle = display(widget, display_id=True)
        else:
            handle = display(widget.document(), raw=True, display_id=True)
            monitor.on_change(lambda: handle.update(widget.document(), raw=True))
        monitor.on_close(lambda last: _show_last(handle, last))

    def close(self) -> None:
        """Close all monitors."""
        for monitor in list(self._shown):
            monitor.close()


def _remote(url: str, metrics: str | None) -> Monitor:
    """Return a monitor of a real server, which has responded."""
    from blsnb.dashboard.monitor import Monitor
    from blsnb.watch.remote_readings import RemoteReadings

    try:
        readings = RemoteReadings(url, metrics)
        readings.read()
    except (TritonServerError, ValueError) as error:
        raise UsageError(f"%triton monitor: {error}") from error
    return Monitor(readings.read, lambda: None)


def _show_last(handle: DisplayHandle, last: Overview) -> None:
    """Replace the widget by a table, which a saved notebook keeps."""
    from blsnb.views.live.monitor_view import still

    handle.update(still(last, time.localtime()), raw=True)
