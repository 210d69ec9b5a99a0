"""Split a text-format configuration into tokens where Triton's parser does.

Protobuf's Python tokenizer and its C++ one, which Triton uses, differ in signs,
numbers, escapes and blanks. These are the rules of C++.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TAB_WIDTH = 8


class Token(NamedTuple):
    """One token and the offset where it starts."""

    kind: str
    text: str
    offset: int


class Fault(NamedTuple):
    """What is no token: Triton's text, and the offset that it names."""

    message: str
    offset: int


class Scan(NamedTuple):
    """The tokens, up to a fault if there is one; the last is of kind ``end``."""

    tokens: list[Token]
    fault: Fault | None


_ESCAPE = (
    r"\\(?:[abfnrtv\\?'\"]|[0-7]|x[0-9a-fA-F]|u[0-9a-fA-F]{4}"
    r"|U00[01][0-9a-fA-F]{5})"
)
_OPEN_STRING = rf"(?P<quote>[\"'])(?:(?!(?P=quote))[^\\\n]|{_ESCAPE})*"
_OCTAL_OR_HEX = r"(?>0[xX][0-9a-fA-F]+|0[0-7]+)"
_DECIMAL = r"(?>(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)"
_NUMBER = rf"(?>{_DECIMAL}(?:[eE][+-]?[0-9]+)?[fF]?)"

_BLANK = re.compile(r"(?:[ \t\n\r\v\f]|#[^\n]*)*")
_TOKEN = re.compile(
    rf"(?P<identifier>[A-Za-z_][A-Za-z0-9_]*)"
    rf"|(?P<string>{_OPEN_STRING}(?P=quote))"
    rf"|(?P<octal_or_hex>{_OCTAL_OR_HEX})"
    rf"|(?P<number>{_NUMBER})"
    r"|(?P<symbol>[!$-&(-/:-@\[-`{-\x7f])"
)


def _rules(*rows: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), message) for pattern, message in rows)


# Each pattern begins where the token does and ends at the place Triton names.
_NO_TOKEN = _rules(
    (rf"{_OPEN_STRING}(?=\n)", "String literals cannot cross line boundaries."),
    (rf"{_OPEN_STRING}\Z", "Unexpected end of string."),
    (
        rf"{_OPEN_STRING}\\(?:x|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}})?",
        "Invalid escape sequence in string literal.",
    ),
    (r"(?=[^\x00-\x7f])", "Interpreting non ascii codepoint."),
    (r"", "Invalid control characters encountered in text."),
)
_NO_NUMBER = _rules(
    (r"0[xX](?![0-9a-fA-F])", '"0x" must be followed by hex digits.'),
    (r"0[0-7]*(?=[89])", "Numbers starting with leading zero must be in octal."),
    (rf"{_DECIMAL}[eE](?>[+-]?)(?![0-9])", '"e" must be followed by exponent.'),
    (rf"{_OCTAL_OR_HEX}(?=\.)", "Hex and octal numbers must be integers."),
    (
        rf"{_NUMBER}(?=\.)",
        "Already saw decimal point or exponent; can't have another one.",
    ),
    (
        rf"(?>{_OCTAL_OR_HEX}|{_NUMBER})(?=[A-Za-z_])",
        "Need space between number and identifier.",
    ),
)


def scan(text: str) -> Scan:
    """Return the tokens of a text, up to the first that is none."""
    tokens: list[Token] = []
    offset = _after_blank(text, 0)
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        fault = _fault(text, offset, match, tokens)
        if match is None or fault is not None:
            end = offset if fault is None else fault.offset
            return Scan([*tokens, Token("end", "", end)], fault)
        tokens.append(Token(str(match.lastgroup), match.group(), offset))
        offset = _after_blank(text, match.end())
    return Scan([*tokens, Token("end", "", len(text))], None)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return a place as Triton's log counts it, both from 1.

    Columns are bytes of UTF-8; a tab reaches the next multiple of eight.
    """
    start = text.rfind("\n", 0, offset) + 1
    column = 0
    for byte in text[start:offset].encode("utf-8", "surrogatepass"):
        column += TAB_WIDTH - column % TAB_WIDTH if byte == ord("\t") else 1
    return text.count("\n", 0, offset) + 1, column + 1


def _after_blank(text: str, offset: int) -> int:
    blank = _BLANK.match(text, offset)
    return offset if blank is None else blank.end()


def _fault(
    text: str, offset: int, match: re.Match[str] | None, tokens: list[Token]
) -> Fault | None:
    if match is None:
        return _first(_NO_TOKEN, text, offset)
    if match.lastgroup not in ("number", "octal_or_hex"):
        return None
    before = tokens[-1] if tokens else Token("", "", 0)
    touches = before.offset + len(before.text) == offset
    if touches and before.kind == "identifier" and text[offset] == ".":
        return Fault("Need space between identifier and decimal point.", offset)
    return _first(_NO_NUMBER, text, offset)


def _first(
    rules: tuple[tuple[re.Pattern[str], str], ...], text: str, offset: int
) -> Fault | None:
    for pattern, message in rules:
        match = pattern.match(text, offset)
        if match is not None:
            return Fault(message, match.end())
    return None
