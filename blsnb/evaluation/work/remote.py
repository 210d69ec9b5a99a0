"""Rows executed on a real Triton server, or on `blsnb serve`, by gRPC."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, cast

import grpc
from tritonclient.grpc import service_pb2 as wire
from tritonclient.grpc import service_pb2_grpc

from blsnb.backends.remote_messages import channel_to, netloc_of
from blsnb.engine.threads.workers import Workers
from blsnb.errors import BlsnbError, TritonServerError
from blsnb.evaluation.plain import Chunk, EvaluationSettings, RowResult
from blsnb.evaluation.work.plan import GRACE_S
from blsnb.evaluation.work.row_shapes import RowRequest, RowShapes
from blsnb.evaluation.work.rows_in_server import (
    INPUT_CODE,
    executed,
    of_each_row,
    row_fields,
)
from blsnb.model.config import ModelConfig
from blsnb.model.text.schema import schema
from blsnb.parity.triton.client import QUERY_S, TritonClient
from blsnb.parity.triton.outcome import ClientOutcome
from blsnb.parts.requests import ClientRequest, client_request
from blsnb.request_fields import RequestOptions
from blsnb.runtimes.runtime import Runtime

REQUESTS = 4
"""Default number of requests in flight."""
_TIMEOUT_S = 600.0
"""Maximum duration of a request without `client_timeout_s`, in seconds."""


class RowsOnServer:
    """Executes chunks on a server that has the model, several at a time.

    Runs are not recorded: a result has outputs, errors and the latency of a client.

    Parameters
    ----------
    server_url
        Such as ``"grpc://localhost:8001"``.
    runtime
        Has the devices of inputs.
    count
        Number of requests in flight.

    Raises
    ------
    TritonServerError
        The server does not respond, or does not have the model.
    ValueError
        The address has another form.
    """

    def __init__(
        self,
        server_url: str,
        settings: EvaluationSettings,
        runtime: Runtime,
        count: int = REQUESTS,
    ) -> None:
        options = cast(RequestOptions, dict(settings.options))
        self._template = client_request(settings.model_name, {}, options, "evaluate")
        self._runtime = runtime
        self._count = count
        self._ended = threading.Event()
        self._channel = channel_to(netloc_of(server_url))
        stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
        self._client = TritonClient(stub, f"the server at {server_url}")
        try:
            self.config = _config(stub, server_url, self._template)
        except BaseException:
            self._channel.close()
            raise
        stacked = 1 if self.config.decoupled else settings.batch
        self._shapes = RowShapes(self.config, stacked)
        self._threads = Workers(count, "blsnb evaluate")

    def results(self, chunks: Iterable[Chunk]) -> Iterator[list[RowResult]]:
        """Execute chunks, and yield the results of each, in order of completion.

        Raises
        ------
        TritonServerError
            The server ended.
        KeyboardInterrupt
            After an interrupt, and the results of the rows in flight.
        """
        source = iter(chunks)
        in_flight: set[Future[list[RowResult]]] = set()
        try:
            while self._fill(in_flight, source):
                done, _ = wait(in_flight, return_when=FIRST_COMPLETED)
                for future in done:
                    in_flight.discard(future)
                    yield future.result()
        except KeyboardInterrupt:
            self._ended.set()
            done, _ = wait(in_flight, GRACE_S)
            yield from (each.result() for each in done if each.exception() is None)
            raise

    def close(self) -> None:
        """Cancel requests in flight and close the connection."""
        self._ended.set()
        self._channel.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _fill(
        self, in_flight: set[Future[list[RowResult]]], source: Iterator[Chunk]
    ) -> bool:
        while len(in_flight) < self._count:
            chunk = next(source, None)
            if chunk is None:
                break
            in_flight.add(self._threads.submit(self._run, chunk))
        return bool(in_flight)

    def _run(self, chunk: Chunk) -> list[RowResult]:
        """Return the results of a chunk; of its first rows after an interrupt."""
        found = []
        for result in executed(self._shapes, chunk.rows, self._execute):
            found.append(result)
            if self._ended.is_set():
                break
        return found

    def _execute(self, request: RowRequest) -> list[RowResult]:
        result = RowResult(request.rows[0].number)
        outputs: list[dict[str, Any]] = []
        began = time.perf_counter_ns()
        try:
            outcome = self._send(request)
            result.latency_us = outcome.duration_ns / 1e3
            if outcome.failure is None:
                outputs = request.row_outputs(self._outputs(outcome))
            else:
                result.error, result.code = outcome.failure.text, outcome.failure.code
        except TritonServerError:
            raise
        except (BlsnbError, ValueError) as error:
            result.latency_us = (time.perf_counter_ns() - began) / 1e3
            result.error, result.code = str(error), INPUT_CODE
        return of_each_row(request, result, outputs)

    def _send(self, request: RowRequest) -> ClientOutcome:
        template = self._template
        fields = row_fields(template.fields, request.rows[0])
        filled = template._replace(inputs=request.inputs, fields=fields)
        message = filled.message(self.config, self._runtime)
        limit_s = template.client_timeout_s
        return self._client.send(
            message,
            _TIMEOUT_S if limit_s is None else limit_s,
            stream=self.config.decoupled,
            is_client_timeout=limit_s is not None,
        )

    def _outputs(self, outcome: ClientOutcome) -> dict[str, Any]:
        """Return the outputs; of a decoupled model a list with an item per response."""
        outputs: dict[str, Any] = {}
        for response in outcome.responses:
            for ref in response.outputs:
                # Copies: a view would keep the whole message alive, read-only.
                array = ref.view().copy()
                if self.config.decoupled:
                    outputs.setdefault(ref.name, []).append(array)
                else:
                    outputs[ref.name] = array
        return outputs


def _config(stub: Any, server_url: str, request: ClientRequest) -> ModelConfig:
    version = request.fields.version
    name = request.model_name
    query = wire.ModelConfigRequest(
        name=name, version="" if version < 0 else str(version)
    )
    try:
        found = stub.ModelConfig(query, timeout=QUERY_S).config
    except grpc.RpcError as error:
        raise TritonServerError(
            f"model {name!r} cannot be evaluated at {server_url}: {error.details()}"
        ) from None
    return ModelConfig.of(schema().ModelConfig.FromString(found.SerializeToString()))
