"""Convert between OTLP/JSON and protobuf, with the package opentelemetry-proto."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

JSON_TYPE, PROTOBUF_TYPE = "application/json", "application/x-protobuf"
_IDS = ("traceId", "spanId", "parentSpanId")


def _messages() -> tuple[Any, Any]:
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    except ImportError as error:
        raise ImportError(
            "OpenTelemetry spans as protobuf need the package opentelemetry-proto: "
            "pip install 'blsnb[otlp]'"
        ) from error
    return trace_service_pb2, json_format


def encode(document: dict[str, Any]) -> bytes:
    """Return an export request of OTLP/JSON as protobuf.

    Raises
    ------
    ImportError
        The package is not installed.
    """
    service, json_format = _messages()
    request = service.ExportTraceServiceRequest()
    converted = _with_ids(document, _to_base64)
    json_format.ParseDict(converted, request, ignore_unknown_fields=True)
    return bytes(request.SerializeToString())


def decode(body: bytes) -> dict[str, Any]:
    """Return an export request of protobuf as OTLP/JSON.

    Raises
    ------
    ImportError
        The package is not installed.
    ValueError
        The body is not an export request.
    """
    service, json_format = _messages()
    from google.protobuf.message import DecodeError

    request = service.ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
    except DecodeError as error:
        raise ValueError(f"the body is not an OTLP export request: {error}") from error
    return _with_ids(json_format.MessageToDict(request), _to_hex)


def answer(document: dict[str, Any]) -> bytes:
    """Return the answer to an export request as protobuf."""
    service, json_format = _messages()
    response = service.ExportTraceServiceResponse()
    json_format.ParseDict(document, response)
    return bytes(response.SerializeToString())


def _with_ids(
    document: dict[str, Any], convert: Callable[[str], str]
) -> dict[str, Any]:
    """Convert the ids of spans: OTLP/JSON has hexadecimal digits, protobuf base64."""

    def converted(span: dict[str, Any]) -> dict[str, Any]:
        ids = {name: convert(span[name]) for name in _IDS if span.get(name)}
        return {**span, **ids}

    return {
        "resourceSpans": [
            {
                **resource,
                "scopeSpans": [
                    {**scope, "spans": [*map(converted, scope.get("spans", ()))]}
                    for scope in resource.get("scopeSpans", ())
                ],
            }
            for resource in document.get("resourceSpans", ())
        ]
    }


def _to_base64(digits: str) -> str:
    return base64.b64encode(bytes.fromhex(digits)).decode()


def _to_hex(text: str) -> str:
    return base64.b64decode(text).hex()
