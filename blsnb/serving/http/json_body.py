"""HttpDocument: reads JSON texts as Triton's parser does, and fails as it does."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from blsnb.engine.request.validation import RequestError

Json = Any
"""None, a bool, int, float or str, or a list or dict of these.

Text that is not UTF-8 has surrogates, as of Python's ``surrogateescape``.
"""
_MARK = b"\xef\xbb\xbf"
_DOUBTFUL = tuple(
    re.compile(words)
    for words in (
        rb"\x00",
        rb"\\u[dD]",
        rb"[eE]\+?[0-9]{3}",
        rb"(?<![0-9])[0-9]{300}",
    )
)
"""What Python's parser takes for something else than Triton's; each fast to find."""
_DEEPEST = 200
_BLANK = re.compile(rb"[ \t\n\r]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)")
_DIGITS = re.compile(rb"[0-9]+")
_HEXADECIMAL = re.compile(rb"[0-9a-fA-F]{4}")
_WORDS = {b"n": (b"null", None), b"t": (b"true", True), b"f": (b"false", False)}
_ESCAPES = dict(zip(b'"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
_HIGH, _LOW, _BEYOND = 0xD800, 0xDC00, 0xE000
_LEAST_INT, _MOST_INT = -(2**63), 2**64
_LONGEST_INT = 20
"""Digits and sign of the longest whole number that is none with a fraction."""
_MOST_EXPONENT = 308
_TOO_BIG = "Number too big to be stored in double."


def parse(body: bytes | memoryview) -> Json:
    """Return what a JSON text says.

    Where an object names a member twice, the first one counts.

    Raises
    ------
    RequestError
        It is none: Triton's text, with the place.

    References
    ----------
    common: include/triton/common/triton_json.h, Parse
    """
    text = bytes(body)
    if not any(doubtful.search(text) for doubtful in _DOUBTFUL):
        try:
            whole = text.removeprefix(_MARK).decode("utf-8", "surrogateescape")
            return _decode(whole)
        except (ValueError, RecursionError):
            # What Triton's own parser makes of it, and where it stumbles.
            pass
    return _Reader(text).document()


class Members(dict[str, Any]):
    """The members of an object that names one of them twice: the first ones."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(reversed(pairs))
        self.names = [name for name, _ in pairs]
        """As they were written."""


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Members(pairs)


_decode = json.JSONDecoder(object_pairs_hook=_object).decode
"""`json.loads` would make such a decoder for each text."""


def _failed(reason: str, place: int) -> NoReturn:
    raise RequestError(
        f"failed to parse the request JSON buffer: {reason} at {place}", "INTERNAL"
    )


