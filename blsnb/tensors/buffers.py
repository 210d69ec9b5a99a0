"""Memory of large tensors: frozen memory is shared, freed memory is reused."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from blsnb.tensors.dtypes import Shape

LARGE = 1 << 20
"""Minimum bytes for which new system memory costs more time than a copy."""
IDLE_BYTES = 64 << 20
"""Maximum bytes kept for reuse: four tensors of 16 MB, as one call uses."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_Array = np.ndarray[Any, Any]


class _Memory(np.ndarray[Any, Any]):
    """Memory lent to one block at a time.

    A subclass, since NumPy would let views of a block reference a plain array instead.
    """


_idle: deque[_Memory] = deque()


class Block(np.ndarray[Any, Any]):
    """Borrowed memory, returned when no view of it is left."""

    def __del__(self) -> None:
        """Return the memory; without a lock, since the collector may run anywhere."""
        if isinstance(self.base, _Memory):
            _idle.append(self.base)
            while sum(each.nbytes for each in _idle.copy()) > IDLE_BYTES:
                _idle.popleft()


def _borrow(size: int) -> Block:
    """Return a block of a size, its contents undefined."""
    return Block((size,), np.uint8, _memory(size))


def _memory(size: int) -> _Memory:
    for _ in range(len(_idle)):
        try:
            memory = _idle.popleft()
        except IndexError:
            break
        if memory.nbytes == size:
            return memory
        _idle.append(memory)
    return _new_memory(size)


def _new_memory(size: int) -> _Memory:
    """Return memory that begins with a page.

    Copies by the processor's string instructions, as those of the kernel, take several
    times as long where a target is 16 bytes further into its page than its source.
    """
    memory = np.empty(size + _PAGE_BYTES, np.uint8)
    start = -memory.ctypes.data % _PAGE_BYTES
    return memory[start : start + size].view(_Memory)


def frozen(array: _Array) -> bytes | memoryview:
    """Return the elements of a `LARGE` array in C order, in memory that is read-only.

    They are copied, unless the array covers a whole frozen buffer.
    """
    return _frozen_already(array) or _copied(array)


def _frozen_already(array: _Array) -> bytes | memoryview | None:
    base: Any = array.base
    if type(base) is np.ndarray:
        # A view in another shape or type.
        base = base.base
    if not array.flags.c_contiguous or array.flags.writeable:
        return None
    if type(base) is bytes and len(base) == array.nbytes:
        return base
    if type(base) is memoryview and base.readonly and isinstance(base.obj, Block):
        return base if base.nbytes == array.nbytes else None
    return None


def _copied(array: _Array) -> memoryview:
    block = _borrow(array.nbytes)
    np.copyto(np.ndarray(array.shape, array.dtype, block), array)
    return memoryview(block).toreadonly()  # type: ignore[arg-type]


def filled(size: int, fill: Callable[[memoryview], bool]) -> memoryview | None:
    """Return read-only memory of a `LARGE` size that a function has filled.

    Parameters
    ----------
    fill
        Receives the memory; returns whether it has filled all of it.
    """
    block = _borrow(size)
    is_full = fill(memoryview(block))  # type: ignore[arg-type]
    return memoryview(block).toreadonly() if is_full else None  # type: ignore[arg-type]


def private(data: bytes | memoryview, shape: Shape, dtype: np.dtype[Any]) -> _Array:
    """Return a writable copy of frozen elements, in memory that it does not own."""
    block = _borrow(len(data))
    np.copyto(block, np.frombuffer(data, np.uint8))
    return np.ndarray(shape, dtype, block)
