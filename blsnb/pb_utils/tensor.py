"""A named array, and its frozen value after it was sent or received."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from blsnb.pb_utils.backend import CurrentBackend
from blsnb.pb_utils.compiled.compiled_type import Compiled
from blsnb.pb_utils.compiled.conversions import Mismatch
from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.signature import NO_CAST, compiled, string
from blsnb.runtimes.runtime import DeviceError
from blsnb.tensors.buffers import LARGE, frozen, private
from blsnb.tensors.device_ref import DeviceRef
from blsnb.tensors.dtypes import BF16, BY_NUMPY, BYTES, DType, Shape, of_array
from blsnb.tensors.memory import HOST, Memory, device_number
from blsnb.tensors.ref import TensorRef, freeze

_new = object.__new__
_EMPTY_NAME = "Tensor name cannot be an empty string."
_BF16_NUMPY = (
    "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and "
    "from_dlpack() instead."
)
_ON_GPU = "Tensor is stored in GPU and cannot be converted to NumPy."
_FROM_NUMPY = (
    "Tensor.from_dlpack() of a NumPy array ends the model's process on Triton 24.10. "
    "Use Tensor(name, array)."
)
_FIXES = (
    "as_numpy() needs a tensor in host memory. Three fixes: work on the device, with "
    "cupy.from_dlpack(tensor) or torch.from_dlpack(tensor) where is_cpu() is False; "
    "for inputs, let Triton move them, by removing the parameter "
    'FORCE_CPU_ONLY_INPUT_TENSORS from the configuration or setting it to "yes"; '
    "for outputs of a BLS call, request them on the host, with preferred_memory="
    "pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)."
)


class Tensor(Compiled):
    """A named tensor.

    Its value is frozen when it is first sent; later changes of the array have no
    effect. BYTES are frozen at construction.

    Parameters
    ----------
    name
        The tensor's name, not empty.
    array
        Elements of a type that Triton has. Not copied if C-contiguous and numeric.

    Raises
    ------
    TritonModelException
        The name is empty, or Triton does not have NumPy's type.
    TypeError
        An argument has another type; lists and scalars are not converted.

    References
    ----------
    python_backend: src/pb_tensor.cc, PbTensor::PbTensor
    """

    __slots__ = ("_array", "_dtype", "_name", "_ref", "_shape", "_source")

    _name: str
    _dtype: DType
    _shape: Shape
    _array: np.ndarray[Any, Any] | None
    """The result of ``as_numpy``."""
    _source: np.ndarray[Any, Any] | Memory | None
    """An array or a device's memory, copied at the first transmission."""
    _ref: TensorRef | None
    """The value that was sent or received."""

    @compiled("c_python_backend_utils.Tensor(arg0: str, arg1: numpy.ndarray)")
    def __init__(self, name: str, array: np.ndarray[Any, Any], /) -> None:
        if type(name) is not str or not name.isascii():
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
            # The compiled class cannot read the flags of such an array.
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

        For a constructed tensor it is the constructor's array, for a received tensor
        a writable copy that is never sent.

        Raises
        ------
        TritonModelException
            The elements are on a device, or BF16, which NumPy does not have.
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
        # The tensor was received.
        if dtype is BYTES:
            array: np.ndarray[Any, Any] = ref.view()
            array.flags.writeable = True
            return array
        if ref.byte_size < LARGE:
            return np.ndarray(ref.shape, dtype.dtype, bytearray(ref.data))
        return private(ref.data, ref.shape, np.dtype(dtype.dtype))

    def _refuse_device(self) -> None:
        if self._device != HOST:
            error = TritonModelException(_ON_GPU)
            error.add_note(_FIXES)
            raise error

    def triton_dtype(self) -> Any:
        """Raise Triton's error: the type of its result is not registered."""
        raise TypeError(
            "Unable to convert function return value to a Python type! The signature "
            "was\n\t(self: c_python_backend_utils.Tensor) -> TRITONSERVER_datatype_enum"
        )

    @compiled("is_cpu(self: c_python_backend_utils.Tensor) -> bool")
    def is_cpu(self) -> bool:
        """Whether the elements are in host memory."""
        return self._device == HOST

    @property
    def _device(self) -> str:
        if self._ref is not None:
            return self._ref.device
        source = self._source
        return HOST if isinstance(source, np.ndarray) else source.device  # type: ignore[union-attr]

    # Not a static method: as on Triton, a call on an instance is refused.
    @compiled("from_dlpack(self: str, arg0: object) -> c_python_backend_utils.Tensor")
    def from_dlpack(name: str, tensor: Any, /) -> Tensor:  # type: ignore[misc]
        """Return a tensor of another library's memory, without a copy.

        Raises
        ------
        TritonModelException
            The name is empty, or Triton does not support the kind of memory.
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
        # Deferred: few models use DLPack.
        from blsnb.tensors import dlpack

        if self._device != HOST:
            return dlpack.labelled(self._device_memory().capsule(), self._dtype)
        return dlpack.labelled(self._memory().__dlpack__(), self._dtype)

    def _device_memory(self) -> Memory:
        """Return elements on a device that a consumer may write."""
        if self._source is not None:
            return self._source  # type: ignore[return-value]
        assert isinstance(self._ref, DeviceRef)
        return self._ref.memory.copied()

    def _memory(self) -> np.ndarray[Any, Any]:
        """Return elements that a consumer may write: not the frozen buffer."""
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
        # Deferred: few models use DLPack.
        from blsnb.tensors import dlpack

        device = self._device
        if device == HOST:
            return (dlpack.CPU, 0)
        return (dlpack.CUDA, device_number(device))


class TensorState(NamedTuple):
    """A tensor as it stands."""

    name: str
    dtype: DType
    shape: Shape
    device: str
    elements: np.ndarray[Any, Any] | None
    """None on a device, or if the value is no longer kept."""


def state_of(tensor: Tensor) -> TensorState:
    """Return the state of a tensor, with no copy and no call that a model overrides."""
    array, ref = tensor._array, tensor._ref
    if array is None and ref is not None and ref.device == HOST and not ref.evicted:
        array = ref.view()
    return TensorState(
        tensor._name, tensor._dtype, tensor._shape, tensor._device, array
    )


def _from_dlpack(name: str, producer: Any) -> Tensor:
    # Deferred: few models use DLPack.
    from blsnb.tensors import dlpack

    name = string(name)
    if not name:
        raise TritonModelException(_EMPTY_NAME)
    tensor: Tensor = _new(Tensor)
    tensor._name = name
    tensor._ref = tensor._array = None
    try:
        if dlpack.is_on_cuda(producer):
            # The instance's backend has the runtime.
            memory, tensor._dtype = CurrentBackend().runtime.from_dlpack(producer)
            tensor._source, tensor._shape = memory, memory.shape
            return tensor
        array, tensor._dtype = dlpack.import_capsule(dlpack.capsule_of(producer))
        if isinstance(producer, np.ndarray):
            CurrentBackend().note(_FROM_NUMPY)
    except (dlpack.DLPackError, DeviceError) as error:
        raise TritonModelException(str(error)) from None
    except dlpack.DeviceCastError:
        raise RuntimeError(NO_CAST) from None
    tensor._source, tensor._shape = array, array.shape
    if tensor._dtype is not BF16:
        tensor._array = _private(array)
    return tensor


def _private(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy that does not own its memory, as on Triton."""
    return np.ndarray(array.shape, array.dtype, bytearray(array.tobytes()))


