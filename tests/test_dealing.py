"""Specification of how tests are dealt out to processes."""

from __future__ import annotations

import pytest
from dealing import share_of


@pytest.mark.parametrize(
    ("test", "share"),
    [
        ("tests/conformance/test_tensor.py::test_a[triton-x/y.py::z]", "conformance"),
        ("tests/browser/test_view.py::test_a", "browser"),
        ("tests/engine/test_bls.py::test_a[b]", "tests/engine/test_bls.py"),
        ("tests/test_run.py::test_a", "tests/test_run.py"),
    ],
)
def test_tests_that_share_a_server_stay_together(test, share):
    """All others stay with their file."""
    assert share == share_of(test)
