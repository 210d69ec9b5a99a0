"""Exceptions of model code as Triton's error texts, and their tracebacks."""

from __future__ import annotations

import types
from pathlib import Path

from blsnb.pb_utils import config, functions
from blsnb.trace.events import Call

_OURS = f"{Path(__file__).resolve().parents[2]}/"
# On Triton these are functions of a Python file, so they show in error texts.
_PYTHON_NAMES = tuple(
    str(Path(module.__file__ or "").resolve()) for module in (config, functions)
)
_EMPTY = "<EMPTY MESSAGE>"


def is_ours(filename: str) -> bool:
    """Whether a file belongs to blsnb itself."""
    return filename.startswith(_OURS)


def describe(error: BaseException, stop: types.CodeType) -> str:
    """Return the text that Triton's error message has for an exception.

    It has class, message and frames, innermost first; the frames follow the callers of
    the frame that raised, so a coroutine shows one frame only.

    Parameters
    ----------
    stop
        Code of the function that called the model; frames outside it belong to blsnb.

    References
    ----------
    pybind11: include/pybind11/pytypes.h, error_fetch_and_normalize
    """
    frames = "".join(f"  {frame}\n" for frame in _frames(error, stop))
    place = f"\n\nAt:\n{frames}" if frames else ""
    try:
        # Not a subclass: its methods could run any code.
        message = str.__str__(str(error)) or _EMPTY
    except BaseException as unspeakable:
        why = describe(unspeakable, describe.__code__)
        place += f"\nMESSAGE UNAVAILABLE DUE TO EXCEPTION: {why}"
        message = "<MESSAGE UNAVAILABLE DUE TO ANOTHER EXCEPTION>"
    return f"{_name(type(error))}: {message}{place}"


def _name(kind: type) -> str:
    """Return the name of a class without running code of its metaclass."""
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


def notes_of(error: BaseException | None) -> tuple[str, ...]:
    """Return an exception's notes, which Triton's error messages do not have."""
    try:
        notes = vars(error).get("__notes__", ()) if error is not None else ()
    except BaseException:
        return ()
    listed = notes if type(notes) is list else []
    return tuple(note for note in listed if type(note) is str)


def drop_inner_frames(error: BaseException) -> None:
    """Remove blsnb's frames at the inner end of a traceback.

    blsnb's signal handler raises the exception of Ctrl-C; the user debugs the
    interrupted line. A traceback with frames of blsnb only stays as it is.
    """
    last, trace = None, error.__traceback__
    while trace is not None:
        if not is_ours(trace.tb_frame.f_code.co_filename):
            last = trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None


def innermost_outside(trace: types.TracebackType | None) -> types.TracebackType | None:
    """Return a traceback from its innermost frame outside blsnb, if there is one."""
    part = trace
    while part is not None:
        if not is_ours(part.tb_frame.f_code.co_filename):
            return trace
        part = part.tb_next
    return None


def joined(
    outer: types.TracebackType | None, inner: types.TracebackType | None
) -> types.TracebackType | None:
    """Return one traceback with the frames of the outer and then of the inner one."""
    parts = []
    while outer is not None:
        parts.append(outer)
        outer = outer.tb_next
    for part in reversed(parts):
        inner = types.TracebackType(inner, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return inner


def _frames(error: BaseException, stop: types.CodeType) -> list[str]:
    trace = error.__traceback__
    if trace is None:
        return []
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame: types.FrameType | None = trace.tb_frame
    lines = []
    while frame is not None and frame.f_code is not stop:
        code = frame.f_code
        if not is_ours(code.co_filename) or _is_shown(code):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines


def _is_shown(code: types.CodeType) -> bool:
    name = code.co_name
    helper = name.startswith("_") and name != "__init__"
    return code.co_filename in _PYTHON_NAMES and not helper


def note_lost(calls: list[Call], error: str) -> None:
    """Note an error that a client never receives."""
    for call in calls:
        note = (
            "An error was sent without the final flag, and the flag alone afterwards: "
            f"Triton's client gets an empty success. Send both at once. It was: {error}"
        )
        call.notes = [*(call.notes or ()), note]
