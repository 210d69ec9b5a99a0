"""JupyterLab in pages that tests use one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from playwright.sync_api import Page, ViewportSize

from .console import Console
from .lab import Lab, clear
from .lab_server import LabServer

VIEWPORT: ViewportSize = {"width": 1280, "height": 900}


class SharedLab:
    """Lends pages to one test at a time, without notebooks and kernels.

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
        self._opened: dict[str, AbstractContextManager[Page]] = {}
        self._pages: dict[str, Page] = {}
        self._consoles: list[Console] = []

    @contextmanager
    def lend(self) -> Iterator[Lab]:
        """Lend the page, and another one for readers without a kernel.

        Pages that cannot be cleared are closed.
        """
        page = self._page("with kernels")
        for each in self._consoles:
            each.complaints.clear()
        lab = Lab(page, self._server, lambda: self._page("without kernels"))
        yield lab
        try:
            lab.shut_down_kernels()
            for opened in self._pages.values():
                clear(opened)
        except BaseException:
            self.close()
            raise
        complaints = [text for each in self._consoles for text in each.complaints]
        assert [] == complaints, complaints

    def _page(self, kind: str) -> Page:
        """Return the page of a kind, which stays open."""
        if kind not in self._pages:
            self._opened[kind] = self._new_page()
            self._pages[kind] = self._opened[kind].__enter__()
            self._consoles.append(Console(self._pages[kind]))
        return self._pages[kind]

    def close(self) -> None:
        """Close the pages."""
        while self._opened:
            _, opened = self._opened.popitem()
            opened.__exit__(None, None, None)
        self._pages.clear()
        self._consoles.clear()
