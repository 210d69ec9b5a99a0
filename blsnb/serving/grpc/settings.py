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


class GrpcTraceSettings:
    """Returns the trace settings of the server or of a model, and changes them."""

    def __init__(self, settings: TraceSettings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog

    def update(self, request: Any) -> Any:
        """Change the settings that a request names, and return all of them."""
        model = until_nul(request.model_name)
        if model:
            check_model(self._catalog, model)
        found = self._settings.update(_change(request.settings), model)
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


class GrpcLogSettings:
    """Returns the log settings, and changes them."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings

    def update(self, request: Any) -> Any:
        """Change the settings that a request names, and return all of them."""
        settings = request.settings
        if "log_file" in settings:
            self._settings.refuse_file()
        for name in SWITCHES:
            if name in settings:
                on = _value(settings[name], name, "bool_param", "boolean")
                self._settings.switch(name, on)
        if "log_verbose_level" in settings:
            level = _value(
                settings["log_verbose_level"],
                "log_verbose_level",
                "uint32_param",
                "int32",
            )
            self._settings.set_verbose_level(level)
        if "log_format" in settings:
            self._set_format(
                _value(settings["log_format"], "log_format", "string_param", "string")
            )
        return self._all()

    def _set_format(self, name: str) -> None:
        if name not in FORMATS:
            raise RequestError(f"invalid argument for log_format, got: {name}")
        self._settings.set_format(name)

    def _all(self) -> Any:
        response = wire.LogSettingsResponse()
        for name, value in self._settings.get().items():
            setting = response.settings[name]
            if isinstance(value, bool):
                setting.bool_param = value
            elif isinstance(value, int):
                setting.uint32_param = value
            else:
                setting.string_param = value
        return response


def _value(setting: Any, name: str, kind: str, expected: str) -> Any:
    if setting.WhichOneof("parameter_choice") != kind:
        raise RequestError(f"expect {expected} for '{name}'")
    return getattr(setting, kind)
