"""The order of names in a C++ hash table.

Triton lists names in this order in error texts, and reports the first of two faults.
"""

from __future__ import annotations

from collections.abc import Iterable

_MASK = 2**64 - 1
_SEED = 0xC70F6907
_MULTIPLIER = (0xC6A4A793 << 32) + 0x5BD1E995
# Bucket counts of a growing table, which starts with one bucket.
_BUCKETS = (13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273)


def hash_order(names: Iterable[str]) -> list[str]:
    """Return names in the order of a table after inserting one after the other.

    References
    ----------
    libstdc++: include/bits/hashtable.h, _M_insert_bucket_begin, _M_rehash_aux
    """
    names = list(names)
    if len(names) == 1:
        return names
    chain: list[tuple[str, int]] = []
    buckets = 1
    for count, name in enumerate(names, start=1):
        if count > buckets or buckets == 1:
            buckets = next(n for n in _BUCKETS if n >= max(count, 2 * buckets))
            chain = _rehashed(chain, buckets)
        _insert(chain, (name, _hash(_bytes(name))), buckets)
    return [name for name, _ in chain]


def _bytes(name: str) -> bytes:
    """Return the bytes of a name, which need not be valid UTF-8."""
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")


def _rehashed(chain: list[tuple[str, int]], buckets: int) -> list[tuple[str, int]]:
    new: list[tuple[str, int]] = []
    for entry in chain:
        _insert(new, entry, buckets)
    return new


def _insert(chain: list[tuple[str, int]], entry: tuple[str, int], buckets: int) -> None:
    """Insert an entry at the start of its bucket, or of the chain if that is empty."""
    bucket = entry[1] % buckets
    for position, (_, code) in enumerate(chain):
        if code % buckets == bucket:
            chain.insert(position, entry)
            return
    chain.insert(0, entry)


def _hash(data: bytes) -> int:
    """Hash bytes as the C++ library does: MurmurHash64A.

    References
    ----------
    libstdc++: libsupc++/hash_bytes.cc, _Hash_bytes
    """
    code = _SEED ^ (len(data) * _MULTIPLIER & _MASK)
    whole = len(data) & ~7
    for offset in range(0, whole, 8):
        part = int.from_bytes(data[offset : offset + 8], "little")
        part = part * _MULTIPLIER & _MASK
        part = (part ^ (part >> 47)) * _MULTIPLIER & _MASK
        code = (code ^ part) * _MULTIPLIER & _MASK
    if len(data) > whole:
        code ^= int.from_bytes(data[whole:], "little")
        code = code * _MULTIPLIER & _MASK
    code = (code ^ (code >> 47)) * _MULTIPLIER & _MASK
    return code ^ (code >> 47)
