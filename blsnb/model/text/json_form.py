"""The JSON form of configurations, as Triton prints and parses it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from google.protobuf.descriptor import FieldDescriptor

# Triton converts every other 64-bit integer back to a JSON number
# (core: src/model_config_utils.cc, ModelConfigToJson).
_WRITTEN_AS_TEXT = frozenset(
    {
        "inference.ModelSequenceBatching.InitialState.dims",
        "inference.ModelInstanceGroup.SecondaryDevice.device_id",
        "inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim",
    }
)
_INTEGERS = {
    FieldDescriptor.TYPE_INT32: "TYPE_INT32",
    FieldDescriptor.TYPE_INT64: "TYPE_INT64",
    FieldDescriptor.TYPE_UINT32: "TYPE_UINT32",
    FieldDescriptor.TYPE_UINT64: "TYPE_UINT64",
}
_NUMBER = r"-?[0-9]+(?:\.0*)?(?:[eE]\+?[0-9]+)?"
_DIGITS = r"[+-]?[0-9]+"
# The words of C++ protobuf's `safe_strtob`.
_BOOLEANS = dict.fromkeys(("true", "t", "yes", "y", "1"), True) | dict.fromkeys(
    ("false", "f", "no", "n", "0"), False
)

_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<key>[A-Za-z_$][\w$]*)(?=\s*:)|(?P<comma>(?<![\[{,:]),(?=\s*[}\]]))""",
    re.DOTALL,
)
_PART = re.compile(
    r"""\\(?:u[0-9a-fA-F]{4}|(?P<other>.))|(?P<raw>[\x00-\x1f"])""", re.S
)
_ESCAPES = frozenset('"\\/bfnrt')


class JsonFormError(ValueError):
    """A JSON document is not a valid configuration; the text is Triton's if known."""


def to_dict(message: Any) -> dict[str, Any]:
    """Return a message as Triton's JSON: in the schema's order, with default values.

    Unset sub-messages and unset members of a oneof are omitted. Keys of maps are
    sorted; Triton's order is that of a hash table.
    """
    return {
        field.name: _field(field, getattr(message, field.name))
        for field in sorted(message.DESCRIPTOR.fields, key=_is_scalar_choice)
        if not field.has_presence or message.HasField(field.name)
    }


def read(document: str | Mapping[str, Any], message: Any) -> None:
    """Read a JSON document into an empty protobuf message."""
    # Deferred: configurations in folders are text.
    from google.protobuf import json_format

    tree = _normalised(message.DESCRIPTOR, _tree(document), "")
    try:
        json_format.ParseDict(tree, message)
    except json_format.ParseError as error:
        raise JsonFormError(str(error)) from error


