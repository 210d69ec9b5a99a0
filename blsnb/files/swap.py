"""A file or folder replaced by a staged one in one step, reversibly."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable
from pathlib import Path

from blsnb.files.owned import Creator, remove

OLD = ".old"
"""Suffix of the folder that keeps a path while it is replaced in two steps."""
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}


class Swap:
    """The replacement of a file or folder by a staged one.

    Its state is read from the disk: `undo`, `repair` and `discard` may follow an
    interrupt between any two steps, and may be repeated. In a forked child they do
    nothing: model code that forks may leave the child's copy of the swap by an error.

    Parameters
    ----------
    staged
        The new one, hidden and on the same file system; afterwards the old one.
    target
        The path to replace; it need not exist.
    """

    def __init__(self, staged: Path, target: Path) -> None:
        self.staged = staged
        self._target = target
        self._old = staged.with_name(staged.name + OLD)
        """Folder for the old one, where the system cannot exchange paths."""
        self._stat: os.stat_result | None = None
        self._creator = Creator()

    def apply(self) -> None:
        """Move the staged one to the target; the old one becomes the staged one."""
        self._stat = os.lstat(self.staged)
        if not os.path.lexists(self._target):
            self.staged.rename(self._target)
        elif not exchange(self.staged, self._target):
            self._old.mkdir()
            self._target.rename(self._old / self._target.name)
            self.staged.rename(self._target)

    @property
    def is_applied(self) -> bool:
        """Whether the target is the new one."""
        if self._stat is None or not os.path.lexists(self._target):
            return False
        return os.path.samestat(self._stat, os.lstat(self._target))

    def undo(self) -> None:
        """Restore the old one."""
        if self._creator.is_current_process and self.is_applied:
            replaced = os.path.lexists(self.staged)
            if not (replaced and exchange(self.staged, self._target)):
                self._target.rename(self.staged)
        self.repair()

    def repair(self) -> None:
        """Restore the old one if nothing is at the target."""
        if self._creator.is_current_process:
            put_back(self._old, self._target.parent)

    def discard(self) -> None:
        """Remove the staged path."""
        if not self._creator.is_current_process:
            return
        for path in (self.staged, self._old):
            if os.path.lexists(path):
                remove(path)


def put_back(old: Path, parent: Path) -> None:
    """Undo a swap in two steps that was interrupted between them.

    Moves the contents of a folder to paths that do not exist.
    """
    for each in old.iterdir() if old.is_dir() else ():
        target = parent / each.name
        if not os.path.lexists(target):
            each.rename(target)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; False if the system does not support it."""
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
    """Return the system call that exchanges two paths, or None."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return None
    call.argtypes = (*(ctypes.c_int, ctypes.c_char_p) * 2, ctypes.c_uint)

    def rename(one: bytes, other: bytes) -> int:
        status: int = call(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE)
        return status

    return rename
