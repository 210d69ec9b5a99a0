"""Temporary folders and files that belong to one living process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from blsnb.files.interrupts import check

_RANDOM_BYTES = 8
_RANDOM = "[0-9a-f]{16}"
_PAUSE_S = 0.02


class Creator:
    """The process that created something.

    A forked child has a copy of every object, and runs its finalisers when it exits.
    What lies outside of the process (folders, servers, ports) belongs to the creator.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def is_current_process(self) -> bool:
        """Whether this process is the creator, not a forked child."""
        return os.getpid() == self._pid


@dataclass(slots=True)
class _Claim:
    """A path that the creator removes, and the lock that keeps others from it."""

    path: Path
    creator: Creator = field(default_factory=Creator)
    lock: int = -1

    def take(self) -> bool:
        """Lock the path; False if a sweep has found it first."""
        try:
            self.lock = _opened(self.path)
            if _lock(self.lock) is _Lock.BUSY:
                return False
            return os.path.samestat(os.fstat(self.lock), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Remove the path, unless this process is a child of the creator."""
        if self.creator.is_current_process:
            remove(self.path)
        lock, self.lock = self.lock, -1
        if lock >= 0:
            os.close(lock)


class OwnedFolder:
    """A folder that lives as long as its owner, and goes with its process.

    It is removed by `close`, with the object, or when the creating process ends. While
    the creator lives, the folder is locked; what a killed process left is without
    a lock, and `sweep` removes it.

    Parameters
    ----------
    place
        The folder to create it in.
    prefix
        First part of its name; a random part follows.
    """

    def __init__(self, place: Path, prefix: str) -> None:
        self._place = place
        self._prefix = prefix
        # Named before it exists: an interrupt may come between any two steps.
        self._claim = _Claim(unique(place, prefix))
        self._finalizer = weakref.finalize(self, self._claim.release)

    @property
    def path(self) -> Path:
        """Where the folder is, or will be."""
        return self._claim.path

    def create(self) -> Path:
        """Create the folder, readable by this user only, and return its path.

        Raises
        ------
        OSError
            The folder cannot be created.
        """
        self.path.mkdir(mode=0o700)
        while not self._claim.take():
            self._claim.release()
            self._claim.path = unique(self._place, self._prefix)
            self.path.mkdir(mode=0o700)
        return self.path

    def close(self) -> None:
        """Remove the folder; safe to repeat."""
        self._claim.release()
        self._finalizer.detach()


@contextlib.contextmanager
def owned_file(place: Path, prefix: str) -> Iterator[Path]:
    """Create an empty file for the time of a block; whoever renames it keeps it.

    Raises
    ------
    OSError
        The file cannot be created.
    """
    claim = _Claim(unique(place, prefix))
    # Twice: an interrupt may come in the midst of the first one.
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
    """Lock a folder for the time of a block, against other processes and threads.

    The value is whether it is locked; some file systems have no locks.

    Raises
    ------
    TimeoutError
        Another one had not finished in time.
    """
    deadline = time.monotonic() + wait_s
    held: list[int] = []
    # Twice: an interrupt may come in the midst of the first one.
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


def sweep(place: Path, prefix: str) -> None:
    """Remove what killed processes left in a folder.

    Parameters
    ----------
    place
        The folder; one that cannot be read has none.
    prefix
        First part of the names.
    """
    for path in matching(place, prefix):
        with _unowned(path) as is_unowned:
            if is_unowned:
                remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, as far as that is allowed."""
    if path.is_symlink() or not path.is_dir():
        with contextlib.suppress(OSError):
            path.unlink()
        return
    _remove_folder(path)
    if path.exists():
        _make_writable(path)
        _remove_folder(path)


def _remove_folder(folder: Path) -> None:
    """Remove a folder; Ctrl-C in `shutil.rmtree` could end as another error."""
    # What cannot be opened is left, as is what somebody else has removed.
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


def _make_writable(folder: Path) -> None:
    """Let a folder be emptied in which a model has made folders read-only."""
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        for root, names, _ in os.walk(folder):
            for each in (Path(root, name) for name in names):
                if not each.is_symlink():
                    each.chmod(0o700)


def unique(place: Path, prefix: str) -> Path:
    """Return a path in a folder that nothing else has."""
    return place / f"{prefix}{secrets.token_hex(_RANDOM_BYTES)}"


def matching(place: Path, prefix: str, suffixes: str = "") -> list[Path]:
    """Return what has such a name in a folder; nothing if it cannot be read.

    Parameters
    ----------
    prefix
        First part of the names; a random part follows.
    suffixes
        Regular expression of what may follow that.
    """
    name = re.compile(f"{re.escape(prefix)}{_RANDOM}{suffixes}")
    try:
        return [place / each for each in os.listdir(place) if name.fullmatch(each)]
    except OSError:
        return []


@contextlib.contextmanager
def _unowned(path: Path) -> Iterator[bool]:
    """Whether a path of this user has no living owner; it has one until the end."""
    try:
        lock = _opened(path)
    except OSError:
        # It is a link, somebody else's, or gone.
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
    """What came of an attempt to lock a file."""

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
