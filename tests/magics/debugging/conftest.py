"""A kernel for the tests of the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from .debugged import DebuggedKernel

_TEST_S = 240
"""Time limit of a test: it waits for a kernel, its debugger, and each stop."""
_FOLDER = Path(__file__).parent
_HAS_FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of a kernel more time: a debugged process is slow."""
    for item in items:
        if item.path.parent == _FOLDER:
            item.add_marker(pytest.mark.timeout(_TEST_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Note a test that fails, for the kernel that it leaves."""
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report


class SharedKernel:
    """A kernel for several tests; after a failed test, another one."""

    def __init__(self, make_folder) -> None:
        self._make_folder = make_folder
        self._kernel: DebuggedKernel | None = None

    def get(self) -> DebuggedKernel:
        """Return the kernel, with blsnb loaded."""
        if self._kernel is None:
            self._kernel = DebuggedKernel(self._make_folder("kernel"))
            self._kernel.run(
                "%load_ext blsnb\nimport blsnb\nblsnb.options.show = False"
            )
        return self._kernel

    def end(self) -> None:
        """End the process."""
        if self._kernel is not None:
            self._kernel.end()
        self._kernel = None


@pytest.fixture(scope="package")
def shared_kernel(tmp_path_factory):
    shared = SharedKernel(tmp_path_factory.mktemp)
    yield shared
    shared.end()


@pytest.fixture
def started(request):
    """Start a test's kernel, whose client has threads."""
    if "off" in request.fixturenames:
        request.getfixturevalue("shared_kernel").get()


@pytest.fixture(autouse=True)
def nothing_left_behind(started, nothing_left_behind):
    """Look for what a test leaves behind once its kernel has been started."""


@pytest.fixture
def off(shared_kernel, request):
    """A kernel whose debugger is off."""
    kernel = shared_kernel.get()
    yield kernel
    if request.node.stash.get(_HAS_FAILED, False):
        shared_kernel.end()
        return
    try:
        kernel.detach()
    except AssertionError:
        shared_kernel.end()
        raise


@pytest.fixture
def kernel(off):
    """A kernel whose debugger is on."""
    off.attach()
    return off
