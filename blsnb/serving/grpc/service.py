"""GrpcService: ``inference.GRPCInferenceService`` in front of a live server."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tritonclient.grpc import service_pb2_grpc

from blsnb.engine.request.validation import RequestError
from blsnb.engine.threads.workers import Workers
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core.cancellation import Cancellation
from blsnb.serving.core.parameters import until_nul
from blsnb.serving.core.requests import Requests
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.grpc.model_slots import ModelSlots
from blsnb.serving.grpc.models import GrpcModels
from blsnb.serving.grpc.requests import GrpcRequest, request_of, version_of
from blsnb.serving.grpc.responses import reply_of, status_of
from blsnb.serving.grpc.settings import GrpcLogSettings, GrpcMemory, GrpcTraceSettings
from blsnb.serving.grpc.stream import GrpcStream
from blsnb.serving.grpc.threads import MOST_CALLS

Answer = Callable[[Any], Any]
_DECOUPLED = "ModelInfer RPC doesn't support models with decoupled transaction policy"


class GrpcService(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Answers every call that tritonclient makes, as Triton does.

    Parameters
    ----------
    server
        Where the models are.
    shared
        What both end points keep.
    workers
        Run the requests of streams.
    readers
        Read the messages of streams.
    """

    def __init__(
        self,
        server: ServerParts,
        shared: SharedState,
        workers: Workers,
        readers: Workers,
    ) -> None:
        self._memory = shared.memory
        self._workers = workers
        self._readers = readers
        self._slots = ModelSlots(MOST_CALLS)
        self._requests = Requests(server)
        self._streams: set[GrpcStream] = set()
        self._lock = threading.Lock()
        models = GrpcModels(server)
        memory = GrpcMemory(shared.memory)
        trace = GrpcTraceSettings(shared.trace_settings, server.engine.catalog)
        log = GrpcLogSettings(shared.log_settings)
        self.ServerLive = _told(models.server_live)
        self.ServerReady = _told(models.server_ready)
        self.ServerMetadata = _told(models.server_metadata)
        self.ModelReady = _told(models.model_ready)
        self.ModelMetadata = _told(models.model_metadata)
        self.ModelConfig = _told(models.model_config)
        self.ModelStatistics = _told(models.model_statistics)
        self.RepositoryIndex = _told(models.repository_index)
        self.RepositoryModelLoad = _told(models.load)
        self.RepositoryModelUnload = _told(models.unload)
        self.SystemSharedMemoryStatus = _told(memory.status)
        self.SystemSharedMemoryRegister = _told(memory.register)
        self.SystemSharedMemoryUnregister = _told(memory.unregister)
        self.CudaSharedMemoryStatus = _told(memory.cuda_status)
        self.CudaSharedMemoryRegister = _told(memory.cuda_register)
        self.CudaSharedMemoryUnregister = _told(memory.cuda_unregister)
        self.TraceSetting = _told(trace.update)
        self.LogSettings = _told(log.update)

    def ModelInfer(self, asked: Any, context: Any) -> Any:
        """Run a request; the client's leaving cancels it."""
        cancellation = Cancellation()
        if not context.add_callback(cancellation.cancel):
            cancellation.cancel()
        with _aborting(context):
            (request, _), decoupled = self._parsed(asked)
            if decoupled:
                raise RequestError(_DECOUPLED, "UNSUPPORTED")
            with self._slots.taken(request.model_name):
                response = self._requests.infer(
                    request, lambda root: cancellation.add(root.cancel)
                )
            return reply_of(response)

    def ModelStreamInfer(self, messages: Iterator[Any], context: Any) -> Iterator[Any]:
        """Run all requests of a stream; the client's leaving cancels them."""
        stream = GrpcStream(self._requests, self._parsed, self._workers)
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
        """End each stream as soon as nothing is on its way on it."""
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            stream.stop()

    def _parsed(self, asked: Any) -> tuple[GrpcRequest, bool]:
        """Return a request, and whether its model is decoupled."""
        version = version_of(asked.model_version)
        name = until_nul(asked.model_name)
        decoupled = self._requests.served(name, version).decoupled
        return request_of(asked, version, self._memory), decoupled


@contextlib.contextmanager
def _aborting(context: Any) -> Iterator[None]:
    """Let a call fail as Triton does."""
    try:
        yield
    except Exception as error:
        status, text = status_of(error)
    else:
        return
    context.abort(status, text)


def _told(answer: Answer) -> Callable[[Any, Any], Any]:
    """Return the method of a service, which fails as Triton does."""

    def method(asked: Any, context: Any) -> Any:
        with _aborting(context):
            return answer(asked)

    return method
