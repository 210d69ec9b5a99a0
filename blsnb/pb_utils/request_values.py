"""InferenceTrace: what tells a BLS request below which one it belongs."""

from __future__ import annotations

from typing import Any

from blsnb.pb_utils.compiled.compiled_type import Compiled
from blsnb.pb_utils.compiled.signature import compiled


class InferenceTrace(Compiled):
    """The mark of a request, passed on so that a BLS call is drawn below it.

    References
    ----------
    python_backend: src/infer_trace.h
    """

    __slots__ = ("_mark",)
    _mark: Any

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            "c_python_backend_utils.InferenceTrace: No constructor defined!"
        )

    @compiled("get_context(self: c_python_backend_utils.InferenceTrace) -> object")
    def get_context(self) -> str | None:
        """Return the OpenTelemetry context; None, since none is collected."""
        return None


def mark(caller: Any) -> InferenceTrace:
    """Return the trace object that names a caller."""
    trace: InferenceTrace = object.__new__(InferenceTrace)
    trace._mark = caller
    return trace


NO_TRACE = mark(None)
