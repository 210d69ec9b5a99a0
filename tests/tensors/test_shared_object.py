"""Specification of shared memory objects that tensors are read from and written to."""

import os
import threading
import tracemalloc
from multiprocessing import shared_memory

import pytest

from blsnb.tensors import buffers, shared_object
from blsnb.tensors.buffers import LARGE
from blsnb.tensors.shared_object import SharedObject

SIZE = 4 * LARGE


@pytest.fixture
def shared():
    """A client's object with bytes that differ from page to page."""
    found = shared_memory.SharedMemory(create=True, size=SIZE)
    found.buf[:] = os.urandom(4096 + 1) * (SIZE // 4097) + bytes(SIZE % 4097)
    try:
        yield found
    finally:
        found.close()
        found.unlink()


@pytest.fixture
def opened(shared):
    """The same object as the server sees it."""
    found = SharedObject(os.dup(shared._fd))
    found.map(0, SIZE)
    return found


@pytest.fixture
def calls(monkeypatch):
    """The sizes that were written with ``pwrite``."""
    found = []
    pwrite = os.pwrite

    def counted(descriptor, data, offset):
        found.append(len(data))
        return pwrite(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", counted)
    return found


def test_a_large_part_is_read_as_it_is(shared, opened):
    """From any offset, and read-only."""
    data = opened.read(123, 2 * LARGE)

    assert bytes(shared.buf[123 : 123 + 2 * LARGE]) == data
    assert memoryview(data).readonly


def test_a_large_part_is_read_into_the_memory_of_an_earlier_one(opened):
    """No page of new memory is touched."""
    buffers._idle.clear()
    opened.read(0, SIZE)
    tracemalloc.start()
    try:
        opened.read(0, SIZE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < LARGE


def test_two_reads_share_no_memory(shared, opened):
    """The first keeps its bytes while the client and later requests write."""
    first = opened.read(0, LARGE)
    before = bytes(first)
    shared.buf[:LARGE] = bytes(LARGE)
    second = opened.read(0, LARGE)

    assert before == first
    assert bytes(LARGE) == second


@pytest.mark.parametrize("size", [16, LARGE])
def test_a_part_behind_the_end_is_not_read(shared, opened, size):
    """The client has truncated its object."""
    os.ftruncate(shared._fd, size - 1)

    assert opened.read(0, size) is None


@pytest.mark.parametrize("size", [16, 2 * LARGE])
def test_a_part_is_written_where_it_belongs(shared, opened, size):
    """Bytes beside it do not change."""
    before = bytes(shared.buf)
    data = os.urandom(size)
    opened.write(5, data)

    assert before[:5] + data + before[5 + size :] == bytes(shared.buf)


def test_a_large_part_is_written_by_one_call(opened, calls):
    """The kernel copies it into mapped pages, without a call for each part."""
    opened.write(0, bytes(SIZE))

    assert [] == calls


def test_a_system_without_that_call_writes_the_file(shared, opened, calls, monkeypatch):
    """A container may forbid it."""
    monkeypatch.setattr(shared_object, "_transfer", None)
    opened.write(0, b"x" * SIZE)

    assert [SIZE] == calls
    assert b"x" * SIZE == bytes(shared.buf)


def test_a_part_of_a_mapping_is_written_at_its_offset_in_the_object(shared):
    """A region may begin at any page."""
    found = SharedObject(os.dup(shared._fd))
    found.map(8192, SIZE - 8192)
    data = os.urandom(LARGE)
    found.write(12_288, data)

    assert data == bytes(shared.buf[12_288 : 12_288 + LARGE])


def test_a_large_object_may_be_truncated_while_it_is_written(shared, opened):
    """A page that is gone ends the copy, not the process."""
    over = threading.Event()

    def flip():
        while not over.is_set():
            os.ftruncate(shared._fd, 0)
            os.ftruncate(shared._fd, SIZE)

    client = threading.Thread(target=flip)
    client.start()
    try:
        for _ in range(10):
            opened.write(0, bytes(SIZE))
            opened.read(0, SIZE)
    finally:
        over.set()
        client.join()

    opened.write(0, b"y" * SIZE)
    assert b"y" * SIZE == opened.read(0, SIZE)
