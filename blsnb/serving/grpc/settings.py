"""Settings over gRPC: shared memory, tracing and the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tritonclient.grpc import service_pb2 as wire

from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.log_settings import FORMATS, SWITCHES, LogSettings
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.trace_settings import (
    CLEARED,
    PARSERS,
    TraceChange,
    TraceSettings,
    check_model,
    parse_levels,
    refuse_file,
)

_FIELDS = {
    "trace_rate": "rate",
    "trace_count": "count",
    "log_frequency": "log_frequency",
}


class GrpcMemory:
    """Answers calls that register regions of shared memory.

    Parameters
    ----------
    memory
        Has the regions.
    """

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory

    def status(self, asked: Any) -> Any:
        """Return the regions, or one of them."""
        response = wire.SystemSharedMemoryStatusResponse()
        for row in self._memory.status(asked.name):
            region = response.regions[row["name"]]
            for name, value in row.items():
                setattr(region, name, value)
        return response

    def register(self, asked: Any) -> Any:
        """Register a region."""
        self._memory.register(asked.name, asked.key, asked.offset, asked.byte_size)
        return wire.SystemSharedMemoryRegisterResponse()

    def unregister(self, asked: Any) -> Any:
        """Forget a region, or all."""
        self._memory.unregister(asked.name)
        return wire.SystemSharedMemoryUnregisterResponse()

    def cuda_status(self, asked: Any) -> Any:
        """Return the regions of CUDA memory, of which there are none."""
        self._memory.cuda_status(asked.name)
        return wire.CudaSharedMemoryStatusResponse()

    def cuda_register(self, asked: Any) -> Any:
        """Refuse a region of CUDA memory."""
        self._memory.register_cuda(asked.name)
        return wire.CudaSharedMemoryRegisterResponse()

    def cuda_unregister(self, asked: Any) -> Any:
        """Do nothing: there are none."""
        return wire.CudaSharedMemoryUnregisterResponse()


class GrpcTraceSettings:
    """Answers calls that read or change how Triton would trace.

    Parameters
    ----------
    settings
        Keeps them.
    catalog
        Says which models there are.
    """

    def __init__(self, settings: TraceSettings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog

    def update(self, asked: Any) -> Any:
        """Change what is given, and return what is in force."""
        model = asked.model_name
        if model:
            check_model(self._catalog, model)
        found = self._settings.update(_change(asked.settings), model)
        response = wire.TraceSettingResponse()
        for name, values in found.rows().items():
            response.settings[name].value.extend(values)
        return response


def _change(given: Any) -> TraceChange:
    if "trace_file" in given:
        refuse_file()
    changes: dict[str, Any] = {}
    if "trace_level" in given:
        levels = list(given["trace_level"].value)
        changes["levels"] = parse_levels(levels) if levels else CLEARED
    for name, parse in PARSERS.items():
        if name in given:
            changes[_FIELDS[name]] = _number(name, given[name].value, parse)
    return TraceChange(**changes)


def _number(name: str, values: Any, parse: Callable[[str], int]) -> Any:
    if not values:
        return CLEARED
    if len(values) > 1:
        raise RequestError(f"expect only 1 value for '{name}'")
    try:
        return parse(values[0])
    except RequestError as error:
        # Here Triton's text has the blank that it lacks over HTTP.
        text = error.message.replace("got:", "got: ").replace("got:  ", "got: ")
        raise RequestError(text, error.code) from None


class GrpcLogSettings:
    """Answers calls that read or change what of the log is shown.

    Parameters
    ----------
    settings
        Keeps them.
    """

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings

    def update(self, asked: Any) -> Any:
        """Change what is given, and return what is in force."""
        given = asked.settings
        if "log_file" in given:
            self._settings.refuse_file()
        for name in SWITCHES:
            if name in given:
                on = _value(given[name], name, "bool_param", "boolean")
                self._settings.switch(name, on)
        if "log_verbose_level" in given:
            level = _value(
                given["log_verbose_level"], "log_verbose_level", "uint32_param", "int32"
            )
            self._settings.set_verbose_level(level)
        if "log_format" in given:
            self._set_format(
                _value(given["log_format"], "log_format", "string_param", "string")
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


def _value(given: Any, name: str, kind: str, wanted: str) -> Any:
    if given.WhichOneof("parameter_choice") != kind:
        raise RequestError(f"expect {wanted} for '{name}'")
    return getattr(given, kind)
