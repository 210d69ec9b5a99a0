"""Random changes of messages, one place at a time."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from typing import Any

from google.protobuf import message_factory


class Changes:
    """Draws changes of messages.

    Parameters
    ----------
    numbers, texts
        Values of changed fields.
    left_out
        Names of fields that never change.
    """

    def __init__(
        self,
        rng: random.Random,
        numbers: Sequence[int],
        texts: Sequence[str],
        left_out: Collection[str] = (),
    ) -> None:
        self._rng = rng
        self._numbers = numbers
        self._texts = texts
        self._left_out = left_out

    def change(self, message: Any) -> None:
        """Change a message in one place."""
        rng = self._rng
        fields = self._kept(message.DESCRIPTOR.fields)
        if not fields:
            return
        present = self._kept([each for each, _ in message.ListFields()])
        field = rng.choice(present if present and rng.random() < 0.6 else fields)
        if field.is_repeated:
            self._change_repeated(field, getattr(message, field.name))
        elif rng.random() < 0.2:
            message.ClearField(field.name)
        elif field.message_type is not None:
            part = getattr(message, field.name)
            part.SetInParent()
            self.change(part)
        else:
            setattr(message, field.name, self._value(field))

    def _kept(self, fields: Any) -> list[Any]:
        return [each for each in fields if each.name not in self._left_out]

    def _change_repeated(self, field: Any, values: Any) -> None:
        rng, part = self._rng, field.message_type
        if part is not None and part.GetOptions().map_entry:
            self._change_map(part, values)
        elif len(values) and rng.random() < 0.2:
            del values[rng.randrange(len(values))]
        elif part is None:
            values.append(self._value(field))
        elif len(values) and rng.random() < 0.6:
            self.change(rng.choice(values))
        else:
            new = message_factory.GetMessageClass(part)()
            values.append(rng.choice([new, *values]))

    def _change_map(self, entry: Any, values: Any) -> None:
        # Of several entries Triton visits any one first.
        values.clear()
        key = self._value(entry.fields_by_name["key"])
        field = entry.fields_by_name["value"]
        if field.message_type is None:
            values[key] = self._value(field)
        else:
            self.change(values[key])

    def _value(self, field: Any) -> Any:
        rng = self._rng
        if field.enum_type is not None:
            return rng.choice([value.number for value in field.enum_type.values])
        if field.cpp_type == field.CPPTYPE_STRING:
            return b"x" if field.type == field.TYPE_BYTES else rng.choice(self._texts)
        if field.cpp_type == field.CPPTYPE_BOOL:
            return rng.random() < 0.5
        if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
            return rng.choice([0.0, 0.5, 1.0, -1.0, 1e9])
        is_unsigned = field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64)
        number = rng.choice(self._numbers)
        return abs(number) if is_unsigned else number
