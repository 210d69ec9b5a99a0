"""A served model and a connection to it, for tests of the gRPC end point."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import grpc
from cells import CONFIG
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from waiting import until

from blsnb.inference_server import Server
from blsnb.serving.access import Access
from blsnb.serving.endpoints import serve

CALL_S = 60.0
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"


class Connection(NamedTuple):
    """A client's connection."""

    stub: Any
    address: str


@contextlib.contextmanager
def connected(server: Server) -> Iterator[Connection]:
    """Serve a server, and connect to it."""
    access = Access(allow_load_files=True)
    with serve(server, http=None, grpc=0, metrics=None, access=access) as endpoints:
        address = endpoints.addresses["gRPC"]
        with grpc.insecure_channel(address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            yield Connection(stub, address)


def infer_request(model: str, *values: float, id: str = "") -> pb.ModelInferRequest:
    """Return a request with the input X."""
    request = pb.ModelInferRequest(model_name=model, id=id)
    request.inputs.add(name="X", datatype="FP32").shape.append(len(values))
    request.raw_input_contents.append(struct.pack(f"<{len(values)}f", *values))
    return request


def settled(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds."""
    return until(condition)


def values(reply: pb.ModelInferResponse) -> list[float]:
    """Return the output Y."""
    (data,) = reply.raw_output_contents
    return list(struct.unpack(f"<{len(data) // 4}f", data))
