"""Hints for the probable fix of an invalid ``config.pbtxt``."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from blsnb.model.text.schema import schema
from blsnb.tensors.dtypes import BY_DATA_TYPE, DTYPES

_OTHER_NAMES = {"FLOAT": "TYPE_FP32", "DOUBLE": "TYPE_FP64", "HALF": "TYPE_FP16"} | {
    name: "TYPE_STRING" for name in ("BYTES", "STR", "TEXT")
}
"""Type names of other libraries, besides those of NumPy."""
_ROOT = "inference.ModelConfig"
_PLACEHOLDER = re.compile(r"\$\{\w+\}")


def hint(reason: str) -> str:
    """Return a hint for an error of protobuf's text format; empty without one."""
    for pattern, answer in _HINTS:
        if found := pattern.search(reason):
            return answer(found)
    return ""


def placeholders(source: str) -> str:
    """Return a hint for a template that was never filled; empty without a placeholder.

    Repositories with such templates have a script that fills them.
    """
    names = list(dict.fromkeys(_PLACEHOLDER.findall(source)))
    if not names:
        return ""
    return (
        f"The file is a template: replace {', '.join(names[:5])} by values first, for "
        "example with fill_template.py of NVIDIA's tensorrtllm_backend, or envsubst."
    )


def _enumeration(found: re.Match[str]) -> str:
    written = found["value"].strip("\"'")
    if found["type"] == "inference.DataType":
        meant = data_type_meant(written)
        known = " ".join(BY_DATA_TYPE)
    else:
        descriptor = schema().DESCRIPTOR.pool.FindEnumTypeByName(found["type"])
        values = [str(value.name) for value in descriptor.values]
        meant = _nearest(written, values)
        known = " ".join(values)
    if written != found["value"] and meant == written:
        return f"Write {meant} without quotes."
    start = f"Did you mean {meant}? " if meant else ""
    return f"{start}Known values: {known}."


def data_type_meant(written: str) -> str:
    """Return the type for a name of NumPy or another library; empty if unknown."""
    bare = written.upper().removeprefix("TYPE_").removeprefix("NP.")
    if f"TYPE_{bare}" in BY_DATA_TYPE:
        return f"TYPE_{bare}"
    if bare in _OTHER_NAMES:
        return _OTHER_NAMES[bare]
    try:
        # Deprecated aliases, such as "a", are not type names that anybody means.
        with warnings.catch_warnings(action="error"):
            dtype = np.dtype(bare.lower())
    except (TypeError, ValueError, SyntaxError, Warning):
        # NumPy parses a text with a comma as a list of fields.
        return ""
    rows = (row.data_type for row in DTYPES if row.dtype == dtype)
    return next(rows, "")


def _nearest(written: str, known: Iterable[str]) -> str:
    """Return the most similar name, also compared without its prefix."""
    by_end = {name.rpartition("_")[2]: name for name in known}
    if written.upper() in by_end:
        return by_end[written.upper()]
    found = difflib.get_close_matches(written, list(known), n=1)
    return found[0] if found else ""


def _field(found: re.Match[str]) -> str:
    message, written = found["type"], found["field"]
    if message.endswith("Entry"):
        return 'Write parameters { key: "NAME" value { string_value: "VALUE" } }.'
    if written.isdecimal():
        return "Write a list in brackets: dims: [ 1, 2 ]."
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", written).lower()
    fields = [field.name for field in _message(message).fields]
    near = difflib.get_close_matches(snake, fields, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    owners = [
        f"{each.name} {{ }}"
        for each in _message(_ROOT).fields
        if each.message_type and written in each.message_type.fields_by_name
    ]
    return f"{written} is a field of {' and '.join(owners)}." if owners else ""


def _message(name: str) -> Any:
    return schema().DESCRIPTOR.pool.FindMessageTypeByName(name)


def _always(text: str) -> Callable[[re.Match[str]], str]:
    return lambda found: text


_HINTS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r'Enum type "(?P<type>[^"]+)" has no value named (?P<value>.+)\.'),
        _enumeration,
    ),
    (
        re.compile(
            r'Message type "(?P<type>[^"]+)" has no field named "(?P<field>[^"]+)"'
        ),
        _field,
    ),
    (re.compile(r"got /"), _always("Begin a comment with #.")),
    (
        re.compile(r"^Expected identifier or number, got \{"),
        _always("This looks like JSON; write fields such as name: value instead."),
    ),
    (
        re.compile(r'^Expected "\{"'),
        _always(
            "Expected a message: name { … }. A list of messages has no comma after "
            "the last one."
        ),
    ),
    (re.compile(r"^Expected string"), _always("Write the text in quotes.")),
    (re.compile(r'should not have multiple "'), _always("Write it once.")),
    (re.compile(r'^Expected "true" or "false"'), _always("Write true or false.")),
)
