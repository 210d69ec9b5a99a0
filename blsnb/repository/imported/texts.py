"""Texts of files: their line ends, and the differences between them."""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Iterator, Sequence

_LINE = r"(?P<text>[^\r\n]*)(?P<end>\r\n|\n|\r|\Z)"
_BOM = codecs.BOM_UTF8
_NO_END = "\\ No newline at end of file"
_Line = tuple[str, str]
"""The text of a line and its end."""


def restored(original: bytes, text: bytes) -> bytes:
    """Return a cell's text with the BOM and the line ends of a file.

    Lines of a cell always end with a newline. A text that differs in BOM and line ends
    only becomes the file's bytes. Contents that are not UTF-8 are returned unchanged.
    """
    try:
        old = _lines(original.removeprefix(_BOM).decode())
        new = _lines(text.removeprefix(_BOM).decode())
    except UnicodeDecodeError:
        return text
    if not old or not new:
        return text
    if [line for line, _ in old] == [line for line, _ in new]:
        return original
    last, _ = new[-1]
    ends = {end for _, end in old if end}
    usual = max(sorted(ends), key=[end for _, end in old].count, default="\n")
    if len(ends) > 1:
        new = list(_with_old_ends(old, new, usual))
    else:
        new = [(line, usual) for line, _ in new]
    if last and not old[-1][1]:
        # The last line of the file has no newline, so the new one has none.
        new[-1] = (last, "")
    begin = _BOM if original.startswith(_BOM) else b""
    return begin + "".join(line + end for line, end in new).encode()


def _lines(text: str) -> list[_Line]:
    return [
        (match["text"], match["end"])
        for match in re.finditer(_LINE, text)
        if match.group()
    ]


def _with_old_ends(
    old: Sequence[_Line], new: Sequence[_Line], usual: str
) -> Iterator[_Line]:
    """Yield new lines; unchanged lines keep their ends."""
    before, after = ([line for line, _ in lines] for lines in (old, new))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, _, first, end in matcher.get_opcodes():
        for index in range(first, end):
            same = old[start + index - first][1] if kind == "equal" else usual
            yield new[index][0], same or usual


def unified(old: bytes | None, new: bytes | None, labels: tuple[str, str]) -> list[str]:
    """Return the lines of a unified difference; empty without one.

    Parameters
    ----------
    old, new
        Contents of a file; None if it is missing.
    labels
        Names of the two.
    """
    if old == new:
        return []
    before, after = labels
    try:
        first, second = (
            _shown((each or b"").decode("utf-8-sig")) for each in (old, new)
        )
    except UnicodeDecodeError:
        sizes = " and ".join(f"{len(each or b''):,}" for each in (old, new))
        return [f"Binary files {before} and {after} differ ({sizes} bytes)"]
    head = [
        f"--- {'/dev/null' if old is None else before}",
        f"+++ {'/dev/null' if new is None else after}",
    ]
    body = list(difflib.unified_diff(first, second, lineterm=""))[2:]
    return [*head, *(piece for line in body for piece in line.split("\n"))]


def _shown(text: str) -> list[str]:
    """Return the lines of a text; mark a last line without a newline."""
    lines = _lines(text)
    shown = [line for line, _ in lines]
    if lines and not lines[-1][1]:
        shown[-1] += f"\n{_NO_END}"
    return shown
