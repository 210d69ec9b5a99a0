"""Frames of a traceback: which are the reader's, and how their lines are shown."""

from __future__ import annotations

import itertools
import linecache
import sysconfig
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import IPython

_STDLIB = sysconfig.get_path("stdlib")
_HIDDEN = (
    str(Path(__file__).resolve().parent.parent.parent),
    str(Path(IPython.__file__).resolve().parent),
    f"{_STDLIB}/asyncio/",
    f"{_STDLIB}/concurrent/",
    f"{_STDLIB}/threading.py",
    "<frozen ",
)
_AROUND = 2
_REPEATED = 3
"""How often a line may stand below itself."""


def of_the_reader(trace: types.TracebackType | None) -> list[types.TracebackType]:
    """Return the parts of a traceback that are neither ours nor IPython's."""
    return [
        part
        for part in _parts(trace)
        if not part.tb_frame.f_code.co_filename.startswith(_HIDDEN)
    ]


def _parts(trace: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def counted(
    parts: Sequence[types.TracebackType],
) -> list[tuple[types.TracebackType, int]]:
    """Return each part with how often it follows itself: endless recursion."""
    groups = itertools.groupby(
        parts, key=lambda part: (part.tb_frame.f_code, part.tb_lineno)
    )
    repeated = ([*group] for _, group in groups)
    return [(same[-1], len(same)) for same in repeated]


def without_repeats(text: str) -> str:
    """Return a text in which no line follows itself more than a few times."""
    rows: list[str] = []
    for line, group in itertools.groupby(text.split("\n")):
        times = len([*group])
        rows += [line] * min(times, _REPEATED)
        if times > _REPEATED:
            rows.append(f"  … the line above {times - _REPEATED} times more")
    return "\n".join(rows)


def joined(
    parts: Sequence[types.TracebackType],
) -> types.TracebackType | None:
    """Return one traceback of these parts: a debugger opens at the last."""
    trace: types.TracebackType | None = None
    for part in reversed(parts):
        trace = types.TracebackType(trace, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return trace


def excerpt(
    line: int, text: str | None, filename: str, offset: int, mark: Callable[[str], str]
) -> list[str]:
    """Return the lines around one, numbered, with an arrow at it.

    Parameters
    ----------
    line
        Its number in the file.
    text
        The file's text; the file is read if None.
    offset
        How much higher the numbers shown are: lines of a cell above the text.
    mark
        Colours the line itself.
    """
    lines = linecache.getlines(filename) if text is None else text.splitlines()
    if not 0 < line <= len(lines):
        return []
    first = max(1, line - _AROUND)
    shown = lines[first - 1 : line]
    width = max(4, len(str(line + offset)))
    rows = []
    for number, source in enumerate(shown, first):
        label = str(number + offset)
        if number == line:
            arrow = "-" * (width + 2 - len(label) - 1) + "> "
            rows.append(mark(f"{arrow}{label} {source.rstrip()}"))
        else:
            rows.append(f"{label.rjust(width + 3 - 1)} {source.rstrip()}".rstrip())
    return rows
