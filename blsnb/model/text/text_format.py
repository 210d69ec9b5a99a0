"""Parse and print the text format of configurations, as strictly as Triton.

Protobuf's Python parser reads one token per line, so that the line of its error is
the number of the token. Spellings that it reads differently than the C++ parser of
Triton are replaced before.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

from blsnb.model.text.schema import new_message
from blsnb.model.text.tokens import Token, line_and_column, scan

_SIMPLE = {
    **dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True)),
    **dict(zip(b"\\?'\"", b"\\?'\"", strict=True)),
}
_ESCAPE = (
    rb"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{1,2})"
    rb"|U(?P<long>[0-9a-fA-F]{8})|(?P<simple>[^u]))|(?P<utf16>(?:\\u[0-9a-fA-F]{4})+)"
)
# Protobuf's Python parser fails beyond a ParseError at text that UTF-8 cannot encode.
_ESCAPED = r"[\\\ud800-\udfff]"
_POSITION = r"\d+:\d+ : "
_QUOTED_LINE = r"'.*': (?=\S)"
_MINUS_ZERO = r"-0[0xX]*"
_HEXADECIMAL = r"0[xX][0-9a-fA-F]+"
_OCTAL = r"0[0-7]+"


class TextFormatError(ValueError):
    """A text is not a valid configuration.

    Attributes
    ----------
    message
        The reason, without the position.
    line, column
        Where Triton's parser reports the error, from 1.
    excerpt
        The line of the text, with a caret below the position.
    """

    def __init__(self, message: str, text: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.line, self.column = line_and_column(text, offset)
        start = text.rfind("\n", 0, offset) + 1
        line = text[start:].partition("\n")[0]
        below = "".join("\t" if c == "\t" else " " for c in text[start:offset])
        self.excerpt = f"{line}\n{below}^"

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


def parse(text: str, message: Any) -> None:
    """Read a text into an empty protobuf message.

    Raises
    ------
    TextFormatError
        Triton's parser refuses the text.
    """
    tokens, fault = scan(text)
    words = _words(tokens)
    while (found := _first_error(words, message)) is not None:
        index, reason = found
        if _replace_hexadecimal_boolean(words, index, reason):
            continue
        token = tokens[_reported_token(tokens, words, index, reason)]
        if fault is not None and token.kind == "end":
            break
        raise TextFormatError(_plain(reason), text, token.offset)
    if fault is not None:
        raise TextFormatError(fault.message, text, fault.offset)
    _refuse_unsigned_minus_zero(text, tokens, words)


def print_message(message: Any) -> str:
    """Return a message in text format, as in a ``config.pbtxt``."""
    return str(_protobuf().MessageToString(message, as_utf8=True))


@cache
def _protobuf() -> Any:
    """Return protobuf's module of the text format."""
    # Deferred: loading the extension reads no configuration.
    from google.protobuf import text_format

    return text_format


def _words(tokens: list[Token]) -> list[str]:
    """Return the tokens, spelled for protobuf's Python parser."""
    words = [_readable(token) for token in tokens]
    for index, token in enumerate(tokens[:-1]):
        follower = tokens[index + 1]
        if token.text == "-" and follower.kind not in ("string", "symbol", "end"):
            words[index : index + 2] = "", "-" + words[index + 1]
    return words


def _readable(token: Token) -> str:
    if re.fullmatch(_OCTAL, token.text):
        # The same integer or enumerator, and not a float, as in C++.
        return hex(int(token.text, 8))
    is_plain = token.text.isascii() and "\\" not in token.text
    if token.kind == "string" and not is_plain and re.search(_ESCAPED, token.text):
        escape = _protobuf().text_encoding.CEscape
        return f'"{escape(_unescape(token.text[1:-1]), False)}"'
    return token.text


def _unescape(literal: str) -> bytes:
    return re.sub(_ESCAPE, _escaped, literal.encode("utf-8", "surrogatepass"))


