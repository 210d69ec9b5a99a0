"""The widget that shows a run while it executes, and answers queries of the page."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any

import anywidget
import traitlets

from blsnb.printable import printable
from blsnb.trace.comparison import AnyTrace, compare
from blsnb.trace.excerpt import page_excerpt
from blsnb.trace.spans import Trace
from blsnb.views.documents import document, host, wire
from blsnb.views.documents.numbering import Numbering
from blsnb.views.live import queries
from blsnb.views.live.answers import Answers
from blsnb.views.live.clocks import FlushClock
from blsnb.views.live.placed_widget import placed_bundle
from blsnb.views.live.queries import VERSION, Message, answer_about
from blsnb.views.tree import tree


class TraceView(anywidget.AnyWidget):
    """Call graph, timeline and tensors of one run, linked.

    Thread-safe; starts no threads or timers: its owner calls `tick` after each event,
    and `finish` at the end.

    Parameters
    ----------
    trace
        Returns the current trace.
    baseline
        The run to compare with; None for none.
    """

    _esm = host.CODE

    selected = traitlets.Int(-1, help="id of the selected call; -1 for none").tag(
        sync=True
    )
    filter = traitlets.Unicode("", help="filter of the rows").tag(sync=True)
    run_id = traitlets.Unicode("", help="page id of the run", read_only=True).tag(
        sync=True
    )
    height = traitlets.Int(wire.LIVE_HEIGHT, help="height in pixels").tag(sync=True)
    baseline = traitlets.Any(None, help="the run to compare with; None for none")

    def __init__(self, trace: Callable[[], Trace], *, baseline: Any = None) -> None:
        self._whole = trace
        self._clock = FlushClock()
        self._numbering = Numbering()
        self._numbers = itertools.count(1)
        self._seq = 0
        self._sent: set[int] = set()
        self._open: set[int] = set()
        # The thread that takes the token sends. Taking from a list is atomic, and other
        # threads do not wait.
        self._token = ["flush"]
        super().__init__()
        self._answers = Answers(partial(answer_about, self._own), self.send)
        self._identify(self._trace())
        self.baseline = baseline
        self.on_msg(self._on_message)

    def __repr__(self) -> str:
        return printable(f"<TraceView of run {self._trace().run_id}>")

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], Message]:
        data, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        return data | self._still(), metadata

    def placed(self) -> dict[str, str]:
        """Return the picture with a script that puts the view in its place."""
        return placed_bundle(self, self._still())

    def _still(self) -> dict[str, str]:
        run = self._compared(self._trace())
        return {"text/html": document.still(run), "text/plain": tree(run)}

    def _trace(self) -> Trace:
        """Return the part of the trace that fits in a page."""
        return page_excerpt(self._whole())

    def _compared(self, trace: Trace) -> AnyTrace:
        if self.baseline is None:
            return trace
        return compare(trace, page_excerpt(self.baseline.trace))

    @traitlets.validate("baseline")
    def _check_baseline(self, proposal: Message) -> Any:
        value = proposal["value"]
        if value is not None and not isinstance(getattr(value, "trace", None), Trace):
            raise traitlets.TraitError(
                f"baseline={value!r} is not valid; expected a run or None"
            )
        return value

    @traitlets.observe("baseline")
    def _show_baseline(self, _: Message) -> None:
        self._seq = next(self._numbers)
        self._send_calls(self._seq, self._trace(), None)

    def tick(self, now_ns: int) -> bool:
        """Send the changes if an update is due; return whether they were sent."""
        if not self._clock.due(now_ns):
            return False
        try:
            self._token.pop()
        except IndexError:
            return False
        try:
            self._flush(now_ns, self._clock.whole(len(self._sent)))
        finally:
            self._token.append("flush")
        return True

    def finish(self, now_ns: int) -> None:
        """Send the whole run with its final state."""
        self._flush(now_ns, whole=True)
        self.send({"v": VERSION, "type": "finished", "run": self.run_id})

    def _flush(self, now_ns: int, whole: bool) -> None:
        began_ns = perf_counter_ns()
        # Numbered before the trace is taken, so that a later number is never older.
        seq = self._seq = next(self._numbers)
        trace = self._trace()
        self._identify(trace)
        calls = {span.id for span in trace.spans}
        # A page notices missing calls, but not calls that were dropped.
        whole = whole or not self._sent <= calls
        changed = (calls - self._sent) | self._open
        rows = [span.index for span in trace.spans if span.id in changed]
        self._send_calls(seq, trace, None if whole else rows)
        self._open = {span.id for span in trace.spans if not span.request_end_ns}
        self._sent = calls
        took_ns = perf_counter_ns() - began_ns
        self._clock.flushed(now_ns, len(calls), whole, took_ns)

    def _identify(self, trace: Trace) -> None:
        """Set the id with which the run's document finds this view."""
        if trace.spans and not self.run_id:
            self.set_trait("run_id", wire.page_id(trace))

    def _send_calls(self, seq: int, trace: Trace, rows: list[int] | None) -> None:
        # Changed rows contain no comparison: the baseline is part of a snapshot.
        shown = self._compared(trace) if rows is None else trace
        header, buffer = wire.assemble(
            shown, rows, numbering=self._numbering, height=self.height
        )
        run, kind = wire.page_id(trace), "snapshot" if rows is None else "rows"
        message = {"v": VERSION, "type": kind, "run": run, "seq": seq, "header": header}
        self.send(message, buffers=[bytes(buffer)])

    def _on_message(self, _: Any, content: Any, buffers: list[Any]) -> None:
        """Answer a message of the page, which is checked and never evaluated."""
        match content:
            case {"type": "hello" | "resync", "v": v} if v == VERSION:
                self._send_calls(self._seq, self._trace(), None)
            case {"type": str(), "id": _}:
                self._answers.receive(content)

    def _own(self, run: str) -> Trace:
        """Return the trace, if a page id is that of this run."""
        trace = self._whole()
        if run != wire.page_id(trace):
            raise queries.gone()
        return trace
