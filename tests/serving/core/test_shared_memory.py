"""Regions of shared memory that clients register."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from multiprocessing import shared_memory
from typing import NamedTuple

import pytest
from attacks import Figures

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.shared_memory import SharedMemory


@pytest.fixture
def memory() -> SharedMemory:
    """No region."""
    return SharedMemory()


@pytest.fixture
def shared() -> Iterator[shared_memory.SharedMemory]:
    """An object of two pages."""
    found = shared_memory.SharedMemory(create=True, size=8192)
    try:
        yield found
    finally:
        found.close()
        found.unlink()


def test_a_window_shares_its_bytes_with_the_client(memory, shared) -> None:
    """Each sees what the other writes."""
    memory.register("r", shared.name, 4096, 16)
    window = memory.window("r", 4, 8)
    shared.buf[4096 + 4 : 4096 + 8] = b"abcd"

    assert b"abcd\0\0\0\0" == window.read()
    window.write("Y", b"xyz")
    assert b"xyzd" == bytes(shared.buf[4096 + 4 : 4096 + 8])


def test_a_read_is_a_copy(memory, shared) -> None:
    """Later writes of the client do not change the request."""
    memory.register("r", shared.name, 0, 8)
    found = memory.window("r", 0, 8).read()
    shared.buf[:8] = b"changed!"

    assert bytes(8) == found


def test_a_window_outlives_its_region(memory, shared) -> None:
    """A running request can still write its output."""
    memory.register("r", shared.name, 0, 8)
    window = memory.window("r", 0, 8)
    memory.unregister("r")
    window.write("Y", b"late")

    assert b"late" == bytes(shared.buf[:4])
    with pytest.raises(RequestError, match="Unable to find shared memory region: 'r'"):
        memory.window("r", 0, 8)


@pytest.mark.parametrize(
    ("offset", "byte_size", "reason"),
    [
        (0, 8193, "invalid args"),
        (0, 0, "unable to process address spaceInvalid argument"),
        (2**64 - 8, 16, "unable to process address spaceInvalid argument"),
    ],
)
def test_a_part_that_cannot_be_mapped_is_refused(
    memory, shared, offset: int, byte_size: int, reason: str
) -> None:
    """Its end beyond 64 bits begins at 0 again, as on Triton."""
    with pytest.raises(RequestError) as refused:
        memory.register("r", shared.name, offset, byte_size)

    assert (
        f"failed to register shared memory region 'r': {reason}"
    ) == refused.value.message


def test_an_output_that_is_too_large_is_refused(memory, shared) -> None:
    """Nothing is written."""
    memory.register("r", shared.name, 0, 8)
    text = (
        "shared memory size specified with the request for output 'Y' (8 bytes) should "
        "be at least 9 bytes to hold the results"
    )

    with pytest.raises(RequestError) as caught:
        memory.window("r", 0, 8).write("Y", bytes([1] * 9))
    assert (text, "INTERNAL") == (caught.value.message, caught.value.code)
    assert bytes(8) == bytes(shared.buf[:8])


class FullMemory(NamedTuple):
    """An object whose pages do not fit in memory any more."""

    byte_size: int

    def write(self, start: int, data: bytes) -> None:
        """Fail as a file system without space."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_output_that_memory_has_no_space_for_is_an_error(memory, shared) -> None:
    """The pages of an object are taken when they are first written."""
    memory.register("r", shared.name, 0, 8)
    window = memory.window("r", 0, 8)
    full = window._replace(region=window.region._replace(memory=FullMemory(8)))

    with pytest.raises(RequestError) as caught:
        full.write("Y", bytes(8))

    text = (
        "failed to write output 'Y' to shared memory region 'r': "
        "No space left on device"
    )
    assert (text, "INTERNAL") == (caught.value.message, caught.value.code)


def descriptor(shared: shared_memory.SharedMemory) -> int:
    """The client's descriptor of the object."""
    return int(shared._fd)


def truncated(data: str) -> str:
    """Return the expected error for the truncated region `r`."""
    return f"shared memory region 'r' was truncated after it was registered: {data}"


def test_a_truncated_object_is_an_error_of_the_request(memory, shared) -> None:
    """Triton ends with SIGBUS; here nothing is read, and nothing written."""
    memory.register("r", shared.name, 4096, 4096)
    window = memory.window("r", 0, 4096)
    os.ftruncate(descriptor(shared), 4100)
    text = truncated(
        f"its object '{shared.name}' has 4100 bytes, and bytes 4096 to 8192 are needed"
    )

    for use in (window.read, lambda: window.write("Y", bytes(4096))):
        with pytest.raises(RequestError) as caught:
            use()
        assert (text, "INVALID_ARG") == (caught.value.message, caught.value.code)
    assert 4100 == os.fstat(descriptor(shared)).st_size


def test_an_object_may_be_truncated_at_any_moment(
    memory, shared, figures: Figures
) -> None:
    """A part is read as a whole or refused; the process continues."""
    memory.register("r", shared.name, 0, 8192)
    window = memory.window("r", 0, 8192)
    over = threading.Event()

    def flip() -> None:
        while not over.is_set():
            os.ftruncate(descriptor(shared), 0)
            os.ftruncate(descriptor(shared), 8192)

    client = threading.Thread(target=flip)
    client.start()
    try:
        for _ in range(2000):
            with contextlib.suppress(RequestError):
                assert bytes(8192) == window.read()
                window.write("Y", bytes(8192))
    finally:
        over.set()
        client.join()
    figures(reads_of_truncated_memory=2000)


def test_regions_leave_no_descriptor_open(memory, shared) -> None:
    """Refused regions do not, either."""
    before = len(os.listdir("/proc/self/fd"))
    for name, size in (("a", 8), ("b", 8193), ("c", 0)):
        with contextlib.suppress(RequestError):
            memory.register(name, shared.name, 0, size)
            memory.unregister(name)
    memory.unregister()

    assert before == len(os.listdir("/proc/self/fd"))


def test_an_object_is_registered_once(memory, shared) -> None:
    """Triton fails at the second region of the same object."""
    memory.register("a", shared.name, 0, 8)

    with pytest.raises(RequestError, match="Invalid shared memory region: "):
        memory.register("b", shared.name, 0, 8)
    memory.unregister("a")
    memory.register("b", shared.name, 0, 8)
    assert [{"name": "b", "key": shared.name, "offset": 0, "byte_size": 8}] == (
        memory.status()
    )


def test_close_releases_all_regions(memory, shared) -> None:
    """Their descriptors are closed."""
    memory.register("a", shared.name, 0, 8)
    memory.unregister()

    assert [] == memory.status()
