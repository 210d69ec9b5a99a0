"""Swap: what is staged takes the place of another in one step, and can go back."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable
from pathlib import Path

from blsnb.files.owned import remove

OLD = ".old"
"""Last part of the name of the folder for what is replaced in two steps."""
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}


class Swap:
    """The exchange of a file or folder for a staged one.

    What has happened so far is read from the disk, not remembered: `undo`, `repair` and
    `discard` are right after an interrupt between any two steps, and may be repeated.

    Parameters
    ----------
    staged
        The new one, hidden and on the same file system; afterwards the old one.
    place
        Where the new one is to be.
    """

    def __init__(self, staged: Path, place: Path) -> None:
        self.staged = staged
        self._place = place
        self._old = staged.with_name(staged.name + OLD)
        """Holds what was there, by its name, where the system cannot exchange."""
        self._stat: os.stat_result | None = None

    def apply(self) -> None:
        """Put the staged one in its place; what was there is staged instead.

        Raises
        ------
        OSError
            One of them cannot be moved.
        """
        self._stat = os.lstat(self.staged)
        if not os.path.lexists(self._place):
            self.staged.rename(self._place)
        elif not exchange(self.staged, self._place):
            self._old.mkdir()
            self._place.rename(self._old / self._place.name)
            self.staged.rename(self._place)

    @property
    def is_applied(self) -> bool:
        """Whether the staged one is in its place."""
        if self._stat is None or not os.path.lexists(self._place):
            return False
        return os.path.samestat(self._stat, os.lstat(self._place))

    def undo(self) -> None:
        """Put back what was in the place before.

        Raises
        ------
        OSError
            One of them cannot be moved.
        """
        if self.is_applied:
            replaced = os.path.lexists(self.staged)
            if not (replaced and exchange(self.staged, self._place)):
                self._place.rename(self.staged)
        self.repair()

    def repair(self) -> None:
        """Put back what was moved away, if nothing is in its place.

        Raises
        ------
        OSError
            It cannot be moved.
        """
        put_back(self._old, self._place.parent)

    def discard(self) -> None:
        """Remove what is staged."""
        for path in (self.staged, self._old):
            if os.path.lexists(path):
                remove(path)


def put_back(old: Path, parent: Path) -> None:
    """Move what a folder holds to where nothing has taken its place.

    This completes a swap in two steps that was cut off between them.
    """
    for each in old.iterdir() if old.is_dir() else ():
        place = parent / each.name
        if not os.path.lexists(place):
            each.rename(place)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; False where the system cannot.

    Raises
    ------
    OSError
        They cannot be exchanged.
    """
    rename = _renameat2()
    if rename is None:
        return False
    if not rename(os.fsencode(one), os.fsencode(other)):
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))


@functools.cache
def _renameat2() -> Callable[[bytes, bytes], int] | None:
    """Return the system call that exchanges two paths, if there is one."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return None
    call.argtypes = (
        *(ctypes.c_int, ctypes.c_char_p) * 2,
        ctypes.c_uint,
    )

    def rename(one: bytes, other: bytes) -> int:
        found: int = call(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE)
        return found

    return rename
