"""What a page writes to its console, and which of it is about us."""

from __future__ import annotations

import re

from playwright.sync_api import ConsoleMessage, Error, Page

_OURS = ("blsnb", "anywidget", "blob:", "data:")
# ipywidgets' manager raises it in any notebook that is opened without a kernel.
_NO_KERNEL = re.compile(r"reading 'kernel'.*@jupyter-widgets/jupyterlab-manager", re.S)
# Notebook 7's settings do while it starts, any debugger when a kernel ends early.
_JUPYTER = re.compile(
    r"(reading 'schema'|restore the debugger state).*/static/(notebook|lab)/\w+_core",
    re.S,
)


class Console:
    """Collects every error, and the warnings that name our code.

    Parameters
    ----------
    page
        The page to listen to, before anything is opened in it.
    """

    def __init__(self, page: Page) -> None:
        self.complaints: list[str] = []
        page.on("console", self._wrote)
        page.on("pageerror", self._raised)

    def _wrote(self, message: ConsoleMessage) -> None:
        where = f"{message.text} ({message.location.get('url', '')})"
        ours = any(name in where for name in _OURS)
        if _JUPYTER.search(where):
            return
        if message.type == "error" or (message.type == "warning" and ours):
            self.complaints.append(f"{message.type}: {where}")

    def _raised(self, error: Error) -> None:
        where = error.stack or error.message
        if not (_NO_KERNEL.search(where) or _JUPYTER.search(where)):
            self.complaints.append(f"uncaught: {where}")
