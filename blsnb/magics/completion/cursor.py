"""Locate the cursor in incomplete Python source: its string and open brackets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_OPEN, _CLOSE = "([{", ")]}"
_CALLEE = re.compile(r"([A-Za-z_][\w.]*)\s*$")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=\s*$")
_STEP = re.compile(r"[#'\"()\[\]{},:=]")
_VALUE = re.compile(r"([A-Za-z_]\w*)\s*=\s*(\w*)$")
_QUOTES = ("'''", '"""', "'", '"')


@dataclass(slots=True)
class Bracket:
    """An open bracket before the cursor.

    Parameters
    ----------
    kind
        ``"("``, ``"["`` or ``"{"``.
    owner
        The dotted name before it, such as ``"blsnb.infer"``; may be empty.
    index
        Number of commas at this level before the cursor.
    keyword
        Name of the current keyword argument; empty for a positional one.
    texts
        The strings at this level before the cursor, by keyword or by index.
    is_key
        Whether the next item of a dict is a key.
    """

    kind: str
    owner: str
    index: int = 0
    keyword: str = ""
    texts: dict[str | int, str] = field(default_factory=dict)
    is_key: bool = True

    @property
    def function(self) -> str:
        """The last part of the owner's name."""
        return self.owner.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Cursor:
    """A cursor in an unterminated string, or at the value of a keyword.

    Parameters
    ----------
    fragment
        The text of the string or the value up to the cursor.
    brackets
        The open brackets, outermost first.
    in_string
        Whether it is in a string.
    before
        The source up to the fragment, without the quotation mark.
    """

    fragment: str
    brackets: tuple[Bracket, ...]
    in_string: bool
    before: str


def text_until_cursor(context: Any) -> str:
    """Return the text of a cell up to the cursor."""
    lines = context.full_text.split("\n")[: context.cursor_line + 1]
    lines[-1] = context.text_until_cursor
    return "\n".join(lines)


def cursor_at_end(text: str) -> Cursor | None:
    """Return the cursor if source ends in a string of one line, or in a value.

    A value is one word, of a keyword argument.

    Parameters
    ----------
    text
        Python source up to the cursor; it need not be complete.
    """
    brackets: list[Bracket] = []
    at = 0
    while (step := _STEP.search(text, at)) is not None:
        at = step.start()
        if text[at] == "#":
            at = text.find("\n", at)
            if at < 0:
                return None
            continue
        quote = next((each for each in _QUOTES if text.startswith(each, at)), "")
        if quote:
            end = _end_of_string(text, at + len(quote), quote)
            if end is None:
                fragment = text[at + len(quote) :]
                is_simple = len(quote) == 1 and "\n" not in fragment
                found = Cursor(fragment, tuple(brackets), True, text[:at])
                return found if is_simple else None
            _note(brackets, text[at + len(quote) : end])
            at = end + len(quote)
            continue
        _step(brackets, text, at)
        at += 1
    value = _VALUE.search(text)
    is_value = value is not None and brackets and brackets[-1].keyword == value[1]
    if value is None or not is_value:
        return None
    return Cursor(value[2], tuple(brackets), False, text[: value.start(2)])


def _end_of_string(text: str, start: int, quote: str) -> int | None:
    """Return the index of the closing quote; None if it is missing.

    A string in single quotes ends with its line at the latest.
    """
    at = start
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text.startswith(quote, at):
            return at
        if text[at] == "\n" and len(quote) == 1:
            return at
        at += 1
    return None


def _note(brackets: list[Bracket], string: str) -> None:
    """Add a terminated string to the innermost bracket."""
    if brackets:
        inner = brackets[-1]
        inner.texts.setdefault(inner.keyword or inner.index, string)


def _step(brackets: list[Bracket], text: str, at: int) -> None:
    """Process one character outside of strings."""
    letter = text[at]
    if letter in _OPEN:
        before = _CALLEE.search(text, max(0, at - 200), at)
        brackets.append(Bracket(letter, before[1] if before else ""))
    elif letter in _CLOSE:
        if brackets:
            brackets.pop()
    elif not brackets:
        return
    elif letter == ",":
        inner = brackets[-1]
        inner.index, inner.keyword, inner.is_key = inner.index + 1, "", True
    elif letter == ":":
        brackets[-1].is_key = False
    elif letter == "=" and text[at + 1 : at + 2] != "=":
        found = _KEYWORD.search(text, max(0, at - 100), at + 1)
        if found:
            brackets[-1].keyword = found[1]
