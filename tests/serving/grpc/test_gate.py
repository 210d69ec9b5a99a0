"""Admission of gRPC calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from tritonclient.grpc import service_pb2

from blsnb.serving.access import CATEGORIES, Restriction
from blsnb.serving.grpc.calls import GrpcThreads
from blsnb.serving.grpc.gate import Gate

SERVICE = service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"]
THREADS = cast(GrpcThreads, SimpleNamespace(claim=lambda method: ""))


@pytest.mark.parametrize("name", [method.name for method in SERVICE.methods])
def test_each_method_belongs_to_a_protocol_that_can_be_restricted(name: str) -> None:
    """No handler receives a call without the header."""
    gate = Gate(THREADS, dict.fromkeys(CATEGORIES, Restriction("key", "value")))
    path = f"/{SERVICE.full_name}/{name}"
    call = SimpleNamespace(method=path, invocation_metadata=())
    passed: list[Any] = []

    gate.intercept_service(passed.append, call)

    assert [] == passed


def test_the_handler_of_a_method_is_made_at_its_first_call() -> None:
    """Later calls find it; an unknown method is sought each time."""
    gate = Gate(THREADS, {})
    handler = grpc.unary_unary_rpc_method_handler(lambda message, context: message)
    sought: list[str] = []

    def found(details: Any) -> Any:
        sought.append(details.method)
        return handler if details.method == "known" else None

    first, second, *_ = [
        gate.intercept_service(found, SimpleNamespace(method=method))
        for method in ("known", "known", "unknown", "unknown")
    ]

    assert first is second
    assert ["known", "unknown", "unknown"] == sought
