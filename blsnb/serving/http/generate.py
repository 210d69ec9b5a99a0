"""HttpGenerate: what ``…/generate`` and ``…/generate_stream`` answer."""

from __future__ import annotations

from collections.abc import Iterator

from blsnb.engine.request.validation import RequestError
from blsnb.errors import InferenceError, ServerClosedError
from blsnb.pb_utils.compiled.json_text import bytes_of
from blsnb.serving.core.metadata import parse_version
from blsnb.serving.core.requests import Requests
from blsnb.serving.core.wire import WireResponse
from blsnb.serving.http import compression
from blsnb.serving.http.answer import (
    BAD_REQUEST,
    EVENTS,
    JSON,
    OK,
    HttpAnswer,
    HttpRequest,
    error_answer,
    error_body,
    not_allowed,
)
from blsnb.serving.http.json_body import parse
from blsnb.serving.http.prompt import read_prompt
from blsnb.serving.http.tensors import elements_of

_NOT_ONE = (
    "generate expects model to produce exactly 1 response, use generate stream for "
    "model that generates various number of responses"
)
_ENDS = (RequestError, InferenceError, ServerClosedError)
"""How the reading of responses may end before its time."""


class HttpGenerate:
    """Answers requests whose inputs are the members of an object.

    Parameters
    ----------
    requests
        What runs them.

    References
    ----------
    server: src/http_server.cc, HandleGenerate
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def answer(
        self, request: HttpRequest, name: str, version: str, *, streaming: bool
    ) -> HttpAnswer:
        """Return the response or the stream of them, or why there is none."""
        if request.method != "POST":
            return not_allowed()
        try:
            responses = self._started(request, name, version)
            first = next(responses, None)
        except RequestError as error:
            return error_answer(error.message, error.code)
        return (_stream if streaming else _single)(first, responses)

    def _started(
        self, request: HttpRequest, name: str, version: str
    ) -> Iterator[WireResponse]:
        number = parse_version(version)
        served = self._requests.served(name, number)
        encoding = request.headers.get("Content-Encoding", compression.IDENTITY)
        if encoding != compression.IDENTITY:
            raise RequestError(
                "Unsupported content-encoding, only 'identity' is supported."
            )
        wire = read_prompt(served, number, parse(request.body))
        answers = self._requests.open(
            wire, lambda root: request.hangup.add(root.cancel)
        )
        # Whoever waits for the next response is woken, too.
        request.hangup.add(answers.cancel)
        return iter(answers.read, None)


def _status(first: WireResponse | None) -> int:
    """Return the status, which is settled by the first response."""
    return BAD_REQUEST if first is not None and _text(first)[1] else OK


def _single(
    first: WireResponse | None, responses: Iterator[WireResponse]
) -> HttpAnswer:
    found = [] if first is None else [first]
    try:
        found += responses
    except _ENDS as error:
        found.append(_as_response(error))
    texts = [_text(each) for each in found if not each.bare]
    body = texts[0][0] if len(texts) == 1 else error_body(_NOT_ONE)
    return HttpAnswer(_status(first), content_type=JSON, chunks=iter([body]))


def _stream(
    first: WireResponse | None, responses: Iterator[WireResponse]
) -> HttpAnswer:
    events = _events(first, responses)
    return HttpAnswer(_status(first), content_type=EVENTS, chunks=events)


def _events(
    first: WireResponse | None, responses: Iterator[WireResponse]
) -> Iterator[bytes]:
    if first is not None and not first.bare:
        yield _event(first)
    try:
        for each in responses:
            if not each.bare:
                yield _event(each)
    except _ENDS as error:
        yield _event(_as_response(error))


def _as_response(error: Exception) -> WireResponse:
    """Return the end that a stream came to, as a response."""
    return WireResponse("", "", error=getattr(error, "message", str(error)))


def _event(response: WireResponse) -> bytes:
    return b"data: " + _text(response)[0] + b"\n\n"


def _text(response: WireResponse) -> tuple[bytes, bool]:
    """Return the text of a response, and whether it is an error."""
    if response.error is not None:
        return error_body(response.error), True
    try:
        return bytes_of(_members(response)), False
    except RequestError as error:
        return error_body(error.message), True


def _members(response: WireResponse) -> dict[str, object]:
    """Return the outputs of a response, with what is said of it, in Triton's order."""
    found: dict[str, object] = {"id": response.id} if response.id else {}
    found["model_name"] = response.model_name
    found["model_version"] = response.model_version
    for name, value in response.parameters.items():
        found.setdefault(name, value)
    for tensor in response.outputs:
        elements = elements_of(tensor)
        only = elements[0] if len(elements) == 1 else elements
        found.setdefault(tensor.name, only)
    return dict(sorted(found.items()))
