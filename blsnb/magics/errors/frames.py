"""Frames of a traceback: those of the user's code, and their source lines."""

from __future__ import annotations

import functools
import io
import itertools
import linecache
import os
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import IPython

_PACKAGE = Path(__file__).parent.parent.parent
_AROUND = 2
_MAX_REPEATS = 3
"""Maximum number of equal lines in a row."""


def pass_blsnb(trace: types.TracebackType | None) -> bool:
    """Return whether a function of blsnb raised or forwarded an error."""
    own = _prefixes(_PACKAGE)
    return any(
        part.tb_frame.f_code.co_filename.startswith(own) for part in _parts(trace)
    )


def users(trace: types.TracebackType | None) -> list[types.TracebackType]:
    """Return the parts of a traceback that belong to the user's code."""
    found: list[types.TracebackType] = []
    # A traceback that begins in a library is that of an error caught there.
    is_hidden = True
    for part in _parts(trace):
        file = part.tb_frame.f_code.co_filename
        # A library that hidden code calls is hidden, too.
        is_hidden = _is_hidden(part.tb_frame) or (
            is_hidden and file.startswith(_library())
        )
        if not is_hidden:
            found.append(part)
    return found


@functools.cache
def _library() -> tuple[str, str]:
    """Return the folders of Python's own modules and of installed ones."""
    # Deferred: importing it takes long, and loading the extension needs no frames.
    import sysconfig

    return f"{sysconfig.get_path('stdlib')}/", f"{sysconfig.get_path('purelib')}/"


@functools.cache
def _hidden() -> tuple[str, ...]:
    """Return how the paths of hidden files begin."""
    own, _ = _library()
    return (
        *_prefixes(_PACKAGE),
        *_prefixes(Path(IPython.__file__).parent),
        f"{own}asyncio/",
        f"{own}concurrent/",
        f"{own}contextlib.py",
        f"{own}threading.py",
        "<frozen ",
    )


@functools.cache
def _prefixes(folder: Path) -> tuple[str, ...]:
    """Return how paths in a folder begin: as imported, and with links followed."""
    return tuple({f"{each}{os.sep}" for each in (folder, folder.resolve())})


def _is_hidden(frame: types.FrameType) -> bool:
    """Return whether a frame belongs to blsnb, or forwards a call for it."""
    filename = frame.f_code.co_filename
    if filename == "<string>":
        # The constructor of a dataclass.
        return str(frame.f_globals.get("__name__")).startswith("blsnb.")
    return filename.startswith(_hidden())


def _parts(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def counted(
    parts: Sequence[types.TracebackType],
) -> list[tuple[types.TracebackType, int]]:
    """Return each part with the number of its consecutive repeats."""
    groups = itertools.groupby(
        parts, key=lambda part: (part.tb_frame.f_code, part.tb_lineno)
    )
    repeated = ([*group] for _, group in groups)
    return [(same[-1], len(same)) for same in repeated]


def without_repeats(text: str) -> str:
    """Shorten repeats of a line to a few, followed by their number."""
    rows: list[str] = []
    for line, group in itertools.groupby(text.split("\n")):
        times = len([*group])
        rows += [line] * min(times, _MAX_REPEATS)
        if times > _MAX_REPEATS:
            rows.append(f"  … the line above {times:,} times in all")
    return "\n".join(rows)


def joined(parts: Sequence[types.TracebackType]) -> types.TracebackType | None:
    """Return one traceback of these parts; a debugger opens at the last part."""
    trace: types.TracebackType | None = None
    for part in reversed(parts):
        trace = types.TracebackType(trace, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return trace


def excerpt(
    line: int, text: str | None, filename: str, offset: int, mark: Callable[[str], str]
) -> list[str]:
    """Return a line and those above it, numbered, with an arrow at the line.

    Parameters
    ----------
    line
        Number of the line in the file.
    text
        The file's text; the file is read if None.
    offset
        Number of lines of the cell above the text, added to the numbers shown.
    mark
        Colours the line.
    """
    lines = linecache.getlines(filename) if text is None else list(io.StringIO(text))
    if not 0 < line <= len(lines):
        return []
    first = max(1, line - _AROUND)
    shown = lines[first - 1 : line]
    width = max(4, len(str(line + offset)))
    rows = []
    for number, source in enumerate(shown, first):
        label = str(number + offset)
        if number == line:
            arrow = "-" * (width + 1 - len(label)) + "> "
            rows.append(mark(f"{arrow}{label} {source.rstrip()}"))
        else:
            rows.append(f"{label.rjust(width + 2)} {source.rstrip()}".rstrip())
    return rows
