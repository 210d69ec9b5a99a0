"""What a page writes to its console, and which of it is about us."""

from __future__ import annotations

import re

from playwright.sync_api import ConsoleMessage, Error, Page

_OURS = ("blsnb", "anywidget", "blob:", "data:")
# ipywidgets' manager raises it in any notebook that is opened without a kernel.
_NO_KERNEL = re.compile(r"reading 'kernel'.*@jupyter-widgets/jupyterlab-manager", re.S)
# JupyterLab raises them, or any debugger does, when a kernel ends early.
_ENDED_EARLY = re.compile("restore the debugger state|Canceled future for")
# JupyterLab disposes a notebook's debounced calls before their last one is made.
_DISPOSED = re.compile(r"reading 'promise'\)\s+at \w+\.invoke .*/jlab_core\.", re.S)
# Jupyter Server sends a message with its topic first to a page that is loaded again.
_TOPIC = re.compile(r"Kernel message validation error.*stream\.std\w+\W+is not valid")
# JupyterLab measures how long its extensions take, on a machine with other work.
_SLOW = re.compile(r"^warning: Plugin \S+ .* took [\d.]+ms to activate")
# Where Notebook 7's own code is: it raises errors while it starts.
_NOTEBOOK7 = "/static/notebook/"


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
        if message.type == "error" or (message.type == "warning" and _is_ours(where)):
            self._complain(f"{message.type}: {where}")

    def _raised(self, error: Error) -> None:
        where = error.stack or error.message
        theirs = (_NO_KERNEL, _DISPOSED, _TOPIC)
        if not any(each.search(where) for each in theirs):
            self._complain(f"uncaught: {where}")

    def _complain(self, words: str) -> None:
        theirs = _NOTEBOOK7 in words or _ENDED_EARLY.search(words) is not None
        if not _SLOW.match(words) and (_is_ours(words) or not theirs):
            self.complaints.append(words)


def _is_ours(where: str) -> bool:
    return any(name in where for name in _OURS)
