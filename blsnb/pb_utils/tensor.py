"""Tensor: an array with a name, and the value that was or will be sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from blsnb.pb_utils.backend import CurrentBackend
from blsnb.pb_utils.compiled.compiled_type import Compiled
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.signature import Mismatch, compiled, string
from blsnb.runtimes.runtime import DeviceError, ImportedMemory
from blsnb.tensors import dlpack
from blsnb.tensors.buffers import LARGE, frozen, private
from blsnb.tensors.device_ref import DeviceRef
from blsnb.tensors.dtypes import BF16, BY_NUMPY, BYTES, DType, Shape, of_array
from blsnb.tensors.memory import HOST, Memory, device_number
from blsnb.tensors.ref import TensorRef, freeze

_new = object.__new__
_EMPTY_NAME = "Tensor name cannot be an empty string."
_NO_DLPACK = (
    "Provided tensor is not supported. Tensor must be a DLPack capsule         "
    "or have `__dlpack__` and `__dlpack_device__` attributes"
)
_BF16_NUMPY = (
    "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and "
    "from_dlpack() instead."
)
_ON_GPU = "Tensor is stored in GPU and cannot be converted to NumPy."
_REMEDIES = (
    "as_numpy() needs a tensor in the host's memory. One of three helps: work on the "
    "device, with cupy.from_dlpack(tensor) or torch.from_dlpack(tensor), where "
    "is_cpu() is False; for inputs, let Triton move them, by leaving the parameter "
    'FORCE_CPU_ONLY_INPUT_TENSORS out of the configuration, or with the value "yes"; '
    "for outputs of a BLS call, ask for them on the host, with preferred_memory="
    "pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)."
)


class Tensor(Compiled):
    """A named tensor.

    Its value is frozen when it is first sent: until then the array's present
    contents count, afterwards what was sent. BYTES are frozen at construction.

    Parameters
    ----------
    name
        The tensor's name, not empty.
    array
        Elements of a type that Triton has. Kept as it is if C-contiguous and
        numeric, else copied.

    Raises
    ------
    TritonModelException
        The name is empty, or NumPy's type is none of Triton's.
    TypeError
        An argument is of another type: lists and scalars are not converted.

    References
    ----------
    python_backend: src/pb_tensor.cc, PbTensor::PbTensor
    """

    __slots__ = ("_array", "_dtype", "_name", "_ref", "_shape", "_source")

    _name: str
    _dtype: DType
    _shape: Shape
    _array: np.ndarray[Any, Any] | None
    """What ``as_numpy`` gives."""
    _source: np.ndarray[Any, Any] | Memory | None
    """What the first transmission copies: an array, or a device's memory."""
    _ref: TensorRef | None
    """What was sent or received."""

    @compiled("c_python_backend_utils.Tensor(arg0: str, arg1: numpy.ndarray)")
    def __init__(self, name: str, array: np.ndarray[Any, Any], /) -> None:
        if type(name) is not str:
            name = string(name)
        plain = type(array) is np.ndarray
        if not (plain or isinstance(array, np.ndarray)):
            raise Mismatch
        if not name:
            raise TritonModelException(_EMPTY_NAME)
        dtype = BY_NUMPY.get(array.dtype) or of_array(array.dtype)
        if dtype is None:
            raise TritonModelException("NumPy dtype is not supported.")
        self._name = name
        self._dtype = dtype
        self._ref = freeze(name, array, dtype) if dtype is BYTES else None
        if not plain and isinstance(array, np.ma.MaskedArray):
            # Its flags are a copy's, which the compiled class cannot read.
            raise AttributeError(
                "'numpy.ndarray' object has no attribute 'c_contiguous'"
            )
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        self._shape = array.shape
        self._array = self._source = array

    @compiled("name(self: c_python_backend_utils.Tensor) -> str")
    def name(self) -> str:
        """Return the name."""
        return self._name

    @compiled("shape(self: c_python_backend_utils.Tensor) -> List[int]")
    def shape(self) -> list[int]:
        """Return the shape, as a new list."""
        return list(self._shape)

    @compiled("as_numpy(self: c_python_backend_utils.Tensor) -> numpy.ndarray")
    def as_numpy(self) -> np.ndarray[Any, Any]:
        """Return the elements; the same array at every call.

        Of a constructed tensor this is the array it was made of; of a received
        one a private writable copy: writing to it changes nothing that is sent.

        Raises
        ------
        TritonModelException
            They are on a device, or BF16, which NumPy does not have.
        """
        if self._array is None:
            self._array = self._private_copy()
        return self._array

    def _private_copy(self) -> np.ndarray[Any, Any]:
        ref: Any = self._ref
        dtype = self._dtype
        if ref is None or ref.device != HOST:
            self._refuse_device()
        if dtype is BF16:
            raise TritonModelException(_BF16_NUMPY)
        # What is neither constructed here nor of these, was received.
        if dtype is BYTES:
            array: np.ndarray[Any, Any] = ref.view()
            array.flags.writeable = True
            return array
        if ref.byte_size < LARGE:
            return np.ndarray(ref.shape, dtype.dtype, bytearray(ref.data))
        return private(ref.data, ref.shape, np.dtype(dtype.dtype))

    def _refuse_device(self) -> None:
        if self._place != HOST:
            error = TritonModelException(_ON_GPU)
            error.add_note(_REMEDIES)
            raise error

    def triton_dtype(self) -> Any:
        """Fail as Triton does, where the type of the result is not registered."""
        raise TypeError(
            "Unable to convert function return value to a Python type! The signature "
            "was\n\t(self: c_python_backend_utils.Tensor) -> TRITONSERVER_datatype_enum"
        )

    @compiled("is_cpu(self: c_python_backend_utils.Tensor) -> bool")
    def is_cpu(self) -> bool:
        """Whether the elements are in host memory."""
        return self._place == HOST

    @property
    def _place(self) -> str:
        if self._ref is not None:
            return self._ref.device
        source = self._source
        return HOST if isinstance(source, np.ndarray) else source.device  # type: ignore[union-attr]

    # No static method, as on Triton: through an instance it does not fit.
    @compiled("from_dlpack(self: str, arg0: object) -> c_python_backend_utils.Tensor")
    def from_dlpack(name: str, tensor: Any, /) -> Tensor:  # type: ignore[misc]
        """Make a tensor of another library's memory, without a copy.

        Raises
        ------
        TritonModelException
            The name is empty, or the memory is of a kind Triton does not take.
        """
        return _from_dlpack(name, tensor)

    @compiled("to_dlpack(self: c_python_backend_utils.Tensor) -> capsule")
    def to_dlpack(self) -> Any:
        """Return the elements as a DLPack capsule.

        Raises
        ------
        TritonModelException
            The elements are BYTES.
        """
        if self._dtype is BYTES:
            raise TritonModelException(
                "DLPack does not have support for string tensors."
            )
        if self._place != HOST:
            return dlpack.labelled(self._device_memory().capsule(), self._dtype)
        return dlpack.export_capsule(self._memory(), self._dtype)

    def _device_memory(self) -> Memory:
        """Elements on a device that a consumer may even write."""
        if self._source is not None:
            return self._source  # type: ignore[return-value]
        assert isinstance(self._ref, DeviceRef)
        return self._ref.memory.copied()

    def _memory(self) -> np.ndarray[Any, Any]:
        """Elements that a consumer may even write: never the frozen buffer."""
        source = self._source
        if isinstance(source, np.ndarray) and source.flags.writeable:
            return source
        ref = transmit(self)
        assert ref.data is not None
        dtype = np.dtype(np.uint16) if self._dtype is BF16 else self._dtype.dtype
        return np.ndarray(ref.shape, dtype, bytearray(ref.data))

    @compiled(
        "__dlpack__(self: c_python_backend_utils.Tensor, stream: object = None) "
        "-> capsule"
    )
    def __dlpack__(self, stream: Any = None) -> Any:
        return self.to_dlpack()

    @compiled(
        "__dlpack_device__(self: c_python_backend_utils.Tensor) -> Tuple[int, int]"
    )
    def __dlpack_device__(self) -> tuple[int, int]:
        place = self._place
        if place == HOST:
            return (dlpack.CPU, 0)
        return (dlpack.CUDA, device_number(place))


