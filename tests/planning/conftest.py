"""Fixtures of the tests of planning."""

from __future__ import annotations

import pytest

from blsnb.planning import search
from blsnb.planning.plans import planner


@pytest.fixture
def few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that simulates a tenth of the requests, even of the best options."""
    monkeypatch.setattr(search, "REQUESTS", (300, 1_000, 2_000))
    monkeypatch.setattr(planner, "_CURVE_REQUESTS", planner._CURVE_REQUESTS // 10)
