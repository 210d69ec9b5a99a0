"""Client requests, from Python values to messages."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blsnb.arguments import refuse
from blsnb.errors import InputError
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import (
    PLAIN,
    RequestFields,
    RequestOptions,
    expect,
    fields_of,
)
from blsnb.runtimes.runtime import DeviceError, Runtime
from blsnb.tensors.convert import to_ref
from blsnb.tensors.device_ref import DeviceRef, on_host
from blsnb.tensors.dlpack import CUDA, DLPackError
from blsnb.tensors.dtypes import BY_DATATYPE, BY_NUMPY
from blsnb.tensors.memory import HOST
from blsnb.tensors.ref import TensorRef, freeze


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """The arguments of `blsnb.Server.infer` as a value."""

    model_name: str
    inputs: Mapping[str, Any]
    fields: RequestFields = PLAIN
    outputs: Sequence[str] | None = None
    client_timeout_s: float | None = None
    show: bool = True
    """Whether a notebook displays the run."""

    def message(self, config: ModelConfig | None, runtime: Runtime) -> RequestMessage:
        """Return the request with its inputs frozen.

        Parameters
        ----------
        config
            The model's configuration; None if the model does not serve.
        runtime
            Has the devices.

        Raises
        ------
        InputError
            An input is of a type that Triton lacks, or on an unknown device.
        """
        __tracebackhide__ = True
        specs = {} if config is None else {spec.name: spec for spec in config.inputs}
        batch_axes = 1 if config is not None and config.max_batch_size else 0
        refs = []
        for name, value in freeze_on_device(self.inputs, runtime).items():
            spec = specs.get(name)
            dtype = None if spec is None else BY_DATATYPE.get(spec.datatype)
            if type(value) is np.ndarray and BY_NUMPY.get(value.dtype, 0) is dtype:
                # The array already has the configured type.
                refs.append(freeze(name, value, dtype))
                continue
            rank = 0 if spec is None else len(spec.dims) + batch_axes
            refs.append(to_ref(name, value, dtype, rank))
        return RequestMessage(
            self.model_name,
            reachable(tuple(refs), runtime),
            tuple(self.outputs or ()),
            self.fields,
        )


def client_request(
    model_name: str,
    inputs: Mapping[str, Any],
    options: RequestOptions,
    method: str = "infer",
) -> ClientRequest:
    """Return the request for the arguments of ``infer``, ``stream`` or ``async_infer``.

    Parameters
    ----------
    method
        Name of the called method, for errors.

    Raises
    ------
    InputError
        An argument has another type or is out of range, or an option is unknown.
    """
    __tracebackhide__ = True
    _check_target(model_name, inputs)
    if not options:
        return ClientRequest(model_name, inputs)
    outputs = options.get("outputs")
    if isinstance(outputs, str):
        raise InputError(
            f"outputs must be a list of names, not the string {outputs!r}; "
            f"write outputs=[{outputs!r}]"
        )
    expect("outputs", outputs, Collection | None, "a list of names")
    seconds = options.get("client_timeout_s")
    _check_timeout(seconds)
    return ClientRequest(
        model_name,
        inputs,
        fields_of(options, method),
        outputs,
        seconds,
        options.get("show", True),
    )


def _check_target(model_name: object, inputs: object) -> None:
    __tracebackhide__ = True
    if not isinstance(model_name, str) or not isinstance(inputs, Mapping):
        expect("model_name", model_name, str, "a string")
        expect("inputs", inputs, Mapping, "a dict of names and values")
        return
    for name in inputs:
        if not isinstance(name, str):
            refuse("inputs", inputs, "a dict whose keys are strings", InputError)


def deadline_ns(client_timeout_s: float | None) -> int:
    """Return the monotonic deadline of a wait that starts now; 0 without a timeout.

    Raises
    ------
    InputError
        The timeout is not a number.
    """
    __tracebackhide__ = True
    if client_timeout_s is None or client_timeout_s == math.inf:
        return 0
    _check_timeout(client_timeout_s)
    return time.monotonic_ns() + round(client_timeout_s * 1e9)


def _check_timeout(seconds: float | None) -> None:
    __tracebackhide__ = True
    expect("client_timeout_s", seconds, int | float | None, "seconds")
    if seconds is not None and math.isnan(seconds):
        refuse("client_timeout_s", seconds, "seconds", InputError)


def freeze_on_device(inputs: Mapping[str, Any], runtime: Runtime) -> Mapping[str, Any]:
    """Return the inputs; tensors on a device are frozen there.

    As with CUDA shared memory on Triton, they are not copied to the host.

    Raises
    ------
    InputError
        An input is on a device that the runtime does not have.
    """
    found = {
        name: value
        for name, value in inputs.items()
        if type(value) is not np.ndarray and _is_on_device(value)
    }
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
    """Return tensors; move those on a device that the runtime lacks to the host.

    A recorded run may come from a server with other devices, or from a file.
    """
    if all([ref.device == HOST for ref in refs]):
        return refs
    return tuple(
        ref if runtime.gpu_count and isinstance(ref, DeviceRef) else on_host(ref)
        for ref in refs
    )
