"""JupyterLab with the panel, for the tests of the folder."""

from functools import partial

import pytest

from ..conftest import silent_page
from ..lab_server import LabServer
from ..shared_lab import VIEWPORT, SharedLab


@pytest.fixture(scope="package")
def lab_server(tmp_path_factory):
    """A server of both hosts with the panel installed."""
    with LabServer(tmp_path_factory.mktemp("panel"), panel=True) as server:
        yield server


@pytest.fixture(scope="package")
def shared_lab(browser, lab_server):
    """JupyterLab with the panel."""
    shared = SharedLab(partial(silent_page, browser, VIEWPORT), lab_server)
    yield shared
    shared.close()
