"""Inputs of client requests that are on a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blsnb.errors import InputError
from blsnb.runtimes.runtime import DeviceError, Runtime
from blsnb.tensors.device_ref import DeviceRef, on_host
from blsnb.tensors.memory import HOST
from blsnb.tensors.ref import TensorRef


def freeze_on_device(inputs: Mapping[str, Any], runtime: Runtime) -> Mapping[str, Any]:
    """Return the inputs; those on a device are frozen there.

    As with CUDA shared memory on Triton, they are not copied to the host.

    Raises
    ------
    InputError
        They are on a device that the runtime lacks.
    """
    found = {
        name: value
        for name, value in inputs.items()
        if type(value) is not np.ndarray and _is_on_device(value)
    }
    if not found:
        return inputs
    # Deferred: few inputs are on a device.
    from blsnb.tensors.dlpack import DLPackError

    try:
        frozen = {name: _freeze(name, value, runtime) for name, value in found.items()}
    except (DeviceError, DLPackError) as error:
        raise InputError(f"inputs {', '.join(found)}: {error}") from error
    return {**inputs, **frozen}


def _is_on_device(value: Any) -> bool:
    if not hasattr(value, "__dlpack_device__"):
        return False
    # Deferred: most inputs are NumPy arrays.
    from blsnb.tensors.dlpack import CUDA

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
