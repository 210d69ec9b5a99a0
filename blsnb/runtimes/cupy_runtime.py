"""CupyRuntime: tensors on CUDA devices. Nothing else imports CuPy, and this late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import cupy
import numpy as np

from blsnb.runtimes.runtime import (
    NO_DEVICE,
    DeviceError,
    DeviceUse,
    ImportedMemory,
    MemoryUse,
)
from blsnb.tensors import dlpack
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.memory import device_name

T = TypeVar("T")
_LEAST_CAPABILITY = 60
"""Triton uses no device below compute capability 6.0."""
_LEGACY_STREAM = 1
"""How DLPack calls the stream that CUDA numbers 0."""


class CupyMemory:
    """Elements in a CuPy array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def device(self) -> str:
        """Such as ``"gpu:0"``."""
        return device_name(self.array.device.id)

    @property
    def shape(self) -> Shape:
        """The shape."""
        return tuple(self.array.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.array.nbytes)

    def host(self) -> memoryview:
        """Return a copy of the bytes on the host, which nobody can write."""
        with self.array.device:
            found = np.ascontiguousarray(cupy.asnumpy(self.array))
        return memoryview(found.reshape(-1).view(np.uint8)).toreadonly()  # type: ignore[arg-type]

    def copied(self) -> CupyMemory:
        """Return a copy on the same device, complete."""
        with self.array.device, _told():
            copy = cupy.array(self.array, copy=True, order="C")
            cupy.cuda.get_current_stream().synchronize()
        return CupyMemory(copy)

    def shaped(self, shape: Shape) -> CupyMemory:
        """Return the same elements in another shape."""
        return CupyMemory(self.array.reshape(shape))

    def capsule(self) -> Any:
        """Return a DLPack capsule of this very memory."""
        with self.array.device:
            cupy.cuda.get_current_stream().synchronize()
            return self.array.__dlpack__()

    def compute(self, work: Callable[[Any, Any], T]) -> T:
        """Return what work makes of CuPy and the array, done on the device."""
        with self.array.device:
            found: Any = work(cupy, self.array)
            if isinstance(found, cupy.ndarray):
                found = cupy.asnumpy(found)
        return found  # type: ignore[no-any-return]


class _PeakHook(cupy.cuda.MemoryHook):  # type: ignore[misc]
    """Sums up what this thread allocates, and keeps the most of it."""

    def __init__(self) -> None:
        # CuPy takes hooks by name, and one execute may be inside another.
        self.name = f"blsnb {id(self):x}"
        self._more = self.most = 0

    def malloc_postprocess(self, **facts: Any) -> None:
        """Count what was taken from the pool."""
        if facts["mem_ptr"]:
            self._more += facts["mem_size"]
            self.most = max(self.most, self._more)

    def free_postprocess(self, **facts: Any) -> None:
        """Count what went back."""
        self._more -= facts["mem_size"]


class _Measured:
    """What one ``execute`` did on a device."""

    use: DeviceUse | None = None


class CupyRuntime:
    """The runtime of a machine with CUDA devices.

    Raises
    ------
    DeviceError
        None answers.
    """

    name = "cupy"

    def __init__(self) -> None:
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceError(str(error)) from error
        usable = [number for number in range(count) if _is_usable(number)]
        # Triton's numbers are CUDA's: a gap ends what can be used here.
        self.gpu_count = next(
            (place for place, number in enumerate(usable) if place != number),
            len(usable),
        )
        if not self.gpu_count:
            raise DeviceError(f"of {count} CUDA devices none has capability 6.0")

    def describe(self) -> str:
        """Return device, library and versions."""
        runtime = cupy.cuda.runtime
        names = [
            runtime.getDeviceProperties(number)["name"].decode()
            for number in range(self.gpu_count)
        ]
        cuda, driver = runtime.runtimeGetVersion(), runtime.driverGetVersion()
        return (
            f"{', '.join(names)} with CuPy {cupy.__version__}, CUDA {_version(cuda)}, "
            f"driver for CUDA {_version(driver)}"
        )

    def from_dlpack(self, producer: Any) -> ImportedMemory:
        """Take memory of a device by DLPack, without a copy.

        The current stream waits for the producer's.

        Raises
        ------
        DeviceError
            It is on another device.
        DLPackError
            Its elements are not in C order, or of a type that Triton has not.
        """
        capsule = producer
        if not dlpack.is_capsule(producer):
            number = producer.__dlpack_device__()[1]
            with cupy.cuda.Device(self._checked(number)):
                stream = cupy.cuda.get_current_stream().ptr or _LEGACY_STREAM
                capsule = producer.__dlpack__(stream=stream)
        described = dlpack.describe(capsule)
        kind, number = described.device
        if kind != dlpack.CUDA:
            raise DeviceError(f"DLDevice type {kind} is not that of a device")
        with cupy.cuda.Device(self._checked(number)):
            array = cupy.from_dlpack(dlpack.Holder(capsule, described.device))
        return ImportedMemory(CupyMemory(array), described.dtype)

    def _checked(self, number: int) -> int:
        if number >= self.gpu_count:
            raise DeviceError(NO_DEVICE)
        return number

    def to_device(
        self,
        data: bytes | memoryview,
        dtype: np.dtype[Any],
        shape: Shape,
        device: int = 0,
    ) -> CupyMemory:
        """Copy elements from the host to a device.

        Raises
        ------
        DeviceError
            There is no room, or no such device.
        """
        values = np.frombuffer(data, dtype).reshape(shape)
        with cupy.cuda.Device(self._checked(device)), _told():
            array = cupy.asarray(values, order="C")
            cupy.cuda.get_current_stream().synchronize()
        return CupyMemory(array)

    @contextmanager
    def measure(self, device: int) -> Iterator[_Measured]:
        """Work on a device, and measure it by its own events."""
        measured, hook = _Measured(), _PeakHook()
        with cupy.cuda.Device(self._checked(device)), hook:
            before = cupy.get_default_memory_pool().used_bytes()
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            try:
                yield measured
            finally:
                end.record()
                end.synchronize()
                elapsed = round(cupy.cuda.get_elapsed_time(start, end) * 1e6)
                in_use = cupy.get_default_memory_pool().used_bytes()
                peak = max(in_use, before + hook.most)
                name = device_name(device)
                measured.use = DeviceUse(name, elapsed, in_use, peak)

    def synchronise(self) -> None:
        """Wait until every device has done what it was given."""
        for number in range(self.gpu_count):
            cupy.cuda.Device(number).synchronize()

    def memory_use(self, device: int) -> MemoryUse:
        """Return what arrays have of CuPy's pool, and what the pool has at most had."""
        with cupy.cuda.Device(self._checked(device)):
            pool = cupy.get_default_memory_pool()
            return MemoryUse(pool.used_bytes(), pool.total_bytes())


@contextmanager
def _told() -> Iterator[None]:
    """Let a device without room be told in one class for all runtimes."""
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise DeviceError(str(error)) from error


def _is_usable(number: int) -> bool:
    return int(cupy.cuda.Device(number).compute_capability) >= _LEAST_CAPABILITY


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
