"""Outputs of models by the bytes of their inputs."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from blsnb.tensors.ref import TensorRef

Outputs = tuple[TensorRef, ...]
_LEAST_BYTES = 192
"""Minimum size of Triton's cache in bytes: its own records fill a smaller one."""
_SIZES = 2**64


class CachedOutputs(NamedTuple):
    """Cached outputs, and the load of the model that computed them."""

    outputs: Outputs
    load: object

    @property
    def byte_size(self) -> int:
        """Bytes in the cache."""
        return sum(ref.byte_size for ref in self.outputs)


class ResponseCache:
    """Keeps the outputs of models whose configuration enables ``response_cache``.

    As on Triton, the key contains neither shapes and data types of the inputs nor the
    request's parameters and requested outputs, and responses outlive a reload.

    Parameters
    ----------
    most_bytes
        Maximum size in bytes; the least recently used outputs are dropped first.

    References
    ----------
    core: src/cache_manager.cc, TritonCache::Hash; local_cache: src/local_cache.cc
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[bytes, CachedOutputs] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: bytes) -> CachedOutputs | None:
        """Return the outputs for a key; None if they are not cached."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
            return kept

    def insert(self, key: bytes, kept: CachedOutputs) -> bool:
        """Store a response unless it is too large, has an empty output or is known.

        Returns
        -------
        bool
            False if the key was stored already: Triton does not count that as a miss.
        """
        if not all(ref.byte_size for ref in kept.outputs):
            # A tensor without elements: Triton does not cache such a response.
            return True
        with self._lock:
            if key in self._kept:
                return False
            if kept.byte_size > self._most_bytes:
                return True
            self._kept[key] = kept
            self._bytes += kept.byte_size
            while self._bytes > self._most_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.byte_size
            return True


def cache_key(model: str, version: int, inputs: Iterable[TensorRef]) -> bytes:
    """Return the key of a request: the model and the bytes of its inputs."""
    digest = hashlib.blake2b(f"{model}\0{version}\0".encode(), digest_size=16)
    for ref in sorted(inputs, key=lambda each: each.name):
        digest.update(f"{ref.name}\0{ref.byte_size}\0".encode())
        digest.update(ref.data or b"")
    return digest.digest()


def parse_size(text: str | None) -> int:
    """Parse the size of a cache as Triton does: with C's ``stoull``.

    Raises
    ------
    ValueError
        Triton would not start; in its words.

    References
    ----------
    local_cache: src/local_cache.cc, LocalCache::Create
    """
    failed = "Failed to initialize LocalCache:"
    if text is None:
        raise ValueError(
            f"Invalid argument - {failed} config didn't contain a valid 'size' field."
        )
    number = re.match(r"[ \t-\r]*([+-]?[0-9]+)", text)
    size = int(number[1]) if number else _SIZES
    if abs(size) >= _SIZES:
        raise ValueError(f"Internal - {failed} stoull")
    if size % _SIZES > sys.maxsize:
        raise ValueError(f"Internal - {failed} failed to allocate buffer")
    if size % _SIZES < _LEAST_BYTES:
        raise ValueError(
            f"Internal - {failed} Could not initialize buffer in "
            "basic_managed_external_buffer constructor"
        )
    return size % _SIZES
