"""A simulated device: memory that is not the host's, and work that takes its time.

What it is given to do it does when somebody waits for it, and not before; until then
the memory holds rubbish. So whoever reads without waiting, copies where nothing has to
be copied, or takes a tensor on a device for one on the host, is found without a GPU.

A model uses it as it would use CuPy: ``asarray``, ``from_dlpack``, ``asnumpy``.
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
"""The bytes of memory that was never written."""
NO_WAIT = -1
"""What a consumer of DLPack asks for that does not want the producer to wait."""
_NO_NUMPY = (
    "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to "
    "construct a NumPy array explicitly."
)
Array = np.ndarray[Any, Any]


class Stream:
    """Work that a device was given, done in order when somebody waits for it."""

    def __init__(self) -> None:
        self._pending: deque[Callable[[], None]] = deque()
        self._lock = threading.RLock()
        self.busy_ns = 0
        """How long it has worked, by its own clock."""

    def submit(self, work: Callable[[], None]) -> None:
        """Take work that nobody waits for yet."""
        self._pending.append(work)

    @property
    def pending_count(self) -> int:
        """How many pieces of work are not done."""
        return len(self._pending)

    def synchronise(self) -> None:
        """Do all of it."""
        with self._lock:
            while self._pending:
                start = time.perf_counter_ns()
                self._pending.popleft()()
                self.busy_ns += time.perf_counter_ns() - start


class Counts:
    """How often, and with how many bytes, memory was copied, by its direction."""

    def __init__(self) -> None:
        self.to_device = self.to_host = self.within = 0
        self.to_device_bytes = self.to_host_bytes = 0


class Device:
    """One simulated device."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = device_name(number)
        self.stream = Stream()
        self.counts = Counts()
        self.in_use = 0
        self.peak = 0
        self._lock = threading.Lock()

    def allocated(self, size: int) -> None:
        """Count memory that an array has got, or has given back if negative."""
        with self._lock:
            self.in_use += size
            self.peak = max(self.peak, self.in_use)


DEVICES = tuple(map(Device, range(2)))
"""Those of this process, as it has its GPUs; which are used is a runtime's matter."""


class _Block(np.ndarray[Any, Any]):
    """Memory of a device, counted until nothing looks into it any more.

    A class of its own, or NumPy would let what looks into it hold something else.
    """

    owner: Device | None = None

    def __del__(self) -> None:
        if self.owner is not None:
            self.owner.allocated(-self.nbytes)


def _allocated(shape: Shape, dtype: Any, device: Device) -> Array:
    """Return memory of a device."""
    dtype = np.dtype(dtype)
    block = _Block((math.prod(shape) * dtype.itemsize,), np.uint8)
    device.allocated(block.nbytes)
    block.owner = device
    return np.ndarray(shape, dtype, block)


class DeviceArray:
    """An array on a simulated device; no NumPy array, and it does not become one.

    Parameters
    ----------
    memory
        Where its elements are, or will be.
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
        """Return what is in the memory now, whether it is computed or not."""
        return self._memory

    def get(self) -> Array:
        """Return a copy on the host, once the elements are computed."""
        self.device.stream.synchronise()
        counts = self.device.counts
        counts.to_host += 1
        counts.to_host_bytes += self.nbytes
        return self._memory.copy()

    def copy(self) -> DeviceArray:
        """Return a copy on the device."""
        self.device.counts.within += 1
        return self._later(self.dtype, self.shape, lambda: self._memory)

    def reshape(self, *shape: int) -> DeviceArray:
        """Return the same elements in another shape."""
        return DeviceArray(self.device, self._memory.reshape(*shape))

    def __getitem__(self, index: Any) -> DeviceArray:
        return DeviceArray(self.device, self._memory[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        memory, found = self._memory, _operand(value)

        def write() -> None:
            memory[index] = found

        self.device.stream.submit(write)

    def __add__(self, other: Any) -> DeviceArray:
        return self._with(operator.add, other)

    def __mul__(self, other: Any) -> DeviceArray:
        return self._with(operator.mul, other)

    __radd__, __rmul__ = __add__, __mul__

    def _with(self, work: Callable[[Any, Any], Any], other: Any) -> DeviceArray:
        """Let the device do a piece of work of two operands."""
        memory, found = self._memory, _operand(other)
        alike = np.zeros((), found.dtype) if isinstance(found, np.ndarray) else found
        dtype = np.asarray(work(np.zeros(1, memory.dtype), alike)).dtype
        shape = np.broadcast_shapes(memory.shape, np.shape(found))
        return self._later(dtype, shape, lambda: work(memory, found))

    def _later(
        self, dtype: np.dtype[Any], shape: Shape, work: Callable[[], Any]
    ) -> DeviceArray:
        made = empty(shape, dtype, self.device)
        memory = made._memory
        self.device.stream.submit(lambda: np.copyto(memory, work()))
        return made

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise TypeError(_NO_NUMPY)

    def __dlpack__(self, *, stream: int | None = None, **_: Any) -> Any:
        if stream != NO_WAIT:
            self.device.stream.synchronise()
        capsule = self._memory.__dlpack__()
        dlpack.place_on(capsule, self.__dlpack_device__())
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (dlpack.CUDA, self.device.number)


def _operand(value: Any) -> Any:
    """Return the memory of an array, or a number; the host's arrays are neither."""
    if isinstance(value, DeviceArray):
        return value._memory
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def empty(shape: Shape, dtype: Any, device: Device = DEVICES[0]) -> DeviceArray:
    """Return an array of rubbish."""
    memory = _allocated(shape, dtype, device)
    memory.reshape(-1).view(np.uint8)[...] = RUBBISH
    return DeviceArray(device, memory)


def asarray(values: Any, device: Device = DEVICES[0]) -> DeviceArray:
    """Copy values of the host to a device."""
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
    """Take an array of a simulated device by DLPack, without a copy.

    Raises
    ------
    BufferError
        It is on no such device.
    """
    kind, number = producer.__dlpack_device__()
    if kind != dlpack.CUDA or number >= len(DEVICES):
        raise BufferError(f"no simulated device has the memory of {producer!r}")
    return adopted(producer.__dlpack__(stream=1), number)


def adopted(capsule: Any, number: int) -> DeviceArray:
    """Take a capsule of a simulated device's memory, which is complete."""
    dlpack.place_on(capsule, (dlpack.CPU, 0))
    held = np.from_dlpack(dlpack.Holder(capsule))
    if not held.flags.writeable:
        # Older releases of NumPy give what they take as read-only.
        held = _writeable(held)
    return DeviceArray(DEVICES[number], held)


def _writeable(array: Array) -> Array:
    face = dict(array.__array_interface__)
    face["data"] = (face["data"][0], False)
    return np.asarray(_Face(face, array))


class _Face:
    """Memory of an array that outlives what looks into it."""

    def __init__(self, face: dict[str, Any], owner: Array) -> None:
        self.__array_interface__ = face
        self._owner = owner
