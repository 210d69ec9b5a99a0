"""Numbers and text that are typed into a form."""

from __future__ import annotations

import ast
import json
import math
from typing import Any

import numpy as np

from blsnb.form.inputs import InputSpec
from blsnb.form.value import FieldError, Value

_MAX_TEXT = 1_000_000
"""Maximum number of characters of a typed value."""


def typed_value(text: str, spec: InputSpec) -> Value:
    """Return the value that a text stands for.

    A text for a BYTES input is one string, unless it is a list. A value without the
    batch axis gets one of length 1.

    Raises
    ------
    FieldError
        The text is empty, too long, or neither a number nor a list.
    """
    if len(text) > _MAX_TEXT:
        raise FieldError(
            f"the text has {len(text):,} characters, maximum {_MAX_TEXT:,}; "
            "upload a file or use a variable"
        )
    value = _strings(text) if spec.datatype == "BYTES" else _numbers(text)
    if isinstance(value, list) and spec.is_batched and _rank(value) == len(spec.dims):
        value = [value]
    imports = ("import numpy as np",) if _has_special(value) else ()
    return Value(value, _code(value), imports=imports)


def default_text(spec: InputSpec) -> str:
    """Return the text that a new form has: zeros, or nothing for text."""
    if spec.datatype == "BYTES":
        return ""
    zero: Any = 0.0
    if spec.datatype == "BOOL":
        zero = False
    elif not spec.datatype.startswith(("FP", "BF")):
        zero = 0
    filled = np.full([max(1, size) for size in spec.dims], zero).tolist()
    return json.dumps(filled)


def _strings(text: str) -> Any:
    return _literal(text) if text.lstrip().startswith("[") else text


def _numbers(text: str) -> Any:
    if not text.strip():
        raise FieldError("enter a number, or a list such as [1, 2, 3]")
    value = _literal(text)
    return list(value) if isinstance(value, tuple) else value


def _literal(text: str) -> Any:
    """Return the value of a text in JSON or Python; nothing is executed."""
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(value, bool | int | float | list | tuple):
            return value
    raise FieldError(
        f"{text.strip()[:40]!r} is not a number or a list such as [1, 2, 3]"
    )


def _rank(value: Any) -> int:
    """Return the number of nested lists at the beginning of a value."""
    rank = 0
    while isinstance(value, list):
        rank += 1
        if not value:
            break
        value = value[0]
    return rank


def _has_special(value: Any) -> bool:
    if isinstance(value, list):
        return any([_has_special(each) for each in value])
    return isinstance(value, float) and not math.isfinite(value)


def _code(value: Any) -> str:
    """Return the Python expression of a number, a text, or nested lists of them."""
    if isinstance(value, list):
        return f"[{', '.join([_code(each) for each in value])}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else f"{'-' * (value < 0)}np.inf"
    return repr(value)
