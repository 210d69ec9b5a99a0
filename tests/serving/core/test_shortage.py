"""Exceptions that report that the system is out of a resource."""

from __future__ import annotations

import errno

import pytest

from blsnb.errors import OutOfResourcesError
from blsnb.serving.core.shortage import is_shortage, shortage_of


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (OSError(errno.EMFILE, ""), "file descriptors of this process"),
        (OSError(errno.ENFILE, ""), "file descriptors of this machine"),
        (OSError(errno.ENOMEM, ""), "memory"),
        (OSError(errno.ENOBUFS, ""), "memory of the network"),
        (OSError(errno.EAGAIN, ""), "threads or processes"),
        (MemoryError(), "memory"),
    ],
)
def test_a_shortage_names_the_resource(error: BaseException, what: str) -> None:
    """Clients receive it."""
    found = shortage_of(error)

    assert is_shortage(error)
    assert found is not None
    assert f"the server is out of {what}" == found.message


def test_another_error_is_no_shortage() -> None:
    """One that was recognised before is returned itself."""
    for error in (OSError(errno.ENOENT, ""), OSError(), RuntimeError()):
        assert not is_shortage(error)
        assert shortage_of(error) is None
    known = OutOfResourcesError("a")
    assert shortage_of(known) is known
