"""Freeze memory of a device where it is: what is sent is what was there then."""

from __future__ import annotations

from typing import Any

from blsnb.runtimes.runtime import Runtime
from blsnb.tensors.device_ref import DeviceRef


def freeze_there(name: str, producer: Any, runtime: Runtime) -> DeviceRef:
    """Return the present value of an array on a device, as a frozen tensor there.

    Raises
    ------
    DeviceError
        The runtime does not have the device, or no room on it.
    DLPackError
        Its elements are not in C order, or of a type that Triton has not.
    """
    memory, dtype = runtime.take(producer)
    return DeviceRef(name, dtype, memory.shape, memory.copied())
