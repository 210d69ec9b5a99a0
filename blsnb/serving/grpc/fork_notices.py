"""Fork notices: what gRPC prints whenever a process that it serves is forked."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

_SWITCH = "GRPC_ENABLE_FORK_SUPPORT"


@contextlib.contextmanager
def without_fork_notices() -> Iterator[None]:
    """Let gRPC be imported so that each ``!ls`` of a notebook prints no notice of it.

    While it serves, it can do nothing for a forked process anyway, and says so each
    time. Where it was imported before, or the environment has a say, nothing changes.
    """
    if "grpc" in sys.modules or _SWITCH in os.environ:
        yield
        return
    os.environ[_SWITCH] = "0"
    try:
        yield
    finally:
        os.environ.pop(_SWITCH, None)
