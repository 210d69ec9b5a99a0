"""A module that pretends to be CuPy, over the simulated device: as much as is used.

What it shows is that the code of the runtime holds together, and nothing of a GPU.
"""

from __future__ import annotations

import threading
import types
from typing import Any

import numpy as np

from blsnb.runtimes import simulated

__version__ = "0.0"
float32, float64, int64, uint32 = np.float32, np.float64, np.int64, np.uint32
DEVICE = simulated.DEVICES[0]
_hooks = threading.local()


class Device:
    """A device that can be made the current one."""

    compute_capability = "90"

    def __init__(self, number: int = 0) -> None:
        self.id = number

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def synchronize(self) -> None:
        DEVICE.stream.synchronise()


class ndarray:
    """An array of the simulated device, with CuPy's methods."""

    def __init__(self, array: simulated.DeviceArray) -> None:
        self._array = array

    device = property(lambda self: Device(self._array.device.number))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._array, name, None)
        if found is None or name in ("copy", "reshape"):
            DEVICE.stream.synchronise()
            return getattr(self._array.raw(), name)
        return found

    def reshape(self, *shape: int) -> ndarray:
        return ndarray(self._array.reshape(*shape))

    def __getitem__(self, index: Any) -> ndarray:
        return ndarray(self._array[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[index] = value

    def __mul__(self, other: Any) -> ndarray:
        return _allocated(self._array * other)

    def __add__(self, other: Any) -> ndarray:
        return _allocated(self._array + other)

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self._array.__array__()

    def __dlpack__(self, stream: Any = None, **_: Any) -> Any:
        return self._array.__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def _allocated(array: simulated.DeviceArray) -> ndarray:
    for hook in getattr(_hooks, "on", ()):
        hook.malloc_postprocess(mem_ptr=1, mem_size=array.nbytes)
    return ndarray(array)


def asarray(values: Any, order: str = "C") -> ndarray:
    return _allocated(simulated.asarray(values))


def array(values: ndarray, copy: bool, order: str) -> ndarray:
    return _allocated(values._array.copy())


def asnumpy(values: Any) -> Any:
    return values.get() if isinstance(values, ndarray) else values


def from_dlpack(holder: Any) -> ndarray:
    _, number = holder.__dlpack_device__()
    return ndarray(simulated.adopted(holder.__dlpack__(1), number))


def _on_device(name: str) -> Any:
    function = getattr(np, name)

    def work(*arguments: Any, **options: Any) -> Any:
        DEVICE.stream.synchronise()
        known = [a._array.raw() if isinstance(a, ndarray) else a for a in arguments]
        return function(*known, **options)

    return work


_USED = "isnan isinf isfinite count_nonzero square zeros bincount nansum"
for _name in _USED.split():
    globals()[_name] = _on_device(_name)


class _MemoryHook:
    def __enter__(self) -> _MemoryHook:
        _hooks.on = [*getattr(_hooks, "on", []), self]
        return self

    def __exit__(self, *_: object) -> None:
        _hooks.on.remove(self)


class _Event:
    def record(self) -> None:
        self.at = DEVICE.stream.busy_ns

    def synchronize(self) -> None:
        DEVICE.stream.synchronise()
        self.at = DEVICE.stream.busy_ns


class _RuntimeError(RuntimeError):
    pass


class _OutOfMemoryError(MemoryError):
    pass


def get_default_memory_pool() -> Any:
    return types.SimpleNamespace(
        used_bytes=lambda: DEVICE.in_use, total_bytes=lambda: DEVICE.peak
    )


cuda = types.SimpleNamespace(
    Device=Device,
    Event=_Event,
    MemoryHook=_MemoryHook,
    memory=types.SimpleNamespace(OutOfMemoryError=_OutOfMemoryError),
    get_elapsed_time=lambda start, end: (end.at - start.at) / 1e6,
    get_current_stream=lambda: types.SimpleNamespace(
        ptr=0, synchronize=DEVICE.stream.synchronise
    ),
    runtime=types.SimpleNamespace(
        CUDARuntimeError=_RuntimeError,
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda number: {"name": b"a pretended device"},
        runtimeGetVersion=lambda: 12090,
        driverGetVersion=lambda: 13000,
        streamQuery=lambda stream: 0,
    ),
)
