"""The order of names in a C++ hash table.

Triton lists names in this order in error texts, and reports the first of two faults.
"""

from __future__ import annotations

from collections.abc import Iterable

_MASK = 2**64 - 1
_SEED = 0xC70F6907
_MULTIPLIER = (0xC6A4A793 << 32) + 0x5BD1E995
# Bucket counts of a growing table, which starts with one bucket.
_BUCKETS = (
    *(13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229),
    *(172933, 351061, 712697, 1447153, 2938679, 5967347),
)
Table = dict[int, list[tuple[str, int]]]
"""Names with their hashes by bucket; buckets and names in reverse order."""


def hash_order(names: Iterable[str]) -> list[str]:
    """Return names in the order of a table after inserting one after the other.

    References
    ----------
    libstdc++: include/bits/hashtable.h, _M_insert_bucket_begin, _M_rehash_aux
    """
    names = list(names)
    if len(names) == 1:
        return names
    table: Table = {}
    buckets = 1
    for count, name in enumerate(names, start=1):
        if count > buckets or buckets == 1:
            buckets = next(n for n in _BUCKETS if n >= max(count, 2 * buckets))
            table = _rehashed(table, buckets)
        code = _hash(_bytes(name))
        # An entry is inserted at the start of its bucket, or of all if that is empty.
        table.setdefault(code % buckets, []).append((name, code))
    return [name for name, _ in _entries(table)]


def _bytes(name: str) -> bytes:
    """Return the bytes of a name, which need not be valid UTF-8."""
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogatepass")


def _entries(table: Table) -> list[tuple[str, int]]:
    return [entry for bucket in reversed(table.values()) for entry in reversed(bucket)]


def _rehashed(table: Table, buckets: int) -> Table:
    new: Table = {}
    for entry in _entries(table):
        new.setdefault(entry[1] % buckets, []).append(entry)
    return new


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
