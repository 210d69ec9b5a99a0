"""A stand-in that repeats the responses of recorded runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from blsnb.backends.standin import FunctionStandIn
from blsnb.errors import BackendError
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.printable import counted, listed
from blsnb.tensors.ref import TensorRef
from blsnb.trace.dropped import because, drop_of, lost
from blsnb.trace.facts import Drop
from blsnb.trace.spans import Span, Trace

_MAX_NAMED = 8
"""Maximum number of runs named in texts."""
_Key = frozenset[tuple[str, str, tuple[int, ...], bytes]]


def replay(model_name: str, traces: Sequence[Trace]) -> FunctionStandIn:
    """Return a stand-in with the responses of a model in recorded runs.

    A request is identified by its inputs, byte for byte. Responses to equal requests
    are repeated in their order, then the last of them.

    Parameters
    ----------
    traces
        Traces of the runs, in the order in which they ran.
    """
    runs = listed([trace.run_id or trace.file for trace in traces], _MAX_NAMED)
    replayed = _Replayed(model_name, runs, traces)
    return FunctionStandIn(f"replay of run {runs}", lambda config: replayed.respond)


class _Replayed:
    """The recorded responses, shared by all instances of a model."""

    def __init__(self, model_name: str, runs: str, traces: Sequence[Trace]) -> None:
        self._known: dict[_Key, _Recorded] = {}
        for span in _spans(model_name, traces):
            if not _is_lost(span):
                self._known.setdefault(_key(span.inputs), _Recorded()).add(span)
        other = len(self._known)
        self._unknown = (
            f"the stand-in for '{model_name}' has no response to these inputs; "
            f"run {runs} recorded responses to {counted(other, 'other set')} of inputs"
        ) + "".join(f". {text}" for text in _missing(model_name, traces))

    def respond(self, request: RequestMessage) -> Iterator[ResponseMessage]:
        found = self._known.get(_key(request.inputs))
        if found is None:
            raise BackendError(self._unknown, "NOT_FOUND")
        for response in found.next():
            yield ResponseMessage(
                response.outputs, response.error, response.code, response.parameters
            )


class _Recorded:
    """The responses to equal requests, in order."""

    def __init__(self) -> None:
        self._responses: list[tuple[ResponseMessage, ...]] = []
        # Counting is atomic for all threads.
        self._numbers = itertools.count()

    def add(self, span: Span) -> None:
        self._responses.append(_responses_of(span))

    def next(self) -> tuple[ResponseMessage, ...]:
        return self._responses[min(next(self._numbers), len(self._responses) - 1)]


def _spans(model_name: str, traces: Sequence[Trace]) -> Iterator[Span]:
    for trace in traces:
        for span in trace.spans:
            if trace.models[span.model].name == model_name and not span.running:
                yield span


def _missing(model_name: str, traces: Sequence[Trace]) -> Iterator[str]:
    """Yield the reasons why the runs lack responses of the model."""
    for trace in traces:
        run = trace.file or f"Run {trace.run_id}"
        number = sum(map(_is_lost, _spans(model_name, [trace])))
        if number:
            calls, drop = counted(number, "call"), drop_of(trace, "values")
            yield f"{run} lacks values of {calls} of this model{_reason(drop)}"
        counts = [each.calls for each in trace.folded if each.model.name == model_name]
        if counts:
            calls, drop = counted(sum(counts), "call"), drop_of(trace, "calls")
            yield f"{run} only counts {calls} of this model{_reason(drop)}"


def _reason(drop: Drop | None) -> str:
    return "" if drop is None else f": {because(drop.limit, drop.setting)}"


def _is_lost(span: Span) -> bool:
    kept = not span.response_count or span.response_count == len(span.responses)
    # At the trace level "timestamps" a call has no tensors.
    return not kept or lost(span) or not (span.has_tensors or span.error)


def _responses_of(span: Span) -> tuple[ResponseMessage, ...]:
    """Return the responses to a call."""
    code = span.error_code or "INTERNAL"
    if span.response_count:
        return tuple(
            ResponseMessage(
                sent.outputs, sent.error or None, code, dict(sent.parameters)
            )
            for sent in span.responses
        )
    parameters = dict(span.response_parameters)
    return (ResponseMessage(span.outputs, span.error or None, code, parameters),)


def _key(inputs: Sequence[TensorRef]) -> _Key:
    return frozenset(
        (ref.name, ref.dtype.datatype, tuple(ref.shape), bytes(ref.data or b""))
        for ref in inputs
    )