def _tree(document: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(document, str):
        try:
            document = _parsed(document)
        except ValueError as error:
            raise JsonFormError(f"the text is not valid JSON: {error}") from error
    if not isinstance(document, Mapping):
        raise JsonFormError("a model configuration must be a JSON object")
    return dict(document)


def _parsed(document: str) -> Any:
    try:
        return json.loads(document)
    except ValueError:
        # The error is that of the text itself.
        with contextlib.suppress(ValueError):
            return json.loads(_strict_json(document))
        raise


def _strict_json(document: str) -> str:
    """Return a text without what protobuf's parser accepts beyond JSON.

    These are a comma after the last element, keys without quotes, single quotes, and
    in strings control characters and unknown escapes.

    References
    ----------
    protobuf: src/google/protobuf/util/internal/json_stream_parser.cc
    """
    return _TOKEN.sub(_strict, document)


def _strict(token: re.Match[str]) -> str:
    if token["comma"]:
        return ""
    if token["key"]:
        return f'"{token["key"]}"'
    return f'"{_PART.sub(_strict_part, token["text"][1:-1])}"'


def _strict_part(part: re.Match[str]) -> str:
    other = part["other"] or part["raw"]
    if other is None or (part["other"] and other in _ESCAPES):
        return part[0]
    return json.dumps(other)[1:-1]


def _field(field: Any, value: Any) -> Any:
    if _is_map(field):
        entry = field.message_type.fields_by_name["value"]
        return {str(key): _single(entry, value[key]) for key in sorted(value)}
    if _is_list(field):
        return [_single(field, element) for element in value]
    return _single(field, value)


def _single(field: Any, value: Any) -> Any:
    if field.type == field.TYPE_MESSAGE:
        return to_dict(value)
    if field.type == field.TYPE_ENUM:
        row = field.enum_type.values_by_number.get(value)
        return value if row is None else row.name
    if field.type == field.TYPE_FLOAT:
        return _single_precision(value)
    if field.type == field.TYPE_DOUBLE:
        return _shortest(value)
    return str(value) if field.full_name in _WRITTEN_AS_TEXT else value


def _shortest(value: float) -> float | int | str:
    """Return a number in the form of ProtoJSON: 1.0 as 1, infinities as text."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _single_precision(value: float) -> float | int | str:
    """Return a 32-bit number in the form of ProtoJSON, as Triton reads that again.

    It has six digits, or nine where six are another number; with a point or an exponent
    it becomes a float (protobuf: src/google/protobuf/io/strtod.cc).
    """
    if not np.isfinite(value):
        return _shortest(value)
    text = f"{value:.6g}"
    if np.float32(text) != np.float32(value):
        text = f"{value:.9g}"
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _is_scalar_choice(field: Any) -> bool:
    # C++ writes these after all other fields, since they have no default value.
    return field.containing_oneof is not None and field.message_type is None


def _is_list(field: Any) -> bool:
    # `is_repeated` exists since protobuf 6; the older `label` is deprecated there.
    return bool(field.default_value == [])


def _is_map(field: Any) -> bool:
    kind = field.message_type
    # Its option `map_entry` says the same, but to read it loads a schema of schemas.
    return kind is not None and kind.has_options and "key" in kind.fields_by_name


def _find(descriptor: Any, name: Any) -> Any:
    """Return the field with a name in ``snake_case`` or ``camelCase``."""
    if not isinstance(name, str) or not name.isascii():
        # Protobuf fails at half of a surrogate pair.
        return None
    by_name = descriptor.fields_by_name.get(name)
    return by_name or descriptor.fields_by_camelcase_name.get(name)


def _normalised(descriptor: Any, tree: Any, path: str) -> Any:
    """Return a tree with the schema's enumerators, and lists for repeated fields."""
    if not isinstance(tree, Mapping):
        return tree
    normalised = {}
    for name, value in tree.items():
        field = _find(descriptor, name)
        if field is None:
            prefix = f"({path}) " if path else ""
            raise JsonFormError(f"{prefix}{name}: Cannot find field.")
        normalised[name] = _value(field, value, f"{path}.{name}" if path else name)
    return normalised


def _value(field: Any, value: Any, path: str) -> Any:
    if value is None:
        return None
    if _is_map(field) and isinstance(value, Mapping):
        return _map(field.message_type.fields_by_name["value"], value, path)
    if _is_list(field):
        return [
            _element(field, element, f"{path}[{index}]")
            for index, element in enumerate(_elements(value))
        ]
    return _element(field, value, path)


def _elements(value: Any) -> Iterator[Any]:
    """Yield the elements that C++ reads from a value of a repeated field.

    A single value is a list of one, lists in a list are joined, nulls are skipped.
    """
    if isinstance(value, list):
        for element in value:
            yield from _elements(element)
    elif value is not None:
        yield value


def _map(entry: Any, value: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return a map; for null an empty message, and no scalar."""
    empty: Any = {} if entry.type == entry.TYPE_MESSAGE else None
    elements = {key: empty if each is None else each for key, each in value.items()}
    return {
        key: _element(entry, element, f"{path}[{index}].value")
        for index, (key, element) in enumerate(elements.items())
        if element is not None
    }


def _element(field: Any, value: Any, path: str) -> Any:
    if field.type == field.TYPE_MESSAGE:
        if not isinstance(value, Mapping):
            raise _invalid(value, path, _of(field.message_type))
        return _normalised(field.message_type, value, path)
    if field.type == field.TYPE_ENUM:
        return _enumerator(field.enum_type, value, path)
    if field.type == field.TYPE_BOOL and isinstance(value, str):
        if value.lower() not in _BOOLEANS:
            raise _invalid(value, path, "TYPE_BOOL")
        return _BOOLEANS[value.lower()]
    if field.type == field.TYPE_FLOAT and isinstance(value, bool):
        raise _invalid(value, path, "TYPE_FLOAT")
    integer = _INTEGERS.get(field.type)
    if integer is not None and not _is_integer(value):
        raise _invalid(value, path, integer)
    return value


def _is_integer(value: Any) -> bool:
    """Whether C++ reads a value as an integer; a text has digits only."""
    form = _DIGITS if isinstance(value, str) else _NUMBER
    return re.fullmatch(form, str(value)) is not None


def _enumerator(enum: Any, value: Any, path: str) -> str | int:
    """Return the name, or the number, of an enumerator."""
    if isinstance(value, str):
        name = value.upper().replace("-", "_")
        if name in enum.values_by_name:
            return name
        if _is_integer(value) and int(value) in enum.values_by_number:
            return int(value)
    elif _is_integer(value):
        return int(value)
    raise _invalid(value, path, _of(enum))


def _of(kind: Any) -> str:
    return f"type.googleapis.com/{kind.full_name}"


def _invalid(value: Any, path: str, kind: str) -> JsonFormError:
    return JsonFormError(f"({path}): invalid value {json.dumps(value)} for type {kind}")
