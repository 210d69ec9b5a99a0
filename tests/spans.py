"""Spans of a Triton server for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from blsnb.otlp.assembly import assemble_one, outlines
from blsnb.otlp.decoding import ReceivedSpan
from blsnb.trace.spans import Trace

GOLDEN = Path(__file__).parent / "otlp" / "golden" / "triton_2.51.0.jsonl"
"""Requests of a real server, a message a line: those of `NAMES`."""
NAMES = ("pipe", "child", "child", "child", "child", "fail", "ens", "dec")
JSON = "application/json"


def assemble(spans: list[ReceivedSpan]) -> list[Trace]:
    """Return the traces of all requests."""
    found = (assemble_one(spans, each.run_id) for each in outlines(spans))
    return [trace for trace in found if trace is not None]


def span(trace: int, number: int, parent: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a span of OTLP/JSON with these numbers as its ids."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        **({"parentSpanId": f"{parent:016x}"} if parent else {}),
        "name": "InferRequest",
        "kind": 2,
        "startTimeUnixNano": str(number),
        "endTimeUnixNano": str(number + 10),
        "events": [],
        **fields,
    }


def model_span(
    trace: int, number: int, parent: int = 0, name: str = "m", request_id: str = ""
) -> dict[str, Any]:
    """Return the span of a model's request."""
    facts = [{"key": "triton.model_name", "value": {"stringValue": name}}]
    if request_id:
        facts.append({"key": "triton.request_id", "value": {"stringValue": request_id}})
    return span(trace, number, parent, name=name, attributes=facts)


def message(*spans: dict[str, Any]) -> bytes:
    """Return an export request."""
    scope = {"scopeSpans": [{"spans": list(spans)}]}
    return json.dumps({"resourceSpans": [scope]}).encode()


def request(trace: int, **fields: Any) -> list[dict[str, Any]]:
    """Return the spans of a request of one call, in the order of a server."""
    first = 10 * trace
    return [model_span(trace, first + 2, first + 1, **fields), span(trace, first + 1)]
