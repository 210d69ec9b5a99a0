"""Client requests, from Python values to messages."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blsnb.errors import InputError, TraceError
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START
from blsnb.runtimes.runtime import DeviceError, Runtime
from blsnb.tensors.convert import to_ref
from blsnb.tensors.device_ref import DeviceRef, on_host
from blsnb.tensors.dlpack import CUDA, DLPackError
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.memory import HOST
from blsnb.tensors.ref import TensorRef

_SECONDS = int | float | None


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """What `blsnb.Server.infer` takes, as a value."""

    model_name: str
    inputs: Mapping[str, Any]
    outputs: Sequence[str] | None = None
    version: int | None = None
    parameters: Mapping[str, bool | int | float | str] | None = None
    request_id: str = ""
    correlation_id: int | str = 0
    sequence_start: bool = False
    sequence_end: bool = False
    priority: int = 0
    timeout_us: int = 0
    client_timeout_s: float | None = None

    def check(self) -> None:
        """Refuse what no request can have.

        Raises
        ------
        InputError
            A field is of another type.
        """
        __tracebackhide__ = True
        _expect("model_name", self.model_name, str, "a string")
        _expect("inputs", self.inputs, Mapping, "a dict of names and values")
        for name in self.inputs:
            _expect("the name of an input", name, str, "a string")
        _expect("request_id", self.request_id, str, "a string")
        _expect("version", self.version, int | None, "a number")
        self._check_deadline()
        _expect("correlation_id", self.correlation_id, int | str, "a number or string")
        for name in ("priority", "timeout_us", "correlation_id"):
            value = getattr(self, name)
            if value and not isinstance(value, str) and not 0 < value < 2**64:
                raise InputError(f"{name} must be a number from 0 on, not {value}")
        if isinstance(self.outputs, str):
            raise InputError(
                f"outputs must be a list of names, not the string {self.outputs!r}; "
                f"write outputs=[{self.outputs!r}]"
            )
        for name, value in (self.parameters or {}).items():
            wanted = "a bool, a number or a string"
            _expect(f"parameter {name!r}", value, bool | int | float | str, wanted)

    def _check_deadline(self) -> None:
        __tracebackhide__ = True
        seconds = self.client_timeout_s
        _expect("client_timeout_s", seconds, _SECONDS, "seconds")
        if seconds is not None and math.isnan(seconds):
            raise InputError("client_timeout_s must be seconds, not nan")

    def message(self, config: ModelConfig | None) -> RequestMessage:
        """Return the request with its inputs frozen.

        Parameters
        ----------
        config
            Of the model that is asked; None if it does not serve.

        Raises
        ------
        InputError
            An input is of a type that Triton has not.
        """
        return RequestMessage(
            self.model_name,
            tuple(self._refs(config)),
            tuple(self.outputs or ()),
            -1 if self.version is None else self.version,
            self.request_id,
            self.correlation_id,
            SEQUENCE_START * int(self.sequence_start)
            | SEQUENCE_END * int(self.sequence_end),
            self.timeout_us,
            self.priority,
            dict(self.parameters or {}),
        )

    def _refs(self, config: ModelConfig | None) -> list[TensorRef]:
        specs = {} if config is None else {spec.name: spec for spec in config.inputs}
        batch_axes = 1 if config is not None and config.max_batch_size else 0
        refs = []
        for name, value in self.inputs.items():
            spec = specs.get(name)
            dtype = None if spec is None else BY_DATATYPE.get(spec.datatype)
            rank = 0 if spec is None else len(spec.dims) + batch_axes
            refs.append(to_ref(name, value, dtype, rank))
        return refs

    @property
    def deadline_ns(self) -> int:
        """When the caller stops waiting, if it starts now; 0 for never."""
        if self.client_timeout_s in (None, math.inf):
            return 0
        return time.monotonic_ns() + round(self.client_timeout_s * 1e9)


@dataclass(frozen=True, slots=True)
class RecordedRequest(ClientRequest):
    """A request that was recorded, to be made again."""

    recorded: RequestMessage | None = None

    def check(self) -> None:
        """Let it pass: it was made before. How long to wait for it now is new."""
        __tracebackhide__ = True
        self._check_deadline()

    def message(self, config: ModelConfig | None) -> RequestMessage:
        """Return the request as it was.

        Raises
        ------
        TraceError
            Its inputs were not recorded.
        """
        assert self.recorded is not None
        wanted = () if config is None else config.inputs
        if not self.recorded.inputs and not all(spec.optional for spec in wanted):
            raise TraceError(
                f"the inputs of this call of {self.model_name!r} were not recorded: "
                "at trace_level='tensors' they are"
            )
        return self.recorded


def _expect(what: str, value: Any, kind: Any, wanted: str) -> None:
    __tracebackhide__ = True
    if not isinstance(value, kind):
        raise InputError(
            f"{what} must be {wanted}, not {type(value).__name__} ({str(value)[:60]})"
        )


def freeze_on_device(inputs: Mapping[str, Any], runtime: Runtime) -> Mapping[str, Any]:
    """Return the inputs; those on a device are frozen there.

    As with CUDA shared memory on Triton, they are not copied to the host.

    Raises
    ------
    InputError
        They are on a device that the runtime lacks.
    """
    found = {name: value for name, value in inputs.items() if _is_on_device(value)}
    if not found:
        return inputs
    try:
        frozen = {name: _freeze(name, value, runtime) for name, value in found.items()}
    except (DeviceError, DLPackError) as error:
        raise InputError(f"inputs {', '.join(found)}: {error}") from error
    return {**inputs, **frozen}


def _is_on_device(value: Any) -> bool:
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
        return False
    return bool(value.__dlpack_device__()[0] == CUDA)


def _freeze(name: str, producer: Any, runtime: Runtime) -> DeviceRef:
    memory, dtype = runtime.from_dlpack(producer)
    return DeviceRef(name, dtype, memory.shape, memory.copied())


def reachable(refs: tuple[TensorRef, ...], runtime: Runtime) -> tuple[TensorRef, ...]:
    """Return tensors; those that no device of the runtime has, on the host.

    A recorded run may be another server's, which has a device, or a file's.
    """
    if all([ref.device == HOST for ref in refs]):
        return refs
    return tuple(
        ref if runtime.gpu_count and isinstance(ref, DeviceRef) else on_host(ref)
        for ref in refs
    )