def _from_dlpack(name: str, producer: Any) -> Tensor:
    name = string(name)
    if not name:
        raise TritonModelException(_EMPTY_NAME)
    try:
        if _is_on_device(producer):
            # Which runtime it is, the instance's backend knows.
            return _of_memory(name, CurrentBackend().runtime.from_dlpack(producer))
        imported = dlpack.import_capsule(_capsule_of(producer))
    except (dlpack.DLPackError, DeviceError) as error:
        raise TritonModelException(str(error)) from None
    tensor: Tensor = object.__new__(Tensor)
    tensor._name = name
    tensor._dtype = imported.dtype
    tensor._ref = None
    tensor._shape = imported.array.shape
    tensor._source = imported.array
    tensor._array = None if imported.dtype is BF16 else _private(imported.array)
    return tensor


def _of_memory(name: str, taken: ImportedMemory) -> Tensor:
    """Return the tensor of a device's memory, which is its producer's."""
    tensor: Tensor = object.__new__(Tensor)
    tensor._name = name
    tensor._dtype = taken.dtype
    tensor._ref = tensor._array = None
    tensor._shape = taken.memory.shape
    tensor._source = taken.memory
    return tensor


def _private(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Copy into memory that the array does not own, as the backend's copies are."""
    return np.ndarray(array.shape, array.dtype, bytearray(array.tobytes()))


def _is_on_device(producer: Any) -> bool:
    """Whether the memory is on a CUDA device; a bare capsule says it itself."""
    if dlpack.is_capsule(producer):
        return dlpack.device_of(producer)[0] == dlpack.CUDA
    if not hasattr(producer, "__dlpack__") or not hasattr(
        producer, "__dlpack_device__"
    ):
        raise TritonModelException(_NO_DLPACK)
    device = int(producer.__dlpack_device__()[0])
    if device not in (dlpack.CPU, dlpack.CUDA, dlpack.CUDA_HOST):
        raise TritonModelException(
            f"DLDevice type {device} is not support by Python backend."
        )
    return device == dlpack.CUDA


def _capsule_of(producer: Any) -> Any:
    if dlpack.is_capsule(producer):
        return producer
    return producer.__dlpack__(stream=None)


def transmit(tensor: Tensor) -> TensorRef:
    """Return the frozen value of a tensor, freezing it at the first call."""
    ref = tensor._ref
    if ref is None:
        source: Any = tensor._source
        if tensor._array is None and not isinstance(source, np.ndarray):
            return _transmit_memory(tensor, source)
        size = source.nbytes
        tensor._ref = ref = _new(TensorRef)
        ref.name = tensor._name
        ref.dtype = tensor._dtype
        ref.shape = tensor._shape
        ref.data = source.tobytes() if size < LARGE else frozen(source)
        ref.device = HOST
        ref.byte_size = size
    return ref


def _transmit_memory(tensor: Tensor, memory: Memory) -> TensorRef:
    """Freeze what is on a device, there."""
    try:
        frozen_there = memory.copied()
    except DeviceError as error:
        raise TritonModelException(str(error)) from error
    tensor._ref = DeviceRef(tensor._name, tensor._dtype, tensor._shape, frozen_there)
    tensor._source = None
    return tensor._ref


def transmit_some(
    tensors: list[Tensor], names: tuple[str, ...]
) -> tuple[list[Tensor], tuple[TensorRef, ...]]:
    """Return the tensors of these names, in their order, and their frozen values."""
    kept: list[Tensor] = []
    refs: tuple[TensorRef, ...] = ()
    for tensor in tensors:
        if tensor._name in names:
            kept.append(tensor)
            refs += (transmit(tensor),)
    return kept, refs


def receive(ref: TensorRef) -> Tensor:
    """Return the tensor that a receiver of a frozen value holds."""
    tensor: Tensor = _new(Tensor)
    tensor._name = ref.name
    tensor._dtype = ref.dtype
    tensor._shape = ref.shape
    tensor._ref = ref
    tensor._array = tensor._source = None
    return tensor


def receive_view(ref: TensorRef) -> Tensor:
    """Return a tensor whose ``as_numpy`` is a read-only view of the frozen value."""
    tensor = receive(ref)
    if ref.dtype is not BYTES and ref.dtype is not BF16 and ref.device == HOST:
        tensor._array = ref.view()
    return tensor
