"""Shared memory objects of other processes, from which tensors are read and written."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os

import numpy as np

from blsnb.tensors.buffers import LARGE, filled

_COPY_BYTES = 1 << 16
"""Minimum bytes that are written through the mapping."""


class SharedObject:
    """An open shared memory object, closed with the last reference.

    Its client may truncate it at any time. Touching a mapped page that is gone would
    end the process, so only the kernel copies from and to the object.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._start = 0
        self._mapped = np.empty(0, np.uint8)

    def __del__(self) -> None:
        os.close(self._descriptor)

    @property
    def byte_size(self) -> int:
        """Current size of the object."""
        return os.fstat(self._descriptor).st_size

    def map(self, offset: int, byte_size: int) -> None:
        """Map the part that will be used, as Triton does."""
        mapping = mmap.mmap(self._descriptor, byte_size, offset=offset)
        self._start, self._mapped = offset, np.frombuffer(mapping, np.uint8)

    def read(self, offset: int, byte_size: int) -> bytes | memoryview | None:
        """Return a read-only copy of a part; None if the object ends before it does."""
        if byte_size < LARGE:
            data = os.pread(self._descriptor, byte_size, offset)
            return data if len(data) == byte_size else None
        # New memory would cost more time than the copy.
        return filled(byte_size, functools.partial(self._fill, offset))

    def _fill(self, offset: int, part: memoryview) -> bool:
        """Read a part; return False if the object ends before it does."""
        # One call reads 2 GiB at most.
        while part and (count := os.preadv(self._descriptor, [part], offset)):
            part, offset = part[count:], offset + count
        return not part

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Write within the part that is mapped."""
        left = memoryview(data).cast("B")
        copied = 0
        if len(left) >= _COPY_BYTES:
            start = offset - self._start
            copied = _copy(left, self._mapped[start : start + len(left)])
        left, offset = left[copied:], offset + copied
        while left:
            # Slower, and with the reason of a failure.
            written = os.pwrite(self._descriptor, left, offset)
            offset, left = offset + written, left[written:]


class _Part(ctypes.Structure):
    """A C ``iovec``."""

    _fields_ = [("address", ctypes.c_void_p), ("size", ctypes.c_size_t)]


_PARTS = (ctypes.POINTER(_Part), ctypes.c_ulong)
_transfer = getattr(ctypes.CDLL(None), "process_vm_readv", None)
if _transfer is not None:
    _transfer.restype = ctypes.c_ssize_t
    _transfer.argtypes = (ctypes.c_int, *_PARTS, *_PARTS, ctypes.c_ulong)


def _copy(
    source: memoryview, target: np.ndarray[tuple[int], np.dtype[np.uint8]]
) -> int:
    """Copy bytes by the kernel, up to a page that is gone; return their number.

    Pages that are mapped already are written in two thirds of the time of ``pwrite``.
    It is 0 where the system has no such call, or forbids it.
    """
    if _transfer is None:
        return 0
    size = min(len(source), len(target))
    here = _Part(target.ctypes.data, size)
    there = _Part(np.frombuffer(source, np.uint8).ctypes.data, size)
    return max(0, int(_transfer(os.getpid(), here, 1, there, 1, 0)))
