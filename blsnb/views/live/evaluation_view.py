"""An evaluation whose rows open the views of their runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import ipywidgets

from blsnb.views.evaluations.page import EvaluationPage, aligned, html, short, text
from blsnb.views.live.placed_widget import opened, placed_bundle

MAX_ROWS = 20
"""Maximum number of rows of a list that are shown at once."""
_STYLE = """<style>
.blsnb-evaluation-rows button.jupyter-button {
  text-align: left; font-family: var(--jp-code-font-family, monospace);
  white-space: pre; background: transparent; width: 100%; margin: 0;
}
.blsnb-evaluation-head pre {
  margin: 0; padding: 0 8px; font-family: var(--jp-code-font-family, monospace);
  font-size: var(--jp-widgets-font-size, 13px);
}
</style>"""


class EvaluationView(ipywidgets.VBox):
    """The page of an evaluation, and a list of rows; a click opens the run of one.

    Parameters
    ----------
    page
        What is shown.
    open_run
        Returns the document of a row's run.
    """

    def __init__(
        self, page: EvaluationPage, open_run: Callable[[int], dict[str, Any]]
    ) -> None:
        self._page = page
        self._open_run = open_run
        titles = [(short(each.title), number) for number, each in enumerate(page.lists)]
        self._choice = ipywidgets.Dropdown(options=titles, description="Rows")
        self._choice.layout.width = "40em"
        self._choice.observe(self._show, "value")
        self._head = ipywidgets.HTML()
        self._head.add_class("blsnb-evaluation-head")
        self._buttons = [self._button(number) for number in range(MAX_ROWS)]
        rows = ipywidgets.VBox(self._buttons)
        rows.add_class("blsnb-evaluation-rows")
        self._output = ipywidgets.Output()
        shown = ipywidgets.HTML(f"{_STYLE}{html(page, lists=False)}")
        chosen = [self._choice, self._head, rows, self._output] if titles else []
        super().__init__([shown, *chosen])
        self._show()

    def _button(self, number: int) -> ipywidgets.Button:
        button = ipywidgets.Button(layout={"width": "100%", "display": "none"})
        button.on_click(partial(self._open, number))
        return button

    def placed(self) -> dict[str, str]:
        """Return the tables of the page with a script that puts the view there."""
        return placed_bundle(self, self._still())

    def _still(self) -> dict[str, str]:
        return {"text/html": html(self._page), "text/plain": text(self._page)}

    def _show(self, _: object = None) -> None:
        if not self._page.lists:
            return
        head, lines = aligned(self._page.lists[self._choice.value])
        self._head.value = f"<pre>{escape(head)}</pre>"
        for number, button in enumerate(self._buttons):
            is_shown = number < len(lines)
            button.description = lines[number] if is_shown else ""
            button.layout.display = "" if is_shown else "none"

    def _open(self, number: int, _: object) -> None:
        row = self._page.lists[self._choice.value].runs[number]
        parts = {"text/plain": f"row {row}"}, self._open_run(row)
        self._output.outputs = tuple(map(opened, parts))
