"""Queries of a page about the tensors of a run, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from blsnb.errors import TraceError
from blsnb.tensors import preview
from blsnb.trace.dropped import lost, missing_call, missing_values, was_dropped
from blsnb.trace.spans import Span, Trace
from blsnb.views.documents import wire
from blsnb.views.documents.buffer import Buffer
from blsnb.views.documents.call_tables import MAX_TEXT
from blsnb.views.documents.entries import entry, placed, tensors_of
from blsnb.views.format import sendable

VERSION = 1
"""Version of a page's messages to its kernel, see docs/reference/contracts.md."""

Message = dict[str, Any]
Code = Literal[
    "busy",
    "dropped",
    "failed",
    "gone",
    "invalid",
    "refused",
    "superseded",
    "unsupported",
    "version",
]


class QueryError(Exception):
    """A query that is answered with an error.

    Parameters
    ----------
    code
        Error code of the protocol.
    text
        Text that the page shows.
    **facts
        Further keys of the error.
    """

    def __init__(self, code: Code, text: str, **facts: Any) -> None:
        super().__init__(text)
        text = sendable(text, MAX_TEXT)
        self.answer: Message = {"code": code, "text": text, **facts}


def check(query: Message, *types: str) -> None:
    """Check the version and the type of a query.

    Raises
    ------
    QueryError
        The version or the type is unknown.
    """
    if query.get("v") != VERSION:
        text = f"v={query.get('v')!r} is not valid; expected {VERSION}: rerun the cell"
        raise QueryError("version", text, versions=[VERSION])
    if query["type"] not in types:
        expected = " or ".join(map(repr, types))
        text = f"type={query['type']!r} is not valid; expected {expected}"
        raise QueryError("unsupported", text)


def answer_about(
    find: Callable[[str], Trace], query: Message, buffer: Buffer
) -> Message:
    """Answer a query about the tensors of a run.

    Parameters
    ----------
    find
        Returns the trace of a page id, or raises `QueryError`.
    query
        ``{type: "tensors", run, call}`` or ``{type: "slice", run, call, tensor, index,
        mode}``; ``call`` is the call's id.
    buffer
        Receives the bytes of previews.

    Returns
    -------
    dict
        ``tensors`` or ``preview``. ``lacks``: why values of the call are missing.
        ``dropped``: the dropped calls and values of the run.

    Raises
    ------
    QueryError
        The query is malformed, or the run, call or tensor is no longer kept.
    """
    check(query, "tensors", "slice")
    trace = find(_run(query))
    span = _span(trace, query)
    found = _found(trace, span, query, buffer)
    if lost(span):
        found["lacks"] = missing_values(trace)
    if trace.drops:
        found["dropped"] = wire.dropped(trace)
    return found


def debug_answer(
    find: Callable[[str], Trace], debug: Callable[[str, int], str], query: Message
) -> Message:
    """Carry out the action ``debug``, and return the keys of its answer.

    Parameters
    ----------
    find
        Returns the trace of a page id, or raises `QueryError`.
    debug
        Executes the call of a page id and a call id again, in the debugger. Returns a
        sentence, or raises `QueryError`.

    Raises
    ------
    QueryError
        The query is malformed, the call is no longer kept, or the action failed.
    """
    check(query, "action")
    name = query.get("name")
    if name != "debug":
        raise QueryError("unsupported", f"name={name!r} is not valid; expected 'debug'")
    run = _run(query)
    return {"done": debug(run, _span(find(run), query).id)}


def _run(query: Message) -> str:
    run = query.get("run")
    if not isinstance(run, str):
        raise invalid("run", run, "the page id of a run")
    return run


def invalid(key: str, value: object, expected: str) -> QueryError:
    """Return the error for a malformed query."""
    text = f"{key}={value!r} is not valid; expected {expected}"
    return QueryError("invalid", text)


def gone() -> QueryError:
    """Return the error for a run that this kernel does not have."""
    return QueryError("gone", "this kernel does not have the run: run the cell again")


def _span(trace: Trace, query: Message) -> Span:
    call = query.get("call")
    if type(call) is not int:
        raise invalid("call", call, "the id of a call")
    row = trace.row_of(call)
    if row >= 0:
        return trace.spans[row]
    text = missing_call(trace, call)
    if not was_dropped(trace, call):
        raise QueryError("invalid", text)
    raise QueryError("dropped", text, dropped=wire.dropped(trace))


def _found(trace: Trace, span: Span, query: Message, buffer: Buffer) -> Message:
    uses = tensors_of(span)
    if query["type"] == "tensors":
        return {"tensors": [entry(use, buffer) for use in uses]}
    ref = uses[_number(query, "tensor", len(uses))].ref
    if ref.evicted:
        raise QueryError("dropped", missing_values(trace, [f"{ref.name!r}"]))
    mode = query.get("mode")
    if mode not in ("grid", "image"):
        raise invalid("mode", mode, "'grid' or 'image'")
    draw = preview.grid if mode == "grid" else preview.image
    try:
        return {"preview": placed(draw(ref, _index(query)), buffer)}
    except TraceError as error:
        raise QueryError("invalid", str(error)) from error


def _number(query: Message, key: str, size: int) -> int:
    value = query.get(key)
    if type(value) is not int or not 0 <= value < size:
        known = f"a number from 0 to {size - 1}" if size else "a call with tensors"
        raise invalid(key, value, known)
    return value


def _index(query: Message) -> list[int]:
    index = query.get("index")
    if not isinstance(index, list) or any(type(at) is not int for at in index):
        raise invalid("index", index, "a list of numbers")
    return index
