"""The generate extension over HTTP: ``…/generate`` and ``…/generate_stream``."""

from __future__ import annotations

import math
from collections.abc import Iterator

from blsnb.engine.refusals import parse_version
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.errors import InferenceError, ServerClosedError
from blsnb.model.config import TensorSpec
from blsnb.pb_utils.compiled.json_text import bytes_of
from blsnb.request_fields import Parameter, received_fields
from blsnb.serving.core.parameters import repeated_input, until_nul
from blsnb.serving.core.request_rules import RequestRules
from blsnb.serving.core.requests import Requests, ResponseReader
from blsnb.serving.core.wire import WireInput, WireRequest, WireResponse
from blsnb.serving.http import json_values, tensors
from blsnb.serving.http.json_body import Json, Members, parse
from blsnb.serving.http.messages import (
    BAD_REQUEST,
    EVENTS,
    IDENTITY,
    JSON,
    OK,
    HttpRequest,
    HttpResponse,
    error_body,
    error_response,
    event,
)
from blsnb.serving.http.parameters import custom, identity
from blsnb.tensors.dtypes import Shape

_NOT_ONE = (
    "generate expects model to produce exactly 1 response, use generate stream for "
    "model that generates various number of responses"
)
_FAILURES = (RequestError, InferenceError, ServerClosedError)
"""Exceptions that may end a stream of responses early."""
_NESTED = "parameters"


class HttpGenerate:
    """Runs requests whose inputs are members of a JSON object.

    References
    ----------
    server: src/http_server.cc, HandleGenerate
    """

    def __init__(self, requests: Requests, rules: RequestRules) -> None:
        self._requests = requests
        self._rules = rules

    def respond(
        self, request: HttpRequest, model: str, version: str, kind: str
    ) -> HttpResponse:
        """Return the response or, if `kind` is ``"generate_stream"``, all of them."""
        try:
            responses = self._start(request, model, version)
            first = next(responses, None)
        except RequestError as error:
            return error_response(error.message, error.code)
        # The status depends on the first response alone.
        failed = first is not None and _text(first)[1]
        status = BAD_REQUEST if failed else OK
        if kind == "generate_stream":
            chunks = _events(first, responses)
            return HttpResponse(status, content_type=EVENTS, chunks=chunks)
        body = _only(first, responses)
        return HttpResponse(status, content_type=JSON, chunks=iter([body]))

    def _start(
        self, request: HttpRequest, model: str, version: str
    ) -> Iterator[WireResponse]:
        number = parse_version(version)
        served = self._requests.served(model, number)
        if request.headers.get("Content-Encoding", IDENTITY) != IDENTITY:
            raise RequestError(
                "Unsupported content-encoding, only 'identity' is supported."
            )
        self._rules.check_json_size(len(request.body))
        document = parse(request.body)
        wire = generate_request(served, number, document, self._rules.max_depth)

        def begun(root: RootRequest) -> None:
            root.record.context = request.context
            request.cancellation.add(root.cancel)

        reader = self._requests.open(wire, begun)
        # This also wakes a thread that waits for the next response.
        request.cancellation.add(reader.cancel)
        return _all(reader)


def _all(reader: ResponseReader) -> Iterator[WireResponse]:
    """Yield the responses, each before the error that follows it."""
    while (response := reader.read()) is not None:
        yield response
        if response.followed:
            yield _error(response.followed)


def _only(first: WireResponse | None, responses: Iterator[WireResponse]) -> bytes:
    """Return the JSON text of the only response, or the error for several."""
    found = [] if first is None else [first]
    try:
        found += responses
    except _FAILURES as error:
        found.append(_error(_message(error)))
    texts = [_text(each) for each in found if not each.final_only]
    return texts[0][0] if len(texts) == 1 else error_body(_NOT_ONE)


def _events(
    first: WireResponse | None, responses: Iterator[WireResponse]
) -> Iterator[bytes]:
    if first is not None and not first.final_only:
        yield event(_text(first)[0])
    try:
        for each in responses:
            if not each.final_only:
                yield event(_text(each)[0])
    except _FAILURES as error:
        yield event(error_body(_message(error)))


def _error(text: str) -> WireResponse:
    return WireResponse("", "", error=text)


def _message(error: Exception) -> str:
    return getattr(error, "message", str(error))


