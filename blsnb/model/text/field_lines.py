"""The lines of the fields in the text of a ``config.pbtxt``."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter

from blsnb.model.text.tokens import Token, scan

_REPEATED = re.compile(r"\[\d+\]")


def field_lines(text: str) -> dict[str, int]:
    """Return the line of each field in a valid text, from 1.

    Returns
    -------
    dict
        By path, with the index of each message: ``"input[0].dims"``. A path without
        indices is that of the first message; a parameter also has its key:
        ``"parameters['name']"``.
    """
    fields = _Fields(text)
    lines = fields.lines
    for path, line in list(lines.items()):
        lines.setdefault(_REPEATED.sub("", path), line)
    return lines


class _Fields:
    """Walks through the tokens of a text, message by message."""

    def __init__(self, text: str) -> None:
        self.lines: dict[str, int] = {}
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._tokens = scan(text).tokens
        self._at = 0
        self._counts: Counter[str] = Counter()
        self._message("")

    def _message(self, prefix: str) -> None:
        while self._next.kind == "identifier":
            name = f"{prefix}{self._next.text}"
            self.lines.setdefault(name, self._line)
            self._at += 1
            self._skip(":")
            self._value(name)
            self._skip(",;")

    def _value(self, name: str) -> None:
        if not self._skip("["):
            self._item(name)
            return
        while not self._skip("]") and self._next.kind != "end":
            self._item(name)
            self._skip(",")

    def _item(self, name: str) -> None:
        line = self._line
        if self._skip("{<"):
            inner = f"{name}[{self._counts[name]}]"
            self._counts[name] += 1
            self.lines[inner] = line
            self._message(f"{inner}.")
            self._skip("}>")
            return
        self._skip("-")
        if self._next.kind == "string":
            self._text(name)
        elif self._next.kind != "end":
            self._at += 1

    def _text(self, name: str) -> None:
        """Pass over strings, which are joined; note a parameter by its key."""
        text = ""
        while self._next.kind == "string":
            text += self._next.text[1:-1]
            self._at += 1
        owner, _, field = name.rpartition(".")
        if field == "key":
            key = f"{_REPEATED.sub('', owner)}[{text!r}]"
            self.lines.setdefault(key, self.lines[owner])

    @property
    def _next(self) -> Token:
        """The token at which the walk is; the last one has the kind ``end``."""
        return self._tokens[self._at]

    @property
    def _line(self) -> int:
        return bisect_left(self._ends, self._next.offset) + 1

    def _skip(self, symbols: str) -> bool:
        """Pass over a symbol if it is one of those given."""
        found = self._next.kind == "symbol" and self._next.text in symbols
        self._at += found
        return found
