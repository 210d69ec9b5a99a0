"""Fixtures of the tests of planning."""

from __future__ import annotations

import pytest

from blsnb.planning import search


@pytest.fixture
def few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that simulates a tenth of the requests, even of the best options."""
    monkeypatch.setattr(search, "REQUESTS", (300, 1_000, 2_000))