def _text(response: WireResponse) -> tuple[bytes, bool]:
    """Return the JSON text of a response, and whether it is an error."""
    if response.error is not None:
        return error_body(response.error), True
    try:
        return bytes_of(_members(response)), False
    except RequestError as error:
        return error_body(error.message), True


def _members(response: WireResponse) -> dict[str, object]:
    """Return the members of a response's object in Triton's order."""
    found: dict[str, object] = {"id": response.id} if response.id else {}
    found["model_name"] = response.model_name
    found["model_version"] = response.model_version
    for name, value in response.parameters.items():
        found.setdefault(name, value)
    for tensor in response.outputs:
        elements = tensors.elements_of(tensor)
        found.setdefault(tensor.name, elements[0] if len(elements) == 1 else elements)
    return dict(sorted(found.items()))


def generate_request(
    served: Served, version: int, document: Json, max_depth: int
) -> WireRequest:
    """Return the request of a JSON object.

    Members named like an input are inputs, all others are parameters.

    Parameters
    ----------
    max_depth
        Maximum depth of an input's lists; 0 for that of releases that have none.

    References
    ----------
    server: src/http_server.cc, ConvertGenerateRequest
    """
    request_id = identity(document)
    found = _Members(served, request_id, max_depth)
    members = json_values.members(document)
    for name in _names(members):
        if name == _NESTED:
            found.add_nested(members)
        else:
            found.add(name, members)
    return WireRequest(
        served.info.name,
        received_fields(version, request_id, {}, found.parameters),
        tuple(found.inputs.values()),
    )


def _names(members: dict[str, Json]) -> list[str]:
    """Return the names of members, including repeated ones."""
    names = members.names if isinstance(members, Members) else members
    return list(map(until_nul, names))


class _Members:
    """Sorts the members of an object into inputs and parameters."""

    def __init__(self, served: Served, request_id: str, max_depth: int) -> None:
        self._request_id = request_id
        self._max_depth = max_depth
        self._specs = {spec.name: spec for spec in served.config.inputs}
        self._batch = (-1,) if served.config.max_batch_size > 0 else ()
        self.inputs: dict[str, WireInput] = {}
        self.parameters: dict[str, Parameter] = {}

    def add_nested(self, members: dict[str, Json]) -> None:
        if _NESTED in self._specs:
            raise RequestError(
                f"Keyword '{_NESTED}' for nested schema also given as input tensor name"
            )
        with json_values.error_prefix(f"Expected JSON object for keyword: '{_NESTED}'"):
            nested = json_values.as_object(json_values.member(members, _NESTED))
        with json_values.error_prefix(f"Converting keyword: '{_NESTED}'"):
            for name in _names(nested):
                self.add(name, nested)

    def add(self, name: str, members: dict[str, Json]) -> None:
        spec = self._specs.get(name)
        if spec is None:
            shown = json_values.valid_unicode(name)
            value = json_values.parameter(members, name)
            self.parameters[shown] = custom(shown, value)
            return
        if name not in members:
            raise RequestError(
                f"unexpected key not found in generate request, expecting key '{name}'"
            )
        found = self._input(spec, members[name])
        if name in self.inputs:
            raise repeated_input(self._request_id, name)
        self.inputs[name] = found

    def _input(self, spec: TensorSpec, value: Json) -> WireInput:
        count = len(value) if isinstance(value, list) else 1
        if spec.datatype == "BYTES":
            # Triton reads strings before it checks the shape.
            data = tensors.read_strings(value, self._max_depth)
            shape = self._shape(spec, count)
        else:
            shape = self._shape(spec, count)
            data = tensors.read(spec.name, spec.datatype, value, count, self._max_depth)
        return WireInput(spec.name, spec.datatype, shape, data)

    def _shape(self, spec: TensorSpec, count: int) -> Shape:
        """Return the shape for `count` elements: all on the last variable axis."""
        dims = (*self._batch, *spec.dims)
        fixed = math.prod(length for length in dims if length != -1)
        left, remainder = divmod(count, fixed)
        shape: list[int] = []
        for length in reversed(dims):
            shape.append(left if length == -1 else length)
            left = 1 if length == -1 else left
        if remainder or left != 1:
            raise RequestError(
                f"The schema can not convert input '{spec.name}' to tensor with proper "
                "shape"
            )
        return tuple(reversed(shape))
