"""A page that tests use one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from playwright.sync_api import Page, ViewportSize

from .console import Console

VIEWPORT: ViewportSize = {"width": 1100, "height": 800}


class SharedPage:
    """Lends the page to one test at a time, as a new page would be.

    A new page takes a second of computing, another document in it a third. What a
    test adds to the page itself stays: listeners, a clock, scripts for any document.

    Parameters
    ----------
    new_page
        Opens a page.
    """

    def __init__(self, new_page: Callable[[], AbstractContextManager[Page]]) -> None:
        self._new_page = new_page
        self._opened: AbstractContextManager[Page] | None = None

    @contextmanager
    def lend(self) -> Iterator[Page]:
        """Lend the page; close it if it cannot be reset, and open another one."""
        if self._opened is None:
            self._opened = self._new_page()
            self._page = self._opened.__enter__()
            self._console = Console(self._page)
        self._console.complaints.clear()
        yield self._page
        try:
            _reset(self._page)
        except BaseException:
            self.close()
            raise
        assert [] == self._console.complaints

    def close(self) -> None:
        """Close the page."""
        if self._opened is not None:
            self._opened.__exit__(None, None, None)
            self._opened = None


def _reset(page: Page) -> None:
    """Show an empty document, under the settings of a new page."""
    page.mouse.up()
    page.mouse.move(0, 0)
    page.unroute_all(behavior="ignoreErrors")
    page.goto("about:blank")
    page.set_viewport_size(VIEWPORT)
    page.emulate_media(
        media="null",
        color_scheme="light",
        reduced_motion="no-preference",
        forced_colors="none",
    )
