"""blsnb reached over gRPC, as Triton is."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from .blsnb_target import BlsnbTarget
from .over_grpc import OverGrpc
from .served import endpoints
from .targets import Answer, Failure, Request

OVER_GRPC = "BLSNB_OVER_GRPC"
"""Set in sessions that also reach blsnb over the network."""
_HANGS = "Triton would wait"


class GrpcBlsnbTarget(OverGrpc, BlsnbTarget):
    """blsnb behind its gRPC end point; methods that clients lack are unchanged."""

    def __init__(self, cache_bytes: int = 0, strict: bool = False) -> None:
        super().__init__(cache_bytes, strict)
        address = endpoints(self).addresses["gRPC"]
        options = [("grpc.max_receive_message_length", -1)]
        self._channel = grpc.insecure_channel(address, options=options)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    def infer_together(self, requests: Sequence[Request]) -> list[Answer]:
        """Send all requests before waiting for the first response."""
        with warnings.catch_warnings():
            # The real models run in processes that know nothing of pytest.
            warnings.simplefilter("default")
            return super().infer_together(requests)

    def normalised(self, text: str) -> str:
        """Replace the server's own paths."""
        return BlsnbTarget.normalised(self, text)

    def failure(self, error: Any) -> Failure:
        """Return an error; one of blsnb's own has no code of gRPC's."""
        return _own(super().failure(error))

    def streamed(self, reply: pb.ModelStreamInferResponse) -> Answer:
        """Return the contents of one message of a stream."""
        answer = super().streamed(reply)
        if answer.error is None or not answer.error.text.startswith(_HANGS):
            return answer
        return Answer(error=_own(answer.error))

    def close(self) -> None:
        """Stop the server."""
        self._channel.close()
        BlsnbTarget.close(self)


def _own(failure: Failure) -> Failure:
    hangs = failure.text.startswith(_HANGS)
    return Failure("WouldHang", failure.text) if hangs else failure


def blsnb_target(cache_bytes: int = 0, strict: bool = False) -> BlsnbTarget:
    """Return blsnb as a target, over the network if this session requires it."""
    kind = GrpcBlsnbTarget if os.environ.get(OVER_GRPC) else BlsnbTarget
    return kind(cache_bytes, strict)
