"""Exceptions that report a missing resource of the system."""

from __future__ import annotations

import errno

from blsnb.errors import OutOfResourcesError

_MISSING = {
    errno.EMFILE: "file descriptors of this process",
    errno.ENFILE: "file descriptors of this machine",
    errno.ENOMEM: "memory",
    errno.ENOBUFS: "memory of the network",
    errno.EAGAIN: "threads or processes",
}


def is_shortage(error: BaseException) -> bool:
    """Whether an exception reports that the system is out of a resource."""
    if isinstance(error, OSError):
        return error.errno in _MISSING
    return isinstance(error, MemoryError)


def shortage_of(error: BaseException) -> OutOfResourcesError | None:
    """Return the error for clients if an exception reports a shortage, else None."""
    if isinstance(error, OutOfResourcesError):
        return error
    if not is_shortage(error):
        return None
    what = _MISSING.get(getattr(error, "errno", None) or errno.ENOMEM, "resources")
    return OutOfResourcesError(f"the server is out of {what}")
