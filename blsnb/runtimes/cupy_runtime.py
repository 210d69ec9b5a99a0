"""Tensors on CUDA devices. The only importer of CuPy, imported late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import cupy
import numpy as np

from blsnb.printable import printable
from blsnb.runtimes.runtime import (
    NO_DEVICE,
    DeviceError,
    DeviceUse,
    ImportedMemory,
    Measurement,
    MemoryUse,
)
from blsnb.tensors import dlpack
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.memory import Memory, device_name

T = TypeVar("T")
_MIN_CAPABILITY = 60
"""Triton uses no device below compute capability 6.0."""
_LEGACY_STREAM = 1
"""DLPack's number of the stream that CUDA numbers 0."""
_SUCCESS, _NOT_READY = 0, 600
"""What CUDA answers to a question whether a stream is idle; all else is an error."""
_LOST = (
    "The GPU no longer answers this process: an error such as an access to memory that "
    "is not allocated ends its use for good. Here all models share the kernel's "
    "process: find the CUDA kernel that made the error (CUDA_LAUNCH_BLOCKING=1 in the "
    "environment shows its line), and restart the notebook's kernel. On Triton the "
    "processes of this model's instances are affected, until the model is loaded again."
)


class CupyMemory(Memory):
    """Elements in a CuPy array."""

    @property
    def device(self) -> str:
        """Such as ``"gpu:0"``."""
        return device_name(self.array.device.id)

    @property
    def lost(self) -> bool:
        """Whether an error of an earlier kernel has ended the use of the device."""
        try:
            with self.array.device:
                return _is_lost()
        except cupy.cuda.runtime.CUDARuntimeError:
            return True

    def host(self) -> memoryview:
        """Return a read-only copy of the bytes on the host."""
        with self.array.device:
            host = np.ascontiguousarray(cupy.asnumpy(self.array))
        return memoryview(host.reshape(-1).view(np.uint8)).toreadonly()  # type: ignore[arg-type]

    def copied(self) -> CupyMemory:
        """Return a copy on the same device."""
        with self.array.device, _device_errors():
            copy = cupy.array(self.array, copy=True, order="C")
            cupy.cuda.get_current_stream().synchronize()
        return CupyMemory(copy)

    def capsule(self) -> Any:
        """Return a DLPack capsule of this memory, not of a copy."""
        with self.array.device:
            cupy.cuda.get_current_stream().synchronize()
            return self.array.__dlpack__()

    def compute(self, work: Callable[[Any, Any], T]) -> T:
        """Return ``work(cupy, array)``, computed on the device."""
        with self.array.device:
            result: Any = work(cupy, self.array)
            if isinstance(result, cupy.ndarray):
                result = cupy.asnumpy(result)
        return result  # type: ignore[no-any-return]


class _PeakHook(cupy.cuda.MemoryHook):  # type: ignore[misc]
    """Records the maximum of what this thread allocates."""

    def __init__(self) -> None:
        # CuPy identifies hooks by name, and one execute may run inside another.
        self.name = f"blsnb {id(self):x}"
        self._allocated = self.most = 0

    def malloc_postprocess(self, **facts: Any) -> None:
        """Count an allocation from the pool."""
        if facts["mem_ptr"]:
            self._allocated += facts["mem_size"]
            self.most = max(self.most, self._allocated)

    def free_postprocess(self, **facts: Any) -> None:
        """Count memory returned to the pool."""
        self._allocated -= facts["mem_size"]


