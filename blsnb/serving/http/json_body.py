"""JSON bodies: read by Python's parser, refused with the texts of Triton's."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from blsnb.engine.request.validation import RequestError
from blsnb.repetitions import POSSESSIVE

Json = Any
"""None, a bool, int, float or str, or a list or dict of these.

Bytes that are not UTF-8 are surrogates, as with Python's ``surrogateescape``.
"""
_POSSESSIVE = POSSESSIVE.encode()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HUGE = tuple(map(re.compile, (rb"[eE]\+?[0-9]{3}", rb"(?<![0-9])[0-9]{300}")))
"""Numbers that Triton may refuse. Searched one by one: an alternation is slower."""
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u([dD]...)|\\.", re.DOTALL)
"""An escape; its group is a surrogate that is not half of a pair."""
_MAX_DEPTH = 200
_BLANKS = re.compile(rb"[ \t\n\r]*")
_STRING = re.compile(
    rb'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}'
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*" + _POSSESSIVE
)
_FOUR_DIGITS = re.compile(rb"\\u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4}|(?!\\u))")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(rb"-?(?:NaN|(?:Na?)?Inf(?:inity|(?!i)))")
_BEFORE_INFINITY = re.compile(rb"-?(?:Na?)?")
_STRING_OR_NOT_FINITE = re.compile(
    rb'"(?:[^"\\]++|\\.)*' + _POSSESSIVE + rb'"|' + _NOT_FINITE.pattern, re.S
)
_WORDS = {b"n": b"null", b"t": b"true", b"f": b"false"}


def parse(body: bytes | memoryview) -> Json:
    """Return the value of a JSON text, which ends at the first NUL.

    The first of several members with one name counts.

    Raises
    ------
    RequestError
        The text is not valid JSON; Triton's text, with the offset.

    References
    ----------
    common: include/triton/common/triton_json.h, Parse
    """
    text = bytes(body).partition(b"\0")[0]
    if not _is_suspect(text):
        try:
            return _decode(text)
        except (ValueError, RecursionError):
            pass
    _Scanner(text).scan()
    text = _ESCAPE.sub(_as_utf8, text)
    return _decode(_STRING_OR_NOT_FINITE.sub(_as_python, text))


def _is_suspect(text: bytes) -> bool:
    """Whether Python's parser may accept what Triton's refuses or reads differently."""
    if any(number.search(text) for number in _HUGE):
        return True
    return b"\\u" in text and any(each[1] for each in _ESCAPE.finditer(text))


class Members(dict[str, Any]):
    """The members of an object in which a name is repeated.

    Attributes
    ----------
    names
        All names, as sent.
    """

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(reversed(pairs))
        self.names = [name for name, _ in pairs]


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Members(pairs)


_decoder = json.JSONDecoder(object_pairs_hook=_object)


def _decode(text: bytes) -> Json:
    text = text.removeprefix(_BYTE_ORDER_MARK)
    return _decoder.decode(text.decode("utf-8", "surrogateescape"))


def _as_utf8(escape: re.Match[bytes]) -> bytes:
    """Return the three bytes that Triton reads for a lone low surrogate."""
    if escape[1] is None:
        return escape[0]
    return chr(int(escape[1], 16)).encode("utf-8", "surrogatepass")


def _as_python(token: re.Match[bytes]) -> bytes:
    """Return NaN or an infinity in Python's spelling."""
    if token[0].startswith(b'"'):
        return token[0]
    if token[0].endswith(b"NaN"):
        return b"NaN"
    return b"-Infinity" if token[0].startswith(b"-") else b"Infinity"