def _escaped(match: re.Match[bytes]) -> bytes:
    value = match.group(str(match.lastgroup))
    match match.lastgroup:
        case "octal":
            return bytes([int(value, 8) & 0xFF])
        case "hex":
            return bytes([int(value, 16)])
        case "long":
            if int(value, 16) > sys.maxunicode:
                return match.group()
            return chr(int(value, 16)).encode("utf-8", "surrogatepass")
        case "utf16":
            units = bytes.fromhex(value.replace(b"\\u", b"").decode())
            text = units.decode("utf-16-be", "surrogatepass")
            return text.encode("utf-8", "surrogatepass")
    return bytes([_SIMPLE[value[0]]])


def _first_error(words: list[str], message: Any) -> tuple[int, str] | None:
    """Parse; return the index of the token at which protobuf fails, and the reason."""
    message.Clear()
    try:
        _protobuf().Parse("\n".join(words), message)
    except _protobuf().ParseError as error:
        return error.GetLine() - 1, re.sub(_POSITION, "", str(error), count=1)
    except ValueError as error:
        return _overflowing(words, message), str(error)
    return None


def _overflowing(words: list[str], message: Any) -> int:
    """Return the index of the number that exceeds every enumeration."""
    index = 0
    while not _overflows(words[: index + 1], message):
        index += 1
    return index


def _overflows(words: list[str], message: Any) -> bool:
    message.Clear()
    try:
        _protobuf().Parse("\n".join(words), message)
    except _protobuf().ParseError:
        return False
    except ValueError:
        return True
    return False


def _replace_hexadecimal_boolean(words: list[str], index: int, reason: str) -> bool:
    """Write a hexadecimal boolean in decimal; return whether the token was one."""
    hexadecimal = re.fullmatch(_HEXADECIMAL, words[index])
    if hexadecimal is None or 'Expected "true" or "false"' not in reason:
        return False
    words[index] = str(int(words[index], 16))
    return True


def _plain(reason: str) -> str:
    """Return the reason without the line of the text that protobuf quotes."""
    return re.sub(_QUOTED_LINE, "", reason, count=1)


def _expects_name(reason: str) -> bool:
    return "Enum type " in reason or 'Expected "true" or "false"' in reason


def _reported_token(
    tokens: list[Token], words: list[str], index: int, reason: str
) -> int:
    """Return the index of the token whose position the C++ parser reports."""
    if words[index].startswith("-"):
        return _sign_or_operand(words, index)
    if reason.startswith("'"):
        consumed = tokens[index].kind == "identifier" and _expects_name(reason)
        return index + 1 if consumed else index
    # A reason without a quoted line is about the token before the current one.
    if reason.startswith("Expected"):
        return len(tokens) - 1
    if "should not have multiple" in reason:
        return _after_name(tokens, index)
    if "does not have extensions" in reason and tokens[index + 1].text == "]":
        return index + 2
    return index + 1 if tokens[index].kind == "identifier" else index


def _sign_or_operand(words: list[str], index: int) -> int:
    """Return the index of a sign that is not allowed, else of the token after it."""
    alone = words[index] == "-"
    probe = [*words[:index], "-1", *words[index + 1 :]]
    found = _first_error(probe, new_message())
    refused = found is not None and found[0] == index and found[1].startswith("'")
    return index + int(not refused) - int(not alone)


def _refuse_unsigned_minus_zero(
    text: str, tokens: list[Token], words: list[str]
) -> None:
    """Refuse -0 in an unsigned field, which Python accepts."""
    for index, word in enumerate(words):
        if re.fullmatch(_MINUS_ZERO, word):
            reported = _sign_or_operand(words, index)
            if reported != index:
                reason = f"Expected an unsigned integer, got {word}"
                raise TextFormatError(reason, text, tokens[reported].offset)


def _after_name(tokens: list[Token], index: int) -> int:
    """Return the index of the token after a field name, from the end of its value."""
    if tokens[index].text in ("{", "<"):
        return index - 1 if tokens[index - 1].text == ":" else index
    while tokens[index].text != ":":
        index -= 1
    return index
