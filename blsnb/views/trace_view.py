"""TraceView: the widget that shows a run while it executes, and answers the page."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import anywidget
import traitlets

from blsnb.errors import TraceError
from blsnb.tensors import preview
from blsnb.trace.comparison import TraceComparison, compare
from blsnb.trace.spans import Trace
from blsnb.views import compared_document, compared_wire, document, running, wire
from blsnb.views.buffer import Buffer
from blsnb.views.compared_tree import compared_tree
from blsnb.views.entries import entry, placed, tensors_of
from blsnb.views.flush import FlushClock
from blsnb.views.tree import tree

Message = dict[str, Any]
_log = logging.getLogger(__name__)


_TRAITS = {"selected", "filter", "height", "baseline"}


class TraceView(anywidget.AnyWidget):
    """Call graph, timeline and tensors of one run, linked.

    It starts no thread and no timer: whoever records an event calls `tick`, and
    `finish` at the end. Both, and the answers to the page, may come from any thread.

    Parameters
    ----------
    trace
        Returns the trace as it is now.
    selected, filter, height, baseline
        Initial values of the traits.
    """

    _esm = document.CODE

    selected = traitlets.Int(-1, help="row of the selected call; -1 for none").tag(
        sync=True
    )
    filter = traitlets.Unicode("", help="what the rows are filtered by").tag(sync=True)
    run_id = traitlets.Unicode("", help="the run's id in a page", read_only=True).tag(
        sync=True
    )
    height = traitlets.Int(wire.LIVE_HEIGHT, help="height in pixels").tag(sync=True)
    baseline = traitlets.Any(None, help="the run to compare with; None for none")

    def __init__(self, trace: Callable[[], Trace], **traits: Any) -> None:
        unknown = sorted(set(traits) - _TRAITS)
        if unknown:
            raise TypeError(
                f"TraceView has no trait {unknown[0]!r}, "
                "only selected, filter, height and baseline"
            )
        self._trace = lambda: trace().shown
        self._clock = FlushClock()
        self._names = wire.InstanceNames()
        self._numbers = itertools.count(1)
        self._seq = 0
        self._sent = 0
        self._folded = 0
        self._open: list[int] = []
        # Whoever takes the token may flush; taking from a list is one step for
        # all threads, and nobody has to wait.
        self._token = ["flush"]
        super().__init__(**traits)
        self._name(self._trace())
        self.on_msg(self._on_message)

    def __repr__(self) -> str:
        return f"<TraceView of run {self._trace().run_id}>"

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], Message]:
        data, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        compared = self._compared(self._trace())
        if compared is None:
            data["text/html"] = document.still(self._trace())
            data["text/plain"] = tree(self._trace())
        else:
            data["text/html"] = compared_document.compared_still(compared)
            data["text/plain"] = compared_tree(compared)
        return data, metadata

    def document(self) -> dict[str, str]:
        """Return the run as it is now, as an output that needs no kernel.

        In a page that has this widget the live view takes its place.
        """
        return running.mimebundle(self._trace(), height=self.height)

    def _compared(self, trace: Trace) -> TraceComparison | None:
        if self.baseline is None:
            return None
        return compare(trace, self.baseline.trace.shown)

    @traitlets.validate("baseline")
    def _check_baseline(self, proposal: Message) -> Any:
        value = proposal["value"]
        if value is not None and not isinstance(getattr(value, "trace", None), Trace):
            raise traitlets.TraitError(f"a run or None is compared with, not {value!r}")
        return value

    @traitlets.observe("baseline")
    def _show_baseline(self, _: Message) -> None:
        self._seq = next(self._numbers)
        self._tell("snapshot", self._seq, self._trace(), None)

    def tick(self, now_ns: int) -> bool:
        """Send what happened if it is time to; return whether it was sent."""
        if not self._clock.due(now_ns):
            return False
        try:
            self._token.pop()
        except IndexError:
            return False
        try:
            self._flush(now_ns, self._clock.whole(self._sent))
        finally:
            self._token.append("flush")
        return True

    def finish(self, now_ns: int) -> None:
        """Send the last state of the run, whole, and that it is the last."""
        self._flush(now_ns, whole=True)
        self.send({"type": "finished"})

    def _flush(self, now_ns: int, whole: bool) -> None:
        began_ns = perf_counter_ns()
        # Numbered before the trace is taken: a later number is never older.
        seq = self._seq = next(self._numbers)
        trace = self._trace()
        self._name(trace)
        rows = len(trace.spans)
        # Rows that went away have moved all others.
        whole = whole or trace.folded_count != self._folded
        self._folded = trace.folded_count
        changed = None if whole else [*self._open, *range(self._sent, rows)]
        self._tell("snapshot" if whole else "rows", seq, trace, changed)
        self._open = [span.index for span in trace.spans if not span.request_end_ns]
        self._sent = rows
        took_ns = perf_counter_ns() - began_ns
        self._clock.flushed(now_ns, rows, whole, took_ns)

    def _name(self, trace: Trace) -> None:
        """Tell the page under which id the run's document will look for this view."""
        if trace.spans and not self.run_id:
            self.set_trait("run_id", wire.page_id(trace))

    def _tell(self, kind: str, seq: int, trace: Trace, rows: list[int] | None) -> None:
        options: Message = {"instances": self._names, "height": self.height}
        # A baseline is sent with what is whole.
        compared = self._compared(trace) if rows is None else None
        if compared is None:
            header, buffer = wire.assemble(trace, rows, **options)
        else:
            header, buffer = compared_wire.assemble(compared, **options)
        message = {"type": kind, "seq": seq, "header": header}
        self.send(message, buffers=[bytes(buffer)])

    def _on_message(self, _: Any, content: Any, buffers: list[Any]) -> None:
        """Answer the page; what it says is checked, and never evaluated."""
        match content:
            case {"type": "hello" | "resync"}:
                self._tell("snapshot", self._seq, self._trace(), None)
            case {"type": "tensors" | "slice", "id": id_}:
                answer, data = self._answer(content)
                self.send({"type": "answer", "id": id_, **answer}, buffers=[data])

    def _answer(self, question: Message) -> tuple[Message, bytes]:
        buffer = Buffer()
        try:
            answer = answer_question(self._trace(), question, buffer)
        except TraceError as error:
            return {"error": str(error)}, b""
        except Exception as error:
            # A page without an answer says for ever that the kernel is busy.
            _log.exception("a question about tensors failed: %s", question)
            return {"error": f"{type(error).__name__}: {error}"}, b""
        return answer, bytes(buffer)


