"""HttpInfer: what ``…/infer`` answers."""

from __future__ import annotations

import re

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.files.read_budget import ReadLimitError
from blsnb.request_fields import RequestFields
from blsnb.serving.core.metadata import parse_version
from blsnb.serving.core.requests import Requests
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.wire import WireRequest
from blsnb.serving.http import compression
from blsnb.serving.http.answer import (
    BINARY,
    JSON,
    OK,
    PLAIN,
    HttpAnswer,
    HttpRequest,
    error_answer,
    not_allowed,
)
from blsnb.serving.http.inputs import HttpInputs
from blsnb.serving.http.json_body import parse
from blsnb.serving.http.outputs import HttpOutputs, body_of
from blsnb.serving.http.parameters import identity, parameters_of
from blsnb.serving.http.raw import raw_input

HEADER_LENGTH = "Inference-Header-Content-Length"
_NUMBER = re.compile(r"\s*([+-]?)0*(\d{0,18})")
_BITS = 2**32


class HttpInfer:
    """Answers inference requests.

    Parameters
    ----------
    requests
        What runs them.
    memory
        The shared memory of clients.

    References
    ----------
    server: src/http_server.cc, HandleInfer
    """

    def __init__(self, requests: Requests, memory: SharedMemory) -> None:
        self._requests = requests
        self._memory = memory

    def answer(self, request: HttpRequest, name: str, version: str) -> HttpAnswer:
        """Return the response to a request, or why there is none."""
        if request.method != "POST":
            return not_allowed(PLAIN)
        try:
            served = self._served(name, version)
            body, budget = compression.inflated(request.body, request.headers)
            length = _header_length(request.headers.get(HEADER_LENGTH), len(body))
            if budget is not None:
                budget.spend_json(body[:length])
        except compression.UnknownEncodingError as error:
            known = ("Accept-Encoding", "gzip, deflate")
            body = error_answer(error.message, error.code).body
            return HttpAnswer(501, body, PLAIN, (known,))
        except ReadLimitError as error:
            return error_answer(str(error), "INVALID_ARG", PLAIN)
        except RequestError as error:
            return error_answer(error.message, error.code, PLAIN)
        number = parse_version(version)
        return self._answered(request, served, number, body, length)

    def _served(self, name: str, version: str) -> Served:
        served = self._requests.served(name, parse_version(version))
        if served.decoupled:
            raise RequestError(
                "HTTP end point doesn't support models with decoupled transaction "
                "policy",
                "UNSUPPORTED",
            )
        return served

    def _answered(
        self,
        request: HttpRequest,
        served: Served,
        version: int,
        body: bytes,
        header_length: int,
    ) -> HttpAnswer:
        run = _Run(request)
        try:
            wire, outputs = self._read(served, version, body, header_length)
            response = self._requests.infer(wire, run.begun)
            found = body_of(response, outputs)
        except RequestError as error:
            return error_answer(error.message, error.code, run.error_type)
        return _packed(found.data, found.header_length, request)

    def _read(
        self, served: Served, version: int, body: bytes, header_length: int
    ) -> tuple[WireRequest, HttpOutputs]:
        name = served.info.name
        if not header_length:
            given = raw_input(served, body)
            fields = RequestFields(version)
            return WireRequest(name, fields, (given,)), HttpOutputs(True)
        document = parse(memoryview(body)[:header_length])
        request_id = identity(document)
        found = parameters_of(document)
        outputs = HttpOutputs(found.binary)
        tail = memoryview(body)[header_length:]
        inputs = HttpInputs(name, request_id, self._memory, tail).read(document)
        outputs.read(document, self._memory)
        fields = found.fields(version, request_id)
        return WireRequest(name, fields, inputs, tuple(outputs.wanted)), outputs


class _Run:
    """The life of a request, as its answer must know of it."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._root: RootRequest | None = None

    def begun(self, root: RootRequest) -> None:
        self._root = root
        self._request.hangup.add(root.cancel)

    @property
    def error_type(self) -> str:
        """Type of the body if it fails: Triton names none for what a model says."""
        calls = [] if self._root is None else self._root.record.calls
        return PLAIN if calls and calls[0].compute_start_ns else JSON


def _packed(data: bytes, header_length: int, request: HttpRequest) -> HttpAnswer:
    encoding = compression.wanted(request.headers)
    headers: list[tuple[str, str]] = []
    if header_length:
        headers.append((HEADER_LENGTH, str(header_length)))
    if encoding != compression.IDENTITY:
        headers.append(("Content-Encoding", encoding))
        data = compression.packed(data, encoding)
    content_type = BINARY if header_length else JSON
    return HttpAnswer(OK, data, content_type, tuple(headers))


def _header_length(text: str | None, size: int) -> int:
    """Return the length of the JSON text in a body of some size."""
    if text is None:
        return size
    length = _atoi(text)
    if not 0 <= length <= size:
        raise RequestError(
            f"inference header size should be in range (0, {size}), got: {text}"
        )
    return length


def _atoi(text: str) -> int:
    """Return the number with which a text begins, as C reads it: 0 if there is none."""
    found = _NUMBER.match(text)
    assert found is not None
    number = int(found[2] or 0) * (-1 if found[1] == "-" else 1)
    return (number + _BITS // 2) % _BITS - _BITS // 2
