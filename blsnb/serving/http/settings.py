"""Trace settings, log settings and shared memory over HTTP."""

from __future__ import annotations

from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.log_settings import SWITCHES, LogSettings
from blsnb.serving.core.shared_memory import CUDA_HANDLE_SIZE, SharedMemory
from blsnb.serving.core.trace_settings import (
    PARSERS,
    Change,
    TraceSettings,
    check_model,
    parse_levels,
    refuse_file,
)
from blsnb.serving.http import json_values
from blsnb.serving.http.json_body import Json, parse
from blsnb.serving.http.messages import (
    HttpRequest,
    HttpResponse,
    json_response,
)
from blsnb.serving.http.models import decode_base64


def tracing(
    catalog: Catalog, settings: TraceSettings, request: HttpRequest, model: str = ""
) -> HttpResponse:
    """Return trace settings, after changing them if the method is POST.

    References
    ----------
    server: src/http_server.cc, HandleTrace
    """
    if model:
        check_model(catalog, model)
    if request.method == "POST":
        settings.update(_trace_change(parse(request.body)), model)
    rows = settings.get(model).rows()
    # Only the level is a list here.
    texts = {name: each[0] for name, each in rows.items()}
    return json_response({**texts, "trace_level": rows["trace_level"]})


def _trace_change(document: Json) -> Change:
    if json_values.has(document, "trace_file"):
        refuse_file()
    members = document if isinstance(document, dict) else {}
    change: dict[str, tuple[str, ...] | int | None] = {}
    if "trace_level" in members:
        change |= _levels(members["trace_level"])
    for name, parse_number in PARSERS.items():
        if name in members:
            value = members[name]
            change[name] = (
                None if value is None else parse_number(json_values.as_string(value))
            )
    return change


def _levels(value: Json) -> dict[str, tuple[str, ...] | None]:
    if value is None:
        return {"trace_level": None}
    levels = parse_levels(
        [json_values.as_string(each) for each in json_values.as_array(value)]
    )
    return {} if levels is None else {"trace_level": levels}


def logging(settings: LogSettings, request: HttpRequest) -> HttpResponse:
    """Return the log settings, after changing them if the method is POST.

    References
    ----------
    server: src/http_server.cc, HandleLogging
    """
    if request.method == "POST":
        _change_log(settings, parse(request.body))
    return json_response(settings.get())


def _change_log(settings: LogSettings, document: Json) -> None:
    if json_values.find(document, "log_file") is not None:
        settings.refuse_file()
    for name in SWITCHES:
        on = json_values.find(document, name)
        if on is not None:
            settings.switch(name, json_values.as_boolean(on))
    level = json_values.find(document, "log_verbose_level")
    if level is not None:
        settings.set_verbose_level(json_values.as_unsigned(level))
    log_format = json_values.find(document, "log_format")
    if log_format is not None:
        settings.set_format(json_values.as_string(log_format))


class HttpMemory:
    """Registers regions of shared memory; `kind` is ``"system"`` or ``"cuda"``.

    References
    ----------
    server: src/http_server.cc, HandleSystemSharedMemory, HandleCudaSharedMemory
    """

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory

    def status(self, request: HttpRequest, kind: str, region: str) -> HttpResponse:
        """Return the rows of a region, or of all."""
        memory = self._memory
        status = memory.status if kind == "system" else memory.cuda_status
        return json_response(status(region))

    def register(self, request: HttpRequest, kind: str, region: str) -> HttpResponse:
        """Register a region."""
        if not region:
            raise RequestError(
                f"'region name' is necessary to register {kind} shared memory region"
            )
        document = parse(request.body)
        if kind == "system":
            key = json_values.as_string(_required(document, "key"))
            offset = json_values.as_unsigned(document.get("offset", 0))
            size = json_values.as_unsigned(_required(document, "byte_size"))
            self._memory.register(region, key, offset, size)
        else:
            self._register_cuda(document, region)
        return HttpResponse()

    def _register_cuda(self, document: Json, region: str) -> None:
        encoded = json_values.member(_required(document, "raw_handle"), "b64")
        handle = decode_base64(json_values.as_string(encoded))
        json_values.as_unsigned(json_values.member(document, "byte_size"))
        json_values.as_unsigned(json_values.member(document, "device_id"))
        if len(handle) != CUDA_HANDLE_SIZE:
            raise RequestError(
                "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t"
            )
        self._memory.register_cuda(region)

    def unregister(self, request: HttpRequest, kind: str, region: str) -> HttpResponse:
        """Unregister a region, or all; CUDA memory has no regions."""
        if kind == "system":
            self._memory.unregister(region)
        return HttpResponse()


def _required(document: Json, name: str) -> Json:
    if not json_values.has(document, name):
        raise RequestError(f"Shared memory register request has no '{name}' field")
    return document[name]
