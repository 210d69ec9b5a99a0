"""Text to show and to print: that of models, clients and files made safe, counts."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

# Controls, surrogates, noncharacters, and characters that are invisible or change the
# writing direction: they could disguise a name or control a terminal.
_UNSEEN = (
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_LINES = {"\n": "\n", "\t": "\t"}


def printable(text: str) -> str:
    """Return text with marks in place of invisible and reordering characters."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSEEN, _mark, text)


def printable_lines(text: str) -> str:
    """Return text of several lines with such marks; line breaks and tabs remain."""
    return re.sub(_UNSEEN, lambda found: _LINES.get(found[0]) or _mark(found), text)


def rounded(number: float) -> str:
    """Return a number of at least three digits, such as "2,680" or "0.25"."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def counted(number: int, noun: str) -> str:
    """Return a count and its noun, such as "2 calls"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def in_columns(rows: Sequence[Sequence[str]], texts: int = sys.maxsize) -> list[str]:
    """Return rows as lines with columns of equal width.

    Parameters
    ----------
    texts
        Number of columns that begin at the left; those after them end at the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (
            cell.ljust(width) if column < texts else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return lines


def shortened(texts: Sequence[str], maximum: int, noun: str) -> list[str]:
    """Return the first texts, and a line such as "… 2 more rows" if there are more."""
    more = len(texts) - maximum
    if more <= 0:
        return list(texts)
    return [*texts[:maximum], f"… {counted(more, f'more {noun}')}"]


def listed(texts: Sequence[str], maximum: int) -> str:
    """Return the first texts, and the number of others: "a, b and 3 more"."""
    more = len(texts) - maximum
    shown = ", ".join(texts[:maximum])
    return f"{shown} and {more:,} more" if more > 0 else shown


def shape_text(lengths: Iterable[int]) -> str:
    """Return a shape as Triton writes it, such as "[-1,3]"."""
    return f"[{','.join(map(str, lengths))}]"


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"
