"""Inference requests over HTTP: ``…/infer``."""

from __future__ import annotations

import math
import re

from blsnb.engine.catalog import Catalog
from blsnb.engine.refusals import parse_version
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.files.read_budget import ReadLimitError
from blsnb.request_fields import Parameters, RequestFields
from blsnb.serving.core.requests import Requests, ResponseError
from blsnb.serving.core.serving_options import forwarded
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.core.wire import WireInput, WireRequest
from blsnb.serving.http.infer_request import HttpInputs, HttpOutputs
from blsnb.serving.http.json_body import parse
from blsnb.serving.http.messages import (
    BINARY,
    IDENTITY,
    JSON,
    OK,
    PLAIN,
    HttpRequest,
    HttpResponse,
    UnknownEncodingError,
    accepted_encoding,
    compressed,
    decompressed,
    error_response,
)
from blsnb.serving.http.parameters import identity, parameters_of
from blsnb.serving.http.tensors import body_of
from blsnb.tensors.dtypes import BY_DATATYPE, Shape

HEADER_LENGTH = "Inference-Header-Content-Length"
_NUMBER = re.compile(r"\s*([+-]?)0*(\d{0,20})")
_INT32 = 2**32
_INT64 = range(-(2**63), 2**63)
_DECOUPLED = "HTTP end point doesn't support models with decoupled transaction policy"
_REQUEST = "[request id: <id_unknown>] "
_LENGTH_BYTES = 4


class HttpInfer:
    """Runs inference requests.

    References
    ----------
    server: src/http_server.cc, HandleInfer
    """

    def __init__(self, requests: Requests, shared: SharedState) -> None:
        self._requests = requests
        self._memory = shared.memory
        self._rules = shared.rules
        self._forwarded = shared.options.http_header_forward_pattern

    def respond(self, request: HttpRequest, model: str, version: str) -> HttpResponse:
        """Return the response to a request, or its error."""
        try:
            number = parse_version(version)
            served = self._requests.served(model, number)
            if served.decoupled:
                raise RequestError(_DECOUPLED, "UNSUPPORTED")
            body, budget = decompressed(request.body, request.headers)
            size = len(body)
            if budget is None and request.declared_length is not None:
                size = _atoi(request.declared_length)
            length = _header_length(request.headers.get(HEADER_LENGTH), size)
            if budget is not None:
                self._rules.check_inflated_size(len(body))
                budget.spend_json(body[:length])
        except UnknownEncodingError as error:
            supported = ("Accept-Encoding", "gzip, deflate")
            body = error_response(error.message, error.code).body
            return HttpResponse(501, body, PLAIN, (supported,))
        except ReadLimitError as error:
            return error_response(str(error), "INVALID_ARG", PLAIN)
        except RequestError as error:
            return error_response(error.message, error.code, PLAIN)
        return self._run(request, served, number, body, length)

    def _run(
        self,
        request: HttpRequest,
        served: Served,
        version: int,
        body: bytes,
        header_length: int,
    ) -> HttpResponse:
        def begun(root: RootRequest) -> None:
            root.record.context = request.context
            request.cancellation.add(root.cancel)

        try:
            headers = forwarded(self._forwarded, request.raw_headers)
            wire, outputs = self._read(served, version, body, header_length, headers)
            response = self._requests.infer(wire, begun)
        except RequestError as error:
            content_type = PLAIN if isinstance(error, ResponseError) else JSON
            return error_response(error.message, error.code, content_type)
        try:
            data, text_length = body_of(response, outputs.is_binary)
        except RequestError as error:
            return error_response(error.message, error.code, PLAIN)
        return _response(data, text_length, request)

    def _read(
        self,
        served: Served,
        version: int,
        body: bytes,
        header_length: int,
        headers: Parameters,
    ) -> tuple[WireRequest, HttpOutputs]:
        name = served.info.name
        if not header_length:
            self._rules.check_raw_size(len(body))
            only = raw_input(served, body)
            fields = RequestFields(version, parameters=tuple(headers.items()))
            return WireRequest(name, fields, (only,)), HttpOutputs(True)
        self._rules.check_json_size(header_length)
        missing = header_length - len(body)
        if missing > 0:
            raise RequestError(
                f"unexpected size for request JSON, expecting {missing} more bytes"
            )
        document = parse(memoryview(body)[:header_length])
        request_id = identity(document)
        parameters = parameters_of(document)
        parameters.custom.update(headers)
        outputs = HttpOutputs(parameters.protocol_option)
        tail = memoryview(body)[header_length:]
        reader = HttpInputs(name, request_id, self._memory, tail, self._rules)
        inputs = reader.read(document)
        outputs.read(document, self._memory)
        fields = parameters.fields(version, request_id)
        return WireRequest(name, fields, inputs, tuple(outputs.requested)), outputs


