"""A widget in the place of a static text, as long as there is a kernel."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from ipywidgets import widget_serialization

from blsnb.views.live.connection import welcome
from blsnb.views.live.queries import VERSION

_SCRIPT = """<script>{
  const before = document.currentScript.previousElementSibling;
  const host = before.matches("script") ? before.previousElementSibling : before;
  const mount = () => {
    const found = globalThis[Symbol.for("blsnb-KIND")]?.get("ID");
    found?.(host);
    if (found) removeEventListener("blsnb-KIND-registered", mount);
    return Boolean(found);
  };
  if (!mount()) addEventListener("blsnb-KIND-registered", mount);
}</script>"""
_REVEAL = """<script>
  document.currentScript?.parentElement.scrollIntoView({ block: "nearest" });
</script>"""

CODE = Path(__file__).parent.parent / "static" / "placed.js"


class PlacedWidget(anywidget.AnyWidget):
    """Puts a widget into the place of a text, which the saved notebook keeps.

    Parameters
    ----------
    content
        The widget.
    inserted
        Called with the result of `insert`: ``"inserted"``, ``"copied"`` or
        ``"failed"``.
    """

    _esm = CODE

    content = traitlets.Any(help="the widget").tag(sync=True, **widget_serialization)
    placed_id = traitlets.Unicode(help="id in a page", read_only=True).tag(sync=True)

    def __init__(self, content: Any, inserted: Callable[[str], None]) -> None:
        self._inserted = inserted
        super().__init__(content=content)
        self.on_msg(self._on_message)

    @traitlets.default("placed_id")
    def _new_id(self) -> str:
        return uuid.uuid4().hex

    def document(self, page: str) -> str:
        """Return HTML that the widget replaces in a page with a kernel.

        Parameters
        ----------
        page
            The text for every other reader, as HTML.
        """
        return placed(page, "placed", self.placed_id)

    def insert(self, code: str) -> None:
        """Insert a cell below the widget; a page that cannot do so copies the code."""
        self.send({"type": "insert", "code": code})

    def _on_message(self, _: Any, content: Any, buffers: list[Any]) -> None:
        match content:
            case {"type": "hello", "v": v} if v == VERSION:
                self.send(welcome())
            case {"type": "insert", "result": str() as result}:
                self._inserted(result)


def placed_bundle(widget: Any, still: dict[str, str]) -> dict[str, str]:
    """Return the display of a widget for pages, of which a saved notebook keeps a part.

    Parameters
    ----------
    still
        That part: the display for readers without a kernel.
    """
    document = PlacedWidget(widget, lambda _: None).document(still["text/html"])
    return {**still, "text/html": document}


def opened(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document as an output that a page scrolls to unless it is visible."""
    shown = dict(document)
    if "text/html" in shown:
        shown["text/html"] += _REVEAL
    return {"output_type": "display_data", "data": shown, "metadata": {}}


def placed(page: str, kind: str, widget_id: str) -> str:
    """Return HTML whose content a widget replaces when the page has received it.

    The page may receive the widget later than the output. VS Code runs a copy of the
    script, which follows the inert original.

    Parameters
    ----------
    page
        The content as HTML.
    kind, widget_id
        Names under which the page's code registers the widget.
    """
    script = _SCRIPT.replace("KIND", kind).replace("ID", widget_id)
    return f"<div>{page}</div>{script}"
