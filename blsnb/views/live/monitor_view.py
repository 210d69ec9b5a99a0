"""The widget that shows the overview of a server."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from blsnb.printable import printable
from blsnb.views.live.overview import Overview
from blsnb.views.live.placed_widget import placed

CODE = Path(__file__).parent.parent / "static" / "monitor.js"


class MonitorView(anywidget.AnyWidget):
    """Models, rates, latencies, queues and errors of one server.

    Thread-safe; starts no threads: its owner calls `show`.

    Parameters
    ----------
    overview
        The first overview.
    watched
        Called whenever a page reports that it displays the widget.
    closed
        Called when the widget is closed.
    """

    _esm = CODE

    overview = traitlets.Dict(help="overview of the server").tag(sync=True)
    monitor_id = traitlets.Unicode(help="id in a page", read_only=True).tag(sync=True)

    def __init__(
        self,
        overview: Overview,
        watched: Callable[[], None],
        closed: Callable[[], None],
    ) -> None:
        self._overview = overview
        self._watched = watched
        self._on_closed = closed
        super().__init__(overview=overview.wire())
        self.on_msg(self._on_message)

    @traitlets.default("monitor_id")
    def _new_id(self) -> str:
        return uuid.uuid4().hex

    def __repr__(self) -> str:
        return printable(f"<MonitorView: {self._overview.caption}>")

    def _repr_mimebundle_(
        self, **options: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        return {**data, **still(self._overview)}, metadata

    def document(self) -> dict[str, str]:
        """Return the present state as an output that needs no kernel.

        In a page with this widget the live view replaces the table.
        """
        shown = still(self._overview, time.localtime())
        shown["text/html"] = placed(shown["text/html"], "monitors", self.monitor_id)
        return shown

    def show(self, overview: Overview) -> None:
        """Show another overview; pages receive it if it differs."""
        self._overview = overview
        self.overview = overview.wire()

    def close(self) -> None:
        """Remove the widget from every page."""
        super().close()
        self._on_closed()

    def _on_message(self, _: Any, content: Any, buffers: list[Any]) -> None:
        match content:
            case {"type": "watching"}:
                self._watched()


def still(overview: Overview, when: time.struct_time | None = None) -> dict[str, str]:
    """Return an overview as a table, for readers without scripts or kernel.

    Parameters
    ----------
    when
        Time of the overview, written below it; None to omit it.
    """
    shown = {"text/html": overview.html(), "text/plain": str(overview)}
    if when is not None:
        words = f"As it was on {time.strftime('%Y-%m-%d at %H:%M:%S', when)}."
        shown["text/html"] += f"<p>{words}</p>"
        shown["text/plain"] += f"\n{words}"
    return shown
