"""The options of a request in a form."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import Any, get_args, get_type_hints

import ipywidgets

from blsnb.request_fields import RequestOptions

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
    """Return a widget for an option of a type."""
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if bool in kinds:
        return ipywidgets.Checkbox(indent=False)
    if str in kinds:
        return ipywidgets.Text()
    if int in kinds:
        return ipywidgets.BoundedIntText(min=0, max=2**31 - 1)
    return ipywidgets.Textarea(placeholder="name=value, one per line")
