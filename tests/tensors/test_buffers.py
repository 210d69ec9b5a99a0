"""Specification of the memory of large tensors."""

import mmap

import numpy as np
import pytest

from blsnb.tensors import buffers
from blsnb.tensors.buffers import LARGE, frozen, private

INT32 = np.dtype(np.int32)
SHAPE = (4, LARGE // 4)
SIZES = (LARGE, LARGE + 1, 5 * LARGE)


@pytest.fixture(autouse=True)
def nothing_idle():
    """Each test begins without memory for reuse."""
    buffers._idle.clear()


def large() -> np.ndarray:
    return np.arange(LARGE, dtype=np.int32).reshape(SHAPE)


def test_later_writes_do_not_change_frozen_elements():
    """They are a read-only copy of the present contents."""
    array = large()
    data = frozen(array)
    before = bytes(data)
    array[:] = 7

    assert before == bytes(data)
    assert memoryview(data).readonly


def test_a_strided_array_is_frozen_in_its_logical_order():
    """Layout in memory is not part of a tensor's value."""
    array = large()[:, ::2]

    assert array.tobytes() == bytes(frozen(array))


def test_bytes_are_not_copied():
    """Views of them in another shape or type are not copied, either."""
    data = bytes(LARGE)

    assert data is frozen(np.frombuffer(data, np.uint8))
    assert data is frozen(np.frombuffer(data, np.int32).reshape(4, -1))


def test_a_part_of_bytes_is_copied():
    """A few rows must not keep the whole buffer alive."""
    rows = np.frombuffer(bytes(4 * LARGE), np.uint8).reshape(4, LARGE)[1:3]

    assert isinstance(frozen(rows), memoryview)


def test_a_view_of_frozen_elements_is_not_copied():
    """A model that forwards a tensor copies nothing."""
    data = frozen(large())
    again = frozen(np.frombuffer(data, np.float32).reshape(8, -1))

    assert data.obj is again.obj


def test_a_read_only_view_of_writable_memory_is_copied():
    """The owner of the memory can still write."""
    array = large()
    array.flags.writeable = False
    wrapped = np.frombuffer(memoryview(bytearray(LARGE)).toreadonly(), np.uint8)
    received = private(frozen(array), SHAPE, INT32)
    view = received[:]
    view.flags.writeable = False

    for claimed in (array, wrapped, view):
        assert not np.may_share_memory(
            np.frombuffer(frozen(claimed), np.uint8), claimed
        )


def test_a_private_copy_is_writable():
    """It does not own its memory, and the frozen elements do not change."""
    data = frozen(large())
    array = private(data, SHAPE, INT32)
    array[:] = 7

    assert large().tobytes() == bytes(data)
    assert (False, True) == (array.flags.owndata, array.flags.writeable)


def test_memory_is_reused_after_its_last_view():
    """A view of a view keeps it, and so does a memoryview."""
    array = private(frozen(large()), SHAPE, INT32)
    place = array.ctypes.data
    view = memoryview(array[1:].view(np.uint8)[:, 5:])
    buffers._idle.clear()
    del array

    assert place != private(bytes(4 * LARGE), SHAPE, INT32).ctypes.data
    buffers._idle.clear()
    del view
    assert place == private(bytes(4 * LARGE), SHAPE, INT32).ctypes.data


def test_a_view_of_a_block_returns_no_memory():
    """The memory belongs to the block."""
    array = private(frozen(large()), SHAPE, INT32)
    buffers._idle.clear()
    part = array.base[5:][:3]

    assert 3 == len(part)
    del part
    assert not buffers._idle


def test_the_memory_kept_for_reuse_is_limited(monkeypatch):
    """The oldest is returned to the system first."""
    monkeypatch.setattr(buffers, "IDLE_BYTES", 3 * LARGE)
    held = [frozen(np.zeros(size * LARGE, np.uint8)) for size in (1, 2, 1, 1)]
    while held:
        held.pop(0)

    assert [LARGE, LARGE] == [memory.nbytes for memory in buffers._idle]


def test_memory_begins_with_a_page():
    """Copies of the kernel take several times as long to 16 bytes further."""
    held = [private(bytes(size), (size,), np.dtype(np.uint8)) for size in SIZES]

    assert [0] * len(SIZES) == [array.ctypes.data % mmap.PAGESIZE for array in held]
