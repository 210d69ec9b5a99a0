"""The options of a request in a form: their widgets, and what is entered there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, cast, get_args, get_type_hints

import ipywidgets

from blsnb.errors import InputError
from blsnb.form.value import FieldError
from blsnb.request_fields import Parameter, RequestOptions, check_request, fields_of

_LEFT_OUT = ("client_timeout_s", "show")
"""Options that the form decides itself."""


class OptionsBox:
    """Widgets for the options of a request, folded until they are needed.

    Parameters
    ----------
    outputs
        Names of the model's outputs.
    has_sequences
        Whether the model has a sequence scheduler: then the options are unfolded.
    """

    def __init__(self, outputs: Sequence[str], has_sequences: bool) -> None:
        kinds = get_type_hints(RequestOptions)
        self._widgets = {
            name: _widget(kinds[name]) for name in kinds if name not in _LEFT_OUT
        }
        self._widgets["outputs"] = ipywidgets.SelectMultiple(
            options=list(outputs), rows=min(4, max(1, len(outputs)))
        )
        for name, widget in self._widgets.items():
            widget.description = name.replace("_", " ")
            widget.style.description_width = "8em"
        self.widget = ipywidgets.Accordion(
            [ipywidgets.VBox(list(self._widgets.values()))],
            titles=["Options of the request"],
            selected_index=0 if has_sequences else None,
        )

    def entered(self) -> dict[str, Any]:
        """Return the values by option; those of options that are not set are falsy."""
        return {name: widget.value for name, widget in self._widgets.items()}


def _widget(kind: Any) -> Any:
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if bool in kinds:
        return ipywidgets.Checkbox(indent=False)
    # 0 is a version: only an empty field can leave the choice to the server.
    if str in kinds or kinds == (int, NoneType):
        return ipywidgets.Text()
    if int in kinds:
        return ipywidgets.BoundedIntText(min=0, max=2**31 - 1)
    return ipywidgets.Textarea(placeholder="name=value, one per line")


def request_options(
    model_name: str, entered: Mapping[str, Any], outputs: Sequence[str]
) -> RequestOptions:
    """Return the options that differ from their defaults.

    Parameters
    ----------
    entered
        Values by option; the parameters, version and correlation id as text.
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
    for name in {"version", "correlation_id"} & found.keys():
        text = found[name]
        found[name] = int(text) if text.isdecimal() else text
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
