"""Shared memory over gRPC: registered regions, and the parts that requests name."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tritonclient.utils.shared_memory as shm
from tritonclient.grpc import service_pb2 as pb

from .served import Line, request
from .served_models import line

TWO = {"shape": (2,), "raw": struct.pack("<2f", 1, 2)}
SIZE, OFFSET, REGION = (
    f"shared_memory_{name}" for name in ("byte_size", "offset", "region")
)


IN_MEMORY = {
    "there": {},
    "further on": {OFFSET: 4},
    "without a size": {SIZE: 0},
    "without a size, further on": {SIZE: 0, OFFSET: 4},
    "too small": {SIZE: 4},
    "a size below zero": {SIZE: -4},
    "an offset below zero": {OFFSET: -4},
    "over the end": {OFFSET: 60},
    "behind the end": {OFFSET: 64},
    "unknown": {REGION: "unknown"},
    **{f"region {each!r}": {REGION: each} for each in (True, 3, None)},
    **{f"size {each!r}": {SIZE: each} for each in (True, "x", None)},
    **{f"offset {each!r}": {OFFSET: each} for each in (True, "x", None)},
}


def test_inputs_and_outputs_in_shared_memory(agree, beside):
    """Each part must exist, with parameters of the right types."""

    def case(target):
        key = f"/blsnb_texts_{os.getpid()}_{target.name}"
        region = shm.create_shared_memory_region("texts", key, 64)
        memory = pb.SystemSharedMemoryRegisterRequest(
            name="texts", key=key, byte_size=64
        )
        try:
            with line(beside(target), "same") as wire, registered(wire, memory):
                return {
                    name: [wire.call("ModelInfer", each) for each in parts(change)]
                    for name, change in IN_MEMORY.items()
                }
        finally:
            shm.destroy_shared_memory_region(region)

    agree(case)


@contextmanager
def registered(
    wire: Line, memory: pb.SystemSharedMemoryRegisterRequest
) -> Iterator[None]:
    """Register a region for the block, whatever an earlier run has left."""
    mine = pb.SystemSharedMemoryUnregisterRequest(name=memory.name)
    wire.call("SystemSharedMemoryUnregister", mine)
    wire.call("SystemSharedMemoryRegister", memory)
    try:
        yield
    finally:
        wire.call("SystemSharedMemoryUnregister", mine)


def parts(change: dict[str, Any]) -> list[pb.ModelInferRequest]:
    """Return a request with an input in shared memory, and one with an output."""
    part = {REGION: "texts", SIZE: 8, **change}
    return [
        request("net_same", (2,), None, of_input=part),
        request("net_same", **TWO, outputs={"Y": part}),
    ]


def test_shared_memory_goes_with_little_else(agree, beside):
    """Contents and classes are refused, and a region needs a size."""

    def case(target):
        part = {REGION: "unknown", SIZE: 8}
        explicit = {"fp32_contents": [1, 2]}
        asked = [
            request("net_same", (2,), None, of_input={OFFSET: 0}),
            request("net_same", (2,), None, of_input={OFFSET: "x"}),
            request("net_same", **TWO, outputs={"Y": {SIZE: "x"}}),
            request("net_same", (2,), None, of_input={REGION: "unknown", SIZE: "x"}),
            request("net_same", (2,), None, of_input={REGION: "unknown", OFFSET: "x"}),
            request("net_same", (2,), None, of_input={REGION: "unknown"}),
            request("net_same", (2,), None, of_input={SIZE: 4}),
            request("net_same", **TWO, of_input=part),
            request("net_same", (2,), None, of_input=part, contents=explicit),
            request("net_same", **TWO, outputs={"Y": {**part, "classification": 1}}),
            request("net_same", **TWO, outputs={"Y": part, "NONE": {}}),
            request("net_same", **TWO, parameters={"priority": "x"}, of_input=part),
        ]
        with line(beside(target), "same") as wire:
            return [wire.call("ModelInfer", each) for each in asked]

    agree(case)


def test_regions_are_registered(agree, beside):
    """System shared memory only: the server has no GPU."""

    def case(target):
        found = []
        with line(beside(target), "same") as wire:
            for method, asked in (
                (
                    "SystemSharedMemoryRegister",
                    pb.SystemSharedMemoryRegisterRequest(
                        name="n", key="/no_such_object", byte_size=8
                    ),
                ),
                (
                    "SystemSharedMemoryStatus",
                    pb.SystemSharedMemoryStatusRequest(name="n"),
                ),
                (
                    "SystemSharedMemoryUnregister",
                    pb.SystemSharedMemoryUnregisterRequest(name="n"),
                ),
                ("CudaSharedMemoryStatus", pb.CudaSharedMemoryStatusRequest()),
                ("CudaSharedMemoryStatus", pb.CudaSharedMemoryStatusRequest(name="n")),
                (
                    "CudaSharedMemoryRegister",
                    pb.CudaSharedMemoryRegisterRequest(
                        name="n", raw_handle=b"x" * 64, byte_size=8
                    ),
                ),
                (
                    "CudaSharedMemoryUnregister",
                    pb.CudaSharedMemoryUnregisterRequest(name="n"),
                ),
            ):
                found.append(wire.call(method, asked))
        return found

    agree(case)