class _Scanner:
    """Finds the reason and the offset at which Triton's parser refuses a text.

    Python's parser has other reasons and offsets.
    """

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._offset = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK))
        self._closers: list[bytes] = []

    def scan(self) -> None:
        """Raise the error for an invalid text."""
        if not self._next():
            self._fail("The document is empty.")
        self._value()
        while self._closers:
            self._element()
        if self._next():
            self._fail("The document root must not be followed by other values.")

    def _fail(self, reason: str, offset: int | None = None) -> NoReturn:
        offset = self._offset if offset is None else offset
        raise RequestError(
            f"failed to parse the request JSON buffer: {reason} at {offset}", "INTERNAL"
        )

    def _next(self) -> bytes:
        """Return the next byte that is not blank; nothing at the end."""
        blanks = _BLANKS.match(self._text, self._offset)
        assert blanks is not None
        self._offset = blanks.end()
        return self._text[self._offset : self._offset + 1]

    def _took(self, byte: bytes) -> bool:
        found = self._next() == byte
        self._offset += found
        return found

    def _element(self) -> None:
        """Skip the end of a list or an object, or its next element."""
        closer = self._closers[-1]
        if self._took(closer):
            self._closers.pop()
            return
        if not self._took(b","):
            kind = "an array element" if closer == b"]" else "an object member"
            self._fail(f"Missing a comma or '{closer.decode()}' after {kind}.")
        if closer == b"}":
            self._name()
        self._value()

    def _name(self) -> None:
        if self._next() != b'"':
            self._fail("Missing a name for object member.")
        self._string()
        if not self._took(b":"):
            self._fail("Missing a colon after a name of object member.")

    def _value(self) -> None:
        """Skip a value; of a non-empty list or object, skip up to the first scalar."""
        while (first := self._next()) in (b"[", b"{"):
            if len(self._closers) == _MAX_DEPTH:
                self._fail("Terminate parsing due to Handler error.")
            closer = b"]" if first == b"[" else b"}"
            self._offset += 1
            if self._took(closer):
                return
            self._closers.append(closer)
            if closer == b"}":
                self._name()
        if first == b'"':
            self._string()
        elif first in _WORDS:
            self._word(_WORDS[first])
        else:
            self._number()

    def _word(self, word: bytes) -> None:
        for byte in word:
            if not self._text.startswith(bytes([byte]), self._offset):
                self._fail("Invalid value.")
            self._offset += 1

    def _string(self) -> None:
        valid = _STRING.match(self._text, self._offset)
        assert valid is not None
        self._offset = valid.end()
        follows = self._text[self._offset : self._offset + 12]
        if not follows:
            self._fail("Missing a closing quotation mark in string.")
        if _FOUR_DIGITS.match(follows):
            self._fail("The surrogate pair in string is invalid.")
        if follows.startswith(b"\\u"):
            self._fail("Incorrect hex digit after \\u escape in string.")
        if not follows.startswith(b'"'):
            # Triton calls control characters escapes, too.
            self._fail("Invalid escape character in string.")
        self._offset += 1

    def _number(self) -> None:
        start = self._offset
        number = _NUMBER.match(self._text, start)
        if number is None:
            self._not_finite()
            return
        self._offset = number.end()
        fraction, exponent = number[1], number[2]
        rest = self._text[self._offset : self._offset + 2]
        if exponent is None and fraction is None and rest.startswith(b"."):
            self._fail("Miss fraction part in number.", self._offset + 1)
        if exponent is None and rest[:1] in (b"e", b"E"):
            signs = rest[1:] in (b"+", b"-")
            self._fail("Miss exponent in number.", self._offset + 1 + signs)
        # Triton refuses the exponent of a zero, too.
        if math.isinf(float(number[0]) or float(b"1" + (exponent or b""))):
            self._fail("Number too big to be stored in double.", start)

    def _not_finite(self) -> None:
        """Skip NaN or an infinity, in each spelling that Triton accepts."""
        found = _NOT_FINITE.match(self._text, self._offset)
        if found is None:
            found = _BEFORE_INFINITY.match(self._text, self._offset)
            assert found is not None
            self._offset = found.end()
            self._word(b"Infinity")
        self._offset = found.end()
