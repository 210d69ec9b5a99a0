"""Temporary folders and files that belong to one running process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import time
import weakref
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from blsnb.files.interrupts import check

_RANDOM_BYTES = 8
_RANDOM = "[0-9a-f]{16}"
_PAUSE_S = 0.02


class Creator:
    """The process that created a folder, a server or a port, and removes it.

    A forked child has copies of all objects and runs their finalisers when it exits.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def is_current_process(self) -> bool:
        """Whether this process is the creator, not a forked child."""
        return os.getpid() == self._pid


class _Claim:
    """A path that its creator removes, and the lock against a `sweep`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.creator = Creator()
        self.lock = -1

    def take(self) -> bool:
        """Lock the path; False if a sweep was faster."""
        try:
            self.lock = _opened(self.path)
            if _lock(self.lock) is _Lock.BUSY:
                return False
            return os.path.samestat(os.fstat(self.lock), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Remove the path, if this process is the creator."""
        if self.creator.is_current_process:
            remove(self.path)
        lock, self.lock = self.lock, -1
        if lock >= 0:
            os.close(lock)


class OwnedFolder:
    """A temporary folder, removed with its object or process.

    While its process runs, the folder is locked. `sweep` removes the folders of killed
    processes, which are not locked.

    Parameters
    ----------
    parent
        The folder to create it in.
    prefix
        First part of its name; a random part follows.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        self._parent = parent
        self._prefix = prefix
        # Named before it exists, because an interrupt may come between any two steps.
        self._claim = _Claim(unique(parent, prefix))
        self._finalizer = weakref.finalize(self, self._claim.release)

    @classmethod
    def temporary(cls, prefix: str) -> OwnedFolder:
        """Return a folder among the system's temporary ones, after a `sweep` there."""
        parent = Path(tempfile.gettempdir()).resolve()
        sweep(parent, prefix)
        return cls(parent, prefix)

    @property
    def path(self) -> Path:
        """Path of the folder, which exists after `create`."""
        return self._claim.path

    def create(self) -> Path:
        """Create the folder, readable by this user only, and return its path."""
        self.path.mkdir(mode=0o700)
        while not self._claim.take():
            self._claim.release()
            self._claim.path = unique(self._parent, self._prefix)
            self.path.mkdir(mode=0o700)
        return self.path

    def close(self) -> None:
        """Remove the folder; safe to repeat."""
        self._claim.release()
        self._finalizer.detach()


@contextlib.contextmanager
def owned_file(parent: Path, prefix: str) -> Iterator[Path]:
    """Create an empty file, and remove it after a block that has not renamed it."""
    claim = _Claim(unique(parent, prefix))
    # Twice, since an interrupt may come during the first one.
    try:
        try:
            claim.path.touch(exist_ok=False)
            claim.take()
            yield claim.path
        finally:
            claim.release()
    finally:
        claim.release()


@contextlib.contextmanager
def locked(folder: Path, wait_s: float) -> Iterator[bool]:
    """Lock a folder against other processes and threads.

    Yields whether it is locked; some file systems have no locks.

    Raises
    ------
    TimeoutError
        It was locked by another process or thread for too long.
    """
    deadline = time.monotonic() + wait_s
    held: list[int] = []
    # Twice, since an interrupt may come during the first one.
    try:
        try:
            held.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            while (state := _lock(held[0])) is _Lock.BUSY:
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"another process has been writing to {folder} for {wait_s:g} s"
                    )
                time.sleep(_PAUSE_S)
                check()
            yield state is _Lock.TAKEN
        finally:
            _close(held)
    finally:
        _close(held)


def _close(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())


def sweep(parent: Path, prefix: str) -> None:
    """Remove the owned files and folders of killed processes from a folder."""
    for path in matching(parent, prefix):
        with _unowned(path) as is_unowned:
            if is_unowned:
                remove(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder with its contents, as far as permissions allow."""
    # Those of pathlib fail where a folder above cannot be entered.
    if os.path.islink(path) or not os.path.isdir(path):
        with contextlib.suppress(OSError):
            path.unlink()
        return
    _remove_folder(path)
    if os.path.exists(path):
        # A model may have made folders read-only.
        with contextlib.suppress(OSError):
            path.chmod(0o700)
            for root, names, _ in os.walk(path):
                for each in (Path(root, name) for name in names):
                    if not each.is_symlink():
                        each.chmod(0o700)
        _remove_folder(path)


def _remove_folder(folder: Path) -> None:
    """Remove a folder; Ctrl-C in `shutil.rmtree` could end as another error."""
    # Skips entries that cannot be opened or were removed concurrently.
    with contextlib.suppress(OSError):
        for _, folders, files, here in os.fwalk(folder, topdown=False):
            for name in files:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=here)
            for name in folders:
                with contextlib.suppress(OSError):
                    _remove_entry(name, here)
        folder.rmdir()


def _remove_entry(name: str, here: int) -> None:
    try:
        os.rmdir(name, dir_fd=here)
    except NotADirectoryError:
        # A link to a folder.
        os.unlink(name, dir_fd=here)


def unique(parent: Path, prefix: str) -> Path:
    """Return an unused path in a folder."""
    return parent / f"{prefix}{os.urandom(_RANDOM_BYTES).hex()}"


def matching(parent: Path, prefix: str, suffixes: str = "") -> list[Path]:
    """Return the paths with names of `unique` in a folder; none if it is unreadable.

    Parameters
    ----------
    suffixes
        Regular expression of what may follow the random part.
    """
    name = re.compile(f"{re.escape(prefix)}{_RANDOM}{suffixes}")
    try:
        names = [each for each in os.listdir(parent) if each.startswith(prefix)]
    except OSError:
        return []
    return [parent / each for each in names if name.fullmatch(each)]


@contextlib.contextmanager
def _unowned(path: Path) -> Iterator[bool]:
    """Lock a path of this user if its owner has ended; yield whether it has."""
    try:
        lock = _opened(path)
    except OSError:
        # A link, another user's, or removed.
        yield False
        return
    try:
        mine = os.fstat(lock).st_uid == os.geteuid()
        yield mine and _lock(lock) is _Lock.TAKEN
    finally:
        os.close(lock)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


class _Lock(Enum):
    """The result of an attempt to lock a file."""

    TAKEN = "taken"
    BUSY = "held by another process or thread"
    UNSUPPORTED = "the file system has no locks"


def _lock(descriptor: int) -> _Lock:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _Lock.BUSY
    except OSError:
        return _Lock.UNSUPPORTED
    return _Lock.TAKEN