def is_serial(catalog: Catalog, model: str, version: str) -> bool:
    """Whether a model has one instance, and no scheduler that forms batches."""
    try:
        served = catalog.find(model, parse_version(version))
    except RequestError:
        return False
    return served.instance_counts[1] == 1 and not served.config.scheduling


def _response(data: bytes, text_length: int, request: HttpRequest) -> HttpResponse:
    headers: list[tuple[str, str]] = []
    if text_length:
        headers.append((HEADER_LENGTH, str(text_length)))
    encoding = accepted_encoding(request.headers)
    if encoding != IDENTITY:
        headers.append(("Content-Encoding", encoding))
        data = compressed(data, encoding)
    content_type = BINARY if text_length else JSON
    return HttpResponse(OK, data, content_type, tuple(headers))


def _header_length(text: str | None, size: int) -> int:
    """Return the length of the JSON text in a body of `size` bytes."""
    if text is None:
        return size
    length = _atoi(text)
    if not 0 <= length <= size:
        raise RequestError(
            f"inference header size should be in range (0, {size}), got: {text}"
        )
    return length


def _atoi(text: str) -> int:
    """Return the number at the start of a text as C's ``atoi`` does; 0 without one."""
    found = _NUMBER.match(text)
    assert found is not None
    number = int(f"{found[1]}{found[2] or 0}")
    number = min(max(number, _INT64[0]), _INT64[-1])
    return (number + _INT32 // 2) % _INT32 - _INT32 // 2


def raw_input(served: Served, body: bytes) -> WireInput:
    """Return a body without JSON as the only input, in the configured shape.

    References
    ----------
    core: src/infer_request.cc, InferenceRequest::Normalize
    """
    config = served.config
    if len(config.inputs) != 1:
        raise RequestError(
            f"{_REQUEST}Raw request must only have 1 input (found 1) to be deduced but "
            f"got {len(config.inputs)} inputs in '{config.name}' model configuration"
        )
    (spec,) = config.inputs
    batch = (1,) if config.max_batch_size > 0 else ()
    if spec.datatype == "BYTES":
        if tuple(spec.dims) != (1,):
            raise RequestError(
                f"{_REQUEST}For BYTE datatype raw input '{spec.name}', the model must "
                "have input shape [1]"
            )
        data = len(body).to_bytes(_LENGTH_BYTES, "little") + body
        return WireInput(spec.name, spec.datatype, (*batch, 1), data)
    size = BY_DATATYPE[spec.datatype].byte_size
    shape = _deduced(spec.name, tuple(spec.dims), size, len(body))
    expected = math.prod(shape) * size
    if len(body) != expected:
        # Triton's text has this placeholder instead of the input's name.
        raise RequestError(
            f"{_REQUEST}input byte size mismatch for input 'raw_input' for model "
            f"'{config.name}'. Expected {expected}, got {len(body)}"
        )
    return WireInput(spec.name, spec.datatype, (*batch, *shape), body)


def _deduced(name: str, dims: Shape, size: int, body_size: int) -> Shape:
    """Return dims in which the variable one has the length that fits the body."""
    if dims.count(-1) > 1:
        raise RequestError(
            f"{_REQUEST}The shape of the raw input '{name}' can not be deduced because "
            "there are more than one variable-sized dimension"
        )
    row = size * math.prod(length for length in dims if length != -1)
    return tuple(body_size // row if length == -1 else length for length in dims)
