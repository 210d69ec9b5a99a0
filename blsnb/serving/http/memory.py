"""HttpMemory: what ``/v2/systemsharedmemory`` and ``/v2/cudasharedmemory`` answer."""

from __future__ import annotations

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.shared_memory import CUDA_HANDLE_SIZE, SharedMemory
from blsnb.serving.http import json_values
from blsnb.serving.http.answer import (
    HttpAnswer,
    HttpRequest,
    json_answer,
    not_allowed,
)
from blsnb.serving.http.json_body import Json, parse
from blsnb.serving.http.repository import decoded


def answer(
    memory: SharedMemory, request: HttpRequest, kind: str, region: str, action: str
) -> HttpAnswer:
    """Tell of regions, register or unregister them.

    Parameters
    ----------
    kind
        ``"system"`` or ``"cuda"``.
    region
        Its name; empty for all.

    Raises
    ------
    RequestError
        It cannot be; the text is Triton's.

    References
    ----------
    server: src/http_server.cc, HandleSystemSharedMemory, HandleCudaSharedMemory
    """
    if request.method != ("GET" if action == "status" else "POST"):
        return not_allowed()
    if action == "status":
        tell = memory.status if kind == "system" else memory.cuda_status
        return json_answer(tell(region))
    if action == "register":
        _register(memory, request, kind, region)
    elif kind == "system":
        memory.unregister(region)
    return HttpAnswer()


def _register(
    memory: SharedMemory, request: HttpRequest, kind: str, region: str
) -> None:
    if not region:
        raise RequestError(
            f"'region name' is necessary to register {kind} shared memory region"
        )
    document = parse(request.body)
    if kind == "system":
        key = json_values.as_string(_required(document, "key"))
        offset = json_values.as_unsigned(document.get("offset", 0))
        size = json_values.as_unsigned(_required(document, "byte_size"))
        memory.register(region, key, offset, size)
    else:
        _register_cuda(memory, document, region)


def _register_cuda(memory: SharedMemory, document: Json, region: str) -> None:
    handle = json_values.member(_required(document, "raw_handle"), "b64")
    found = decoded(json_values.as_string(handle))
    json_values.as_unsigned(json_values.member(document, "byte_size"))
    json_values.as_unsigned(json_values.member(document, "device_id"))
    if len(found) != CUDA_HANDLE_SIZE:
        raise RequestError(
            "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t"
        )
    memory.register_cuda(region)


def _required(document: Json, name: str) -> Json:
    if not json_values.has(document, name):
        raise RequestError(f"Shared memory register request has no '{name}' field")
    return document[name]
