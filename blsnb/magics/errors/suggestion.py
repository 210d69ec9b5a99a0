"""Which name was perhaps meant, where one is not there."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Iterator

from blsnb.pb_utils.module import module

_EMBEDDED = frozenset({"InferenceResponseSender", "InferenceTrace", "Metric"})
_ALIKE = 0.7


def suggestion(error: BaseException) -> str:
    """Return what to say of a name that is not there; empty for no idea.

    Python says it, too, but only where it prints a traceback itself.
    """
    match error:
        case AttributeError(name=str() as name, obj=obj):
            if name in _EMBEDDED and isinstance(obj, types.ModuleType):
                return _embedded(name, obj)
            return _did_you_mean(name, _names(obj))
        case NameError(name=str() as name):
            return _did_you_mean(name, _visible(error.__traceback__))
    return ""


def _embedded(name: str, obj: types.ModuleType) -> str:
    if obj.__name__ != module.NAME:
        return ""
    return f"{name} is in {module.COMPILED_NAME}, which a model can import as well."


def _names(obj: object) -> list[str]:
    try:
        return dir(obj)
    except Exception:
        # A class of the user's may fail at that; its error is told already.
        return []


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    public = [other for other in known if not other.startswith("_")]
    close = difflib.get_close_matches(name, public, 1, _ALIKE)
    return f"Did you mean {close[0]!r}?" if close else ""


def _visible(trace: types.TracebackType | None) -> Iterator[str]:
    """Yield the names that the innermost line could use."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        yield from trace.tb_frame.f_locals
        yield from trace.tb_frame.f_globals
