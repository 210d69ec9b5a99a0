"""Rows of ``.npz`` files: each member has an element for each row.

Members are read in blocks of rows. Python objects in a file are never unpickled.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from blsnb.evaluation.rows.records import Records, by_rows, rows_at_once

_Array = np.ndarray[Any, Any]
_HEADERS = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}


@dataclass(frozen=True, slots=True)
class _Member:
    """An array in a file.

    Parameters
    ----------
    start
        Number of bytes before its elements in the member.
    """

    name: str
    info: zipfile.ZipInfo
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    start: int

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])


def npz_records(path: Path) -> Records:
    """Return the rows of an ``.npz`` file that ``np.savez`` wrote.

    Raises
    ------
    ValueError
        It is not such a file, a member has Python objects, or the members have
        different numbers of elements.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [_member(path, archive, info) for info in archive.infolist()]
    except zipfile.BadZipFile as error:
        raise ValueError(f"{str(path)!r} is not an .npz file: {error}") from None
    counts = {member.name: member.shape[0] for member in members}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        raise ValueError(
            f"the members of {str(path)!r} have different lengths: {listed}; "
            "expected one element of each for every row"
        )
    total = next(iter(counts.values()), 0)
    checks = "".join(f"{each.name} {each.info.CRC:x} " for each in members)
    return Records(lambda: _read(path, members, total), total, lambda: checks)


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    name = info.filename.removesuffix(".npy")
    where = f"member {name!r} of {str(path)!r}"
    with archive.open(info) as file:
        try:
            shape, fortran, dtype = _HEADERS[npy.read_magic(file)](file)
        except (ValueError, KeyError):
            raise ValueError(f"{where} is not an array") from None
        start = file.tell()
    if dtype.hasobject:
        raise ValueError(
            f"{where} has Python objects, which are not read: a file could execute "
            "code with them. For strings, save np.array(texts, dtype=str)"
        )
    if not shape:
        raise ValueError(f"{where} is a single value; expected an element for each row")
    return _Member(name, info, dtype, shape, fortran, start)


def _read(path: Path, members: list[_Member], total: int) -> Iterator[dict[str, Any]]:
    if not total:
        return
    with zipfile.ZipFile(path) as archive:
        step = rows_at_once(sum(each.row_bytes for each in members))
        blocks = {each.name: _blocks(archive, each, step) for each in members}
        for _ in range(0, total, step):
            yield from by_rows({name: next(each) for name, each in blocks.items()})


def _blocks(archive: zipfile.ZipFile, member: _Member, step: int) -> Iterator[_Array]:
    """Yield a member's elements, at most `step` at once."""
    with archive.open(member.info) as file:
        if member.fortran:
            # Its rows are not contiguous.
            whole = npy.read_array(file, allow_pickle=False)
            yield from (whole[at : at + step] for at in range(0, len(whole), step))
            return
        file.read(member.start)
        for start in range(0, member.shape[0], step):
            count = min(step, member.shape[0] - start)
            data = _exactly(file, count * member.row_bytes, member.name)
            block = np.frombuffer(data, member.dtype, count * _size(member))
            yield block.reshape(count, *member.shape[1:])


def _size(member: _Member) -> int:
    return math.prod(member.shape[1:])


def _exactly(file: IO[bytes], size: int, name: str) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise ValueError(f"member {name!r} ends before its last row")
    return data
