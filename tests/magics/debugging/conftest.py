"""A kernel for the tests of each file."""

from __future__ import annotations

import pytest

from .debugged import DebuggedKernel


@pytest.fixture(scope="module")
def shared_kernel(tmp_path_factory):
    kernel = DebuggedKernel(tmp_path_factory.mktemp("kernel"))
    kernel.run("%load_ext blsnb\nimport blsnb\nblsnb.options.show = False")
    yield kernel
    kernel.end()


@pytest.fixture
def off(shared_kernel):
    """A kernel whose debugger is off."""
    yield shared_kernel
    shared_kernel.detach()


@pytest.fixture
def kernel(off):
    """A kernel whose debugger is on."""
    off.attach()
    return off
