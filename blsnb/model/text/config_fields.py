"""The fields of ``config.pbtxt`` at a place of its text, and what each means."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from blsnb.model.text.schema import schema
from blsnb.repetitions import POSSESSIVE

_PACKAGE = "inference."
_TEXT = rf""""(?:[^"\\\n]++|\\.)*{POSSESSIVE}"?|'(?:[^'\\\n]++|\\.)*{POSSESSIVE}'?"""
_TOKEN = re.compile(_TEXT + r"|#[^\n]*|[\w.+-]+|[{}<>\[\]:,;]")
_CLOSED = re.compile(
    rf""""(?:[^"\\]++|\\.)*{POSSESSIVE}"|'(?:[^'\\]++|\\.)*{POSSESSIVE}'"""
)
_BOOLS = ("true", "false")


class FieldPlace(NamedTuple):
    """A place in a configuration's text.

    Parameters
    ----------
    message
        Descriptor of the message around it.
    field
        Descriptor of the field whose value is begun; None where a field begins.
    """

    message: Any
    field: Any | None


@cache
def meanings() -> dict[str, str]:
    """Return what each field (``"ModelInput.dims"``) and each enumerator means."""
    text = resources.files(__package__).joinpath("config_fields.txt")
    lines = text.read_text("utf-8").splitlines()
    return {
        name: meaning for name, _, meaning in (line.partition("|") for line in lines)
    }


def field_key(field: Any) -> str:
    """Return the name of a field in `meanings`."""
    return str(field.full_name).removeprefix(_PACKAGE)


def place_at_end(text: str) -> FieldPlace | None:
    """Return where a text ends; None in a string, a comment or an unknown message."""
    place = _Scan()
    last = ""
    for match in _TOKEN.finditer(text):
        last = match.group() if match.end() == len(text) else ""
        place.take(match.group())
    is_text = last.startswith(("#", '"', "'")) and not _CLOSED.fullmatch(last)
    message = place.message
    return None if is_text or message is None else FieldPlace(message, place.field)


class _Scan:
    """Follows the tokens of a configuration."""

    def __init__(self) -> None:
        self.message: Any | None = schema().ModelConfig.DESCRIPTOR
        self.field: Any | None = None
        self._is_unknown = False
        self._in_list = False
        self._around: list[tuple[Any, Any, bool]] = []

    def take(self, token: str) -> None:
        if token in "{<":
            self._around.append((self.message, self.field, self._in_list))
            self.message = None if self.field is None else self.field.message_type
            self._set(None)
            self._in_list = False
        elif token in "}>":
            if self._around:
                self.message, field, self._in_list = self._around.pop()
                self._set(field if self._in_list else None)
        elif token in "[]":
            self._in_list = token == "["
            if token == "]":
                self._set(None)
        elif token[0] not in "#:,;":
            self._take_word(token)

    def _take_word(self, word: str) -> None:
        if self.field is None and not self._is_unknown:
            known = {} if self.message is None else self.message.fields_by_name
            # A string continues the one before it.
            self._set(known.get(word), word not in known and word[0] not in "\"'")
        elif not self._in_list:
            self._set(None)

    def _set(self, field: Any | None, is_unknown: bool = False) -> None:
        self.field, self._is_unknown = field, is_unknown


def candidates(place: FieldPlace) -> dict[str, str]:
    """Return what may be at a place, and what each means."""
    known = meanings()
    if place.field is None:
        fields = place.message.fields
        return {field.name: known.get(field_key(field), "") for field in fields}
    if place.field.enum_type is not None:
        names = [value.name for value in place.field.enum_type.values]
        return {name: known.get(name, "") for name in names}
    is_bool = place.field.type == place.field.TYPE_BOOL
    return dict.fromkeys(_BOOLS, "") if is_bool else {}
