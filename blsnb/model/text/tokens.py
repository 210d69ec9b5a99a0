"""Split a text-format configuration into tokens, by the rules of C++ protobuf.

Triton uses the C++ tokenizer; that of Python differs in signs, numbers, escapes and
blanks.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from blsnb.repetitions import POSSESSIVE

TAB_WIDTH = 8


class Token(NamedTuple):
    """One token and the offset of its first character."""

    kind: str
    text: str
    offset: int


class Fault(NamedTuple):
    """An invalid token, and the offset at which Triton reports it."""

    message: str
    offset: int


class Scan(NamedTuple):
    """The tokens up to the first invalid one; the last has the kind ``end``."""

    tokens: list[Token]
    fault: Fault | None


_ESCAPE = (
    r"\\(?:[abfnrtv\\?'\"]|[0-7]|x[0-9a-fA-F]|u[0-9a-fA-F]{4}"
    r"|U00[01][0-9a-fA-F]{5})"
)
# A NUL ends strings and comments, and is then an invalid character.
_OPEN_DOUBLE = rf'"(?:[^"\\\n\0]++|{_ESCAPE})*{POSSESSIVE}'
_OPEN_SINGLE = rf"'(?:[^'\\\n\0]++|{_ESCAPE})*{POSSESSIVE}"
_OCTAL_OR_HEX = r"(?>0[xX][0-9a-fA-F]+|0[0-7]+)"
_DECIMAL = r"(?>(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)"
_NUMBER = rf"(?>{_DECIMAL}(?:[eE][+-]?[0-9]+)?[fF]?)"

_BLANK = rf"(?:[ \t\n\r\v\f]++|#[^\n\0]*+)*{POSSESSIVE}"
_TOKEN = (
    rf"(?P<identifier>[A-Za-z_][A-Za-z0-9_]*)"
    rf"|(?P<string>{_OPEN_DOUBLE}\"|{_OPEN_SINGLE}')"
    rf"|(?P<octal_or_hex>{_OCTAL_OR_HEX})"
    rf"|(?P<number>{_NUMBER})"
    r"|(?P<symbol>[!$-&(-/:-@\[-`{-\x7f])"
)
# Both patterns begin with the token and end where Triton reports it.
_INVALID_STRING = (
    rf"(?:{_OPEN_DOUBLE}|{_OPEN_SINGLE})"
    r"(?:\\(?:x|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?)?"
)
_INVALID_NUMBER = (
    r"0[xX](?![0-9a-fA-F])"
    r"|0[0-7]*(?=[89])"
    rf"|{_DECIMAL}[eE](?>[+-]?)(?![0-9])"
    rf"|{_OCTAL_OR_HEX}(?=\.)"
    rf"|{_NUMBER}(?=\.)"
    rf"|(?>{_OCTAL_OR_HEX}|{_NUMBER})(?=[A-Za-z_])"
)


def scan(text: str) -> Scan:
    """Return the tokens of a text, up to the first invalid one."""
    tokens: list[Token] = []
    offset = _after_blank(text, 0)
    while offset < len(text):
        match = _pattern(_TOKEN).match(text, offset)
        fault = _fault(text, offset, match, tokens)
        if match is None or fault is not None:
            end = offset if fault is None else fault.offset
            return Scan([*tokens, Token("end", "", end)], fault)
        tokens.append(Token(str(match.lastgroup), match.group(), offset))
        offset = _after_blank(text, match.end())
    return Scan([*tokens, Token("end", "", len(text))], None)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column as in Triton's log, both from 1.

    Columns are bytes of UTF-8; a tab reaches the next multiple of eight.
    """
    start = text.rfind("\n", 0, offset) + 1
    column = 0
    for byte in text[start:offset].encode("utf-8", "surrogatepass"):
        column += TAB_WIDTH - column % TAB_WIDTH if byte == ord("\t") else 1
    return text.count("\n", 0, offset) + 1, column + 1


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: importing the module stays fast."""
    return re.compile(text)


def _after_blank(text: str, offset: int) -> int:
    blank = _pattern(_BLANK).match(text, offset)
    return offset if blank is None else blank.end()


def _fault(
    text: str, offset: int, match: re.Match[str] | None, tokens: list[Token]
) -> Fault | None:
    if match is None:
        string = _pattern(_INVALID_STRING).match(text, offset)
        if string is None:
            return Fault(f"Invalid character {text[offset]!r}.", offset)
        return Fault("Invalid escape sequence, or missing closing quote.", string.end())
    if match.lastgroup not in ("number", "octal_or_hex"):
        return None
    previous = tokens[-1] if tokens else Token("", "", 0)
    is_adjacent = previous.offset + len(previous.text) == offset
    if is_adjacent and previous.kind == "identifier" and text[offset] == ".":
        return Fault("Invalid number: missing space before it.", offset)
    number = _pattern(_INVALID_NUMBER).match(text, offset)
    return None if number is None else Fault("Invalid number.", number.end())
