"""A live list of requests with filters; a click opens the view of one."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

from blsnb.views.live.clocks import KeepClock
from blsnb.views.live.placed_widget import PlacedWidget, opened, placed

Listed = tuple[str, str, list[tuple[str, str]]]
Rows = Callable[[str, str, float, bool], Listed]
MAX_ROWS = 20
NEWEST, SLOWEST = "newest first", "slowest first"
_STYLE = f"""<style>
.blsnb-requests {{
  max-height: calc({MAX_ROWS} * var(--jp-widgets-inline-height, 28px));
  overflow: clip; overflow-clip-margin: 4px;
}}
.blsnb-requests button.jupyter-button {{
  flex: none; text-align: left; font-family: var(--jp-code-font-family, monospace);
  white-space: pre; background: transparent; width: 100%; margin: 0;
}}
.blsnb-requests-head pre {{
  margin: 0; padding: 0 11px; font-family: var(--jp-code-font-family, monospace);
  font-size: var(--jp-widgets-font-size, 13px);
}}
</style>"""
_LIST = "blsnb-requests"
_EMPTY = "No request has been received."
_WAITS = "The rows wait while the pointer or the focus is in the list."


class _Attention(anywidget.AnyWidget):
    """Whether a reader is about to choose a row of the list beside it."""

    _esm = Path(__file__).parent.parent / "static" / "attended.js"

    list_class = traitlets.Unicode(_LIST).tag(sync=True)
    attended = traitlets.Bool(False, help="reported by the page").tag(sync=True)


class RequestList(ipywidgets.VBox):
    """The newest or the slowest requests; starts no threads: its owner calls `refresh`.

    Parameters
    ----------
    rows
        Returns a summary, the head of the columns, and id and text of each row, for the
        filter's values: parts of the model's name and of the request's id,
        milliseconds, and whether the slowest requests come first.
    open_view
        Returns the document of a request.
    """

    def __init__(self, rows: Rows, open_view: Callable[[str], dict[str, Any]]) -> None:
        self._rows = rows
        self._open_view = open_view
        self._lock = threading.Lock()
        self._ended = False
        self._keep: Callable[[], None] | None = None
        self._keep_clock = KeepClock()
        self._summary = ipywidgets.HTML()
        self._head = ipywidgets.HTML()
        self._model = ipywidgets.Text(placeholder="model", continuous_update=True)
        self._request = ipywidgets.Text(placeholder="request id")
        self._slower = ipywidgets.BoundedFloatText(
            description="at least ms", min=0, max=1e9
        )
        self._order = ipywidgets.Dropdown(options=[NEWEST, SLOWEST])
        self._live = ipywidgets.ToggleButton(value=True, description="Live")
        self._attention = _Attention()
        self._attention.observe(self._leave, "attended")
        self._listed = self._list()
        self._head.add_class("blsnb-requests-head")
        self._output = ipywidgets.Output()
        bar = self._bar()
        style = ipywidgets.HTML(_STYLE)
        listed = (self._head, self._attention, self._listed)
        super().__init__([style, self._summary, bar, *listed, self._output])
        self._show()

    def _bar(self) -> ipywidgets.HBox:
        """Return the filters in a row, observed."""
        filters = (self._model, self._request, self._slower, self._order)
        for each in filters:
            each.layout.width = "15em"
        for each in (*filters, self._live):
            each.observe(lambda _: self._show(), "value")
        bar = ipywidgets.HBox([*filters, self._live])
        bar.layout.flex_flow = "row wrap"
        return bar

    def _list(self) -> ipywidgets.VBox:
        """Return the list with its buttons, all unused."""
        # Twice as many: a click that was made before its row left still opens it.
        self._buttons = [self._button() for _ in range(2 * MAX_ROWS)]
        self._ids: dict[ipywidgets.Button, str] = {}
        """The request of each button, also after its row has left."""
        self._used: dict[str, ipywidgets.Button] = {}
        """The buttons in the list, by request."""
        self._free = deque(self._buttons)
        """The other ones; those that left the list first are used again first."""
        listed = ipywidgets.VBox(self._buttons)
        listed.add_class(_LIST)
        return listed

    def _button(self) -> ipywidgets.Button:
        button = ipywidgets.Button(layout={"width": "100%", "display": "none"})
        button.on_click(self._open)
        return button

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super()._repr_mimebundle_(**options) or {}
        return shown | self.still()

    def still(self) -> dict[str, str]:
        """Return the present rows as a text, for readers without a kernel."""
        summary, head, rows = self._read()
        when = time.strftime("%Y-%m-%d at %H:%M:%S")
        lines = [summary, head, *(text for _, text in rows), f"As it was on {when}."]
        text = "\n".join(filter(None, lines))
        return {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}

    def placed(self) -> dict[str, str]:
        """Return the display of the list, which is empty without this kernel."""
        return {"text/plain": "", "text/html": self._placed.document("")}

    def kept(self) -> dict[str, str]:
        """Return the present rows as a text that is hidden beside the list."""
        shown = self.still()
        page = placed(shown["text/html"], "kept", self._placed.placed_id)
        return {**shown, "text/html": page}

    @cached_property
    def _placed(self) -> PlacedWidget:
        return PlacedWidget(self, lambda _: None)

    def on_keep(self, call: Callable[[], None]) -> None:
        """Call a function when the rows have changed, soon or within a minute.

        A saved notebook has the last displayed text, not the list of the page.

        Parameters
        ----------
        call
            Called without arguments, on the thread that changed the rows.
        """
        self._keep = call

    def _keep_if_due(self, listed: Listed) -> None:
        now_ns = time.monotonic_ns()
        if self._keep is None or not self._keep_clock.due(now_ns, listed):
            return
        self._keep()
        self._keep_clock.kept(now_ns, listed, time.monotonic_ns() - now_ns)

    def _read(self) -> Listed:
        return self._rows(
            self._model.value,
            self._request.value,
            self._slower.value,
            self._order.value == SLOWEST,
        )

    def refresh(self) -> None:
        """Show the present requests, unless the reader stopped the list.

        While the pointer or the focus is in the list, only the summary is new: a row
        would move away before it is clicked.
        """
        if not self._live.value or self._ended:
            return
        if self._attention.attended:
            self._summary.value = escape(f"{self._read()[0]} {_WAITS}")
        else:
            self._show()

    def _leave(self, change: dict[str, Any]) -> None:
        if not change["new"]:
            self.refresh()

    def _show(self) -> None:
        with self._lock:
            summary, head, rows = listed = self._read()
            self._head.value = f"<pre>{escape(head)}</pre>" if rows else ""
            self._summary.value = escape(summary if rows else f"{summary} {_EMPTY}")
            self._assign([run_id for run_id, _ in rows])
            self._place(rows)
        self._keep_if_due(listed)

    def _place(self, rows: list[tuple[str, str]]) -> None:
        """Show the rows; a page may draw after each change.

        Each row that appears is followed by one that leaves; the style hides one that
        is too many, so that what is below the list keeps its place.
        """
        shown = [each for each in self._free if each.layout.display != "none"]
        leaving = deque(sorted(shown, key=lambda each: int(each.layout.order)))
        for number, (run_id, text) in enumerate(rows):
            button = self._used[run_id]
            button.description = text
            with button.layout.hold_sync():
                button.layout.order, button.layout.display = str(number), ""
            if leaving:
                leaving.popleft().layout.display = "none"
        for button in leaving:
            button.layout.display = "none"

    def _assign(self, run_ids: Collection[str]) -> None:
        """Give each request a button, which it keeps while it is in the list.

        The buttons of a list that stands still are in its order, as Tab reaches them.
        """
        if self._live.value and not self._ended:
            gone = [each for each in self._used if each not in run_ids]
            self._free.extend(map(self._used.pop, gone))
        else:
            self._used, self._free = {}, deque(self._buttons)
        for run_id in run_ids:
            if run_id not in self._used:
                self._used[run_id] = self._free.popleft()
            self._ids[self._used[run_id]] = run_id

    def _open(self, button: ipywidgets.Button) -> None:
        self._output.outputs = (opened(self._open_view(self._ids[button])),)

    def end(self) -> None:
        """Show the last requests; the list no longer changes, and stays clickable."""
        self._ended = True
        self._show()
        if self._keep is not None:
            self._keep()
        self._live.value = False
        self._live.disabled = True
