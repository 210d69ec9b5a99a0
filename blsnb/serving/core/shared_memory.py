"""Regions of system shared memory that clients register, with either protocol."""

from __future__ import annotations

import errno
import os
import threading
from typing import Any, NamedTuple

from blsnb.engine.request.validation import RequestError
from blsnb.pb_utils.compiled.releases import NEWEST, Release, has
from blsnb.tensors.shared_object import SharedObject

_SIZES = 2**64
"""Triton's sizes wrap around at this number."""
CUDA_HANDLE_SIZE = 64
"""Bytes of a ``cudaIpcMemHandle_t``."""
_RESERVED_KEYS = "triton_python_backend_shm_region_"
"""How the keys of the Python backend's own memory begin."""


class Region(NamedTuple):
    """A registered region: a part of a system shared memory object."""

    name: str
    key: str
    offset: int
    byte_size: int
    memory: SharedObject


class RegionWindow(NamedTuple):
    """A part of a region, for an input or an output of a request.

    It stays usable after the region is unregistered.
    """

    region: Region
    offset: int
    byte_size: int

    def read(self) -> bytes | memoryview:
        """Return a copy of the current bytes: the client may write at any time."""
        memory, start = self.region.memory, self.region.offset + self.offset
        data = memory.read(start, self.byte_size)
        if data is None:
            raise self._truncated(start, memory.byte_size)
        return data

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write an output."""
        size = len(data)
        if size > self.byte_size:
            raise RequestError(
                "shared memory size specified with the request for output "
                f"'{name}' ({self.byte_size} bytes) should be at least {size} bytes "
                "to hold the results",
                "INTERNAL",
            )
        memory, start = self.region.memory, self.region.offset + self.offset
        if start + size > memory.byte_size:
            # Writing would enlarge the object again.
            raise self._truncated(start, memory.byte_size)
        try:
            memory.write(start, data)
        except OSError as error:
            raise RequestError(
                f"failed to write output '{name}' to shared memory region "
                f"'{self.region.name}': {error.strerror}",
                "INTERNAL",
            ) from None

    def _truncated(self, start: int, size: int) -> RequestError:
        return RequestError(
            f"shared memory region '{self.region.name}' was truncated after it was "
            f"registered: its object '{self.region.key}' has {size} bytes, and bytes "
            f"{start} to {start + self.byte_size} are needed"
        )


class SharedMemory:
    """The registered regions, by name. Thread-safe.

    Regions of CUDA memory are refused with the texts of a server without a GPU.

    Parameters
    ----------
    release
        Decides which keys are refused.

    References
    ----------
    server: src/shared_memory_manager.cc
    """

    def __init__(self, release: Release = NEWEST) -> None:
        self._release = release
        self._regions: dict[str, Region] = {}
        self._lock = threading.Lock()

    def register(self, name: str, key: str, offset: int, byte_size: int) -> None:
        """Register a part of a system shared memory object under a name."""
        self._check_key(name, key)
        with self._lock:
            self._check_free(name)
            if any(region.key == key for region in self._regions.values()):
                # Triton inspects the object with a descriptor that it closed after
                # the first registration, so a second one always fails.
                text = f"Invalid shared memory region: '{key}'"
                raise RequestError(text, "INTERNAL")
            memory = _checked(name, key, offset, byte_size)
            self._regions[name] = Region(name, key, offset, byte_size, memory)

    def _check_key(self, name: str, key: str) -> None:
        """Refuse the memory of Triton's own Python models, and a key without a name."""
        text = f"cannot register shared memory region '{name}' with key '{key}' as the "
        anywhere = has("reserved_memory_paths", self._release)
        plain = key.lstrip("/") if anywhere else key
        is_reserved = plain.startswith(_RESERVED_KEYS)
        if is_reserved and has("reserved_memory_keys", self._release):
            raise RequestError(
                f"{text}key contains the reserved prefix '{_RESERVED_KEYS}'"
            )
        if not plain and has("named_memory_keys", self._release):
            raise RequestError(f"{text}key has no name")

    def register_cuda(self, name: str) -> None:
        """Refuse a CUDA region as a server without a GPU does."""
        with self._lock:
            self._check_free(name)
        raise RequestError("failed to register shared memory region: invalid args")

    def _check_free(self, name: str) -> None:
        if name in self._regions:
            raise RequestError(
                f"shared memory region '{name}' already in manager", "ALREADY_EXISTS"
            )

    def status(self, name: str = "") -> list[dict[str, Any]]:
        """Return rows of name, key, offset and byte size: of one region, or of all."""
        with self._lock:
            # Triton keeps regions in an ordered map.
            names = sorted(self._regions) if not name else {name} & self._regions.keys()
            regions = [self._regions[each] for each in names]
        if name and not regions:
            raise RequestError(
                f"Unable to find system shared memory region: '{name}'", "NOT_FOUND"
            )
        columns = ("name", "key", "offset", "byte_size")
        return [dict(zip(columns, each, strict=False)) for each in regions]

    def cuda_status(self, name: str = "") -> list[dict[str, Any]]:
        """Return the rows of CUDA regions: always none."""
        if not name:
            return []
        with self._lock:
            registered = name in self._regions
        if registered:
            text = (
                f"The region named '{name}' is registered as system shared memory, not "
                "CUDA shared memory"
            )
        else:
            text = f"Unable to find cuda shared memory region: '{name}'"
        raise RequestError(text, "NOT_FOUND")

    def unregister(self, name: str = "") -> None:
        """Unregister a region, or all; an unknown one is ignored.

        Its memory is released once no request uses it.
        """
        with self._lock:
            if name:
                self._regions.pop(name, None)
            else:
                self._regions.clear()

    def window(self, name: str, offset: int, byte_size: int) -> RegionWindow:
        """Return the part of a region that a request names."""
        with self._lock:
            region = self._regions.get(name)
        if region is None:
            raise RequestError(
                f"Unable to find shared memory region: '{name}'", "NOT_FOUND"
            )
        if offset >= region.byte_size:
            raise RequestError(f"Invalid offset for shared memory region: '{name}'")
        end = offset + byte_size
        # Triton refuses zero bytes at offset 0, too.
        if not end or end > region.byte_size:
            raise RequestError(
                f"Invalid offset + byte size for shared memory region: '{name}'"
            )
        return RegionWindow(region, offset, byte_size)


def _checked(name: str, key: str, offset: int, byte_size: int) -> SharedObject:
    """Open a shared memory object, and check that Triton could map the part."""
    shared = SharedObject(_open(key))
    try:
        if (offset + byte_size) % _SIZES > shared.byte_size:
            raise RequestError(
                f"failed to register shared memory region '{name}': invalid args"
            )
        if not byte_size:
            raise ValueError
        shared.map(offset, byte_size)
    except (OSError, OverflowError, ValueError) as error:
        number = getattr(error, "errno", None) or errno.EINVAL
        # The missing blank is Triton's.
        raise RequestError(
            f"failed to register shared memory region '{name}': unable to process "
            f"address space{os.strerror(number)}"
        ) from None
    return shared


def _open(key: str) -> int:
    # The class of multiprocessing would unlink the object.
    import _posixshmem  # type: ignore[import-not-found]

    try:
        return int(_posixshmem.shm_open(key, os.O_RDWR, 0o600))
    except (OSError, ValueError):
        raise RequestError(
            f"Unable to open shared memory region: '{key}'", "INTERNAL"
        ) from None
