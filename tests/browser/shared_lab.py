"""JupyterLab in a page that tests use one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from playwright.sync_api import Page, ViewportSize

from .console import Console
from .lab import Lab
from .lab_server import LabServer

VIEWPORT: ViewportSize = {"width": 1280, "height": 900}


class SharedLab:
    """Lends the page to one test at a time, without notebooks and kernels.

    JupyterLab takes seconds of computing to load, a notebook in it a fraction.

    Parameters
    ----------
    new_page
        Opens a page.
    server
        Serves JupyterLab and the notebooks.
    """

    def __init__(
        self,
        new_page: Callable[[], AbstractContextManager[Page]],
        server: LabServer,
    ) -> None:
        self._new_page = new_page
        self._server = server
        self._opened: AbstractContextManager[Page] | None = None

    @contextmanager
    def lend(self) -> Iterator[Lab]:
        """Lend the page; close it if it cannot be cleared, and open another one."""
        if self._opened is None:
            self._opened = self._new_page()
            self._page = self._opened.__enter__()
            self._console = Console(self._page)
        self._console.complaints.clear()
        lab = Lab(self._page, self._server)
        yield lab
        try:
            lab.shut_down_kernels()
            lab.clear()
        except BaseException:
            self.close()
            raise
        assert [] == self._console.complaints, self._console.complaints

    def close(self) -> None:
        """Close the page."""
        if self._opened is not None:
            self._opened.__exit__(None, None, None)
            self._opened = None
