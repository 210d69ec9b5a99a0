"""Admission of gRPC calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

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
