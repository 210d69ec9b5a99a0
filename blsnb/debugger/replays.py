"""Stops at the first line of an ``execute`` that is executed again."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager

from blsnb.debugger import one_shot
from blsnb.debugger.process_debugger import UnknownDebugger, attached
from blsnb.debugger.steps import execution_of, first_lines
from blsnb.errors import BlsnbError
from blsnb.pb_utils.message import RequestMessage

_OFF = (
    "debug=True needs a debugger: switch on the notebook's (the bug at the top right "
    "of JupyterLab), and try again"
)


@contextmanager
def stopping(request: RequestMessage) -> Iterator[None]:
    """Stop once, where a model begins to execute a request.

    Raises
    ------
    BlsnbError
        No debugger is attached, or its version is unknown.
    """
    debugpy = sys.modules.get("debugpy")
    try:
        debugger = attached()
    except UnknownDebugger as error:
        raise BlsnbError(f"debug=True: unknown version of debugpy ({error})") from error
    if debugger is None or debugpy is None or not debugpy.is_client_connected():
        raise BlsnbError(_OFF)

    def is_wanted(frame: types.FrameType) -> bool:
        execution = execution_of(frame)
        inflights = () if execution is None else execution.inflights
        return any(each.message is request for each in inflights)

    one_shot.arm(debugger, first_lines(), is_wanted)
    try:
        yield
    finally:
        one_shot.disarm()
