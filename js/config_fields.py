"""Write the fields of ``config.pbtxt`` for the editor of the panel: ``make js``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from blsnb.model.text.config_fields import field_key, meanings
from blsnb.model.text.schema import schema

FILE = Path(__file__).parent / "src" / "panel" / "editor" / "configfields.json"


def table() -> dict[str, dict[str, Any]]:
    """Return fields with their type and meaning by message, and enumerators by enum."""
    messages: dict[str, Any] = {}
    enums: dict[str, Any] = {}
    open_ = [schema().ModelConfig.DESCRIPTOR]
    while open_:
        message = open_.pop()
        if _name(message) in messages:
            continue
        fields = message.fields
        messages[_name(message)] = {field.name: _entry(field) for field in fields}
        for field in fields:
            if field.message_type is not None:
                open_.append(field.message_type)
            elif field.enum_type is not None:
                values = field.enum_type.values
                known = {value.name: meanings()[value.name] for value in values}
                enums[_name(field.enum_type)] = known
    return {"messages": messages, "enums": enums}


def _entry(field: Any) -> list[str]:
    """Return the type's name, empty for numbers and texts, and the meaning."""
    type_ = field.message_type or field.enum_type
    is_bool = field.type == field.TYPE_BOOL
    name = _name(type_) if type_ is not None else "bool" if is_bool else ""
    return [name, meanings().get(field_key(field), "")]


def _name(descriptor: Any) -> str:
    return str(descriptor.full_name).removeprefix("inference.")


def text() -> str:
    """Return the file's text."""
    return json.dumps(table(), indent=1, sort_keys=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
