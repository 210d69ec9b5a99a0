"""Outputs of the frontend: documents of runs, progress bars, supported features."""

from __future__ import annotations

import os
import sys
from html import escape
from typing import TYPE_CHECKING, Any

from IPython.display import DisplayHandle, display

from blsnb.options import options

if TYPE_CHECKING:
    from blsnb.trace.recorder import RunRecord
    from blsnb.trace.spans import Trace


def has_no_models() -> bool:
    """Whether the page has only the models of widgets that are displayed themselves.

    Elsewhere a widget can replace a document in the page, while a notebook saved
    meanwhile keeps the document.
    """
    return "VSCODE_PID" in os.environ or "google.colab" in sys.modules


def bundle(trace: Trace, **how: Any) -> dict[str, Any]:
    """Return the document of a finished run, as `blsnb.options` specify it."""
    from blsnb.views.documents import document

    shown: dict[str, Any] = document.mimebundle(
        trace, embed_previews=options.embed_previews, **how
    )
    if options.static == "png":
        from blsnb.views.figures import figure

        shown["image/png"] = figure.png(trace)
    return shown


def collapsed(trace: Trace, **how: Any) -> dict[str, Any]:
    """Return the document of a finished run, folded to its title."""
    from blsnb.printable import printable
    from blsnb.views.summary import facts, heading

    shown = bundle(trace, **how)
    title = printable(", ".join([heading(trace), *facts(trace)]))
    shown["text/html"] = (
        f"<details><summary>{escape(title)}</summary>{shown['text/html']}</details>"
    )
    return shown


def trace_now(record: RunRecord) -> Trace:
    """Return the trace of a run so far."""
    from blsnb.run import take_trace

    return take_trace(record)


class ProgressBar:
    """A progress bar that becomes a line of text at its end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = "not begun"
        self._handle: DisplayHandle | None = None

    def __call__(self, share: float, text: str) -> None:
        """Show a share between 0 and 1, and a text."""
        self._text = text
        percent = f"{share:.0%}"
        label = f"{self._name}: {text}"
        self._show(
            f'<progress value="{share:.3f}" max="1" aria-label="{escape(label)}">'
            f"</progress> {percent} · {escape(label)}",
            f"{percent} {label}",
        )

    def end(self) -> None:
        """Replace the bar by its last text."""
        text = f"{self._name}: {self._text}"
        self._show(f"<small>{escape(text)}</small>", text)

    def _show(self, page: str, plain: str) -> None:
        shown = {"text/html": page, "text/plain": plain}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