def answer_question(trace: Trace, question: Message, buffer: Buffer) -> Message:
    """Answer what a page asks of a trace's tensors.

    Parameters
    ----------
    question
        ``{type: "tensors", row}`` or ``{type: "slice", row, tensor, index, mode}``.
    buffer
        Takes the previews' bytes.

    Raises
    ------
    TraceError
        The question names something that is not there.
    """
    span = trace.spans[_number(question, "row", len(trace.spans))]
    uses = tensors_of(span)
    if question["type"] == "tensors":
        return {"tensors": [entry(use, buffer) for use in uses]}
    ref = uses[_number(question, "tensor", len(uses))].ref
    index = _index(question)
    match question.get("mode"):
        case "grid":
            return {"preview": placed(preview.grid(ref, index), buffer)}
        case "image":
            return {"preview": placed(preview.image(ref, index), buffer)}
        case other:
            raise TraceError(f"mode is 'grid' or 'image', not {other!r}")


def _number(question: Message, key: str, size: int) -> int:
    value = question.get(key)
    if type(value) is not int or not 0 <= value < size:
        raise TraceError(f"{key} is a number from 0 to {size - 1}, not {value!r}")
    return value


def _index(question: Message) -> list[int]:
    index = question.get("index")
    if not isinstance(index, list) or any(type(at) is not int for at in index):
        raise TraceError(f"index is a list of numbers, not {index!r}")
    return index