class _Reader:
    """Reads a text byte by byte; slow, and exact about what is wrong with it."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._place = 0
        for byte in _MARK:
            # Triton does not mind if parts of the mark are missing.
            self._took(bytes([byte]))
        self._depth = 0

    def document(self) -> Json:
        self._skip()
        if not self._next():
            self._fail("The document is empty.")
        value = self._value()
        self._skip()
        if self._next():
            self._fail("The document root must not be followed by other values.")
        return value

    def _fail(self, reason: str, place: int | None = None) -> NoReturn:
        _failed(reason, self._place if place is None else place)

    def _next(self) -> bytes:
        """Return the next byte; nothing at the end, which a NUL is, too."""
        found = self._text[self._place : self._place + 1]
        return b"" if found == b"\0" else found

    def _skip(self) -> None:
        found = _BLANK.match(self._text, self._place)
        assert found is not None
        self._place = found.end()

    def _took(self, byte: bytes) -> bool:
        if self._next() != byte:
            return False
        self._place += 1
        return True

    def _value(self) -> Json:
        first = self._next()
        if first == b'"':
            return self._string()
        if first in (b"{", b"["):
            return self._nested(first)
        if first in _WORDS:
            word, value = _WORDS[first]
            self._word(word)
            return value
        return self._number()

    def _nested(self, first: bytes) -> Json:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail("Terminate parsing due to Handler error.")
        value = self._object() if first == b"{" else self._array()
        self._depth -= 1
        return value

    def _word(self, word: bytes) -> None:
        for number in range(len(word)):
            if not self._took(word[number : number + 1]):
                self._fail("Invalid value.")

    def _array(self) -> list[Json]:
        self._place += 1
        values: list[Json] = []
        self._skip()
        if self._took(b"]"):
            return values
        while True:
            values.append(self._value())
            self._skip()
            if self._took(b"]"):
                return values
            if not self._took(b","):
                self._fail("Missing a comma or ']' after an array element.")
            self._skip()

    def _object(self) -> dict[str, Json]:
        self._place += 1
        pairs: list[tuple[str, Json]] = []
        self._skip()
        if self._took(b"}"):
            return {}
        while True:
            pairs.append(self._member())
            self._skip()
            if self._took(b"}"):
                return _object(pairs)
            if not self._took(b","):
                self._fail("Missing a comma or '}' after an object member.")
            self._skip()

    def _member(self) -> tuple[str, Json]:
        if self._next() != b'"':
            self._fail("Missing a name for object member.")
        name = self._string()
        self._skip()
        if not self._took(b":"):
            self._fail("Missing a colon after a name of object member.")
        self._skip()
        return name, self._value()

    def _string(self) -> str:
        self._place += 1
        parts: list[str] = []
        while True:
            found = _PLAIN.match(self._text, self._place)
            assert found is not None
            parts.append(found[0].decode("utf-8", "surrogateescape"))
            self._place = found.end()
            if self._took(b'"'):
                return "".join(parts)
            if not self._next():
                self._fail("Missing a closing quotation mark in string.")
            parts.append(self._escape())

    def _escape(self) -> str:
        start = self._place
        self._place += 1
        follows = self._text[self._place : self._place + 1]
        if self._text[start : start + 1] == b"\\":
            if follows == b"u":
                self._place += 1
                return self._code(start)
            if follows and follows[0] in _ESCAPES:
                self._place += 1
                return _ESCAPES[follows[0]]
        # A control character, which Triton takes for a wrong escape, too.
        return self._fail("Invalid escape character in string.", start)

    def _code(self, start: int) -> str:
        code = self._four(start)
        if not _HIGH <= code < _LOW:
            # A low half that stands alone passes, as three bytes.
            passed = chr(code).encode("utf-8", "surrogatepass")
            return passed.decode("utf-8", "surrogateescape")
        if self._text[self._place : self._place + 2] != b"\\u":
            self._fail("The surrogate pair in string is invalid.", start)
        self._place += 2
        low = self._four(start)
        if not _LOW <= low < _BEYOND:
            self._fail("The surrogate pair in string is invalid.", start)
        return chr(0x10000 + ((code - _HIGH) << 10) + low - _LOW)

    def _four(self, start: int) -> int:
        found = _HEXADECIMAL.match(self._text, self._place)
        if found is None:
            self._fail("Incorrect hex digit after \\u escape in string.", start)
        self._place = found.end()
        return int(found[0], 16)

    def _number(self) -> int | float:
        start = self._place
        found = _NUMBER.match(self._text, start)
        if found is None:
            unusual = self._unusual()
            self._exponent(start)
            return unusual
        whole = self._place = found.end()
        self._exponent(start)
        text = self._text[start : self._place]
        if self._place == whole and len(text) <= _LONGEST_INT:
            number = int(text)
            if _LEAST_INT <= number < _MOST_INT:
                return number
        return self._float(text, start)

    def _exponent(self, start: int) -> None:
        """Pass the fraction and the exponent of a number, if it has them."""
        point = self._place
        if self._took(b"."):
            self._some_digits("Miss fraction part in number.")
        fraction = max(0, self._place - point - 1)
        if not (self._took(b"e") or self._took(b"E")):
            return
        negative = self._took(b"-")
        _ = negative or self._took(b"+")
        digits = self._some_digits("Miss exponent in number.").lstrip(b"0")
        long = len(digits) > _LONGEST_INT
        # Whatever is before it: 0e999 is too big, too.
        if not negative and (long or int(digits or b"0") > _MOST_EXPONENT + fraction):
            self._fail(_TOO_BIG, start)

    def _some_digits(self, reason: str) -> bytes:
        found = _DIGITS.match(self._text, self._place)
        if found is None:
            self._fail(reason)
        self._place = found.end()
        return found[0]

    def _float(self, text: bytes, start: int) -> float:
        number = float(text)
        if math.isinf(number):
            self._fail(_TOO_BIG, start)
        return number

    def _unusual(self) -> float:
        """Return a number that JSON has not, but Triton."""
        negative = self._took(b"-")
        if self._took(b"N") and self._took(b"a") and self._took(b"N"):
            return math.nan
        # What came before is passed over, which Triton forgets to refuse.
        if not (self._took(b"I") and self._took(b"n") and self._took(b"f")):
            self._fail("Invalid value.")
        if self._next() == b"i":
            self._word(b"inity")
        return -math.inf if negative else math.inf
