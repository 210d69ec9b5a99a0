"""JSON text of values, in the form of Triton's writer."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import Any

_EXPONENT = r"(\d)(?:\.(\d+))?e([+-]\d+)"
_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_MAX_DIGITS = 21
"""Maximum digits before the point of a number without an exponent."""
_MIN_POINT = -6
"""Minimum position of the point of such a number, relative to its first digit."""
_dumped = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ESCAPES = r"\\(?:u00[0-9a-f]{2}|.)"


def bytes_of(value: Any) -> bytes:
    """Return a value's text as UTF-8, with undecodable bytes restored."""
    return text_of(value).encode("utf-8", "surrogateescape")


def text_of(value: Any) -> str:
    """Return a value's text, without spaces.

    Parameters
    ----------
    value
        None, a bool, int, float or str, or a list or dict of these.

    References
    ----------
    common: include/triton/common/triton_json.h, Write
    """
    kind = type(value)
    if kind is str:
        return _strings(encode_basestring(value))
    if kind is float:
        return _floats([value])
    if kind is list:
        return _list(value)
    if isinstance(value, dict):
        members = [f"{text_of(name)}:{text_of(each)}" for name, each in value.items()]
        return f"{{{','.join(members)}}}"
    return _dumped(value)


def _list(values: list[Any]) -> str:
    kinds = set(map(type, values))
    if kinds == {float}:
        return f"[{_floats(values)}]"
    if kinds & {dict, list, float}:
        return f"[{','.join(map(text_of, values))}]"
    return _strings(_dumped(values))


def _strings(text: str) -> str:
    """Return JSON text with the hexadecimal digits of escapes in upper case."""
    if "\\u00" not in text:
        return text
    return re.sub(_ESCAPES, _escape, text)


def _escape(found: re.Match[str]) -> str:
    escape = found[0]
    return f"\\u{escape[2:].upper()}" if escape[1] == "u" else escape


def _floats(values: list[float]) -> str:
    """Return numbers in Triton's form, separated by commas."""
    texts = list(map(float.__repr__, values))
    text = ",".join(texts)
    if "e" not in text and "n" not in text:
        return text
    return ",".join(
        [_NAMES.get(each) or re.sub(_EXPONENT, _number, each) for each in texts]
    )


def _number(found: re.Match[str]) -> str:
    first, others, exponent = found[1], found[2] or "", int(found[3])
    digits, point = first + others, exponent + 1
    if len(digits) <= point <= _MAX_DIGITS:
        return f"{digits}{'0' * (point - len(digits))}.0"
    if _MIN_POINT < point <= 0:
        return f"0.{'0' * -point}{digits}"
    return f"{first}{'.' * bool(others)}{others}e{exponent}"
