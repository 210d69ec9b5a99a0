"""Widgets as text: what a page shows of them, compared with a reviewed file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ipywidgets

_SHOWN = (
    "description",
    "value",
    "_options_labels",
    "placeholder",
    "tooltip",
    "titles",
    "button_style",
    "icon",
    "accept",
    "min",
    "max",
    "disabled",
)
_NOTHING = "\u200b"
"""The placeholder of a widget without one."""


def widget_tree(widget: ipywidgets.Widget) -> str:
    """Return a line for each widget, below the one that contains it."""
    return "\n".join(_lines(widget, "")) + "\n"


def _lines(widget: ipywidgets.Widget, indent: str) -> Iterator[str]:
    texts = {name: getattr(widget, name, None) for name in _SHOWN}
    facts = [
        f"{name}={value!r}"
        for name, value in texts.items()
        if value and value != _NOTHING
    ]
    facts += [f"layout.{name}={value!r}" for name, value in _set(widget.layout)]
    facts += [f"class={name!r}" for name in widget._dom_classes]
    yield f"{indent}{type(widget).__name__} {' '.join(facts)}".rstrip()
    for child in getattr(widget, "children", ()):
        yield from _lines(child, f"{indent}  ")


def _set(layout: ipywidgets.Layout) -> Iterator[tuple[str, Any]]:
    for name in sorted(layout.keys):
        value = getattr(layout, name)
        if value is not None and not name.startswith("_"):
            yield name, value