class CupyRuntime:
    """The runtime of a machine with CUDA devices.

    Raises
    ------
    DeviceError
        No device is usable.
    """

    name = "cupy"

    def __init__(self) -> None:
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceError(str(error)) from error
        usable = [number for number in range(count) if _is_usable(number)]
        # Triton's numbers are CUDA's: devices after a gap cannot be used here.
        self.gpu_count = next(
            (position for position, number in enumerate(usable) if position != number),
            len(usable),
        )
        if not self.gpu_count:
            raise DeviceError(f"of {count} CUDA devices none has capability 6.0")

    def __repr__(self) -> str:
        return printable(f"<CupyRuntime: {self.describe()}>")

    def describe(self) -> str:
        """Return devices, library and versions."""
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
        """Import device memory by DLPack, when the work on it is done.

        Work that a capsule's producer has queued is not awaited.

        References
        ----------
        python_backend: src/pb_tensor.cc, PbTensor::FromDLPack
        """
        capsule = producer
        if not dlpack.is_capsule(producer):
            number = self._checked(producer.__dlpack_device__()[1])
            with cupy.cuda.Device(number):
                capsule = _complete_capsule(producer, number)
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
        """Copy elements from the host to a device."""
        values = np.frombuffer(data, dtype).reshape(shape)
        with cupy.cuda.Device(self._checked(device)), _device_errors():
            array = cupy.asarray(values, order="C")
            cupy.cuda.get_current_stream().synchronize()
        return CupyMemory(array)

    @contextmanager
    def measure(self, device: int) -> Iterator[Measurement]:
        """Make a device the current one and measure the work by its own events."""
        measurement, hook = Measurement(), _PeakHook()
        with cupy.cuda.Device(self._checked(device)), hook, _advice():
            before = cupy.get_default_memory_pool().used_bytes()
            start = cupy.cuda.Event()
            start.record()
            try:
                yield measurement
            except BaseException:
                # The model's error is reported, not one of the device after it.
                with suppress(cupy.cuda.runtime.CUDARuntimeError):
                    measurement.use = _use(device, start, before, hook)
                raise
            measurement.use = _use(device, start, before, hook)

    def synchronise(self) -> None:
        """Wait until every device has finished its work."""
        for number in range(self.gpu_count):
            cupy.cuda.Device(number).synchronize()

    def memory_use(self, device: int) -> MemoryUse:
        """Return the bytes of CuPy's pool that arrays use, and the pool's size."""
        with cupy.cuda.Device(self._checked(device)):
            pool = cupy.get_default_memory_pool()
            return MemoryUse(pool.used_bytes(), pool.total_bytes())


def _complete_capsule(producer: Any, number: int) -> Any:
    """Return a producer's capsule, when the current stream has waited for its work.

    A stream of the model's own that does not wait for the legacy stream, and that the
    legacy stream does not wait for, would otherwise be read too early.
    """
    stream = cupy.cuda.get_current_stream()
    capsule = producer.__dlpack__(stream=stream.ptr or _LEGACY_STREAM)
    try:
        stream.synchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        failed = DeviceError(f"Failed to synchronize CUDA device with id {number}")
        raise failed from error
    return capsule


def _use(device: int, start: Any, before: int, hook: _PeakHook) -> DeviceUse:
    """Return the use of a device since an event, when its work is done."""
    end = cupy.cuda.Event()
    end.record()
    end.synchronize()
    elapsed = round(cupy.cuda.get_elapsed_time(start, end) * 1e6)
    in_use = cupy.get_default_memory_pool().used_bytes()
    return DeviceUse(
        device_name(device), elapsed, in_use, max(in_use, before + hook.most)
    )


@contextmanager
def _advice() -> Iterator[None]:
    """Add advice to an error if the device can no longer be used."""
    try:
        yield
    except Exception as error:
        if _is_lost():
            error.add_note(_LOST)
        raise


def _is_lost() -> bool:
    """Return whether the current device fails every call, without waiting for it."""
    return cupy.cuda.runtime.streamQuery(0) not in (_SUCCESS, _NOT_READY)


@contextmanager
def _device_errors() -> Iterator[None]:
    """Convert CuPy's error for exhausted memory into a `DeviceError`."""
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise DeviceError(str(error)) from error


def _is_usable(number: int) -> bool:
    return int(cupy.cuda.Device(number).compute_capability) >= _MIN_CAPABILITY


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
