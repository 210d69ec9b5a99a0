"""Client of a real Triton server, by gRPC."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as wire

from blsnb.backends import remote_messages as messages
from blsnb.benchmark.level import Level, Sample
from blsnb.errors import TritonServerError
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import schema
from blsnb.parity.triton.executed import Executed
from blsnb.parity.triton.outcome import (
    NO_RESPONSE,
    ClientFailure,
    ClientOutcome,
    ClientResponse,
)
from blsnb.parity.triton.server_process import ServerDiedError
from blsnb.pb_utils.message import RequestMessage

QUERY_S = 10.0
"""Maximum duration of a request for metadata or readiness, in seconds."""
_LOAD_S = 30.0
"""Maximum duration of a request of a load, in seconds."""
_EMPTY_FINAL = "triton_enable_empty_final_response"
_FINAL = "triton_final_response"
_now = time.monotonic_ns


class TritonClient:
    """A client of a real server."""

    def __init__(self, stub: Any, name: str) -> None:
        self._stub = stub
        self._name = name

    def version(self) -> str:
        """Return the server's own version, such as ``2.51.0``.

        Raises
        ------
        TritonServerError
            The server does not respond; also raised by `is_ready` and `load_errors`.
        """
        request = wire.ServerMetadataRequest()
        return str(self._query(self._stub.ServerMetadata, request).version)

    def is_ready(self, model_name: str) -> bool:
        """Whether a model is ready there."""
        request = wire.ModelReadyRequest(name=model_name)
        return bool(self._query(self._stub.ModelReady, request).ready)

    def config(self, model_name: str) -> ModelConfig:
        """Return the configuration of a model, as the server has completed it."""
        request = wire.ModelConfigRequest(name=model_name)
        found = self._query(self._stub.ModelConfig, request).config
        message = schema().ModelConfig.FromString(found.SerializeToString())
        return ModelConfig.of(message)

    def load_errors(self) -> dict[str, str]:
        """Return, by model name, the reasons of the models that failed to load."""
        index = self._query(self._stub.RepositoryIndex, wire.RepositoryIndexRequest())
        ready = {row.name for row in index.models if row.state == "READY"}
        return {
            row.name: row.reason
            for row in index.models
            if row.state and row.name not in ready
        }

    def set_tracing(self, enabled: bool) -> None:
        """Trace the times of all requests, or of none."""
        request = wire.TraceSettingRequest()
        level = "TIMESTAMPS" if enabled else "OFF"
        request.settings["trace_level"].value.append(level)
        self._query(self._stub.TraceSetting, request)

    def executions(self) -> dict[str, dict[int, Executed]]:
        """Return the executions of each model since its load, by batch size."""
        found: dict[str, dict[int, Executed]] = {}
        reply = self._query(self._stub.ModelStatistics, wire.ModelStatisticsRequest())
        for model in reply.model_stats:
            sizes = found.setdefault(model.name, {})
            for row in model.batch_stats:
                parts = (row.compute_input, row.compute_infer, row.compute_output)
                more = Executed(row.compute_infer.count, sum(part.ns for part in parts))
                sizes[row.batch_size] = more.plus(sizes.get(row.batch_size, Executed()))
        return found

    def sender(self, requests: Sequence[RequestMessage]) -> GrpcSender:
        """Return a client that sends requests again and again."""
        return GrpcSender(self._stub, requests)

    def _query(self, call: Any, request: Any) -> Any:
        try:
            return call(request, timeout=QUERY_S)
        except grpc.RpcError as error:
            # str(error) has twenty lines; only these details are useful.
            raise TritonServerError(
                f"{self._name} does not respond: {error.details()}"
            ) from None

    def _is_live(self) -> bool:
        try:
            request = wire.ServerLiveRequest()
            return bool(self._stub.ServerLive(request, timeout=QUERY_S).live)
        except grpc.RpcError:
            return False

    def send(
        self,
        message: RequestMessage,
        timeout_s: float,
        *,
        stream: bool,
        is_client_timeout: bool,
    ) -> ClientOutcome:
        """Send a request and wait for all of its responses.

        Parameters
        ----------
        stream
            Whether the model is decoupled.
        is_client_timeout
            Whether the time limit is part of the request, or only that of the
            comparison.
        """
        request = _request(message)
        responses = self._streamed if stream else self._single
        received: list[ClientResponse] = []
        start_ns = _now()
        try:
            for response in responses(request, timeout_s, start_ns):
                received.append(response)
        except grpc.RpcError as error:
            failure = self._failure(error, timeout_s, is_client_timeout)
            received.append(ClientResponse(failure=failure, at_ns=_now() - start_ns))
        return ClientOutcome(tuple(received), _now() - start_ns, start_ns)

    def _single(
        self, request: Any, timeout_s: float, start_ns: int
    ) -> Iterator[ClientResponse]:
        reply = self._stub.ModelInfer(request, timeout=timeout_s)
        at_ns = _now() - start_ns
        response = messages.response_of(reply)
        yield ClientResponse(response.outputs, None, True, at_ns, response.parameters)

    def _streamed(
        self, request: Any, timeout_s: float, start_ns: int
    ) -> Iterator[ClientResponse]:
        request.parameters[_EMPTY_FINAL].bool_param = True
        replies = self._stub.ModelStreamInfer(iter([request]), timeout=timeout_s)
        try:
            for reply in replies:
                yield _stream_response(reply, _now() - start_ns)
        finally:
            # Has no effect on a stream that has ended.
            replies.cancel()

    def _failure(
        self, error: Any, timeout_s: float, is_client_timeout: bool
    ) -> ClientFailure:
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            if is_client_timeout:
                return ClientFailure("DEADLINE_EXCEEDED", "Deadline Exceeded")
            return ClientFailure(NO_RESPONSE, f"no response within {timeout_s:g} s")
        if error.code() is grpc.StatusCode.UNAVAILABLE and not self._is_live():
            raise ServerDiedError(
                f"{self._name} ended during a request: {error.details()}"
            ) from error
        return ClientFailure(messages.code_of(error), error.details() or "")


class GrpcSender:
    """Sends requests one after the other, and from the first one on again.

    Parameters
    ----------
    stub
        Triton's gRPC interface.
    requests
        The requests.
    """

    stream = False

    def __init__(self, stub: Any, requests: Sequence[RequestMessage]) -> None:
        self._infer = stub.ModelInfer
        self._requests = [_request(each) for each in requests]
        self._numbers = itertools.count()

    def send(self, level: Level, number: int, began_ns: int = 0) -> None:
        """Send the next request, and add its measurement to a level."""
        requests = self._requests
        request = requests[next(self._numbers) % len(requests)]
        began_ns = began_ns or _now()
        error = ""
        # An abandoned request ends by its own time limit.
        level.begun(number, lambda: None)
        try:
            self._infer(request, timeout=_LOAD_S)
        except grpc.RpcError as failure:
            error = f"[{messages.code_of(failure)}] {failure.details()}"
        ended_ns = _now()
        level.add(number, Sample(began_ns, ended_ns, ended_ns, 1, error))


def _request(message: RequestMessage) -> Any:
    request = messages.request_of(message, message.model_name)
    if message.fields.version >= 0:
        request.model_version = str(message.fields.version)
    return request


def _stream_response(reply: Any, at_ns: int) -> ClientResponse:
    final = bool(reply.infer_response.parameters[_FINAL].bool_param)
    if reply.error_message:
        # A stream transports the text of an error and no status code.
        failure = ClientFailure("", reply.error_message)
        return ClientResponse(failure=failure, final=final, at_ns=at_ns)
    response = messages.response_of(reply.infer_response)
    return ClientResponse(response.outputs, None, final, at_ns, response.parameters)
