"""A simulated device with its own memory and deferred work.

Work is done only when something waits for it; until then the memory contains garbage.
This finds, without a GPU, code that reads without waiting, copies needlessly, or treats
a tensor on a device like one on the host.

A model uses it like CuPy: ``asarray``, ``from_dlpack``, ``asnumpy``.
"""

from __future__ import annotations

import math
import operator
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from blsnb.tensors import dlpack
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.memory import device_name

RUBBISH = 0xCB
"""Value of each byte of memory that was never written."""
NO_WAIT = -1
"""DLPack's stream number of a consumer for which the producer need not wait."""
_NO_NUMPY = (
    "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to "
    "construct a NumPy array explicitly."
)
Array = np.ndarray[Any, Any]


class DeviceStream:
    """Work submitted to a device, done in order when something waits for it."""

    def __init__(self) -> None:
        self._pending: deque[Callable[[], None]] = deque()
        self._lock = threading.RLock()
        self.busy_ns = 0
        """Time spent on work, by the device's own clock."""

    def submit(self, work: Callable[[], None]) -> None:
        """Queue work."""
        self._pending.append(work)

    def synchronise(self) -> None:
        """Do all pending work."""
        with self._lock:
            while self._pending:
                start = time.perf_counter_ns()
                self._pending.popleft()()
                self.busy_ns += time.perf_counter_ns() - start


class CopyCounts:
    """Numbers of copies, and their bytes, by direction."""

    def __init__(self) -> None:
        self.to_device = self.to_host = self.within = 0
        self.to_device_bytes = self.to_host_bytes = 0

    def add_to_host(self, nbytes: int) -> None:
        """Count a copy from the device to the host."""
        self.to_host += 1
        self.to_host_bytes += nbytes


