"""The options of a request as they are entered in a form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from blsnb.errors import InputError
from blsnb.form.value import FieldError
from blsnb.request_fields import (
    Parameter,
    RequestOptions,
    check_request,
    fields_of,
)


def request_options(
    model_name: str, entered: Mapping[str, Any], outputs: Sequence[str]
) -> RequestOptions:
    """Return the options that differ from their defaults.

    Parameters
    ----------
    entered
        Values by option; the parameters as text, the correlation id as text.
    outputs
        All outputs of the model; requesting all is the default.

    Raises
    ------
    FieldError
        An option is invalid.
    """
    found = {name: value for name, value in entered.items() if value}
    if "parameters" in found:
        found["parameters"] = parse_parameters(found["parameters"])
    if "correlation_id" in found:
        text = found["correlation_id"]
        found["correlation_id"] = int(text) if text.isdecimal() else text
    requested = found.pop("outputs", ())
    if requested and list(requested) != list(outputs):
        found["outputs"] = list(requested)
    options = cast("RequestOptions", found)
    try:
        check_request(model_name, {}, options)
        fields_of(options)
    except InputError as error:
        raise FieldError(str(error)) from error
    return options


def parse_parameters(text: str) -> dict[str, Parameter]:
    """Return the parameters of lines such as ``temperature=0.5``.

    Numbers, ``true`` and ``false`` have their types; everything else is text, which
    may be quoted.

    Raises
    ------
    FieldError
        A line has no name, or no ``=``.
    """
    found: dict[str, Parameter] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise FieldError(f"{line[:40]!r} is not a parameter such as name=value")
        found[name.strip()] = _parameter(value.strip())
    return found


def _parameter(text: str) -> Parameter:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | str) else text
