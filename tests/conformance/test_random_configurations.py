"""Random changes of configurations: the one that is loaded, or the first mistake."""

from __future__ import annotations

import random
from typing import Any

import pytest
from google.protobuf import message_factory
from model.accepted import ACCEPTED
from model.refusals import CREATE, POLL

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.text.text_format import print_message

from .loading import load
from .targets import Target

pytestmark = pytest.mark.timeout(300)  # A busy machine loads, or answers, slowly.
CONFIGURATIONS = 40
"""Number of configurations of a seed; each that is valid starts a process."""
NUMBERS = [0, 1, -1, 2, 3, 4, 7, 8, -2, 100]
TEXTS = ["", "X", "Y", "S", "IS", "OS", "a", "A b", "é", "$", "x/y", "4"]
LEFT_OUT = {
    "cc_model_filenames",
    "default_model_filename",
    "max_inflight_requests",
    "metric_tags",
    "model_metrics",
    "model_repository_agents",
    "model_warmup",
    "name",
    "runtime",
    "state",
}
"""Fields of later releases, fields with which 2.51 hangs or ends, states without type
(a deviation), paths of libraries."""


def changed(rng: random.Random) -> str:
    """Draw a configuration, and change it in one to three places."""
    message = parse_pbtxt(rng.choice(_SEEDS)).message
    for _ in range(rng.choice([1, 1, 2, 3])):
        _change(rng, message)
    message.backend = message.backend or "python"
    return print_message(message)


def _is_parsed(text: str) -> bool:
    try:
        parse_pbtxt(text)
    except ModelConfigError:
        return False
    return True


_TEXTS = sorted({*ACCEPTED.values(), *(each.pbtxt for each in (*POLL, *CREATE))})
_SEEDS = [text for text in _TEXTS if _is_parsed(text)]


def _change(rng: random.Random, message: Any) -> None:
    fields = [each for each in message.DESCRIPTOR.fields if each.name not in LEFT_OUT]
    if not fields:
        return
    present = [each for each, _ in message.ListFields() if each.name not in LEFT_OUT]
    field = rng.choice(present if present and rng.random() < 0.6 else fields)
    if field.is_repeated:
        _change_repeated(rng, field, getattr(message, field.name))
    elif rng.random() < 0.2:
        message.ClearField(field.name)
    elif field.message_type is not None:
        part = getattr(message, field.name)
        part.SetInParent()
        _change(rng, part)
    else:
        setattr(message, field.name, _value(rng, field))


def _change_repeated(rng: random.Random, field: Any, values: Any) -> None:
    part = field.message_type
    if part is not None and part.GetOptions().map_entry:
        _change_map(rng, part, values)
    elif len(values) and rng.random() < 0.2:
        del values[rng.randrange(len(values))]
    elif part is None:
        values.append(_value(rng, field))
    elif len(values) and rng.random() < 0.6:
        _change(rng, rng.choice(values))
    else:
        new = message_factory.GetMessageClass(part)()
        values.append(rng.choice([new, *values]))


def _change_map(rng: random.Random, entry: Any, values: Any) -> None:
    # Of several entries Triton prints any one first.
    values.clear()
    key = _value(rng, entry.fields_by_name["key"])
    field = entry.fields_by_name["value"]
    if field.message_type is None:
        values[key] = _value(rng, field)
    else:
        _change(rng, values[key])


def _value(rng: random.Random, field: Any) -> Any:
    if field.enum_type is not None:
        return rng.choice([value.number for value in field.enum_type.values])
    if field.cpp_type == field.CPPTYPE_STRING:
        return b"x" if field.type == field.TYPE_BYTES else rng.choice(TEXTS)
    if field.cpp_type == field.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice([0.0, 0.5, 1.0, -1.0, 1e9])
    is_unsigned = field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64)
    return abs(rng.choice(NUMBERS)) if is_unsigned else rng.choice(NUMBERS)


def loads(target: Target, seed: int) -> list[Any]:
    """Load the configurations of a seed."""
    rng = random.Random(seed)
    texts = [changed(rng) for _ in range(CONFIGURATIONS)]
    return [load(target, f"m{number}", text) for number, text in enumerate(texts)]


@pytest.mark.parametrize("seed", range(4))
def test_random_configurations(agree, beside, seed):
    """Each is loaded as on Triton, or refused with its text."""
    agree(lambda target: loads(beside(target), seed))