class Device:
    """One simulated device."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = device_name(number)
        self.stream = DeviceStream()
        self.counts = CopyCounts()
        self.in_use = 0
        self.peak = 0
        self._lock = threading.Lock()

    def allocated(self, size: int) -> None:
        """Count memory allocated by an array, or freed if negative."""
        with self._lock:
            self.in_use += size
            self.peak = max(self.peak, self.in_use)


DEVICES = tuple(map(Device, range(2)))
"""The devices of this process; a runtime uses some of them."""


class _Block(np.ndarray[Any, Any]):
    """Memory of a device, counted until the last view of it is gone.

    A subclass, since NumPy lets views of a plain array reference its base instead.
    """

    owner: Device | None = None

    def __del__(self) -> None:
        if self.owner is not None:
            self.owner.allocated(-self.nbytes)


def _allocated(shape: Shape, dtype: Any, device: Device) -> Array:
    dtype = np.dtype(dtype)
    block = _Block((math.prod(shape) * dtype.itemsize,), np.uint8)
    device.allocated(block.nbytes)
    block.owner = device
    return np.ndarray(shape, dtype, block)


class DeviceArray:
    """An array on a simulated device; it does not convert to a NumPy array.

    Parameters
    ----------
    memory
        Its elements, once the device has done its work.
    """

    __slots__ = ("_memory", "device")
    # NumPy's own operators refuse it.
    __array_ufunc__ = None

    def __init__(self, device: Device, memory: Array) -> None:
        self.device = device
        self._memory = memory

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype}{list(self.shape)} on {self.device.name}>"

    @property
    def shape(self) -> Shape:
        """The shape."""
        shape: Shape = self._memory.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        dtype: np.dtype[Any] = self._memory.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._memory.nbytes

    def raw(self) -> Array:
        """Return the memory as it is now, without waiting for pending work."""
        return self._memory

    def get(self) -> Array:
        """Return a copy on the host, once the elements are computed."""
        self.device.stream.synchronise()
        self.device.counts.add_to_host(self.nbytes)
        return self._memory.copy()

    def copy(self) -> DeviceArray:
        """Return a copy on the device."""
        self.device.counts.within += 1
        return self._later(self.dtype, self.shape, lambda: self._memory)

    def reshape(self, *shape: Any) -> DeviceArray:
        """Return the same elements in another shape."""
        return DeviceArray(self.device, self._memory.reshape(*shape))

    def __getitem__(self, index: Any) -> DeviceArray:
        return DeviceArray(self.device, self._memory[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        memory, operand = self._memory, _operand(value)
        self.device.stream.submit(lambda: memory.__setitem__(index, operand))

    def __add__(self, other: Any) -> DeviceArray:
        return self._with(operator.add, other)

    def __mul__(self, other: Any) -> DeviceArray:
        return self._with(operator.mul, other)

    __radd__, __rmul__ = __add__, __mul__

    def _with(self, work: Callable[[Any, Any], Any], other: Any) -> DeviceArray:
        """Return the result of an operation on this array and another operand."""
        memory, operand = self._memory, _operand(other)
        is_array = isinstance(operand, np.ndarray)
        sample = np.zeros((), operand.dtype) if is_array else operand
        dtype = np.asarray(work(np.zeros(1, memory.dtype), sample)).dtype
        shape = np.broadcast_shapes(memory.shape, np.shape(operand))
        return self._later(dtype, shape, lambda: work(memory, operand))

    def _later(
        self, dtype: np.dtype[Any], shape: Shape, work: Callable[[], Any]
    ) -> DeviceArray:
        result = empty(shape, dtype, self.device)
        memory = result._memory
        self.device.stream.submit(lambda: np.copyto(memory, work()))
        return result

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise TypeError(_NO_NUMPY)

    def __dlpack__(self, *, stream: int | None = None, **_: Any) -> Any:
        if stream != NO_WAIT:
            self.device.stream.synchronise()
        capsule = self._memory.__dlpack__()
        dlpack.set_device(capsule, self.__dlpack_device__())
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (dlpack.CUDA, self.device.number)


def _operand(value: Any) -> Any:
    """Return an array's memory, or a number; refuse arrays of the host."""
    if isinstance(value, DeviceArray):
        return value._memory
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def empty(shape: Shape, dtype: Any, device: Device = DEVICES[0]) -> DeviceArray:
    """Return an array whose memory contains garbage."""
    memory = _allocated(shape, dtype, device)
    memory.reshape(-1).view(np.uint8)[...] = RUBBISH
    return DeviceArray(device, memory)


def asarray(values: Any, device: Device = DEVICES[0]) -> DeviceArray:
    """Copy values from the host to a device."""
    host = np.asarray(values)
    memory = _allocated(host.shape, host.dtype, device)
    np.copyto(memory, host)
    device.counts.to_device += 1
    device.counts.to_device_bytes += host.nbytes
    return DeviceArray(device, memory)


def asnumpy(array: DeviceArray) -> Array:
    """Copy an array to the host."""
    return array.get()


def from_dlpack(producer: Any) -> DeviceArray:
    """Import an array of a simulated device by DLPack, without a copy.

    Raises
    ------
    BufferError
        It is on the host or on a device that does not exist.
    """
    kind, number = producer.__dlpack_device__()
    if kind != dlpack.CUDA or number >= len(DEVICES):
        raise BufferError(f"no simulated device has the memory of {producer!r}")
    return adopted(producer.__dlpack__(stream=1), number)


def adopted(capsule: Any, number: int) -> DeviceArray:
    """Import a capsule of a simulated device's memory, whose work is done."""
    dlpack.set_device(capsule, (dlpack.CPU, 0))
    memory = np.from_dlpack(dlpack.Holder(capsule))
    if not memory.flags.writeable:
        # Older releases of NumPy import read-only arrays.
        interface = dict(memory.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        memory = np.asarray(_Interface(interface, memory))
    return DeviceArray(DEVICES[number], memory)


class _Interface:
    """Memory of an array, which it keeps alive."""

    def __init__(self, interface: dict[str, Any], owner: Array) -> None:
        self.__array_interface__ = interface
        self._owner = owner