def transmit(tensor: Tensor) -> TensorRef:
    """Return the frozen value of a tensor, which the first call freezes."""
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
    """Freeze a value on its device."""
    try:
        copy = memory.copied()
    except DeviceError as error:
        raise TritonModelException(str(error)) from error
    tensor._ref = DeviceRef(tensor._name, tensor._dtype, tensor._shape, copy)
    tensor._source = None
    return tensor._ref


def transmit_some(
    tensors: list[Tensor], names: tuple[str, ...]
) -> tuple[list[Tensor], tuple[TensorRef, ...]]:
    """Return the tensors with these names, in their order, and their frozen values."""
    kept: list[Tensor] = []
    refs: tuple[TensorRef, ...] = ()
    for tensor in tensors:
        if tensor._name in names:
            kept.append(tensor)
            refs += (transmit(tensor),)
    return kept, refs


def receive(ref: TensorRef) -> Tensor:
    """Return a new tensor with a frozen value."""
    tensor: Tensor = _new(Tensor)
    tensor._name = ref.name
    tensor._dtype = ref.dtype
    tensor._shape = ref.shape
    tensor._ref = ref
    tensor._array = tensor._source = None
    return tensor


def receive_view(ref: TensorRef) -> Tensor:
    """Return a new tensor whose ``as_numpy`` is a read-only view."""
    tensor = receive(ref)
    if ref.dtype is not BYTES and ref.dtype is not BF16 and ref.device == HOST:
        tensor._array = ref.view()
    return tensor
