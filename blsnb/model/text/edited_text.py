"""Edit the text of a configuration in place: comments and formatting stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import indent
from typing import Any, NamedTuple

from blsnb.model.text.schema import new_message
from blsnb.model.text.text_fields import TextField, fields_of
from blsnb.model.text.text_format import TextFormatError, parse, print_message

_STEP = "  "
"""Indentation of a field in a message that had none."""


def edited(text: str, wanted: Any) -> str:
    """Return a text with the content of a message, changed as little as possible.

    Parameters
    ----------
    text
        A valid text.
    wanted
        The protobuf message that the returned text contains.
    """
    before = new_message()
    parse(text, before)
    if before == wanted:
        return text
    if not text.strip():
        return print_message(wanted)
    new = _applied(text, _changes(text, fields_of(text), before, wanted))
    return new if _contains(new, wanted) else print_message(wanted)


def _contains(text: str, wanted: Any) -> bool:
    found = new_message()
    try:
        parse(text, found)
    except TextFormatError:
        return False
    return bool(found == wanted)


class _Change(NamedTuple):
    """A part of the text, and what replaces it."""

    start: int
    end: int
    new: str


def _start(change: _Change) -> int:
    return change.start


def _applied(text: str, changes: Iterator[_Change]) -> str:
    # From the end to the begin: additions at one place keep their order.
    latest_first = sorted(reversed(list(changes)), key=_start, reverse=True)
    for change in latest_first:
        text = text[: change.start] + change.new + text[change.end :]
    return text


def _changes(
    text: str, place: TextField, before: Any, wanted: Any
) -> Iterator[_Change]:
    for descriptor in wanted.DESCRIPTOR.fields:
        here = [each for each in place.fields or () if each.name == descriptor.name]
        old, new = _items(before, descriptor), _items(wanted, descriptor)
        if old != new:
            yield from _changed(text, place, here, old, new, wanted, descriptor.name)


def _changed(
    text: str,
    place: TextField,
    here: list[TextField],
    old: list[Any],
    new: list[Any],
    wanted: Any,
    name: str,
) -> Iterator[_Change]:
    if not old and len(here) == 1 and here[0].fields is None:
        # A zero is written, and equal to no value.
        old = [0]
    if len(here) != len(old) or not all(map(_is_plain, (*old, *new))):
        return
    for found, was, item in zip(here, old, new, strict=False):
        if found.fields is not None:
            yield from _changes(text, found, was, item)
        elif was != item:
            words = _printed(wanted, name, item).partition(":")[2].strip()
            yield _Change(found.value, found.end, words)
    if new:
        for extra in here[len(new) :]:
            yield from _removal(text, extra)
    else:
        for start, end in {each.list_span or (each.start, each.end) for each in here}:
            yield _without_line(text, start, end)
    for item in new[len(old) :]:
        yield _addition(text, place, _printed(wanted, name, item))


def _is_plain(item: Any) -> bool:
    """Whether a value is not that of a map, which is not followed."""
    return not isinstance(item, tuple)


def _items(message: Any, descriptor: Any) -> list[Any]:
    """Return the values of a field; an empty list if it is not set."""
    if descriptor in (found := dict(message.ListFields())):
        value = found[descriptor]
        if isinstance(value, Mapping):
            return list(value.items())
        is_single = isinstance(value, str | bytes) or not hasattr(value, "__len__")
        return [value] if is_single else list(value)
    return []


def _printed(wanted: Any, name: str, item: Any) -> str:
    """Return a field with one value as text."""
    alone = type(wanted)()
    present = getattr(alone, name)
    if hasattr(present, "append"):
        present.append(item)
    elif hasattr(item, "DESCRIPTOR"):
        present.CopyFrom(item)
        present.SetInParent()
    else:
        setattr(alone, name, item)
    return print_message(alone)


def _removal(text: str, field: TextField) -> Iterator[_Change]:
    """Yield the removal of a field, or of an item with the comma before it."""
    yield _without_line(text, field.start, field.end)
    if field.comma >= 0:
        yield _Change(field.comma, field.comma + 1, "")


def _without_line(text: str, start: int, end: int) -> _Change:
    """Return the removal of a part, and of its lines if nothing else is on them."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    is_alone = last >= 0 and not text[first:start].strip()
    if is_alone and not text[end:last].strip(" \t\r;"):
        return _Change(first, last + 1, "")
    return _Change(start, end, "")


def _addition(text: str, place: TextField, printed: str) -> _Change:
    """Return the insertion of a field at the end of a message."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not place.name:
        gap = newline if text and not text.endswith("\n") else ""
        return _Change(len(text), len(text), gap + printed.replace("\n", newline))
    brace = place.end - 1
    last = place.fields[-1].end if place.fields else place.value + 1
    end = text.find("\n", last, brace)
    if end < 0:
        blank = "" if text[brace - 1].isspace() else " "
        return _Change(brace, brace, f"{blank}{' '.join(printed.split())} ")
    offset = place.fields[-1].start if place.fields else place.start
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    margin = line[: len(line) - len(line.lstrip())]
    margin += "" if place.fields else _STEP
    return _Change(end + 1, end + 1, indent(printed, margin).replace("\n", newline))
