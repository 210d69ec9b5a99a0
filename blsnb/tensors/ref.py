"""The frozen value of a tensor that crossed a model boundary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blsnb.printable import printable
from blsnb.tensors import byte_strings
from blsnb.tensors.buffers import LARGE, frozen
from blsnb.tensors.dtypes import BYTES, DType, Shape


class TensorRef:
    """The frozen value of a tensor: sent, received, traced and replayed.

    Immutable: the buffer is ``bytes`` or a read-only view of memory that nothing
    else references, so receivers and the trace share it without a copy.

    Parameters
    ----------
    name
        The tensor's name.
    dtype
        Its row in the type table.
    shape
        Its shape, such as ``(batch, 3, 224, 224)``.
    data
        The elements in C order; for BYTES in wire form; None once evicted.
    device
        ``"cpu"`` or ``"gpu:0"``.
    byte_size
        Bytes of the elements on the wire; kept when the data are evicted.
    """

    __slots__ = ("byte_size", "data", "device", "dtype", "name", "shape")

    def __init__(
        self,
        name: str,
        dtype: DType,
        shape: Shape,
        data: bytes | memoryview | None,
        device: str = "cpu",
        byte_size: int | None = None,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.data = data
        self.device = device
        if byte_size is None:
            byte_size = 0 if data is None else len(data)
        self.byte_size = byte_size

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f"<TensorRef {printable(self.name)} {self.dtype.datatype}[{shape}]>"

    @property
    def evicted(self) -> bool:
        """Whether only the description remains, not the value."""
        return self.data is None

    @property
    def fate(self) -> str:
        """Why the value is missing, as the end of a sentence."""
        return (
            "was evicted: the trace keeps the newest runs within its budget. Call "
            "keep() on a run whose values you need."
        )

    def without_data(self) -> TensorRef:
        """Return the description alone: name, type, shape and size."""
        return TensorRef(
            self.name, self.dtype, self.shape, None, self.device, self.byte_size
        )

    @property
    def value_id(self) -> int:
        """A number that tensors share if their values are in the same memory."""
        return id(self.data)

    def alias(self, name: str, shape: Shape) -> TensorRef:
        """Return the same value under another name or in another shape."""
        return TensorRef(
            name, self.dtype, shape, self.data, self.device, self.byte_size
        )

    def compute(self, work: Callable[[Any, Any], Any]) -> Any:
        """Return ``work(library, array)``, computed where the elements are.

        Parameters
        ----------
        work
            Called with a library like NumPy and an array of its kind. The result is
            copied to the host: of a large tensor, return a small part.
        """
        return work(np, self.view())

    def view(self) -> np.ndarray[Any, Any]:
        """Return the elements as a read-only array; BYTES as objects of ``bytes``.

        BF16 is widened to float32, since NumPy has no such type.

        Raises
        ------
        ValueError
            The value is missing.
        """
        if self.data is None:
            raise ValueError(f"the value of tensor {self.name!r} {self.fate}")
        if self.dtype is BYTES:
            array = byte_strings.unpack_array(bytes(self.data), self.shape)
        elif self.dtype.dtype is None:
            # BF16 is the upper half of a float32.
            upper = np.frombuffer(self.data, np.uint16).astype(np.uint32) << 16
            array = upper.view(np.float32).reshape(self.shape)
        else:
            array = np.frombuffer(self.data, self.dtype.dtype).reshape(self.shape)
        array.flags.writeable = False
        return array


def freeze(name: str, array: np.ndarray[Any, Any], dtype: DType) -> TensorRef:
    """Copy an array's present contents into a frozen tensor.

    Parameters
    ----------
    array
        Elements of the row's NumPy type, in any layout.
    """
    data: bytes | memoryview
    if dtype is BYTES:
        data = byte_strings.pack_array(array)
    else:
        data = array.tobytes() if array.nbytes < LARGE else frozen(array)
    return TensorRef(name, dtype, array.shape, data)
