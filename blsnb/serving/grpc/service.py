"""``inference.GRPCInferenceService`` in front of a live server."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tritonclient.grpc import service_pb2_grpc

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.workers import Workers
from blsnb.otlp.ids import context_of
from blsnb.parts.server_parts import ServerParts
from blsnb.request_fields import Parameters
from blsnb.serving.core.cancellation import Cancellation
from blsnb.serving.core.parameters import until_nul
from blsnb.serving.core.requests import Requests
from blsnb.serving.core.serving_options import forwarded
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.grpc.calls import MAX_CALLS, ModelSlots
from blsnb.serving.grpc.models import GrpcModels
from blsnb.serving.grpc.requests import request_of, version_of
from blsnb.serving.grpc.responses import reply_of, status_of
from blsnb.serving.grpc.settings import GrpcMemory, update_log, update_trace
from blsnb.serving.grpc.stream import GrpcStream, Parsed

_DECOUPLED = "ModelInfer RPC doesn't support models with decoupled transaction policy"


class GrpcService(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Handles the calls of tritonclient as Triton does.

    Parameters
    ----------
    shared
        State that all end points of the server share.
    workers
        Run the requests of streams.
    readers
        Read the messages of streams.
    """

    def __init__(
        self,
        parts: ServerParts,
        shared: SharedState,
        workers: Workers,
        readers: Workers,
    ) -> None:
        self._memory = shared.memory
        self._workers = workers
        self._readers = readers
        self._slots = ModelSlots(MAX_CALLS)
        self._requests = Requests(parts, shared.rules)
        self._forwarded = shared.options.grpc_header_forward_pattern
        self._streams: set[GrpcStream] = set()
        self._lock = threading.Lock()
        models = GrpcModels(parts, shared)
        memory = GrpcMemory(shared.memory)
        trace = partial(update_trace, shared.trace_settings, parts.engine.catalog)
        log = partial(update_log, shared.log_settings)
        self.ServerLive = _method(models.server_live)
        self.ServerReady = _method(models.server_ready)
        self.ServerMetadata = _method(models.server_metadata)
        self.ModelReady = _method(models.model_ready)
        self.ModelMetadata = _method(models.model_metadata)
        self.ModelConfig = _method(models.model_config)
        self.ModelStatistics = _method(models.model_statistics)
        self.RepositoryIndex = _method(models.repository_index)
        self.RepositoryModelLoad = _method(models.load)
        self.RepositoryModelUnload = _method(models.unload)
        self.SystemSharedMemoryStatus = _method(memory.status)
        self.SystemSharedMemoryRegister = _method(memory.register)
        self.SystemSharedMemoryUnregister = _method(memory.unregister)
        self.CudaSharedMemoryStatus = _method(memory.cuda_status)
        self.CudaSharedMemoryRegister = _method(memory.cuda_register)
        self.CudaSharedMemoryUnregister = _method(memory.cuda_unregister)
        self.TraceSetting = _method(trace)
        self.LogSettings = _method(log)

    def ModelInfer(self, message: Any, context: Any) -> Any:
        """Run a request, and cancel it if the client leaves."""
        cancellation = Cancellation()
        if not context.add_callback(cancellation.cancel):
            cancellation.cancel()
        with _aborting(context):
            request, _, decoupled = self._parsed(message, self._headers(context))
            if decoupled:
                raise RequestError(_DECOUPLED, "UNSUPPORTED")
            metadata = dict(context.invocation_metadata())

            def begun(root: RootRequest) -> None:
                root.record.context = context_of(
                    metadata.get("traceparent"), metadata.get("tracestate")
                )
                cancellation.add(root.cancel)

            with self._slots.slot(request.model_name):
                response = self._requests.infer(request, begun)
            return reply_of(response)

    def ModelStreamInfer(self, messages: Iterator[Any], context: Any) -> Iterator[Any]:
        """Run the requests of a stream, and cancel them if the client leaves."""
        parse = partial(self._parsed, headers=self._headers(context))
        stream = GrpcStream(self._requests, parse, self._workers)
        with self._lock:
            self._streams.add(stream)
        if not context.add_callback(stream.leave):
            stream.leave()
        try:
            with _aborting(context):
                self._readers.submit(stream.read, messages)
            yield from stream.replies()
        finally:
            with self._lock:
                self._streams.discard(stream)

    def stop_streams(self) -> None:
        """End each stream once it has no request in flight."""
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            stream.stop()

    def _headers(self, context: Any) -> Parameters:
        """Return the metadata of a call that models receive."""
        if not self._forwarded:
            return {}
        return forwarded(self._forwarded, sorted(context.invocation_metadata()))

    def _parsed(self, message: Any, headers: Parameters) -> Parsed:
        """Return a request, its option, and whether its model is decoupled."""
        version = version_of(message.model_version)
        name = until_nul(message.model_name)
        decoupled = self._requests.served(name, version).decoupled
        return *request_of(message, version, self._memory, headers), decoupled


@contextlib.contextmanager
def _aborting(context: Any) -> Iterator[None]:
    """Turn an exception into the status of the call."""
    try:
        yield
    except BaseException as error:
        # SystemExit would end the thread, and leave the client without a status.
        status, text = status_of(error)
    else:
        return
    context.abort(status, text)


def _method(handler: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a handler as a method of the service."""

    def method(message: Any, context: Any) -> Any:
        with _aborting(context):
            return handler(message)

    return method
