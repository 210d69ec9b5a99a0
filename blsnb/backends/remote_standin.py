"""A stand-in that forwards requests to a model on a Triton server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as wire
from tritonclient.grpc import service_pb2_grpc

from blsnb.backends import remote_messages as messages
from blsnb.errors import BackendError
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.printable import printable

_CONNECT_S = 10.0
_TIMEOUT_S = 600.0
"""Maximum duration of one request, in seconds; Ctrl-C ends it earlier."""
_UNREACHED = "UNAVAILABLE"
_ADVICE = "Start a server there, or load the stand-in with another address."


class RemoteStandIn:
    """Forwards requests to the model of the same name, in the server's version.

    Parameters
    ----------
    address
        Such as ``"grpc://localhost:8001"``.
    """

    def __init__(self, address: str) -> None:
        __tracebackhide__ = True
        self._target = messages.netloc_of(address)
        self.description = f"remote {address}"
        self.arguments = {"remote": address}
        self._address = address

    def __repr__(self) -> str:
        return printable(f"<stand-in: {self.description}>")

    def complete(self, config: ModelConfig, version: Path) -> ModelConfig:
        """Return the configuration, completed from that of the remote model."""
        if config.inputs and config.outputs:
            return config
        channel = messages.channel_to(self._target)
        with channel, self._grpc_errors():
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            request = wire.ModelConfigRequest(name=config.name)
            remote = stub.ModelConfig(request, timeout=_CONNECT_S).config
        message = config.message
        message.max_batch_size = remote.max_batch_size
        for name in ("input", "output"):
            message.ClearField(name)
            for tensor in getattr(remote, name):
                getattr(message, name).add().MergeFromString(tensor.SerializeToString())
        message.model_transaction_policy.decoupled = (
            remote.model_transaction_policy.decoupled
        )
        return ModelConfig.of(message)

    def instance(
        self, config: ModelConfig, spec: InstanceSpec, version: Path
    ) -> RemoteInstance:
        """Return a new instance, with a connection of its own."""
        channel = messages.channel_to(self._target)
        instance = RemoteInstance(channel, config, self._address)
        try:
            with self._grpc_errors():
                ready = instance.is_ready()
        except BaseException:
            instance.finalize()
            raise
        if not ready:
            instance.finalize()
            raise BackendError(
                f"model '{config.name}' is not ready at {self._address}",
                "UNAVAILABLE",
                "Load it there first.",
            )
        return instance

    @contextlib.contextmanager
    def _grpc_errors(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            text = f"a request to {self._address} failed: {error.details()}"
            code = messages.code_of(error)
            advice = _ADVICE if code == _UNREACHED else ""
            raise BackendError(text, code, advice) from error


class RemoteInstance:
    """A connection to the server at an address."""

    def __init__(self, channel: Any, config: ModelConfig, address: str) -> None:
        self._channel = channel
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        self._name, self._address = config.name, address
        self._decoupled = config.decoupled

    def is_ready(self) -> bool:
        """Whether the remote model is ready."""
        request = wire.ModelReadyRequest(name=self._name)
        return bool(self._stub.ModelReady(request, timeout=_CONNECT_S).ready)

    def execute(
        self, requests: Sequence[RequestMessage]
    ) -> list[Iterable[ResponseMessage]]:
        """Send each request; its errors are those of the remote server."""
        send = self._stream if self._decoupled else self._infer
        return [send(messages.request_of(each, self._name)) for each in requests]

    def _infer(self, request: Any) -> Iterable[ResponseMessage]:
        # All requests are sent before the first response is awaited.
        future = self._stub.ModelInfer.future(request, timeout=_TIMEOUT_S)
        return self._response(future)

    def _response(self, future: Any) -> Iterator[ResponseMessage]:
        try:
            yield messages.response_of(future.result())
        except grpc.RpcError as error:
            yield self._failed(error)
        finally:
            # Has no effect on a request that has ended.
            future.cancel()

    def _stream(self, request: Any) -> Iterator[ResponseMessage]:
        replies = self._stub.ModelStreamInfer(iter([request]), timeout=_TIMEOUT_S)
        try:
            for reply in replies:
                if reply.error_message:
                    yield ResponseMessage(error=reply.error_message)
                elif not messages.is_empty_final(reply.infer_response):
                    yield messages.response_of(reply.infer_response)
        except grpc.RpcError as error:
            yield self._failed(error)
        finally:
            replies.cancel()

    def finalize(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _failed(self, error: Any) -> ResponseMessage:
        """Return the remote error; if the server is gone, with address and advice."""
        text, code = error.details() or "", messages.code_of(error)
        if code == _UNREACHED and not self._is_live():
            model = f"model '{self._name}' at {self._address}"
            text = f"{model} does not respond: {text}. {_ADVICE}"
        return ResponseMessage(error=text, code=code, cause=error)

    def _is_live(self) -> bool:
        with contextlib.suppress(grpc.RpcError):
            request = wire.ServerLiveRequest()
            return bool(self._stub.ServerLive(request, timeout=_CONNECT_S).live)
        return False
