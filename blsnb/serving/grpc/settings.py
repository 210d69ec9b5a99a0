"""Settings over gRPC: shared memory, tracing and the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tritonclient.grpc import service_pb2 as wire

from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.log_settings import FORMATS, SWITCHES, LogSettings
from blsnb.serving.core.parameters import until_nul
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.trace_settings import (
    PARSERS,
    Change,
    TraceSettings,
    check_model,
    parse_levels,
    refuse_file,
)


class GrpcMemory:
    """Registers regions of shared memory."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory

    def status(self, request: Any) -> Any:
        """Return the regions, or one of them."""
        response = wire.SystemSharedMemoryStatusResponse()
        for row in self._memory.status(request.name):
            region = response.regions[row["name"]]
            for name, value in row.items():
                setattr(region, name, value)
        return response

    def register(self, request: Any) -> Any:
        """Register a region."""
        self._memory.register(
            request.name, request.key, request.offset, request.byte_size
        )
        return wire.SystemSharedMemoryRegisterResponse()

    def unregister(self, request: Any) -> Any:
        """Unregister a region, or all."""
        self._memory.unregister(request.name)
        return wire.SystemSharedMemoryUnregisterResponse()

    def cuda_status(self, request: Any) -> Any:
        """Return the regions of CUDA memory: always none."""
        self._memory.cuda_status(request.name)
        return wire.CudaSharedMemoryStatusResponse()

    def cuda_register(self, request: Any) -> Any:
        """Refuse a region of CUDA memory."""
        self._memory.register_cuda(request.name)
        return wire.CudaSharedMemoryRegisterResponse()

    def cuda_unregister(self, request: Any) -> Any:
        """Do nothing: no region can be registered."""
        return wire.CudaSharedMemoryUnregisterResponse()


def update_trace(settings: TraceSettings, catalog: Catalog, request: Any) -> Any:
    """Change trace settings of the server or of a model; return all of them."""
    model = until_nul(request.model_name)
    if model:
        check_model(catalog, model)
    found = settings.update(_change(request.settings), model)
    response = wire.TraceSettingResponse()
    for name, values in found.rows().items():
        response.settings[name].value.extend(values)
    return response


def _change(settings: Any) -> Change:
    if "trace_file" in settings:
        refuse_file()
    change: dict[str, tuple[str, ...] | int | None] = {}
    if "trace_level" in settings:
        names = list(settings["trace_level"].value)
        levels = parse_levels(names)
        if levels is not None or not names:
            change["trace_level"] = levels
    for name, parse in PARSERS.items():
        if name in settings:
            change[name] = _number(name, settings[name].value, parse)
    return change


def _number(name: str, values: Any, parse: Callable[[str], int]) -> int | None:
    if not values:
        return None
    if len(values) > 1:
        raise RequestError(f"expect only 1 value for '{name}'")
    try:
        return parse(values[0])
    except RequestError as error:
        # Triton's text has a blank here that it lacks over HTTP.
        text = error.message.replace("got:", "got: ").replace("got:  ", "got: ")
        raise RequestError(text, error.code) from None


_LOG_KINDS = {bool: "bool_param", int: "uint32_param", str: "string_param"}


def update_log(settings: LogSettings, request: Any) -> Any:
    """Change the log settings that a request names, and return all of them."""
    given = request.settings
    if "log_file" in given:
        settings.refuse_file()
    for name in SWITCHES:
        if name in given:
            settings.switch(name, _value(given, name, bool, "boolean"))
    if "log_verbose_level" in given:
        settings.set_verbose_level(_value(given, "log_verbose_level", int, "int32"))
    if "log_format" in given:
        name = _value(given, "log_format", str, "string")
        if name not in FORMATS:
            raise RequestError(f"invalid argument for log_format, got: {name}")
        settings.set_format(name)
    response = wire.LogSettingsResponse()
    for name, value in settings.get().items():
        setattr(response.settings[name], _LOG_KINDS[type(value)], value)
    return response


def _value(settings: Any, name: str, kind: type, expected: str) -> Any:
    field = _LOG_KINDS[kind]
    if settings[name].WhichOneof("parameter_choice") != field:
        raise RequestError(f"expect {expected} for '{name}'")
    return getattr(settings[name], field)
