"""Error texts of the Python backend, without the recorder's own frames.

The backend lists the deepest frame of an exception and all its callers. A wrapper is
one of them, so the exception gets frames that look like the model's own ones.
"""

from __future__ import annotations

import _thread
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Place = tuple[str, int, str]
    """File, line and function of a frame."""

_WAIT_S = 1.0
"""Maximum time to make frames, in seconds."""
_TRIES = 3


def places_of(error: BaseException) -> list[Place]:
    """Return the frames that the backend lists for an exception, innermost first."""
    trace = error.__traceback__
    if trace is None:
        return []
    while trace.tb_next is not None:
        trace = trace.tb_next
    found = []
    frame: types.FrameType | None = trace.tb_frame
    while frame is not None:
        code = frame.f_code
        found.append((code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return found


def error_of(error: BaseException, places: list[Place]) -> str:
    """Return the text that the backend makes of an exception."""
    text = f"{type(error).__name__}: {str(error) or '<EMPTY MESSAGE>'}"
    if places:
        lines = [f"  {file}({line}): {name}\n" for file, line, name in places]
        text += "\n\nAt:\n" + "".join(lines)
    return text


def without(file: str, error: BaseException) -> BaseException:
    """Return an exception whose listed frames are not in a file."""
    for _ in range(_TRIES):
        try:
            listed = places_of(error)
            places = [place for place in listed if place[0] != file]
            return error if places == listed else with_places(error, places)
        except Exception:
            # Such as too many threads: the text then has frames of the recorder.
            continue
    return error


def with_places(error: BaseException, places: list[Place]) -> BaseException:
    """Return an exception whose listed frames are at the given places."""
    if not places:
        return error
    functions = [
        _placed(_deepest if not depth else _caller, place)
        for depth, place in enumerate(places)
    ]
    found: list[Any] = []
    done = _thread.allocate_lock()
    done.acquire()
    # The frames of a new thread have no callers beside those made here.
    _thread.start_new_thread(functions[-1], (functions[:-1], found, done))
    if not done.acquire(True, _WAIT_S):
        raise TimeoutError("the thread that makes frames has failed")
    frame = found[0]
    trace = types.TracebackType(None, frame, frame.f_lasti, frame.f_lineno)
    return error.with_traceback(trace)


def _placed(function: Callable[..., Any], place: Place) -> Callable[..., Any]:
    file, line, name = place
    code = function.__code__.replace(
        co_filename=file, co_name=name, co_firstlineno=line
    )
    return types.FunctionType(code, function.__globals__, name)


# Each function is one line, so that a frame is at the first line of its code.
# fmt: off
def _caller(rest: Any, found: Any, done: Any) -> Any: return rest[-1](rest[:-1], found, done)  # noqa: E501
def _deepest(rest: Any, found: Any, done: Any) -> Any: return (found.append(sys._getframe()), done.release())  # noqa: E501
# fmt: on
