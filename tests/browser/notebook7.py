"""Notebook 7 as its user meets it: the same notebook, alone in a page."""

from __future__ import annotations

from .lab import IDLE, Lab


class Notebook7(Lab):
    """One notebook open in Notebook 7, which has JupyterLab's commands."""

    def open(self, name: str) -> None:
        """Open a notebook and wait for its kernel."""
        self.page.goto(self.server.notebook_address(name))
        self.wait_for(IDLE)

    def open_without_kernel(self, name: str) -> None:
        """Open a notebook whose kernel is gone; its new one knows nothing."""
        self.open(name)
