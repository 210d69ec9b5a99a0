"""A browser for the folder, a page for each test, and ears for what it complains of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from playwright.sync_api import (
    Browser,
    Page,
    Playwright,
    ViewportSize,
    expect,
    sync_playwright,
)

from . import axe as axe_core
from . import chromium
from .console import Console
from .lab import Lab
from .lab_server import LabServer
from .notebook7 import Notebook7
from .shared_lab import VIEWPORT, SharedLab
from .shared_page import VIEWPORT as PAGE_VIEWPORT
from .shared_page import SharedPage

_PATIENCE_MS = 45_000
"""How long a condition may take to come true on a machine with other work."""
expect.set_options(timeout=_PATIENCE_MS)
_LAB_S = 180
"""Time limit of a test that opens JupyterLab and starts a kernel, maybe the server."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of a whole JupyterLab more time."""
    for item in items:
        if "lab_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(_LAB_S))


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Playwright, for this folder only: its event loop would disturb other tests."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium, started once; without it the tests are skipped."""
    found = chromium.executable()
    if found is None:
        reason = "no Chromium here; install it, or name it in BLSNB_CHROMIUM"
        if chromium.required():
            pytest.fail(reason)
        pytest.skip(reason)
    browser = playwright.chromium.launch(executable_path=found, args=chromium.ARGUMENTS)
    yield browser
    browser.close()


@contextmanager
def page_of(browser: Browser) -> Iterator[Page]:
    """Return a separate page; an error in its console fails the test."""
    with silent_page(browser, PAGE_VIEWPORT) as page:
        console = Console(page)
        yield page
    assert [] == console.complaints


@contextmanager
def silent_page(browser: Browser, viewport: ViewportSize) -> Iterator[Page]:
    """Return a separate page, whose console is not checked."""
    context = browser.new_context(viewport=viewport)
    context.set_default_timeout(_PATIENCE_MS)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def lab_of(page: Page, server: LabServer, host: type[Lab] = Lab) -> Iterator[Lab]:
    """JupyterLab, or Notebook 7, in a page; a kernel that is left running is ended."""
    page.set_viewport_size(VIEWPORT)
    lab = host(page, server)
    try:
        yield lab
    finally:
        lab.shut_down_kernel()


@pytest.fixture(scope="package")
def axe() -> str:
    """The source of axe-core, which ``make test`` installs."""
    if not axe_core.FILE.exists():
        pytest.fail(f"{axe_core.FILE} is missing; expected axe-core: run 'make test'")
    return axe_core.FILE.read_text(encoding="utf-8")


@pytest.fixture(scope="package")
def shared_page(browser: Browser) -> Iterator[SharedPage]:
    """A page for the tests of the folder."""
    shared = SharedPage(partial(silent_page, browser, PAGE_VIEWPORT))
    yield shared
    shared.close()


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page for one test; of JupyterLab if the test also uses that."""
    if "lab" in request.fixturenames:
        yield request.getfixturevalue("lab").page
        return
    with request.getfixturevalue("shared_page").lend() as page:
        yield page


@pytest.fixture
def own_page(browser: Browser) -> Iterator[Page]:
    """A page that no other test uses, for listeners and clocks."""
    with page_of(browser) as page:
        yield page


@pytest.fixture(scope="package")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A JupyterLab server that remembers nothing of other sessions."""
    with LabServer(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="package")
def shared_lab(browser: Browser, lab_server: LabServer) -> Iterator[SharedLab]:
    """JupyterLab in a page, for the tests of the folder."""
    shared = SharedLab(partial(silent_page, browser, VIEWPORT), lab_server)
    yield shared
    shared.close()


@pytest.fixture
def lab(shared_lab: SharedLab) -> Iterator[Lab]:
    """JupyterLab for one test."""
    with shared_lab.lend() as lab:
        yield lab


@pytest.fixture
def notebook7(page: Page, lab_server: LabServer) -> Iterator[Lab]:
    """Notebook 7 for one test."""
    with lab_of(page, lab_server, Notebook7) as notebook:
        yield notebook


@pytest.fixture(scope="module")
def module_lab(shared_lab: SharedLab) -> Iterator[Lab]:
    """JupyterLab for the tests of a module, which does not use `lab` as well."""
    with shared_lab.lend() as lab:
        yield lab


@pytest.fixture(scope="module")
def module_notebook7(browser: Browser, lab_server: LabServer) -> Iterator[Lab]:
    """Notebook 7 for the tests of a module."""
    with (
        page_of(browser) as page,
        lab_of(page, lab_server, Notebook7) as notebook,
    ):
        yield notebook
