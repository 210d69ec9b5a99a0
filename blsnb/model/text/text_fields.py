"""The fields in the text of a ``config.pbtxt``, and their lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from blsnb.model.text.tokens import Token, scan

_REPEATED = re.compile(r"\[\d+\]")


@dataclass(eq=False, repr=False)
class TextField:
    """A value in the text: a field, or an item of a list.

    Parameters
    ----------
    start, end
        Of the value, with the name if it is not in a list.
    value
        Where the value itself begins.
    fields
        Those of a message; None for a scalar.
    comma
        Position of the comma before an item; -1 without one.
    list_span
        Start and end of the list with its name.
    """

    name: str
    start: int
    value: int
    end: int = 0
    fields: list[TextField] | None = None
    comma: int = -1
    list_span: tuple[int, int] | None = None


class _Parser:
    """Finds the fields in a valid text."""

    def __init__(self, text: str) -> None:
        self._tokens = scan(text).tokens
        self._at = 0
        self.root = TextField("", 0, 0, len(text), self._message())

    def _message(self) -> list[TextField]:
        found: list[TextField] = []
        while self._next.kind == "identifier":
            name, start = self._next.text, self._next.offset
            self._at += 1
            self._skip(":")
            if self._skip("["):
                found += self._list(name, start)
            else:
                found.append(self._value(name, start))
            self._skip(",;")
        return found

    def _list(self, name: str, start: int) -> list[TextField]:
        items: list[TextField] = []
        comma = -1
        while not self._skip("]") and self._next.kind != "end":
            items.append(self._value(name, self._next.offset))
            items[-1].comma = comma
            comma = self._next.offset
            self._skip(",")
        for item in items:
            item.list_span = start, self._end
        return items

    def _value(self, name: str, start: int) -> TextField:
        found = TextField(name, start, self._next.offset)
        if self._skip("{<"):
            found.fields = self._message()
            self._skip("}>")
        else:
            self._skip("-")
            self._at += self._next.kind != "end"
            while self._next.kind == "string" == self._tokens[self._at - 1].kind:
                self._at += 1
        found.end = self._end
        return found

    @property
    def _end(self) -> int:
        """Where the token before ends."""
        last = self._tokens[self._at - 1]
        return last.offset + len(last.text)

    @property
    def _next(self) -> Token:
        """The token at which the parser is; the last one has the kind ``end``."""
        return self._tokens[self._at]

    def _skip(self, symbols: str) -> bool:
        """Pass over a symbol if it is one of those given."""
        found = self._next.kind == "symbol" and self._next.text in symbols
        self._at += found
        return found


def fields_of(text: str) -> TextField:
    """Return the fields of a text as those of a message; a valid text has all."""
    return _Parser(text).root


def field_lines(text: str) -> dict[str, int]:
    """Return the line of each field in a valid text, from 1.

    Returns
    -------
    dict
        By path, with the index of each message: ``"input[0].dims"``. A path without
        indices is that of the first message; a parameter also has its key:
        ``"parameters['name']"``.
    """
    breaks = [found.start() for found in re.finditer("\n", text)]
    lines: dict[str, int] = {}
    for path, offset in _places(text, fields_of(text), ""):
        lines.setdefault(path, bisect_left(breaks, offset) + 1)
    for path, line in list(lines.items()):
        lines.setdefault(_REPEATED.sub("", path), line)
    return lines


def _places(text: str, message: TextField, path: str) -> Iterator[tuple[str, int]]:
    """Yield the path and the offset of each field below a message."""
    counts: Counter[str] = Counter()
    for field in message.fields or ():
        name = f"{path}.{field.name}" if path else field.name
        yield name, field.list_span[0] if field.list_span else field.start
        if field.fields is not None:
            inner = f"{name}[{counts[name]}]"
            counts[name] += 1
            yield inner, field.value
            yield from _places(text, field, inner)
        elif path and field.name == "key":
            strings = scan(text[field.value : field.end]).tokens[:-1]
            key = "".join(token.text[1:-1] for token in strings)
            yield f"{_REPEATED.sub('', path)}[{key!r}]", message.value
