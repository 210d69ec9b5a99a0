"""Request fields and response parameters as text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from blsnb.printable import printable, shortened
from blsnb.request_fields import PLAIN, spelled
from blsnb.trace.facts import ParameterPairs
from blsnb.trace.spans import Span, Trace
from blsnb.views.format import cut

_MAX_LINES = 3
"""Maximum number of lines about the requests, and about the responses, of a row."""
_MAX_TEXT = 400
"""Maximum number of characters of a line."""


def spans_with_words(trace: Trace) -> list[Span]:
    """Return the calls whose requests or responses have words."""
    return [
        span
        for span in _maybe_with_words(trace, range(len(trace.spans)))
        if not is_plain(trace, span)
    ]


def _maybe_with_words(trace: Trace, calls: Iterable[int]) -> list[Span]:
    """Return calls that have fields or responses; most calls have none."""
    fields, responses = trace.column("request_fields"), trace.column("responses")
    parameters = trace.column("response_parameters")
    return [
        trace.spans[call]
        for call in calls
        if fields[call] != PLAIN or parameters[call] or responses[call]
    ]


def is_plain(trace: Trace, span: Span) -> bool:
    """Return whether a call's request and responses have no words; takes 1 µs."""
    if span.response_parameters or any(each.parameters for each in span.responses):
        return False
    fields = span.request_fields
    if span.parent < 0 and fields.request_id == trace.request_id:
        fields = fields._replace(request_id="")
    return fields == PLAIN


def request_words(trace: Trace, span: Span) -> str:
    """Return the fields of a request as options of ``infer``; "" without any.

    The request id is omitted if it is in the run's title.
    """
    if span.request_fields == PLAIN:
        return ""
    options = span.request_fields.options
    if span.parent < 0 and span.request_id == trace.request_id:
        options.pop("request_id", None)
    return _short(spelled(options))


def response_words(span: Span) -> Iterator[str]:
    """Yield the parameters of each response that has any."""
    if span.response_parameters:
        yield f"response: {_parameters(span.response_parameters)}"
    for response in span.responses:
        if response.parameters:
            words = _parameters(response.parameters)
            yield f"response {response.number + 1}: {words}"


def lines(trace: Trace, calls: Sequence[int]) -> list[str]:
    """Return the first distinct fields of requests and parameters of responses."""
    spans = _maybe_with_words(trace, calls)
    said = (request_words(trace, each) for each in spans)
    requests = [f"request: {words}" for words in said if words]
    responses = itertools.chain.from_iterable(map(response_words, spans))
    return [*_first(requests, "request"), *_first(responses, "response")]


def _first(texts: Iterable[str], noun: str) -> list[str]:
    return shortened(list(dict.fromkeys(texts)), _MAX_LINES, noun)


def _parameters(pairs: ParameterPairs) -> str:
    return _short(spelled({"parameters": dict(pairs)}))


def _short(text: str) -> str:
    return printable(cut(text, _MAX_TEXT))
