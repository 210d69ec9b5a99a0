"""Web pages that send requests through a user's browser."""

from __future__ import annotations

from typing import Any

import pytest

from blsnb.serving.http.routes import is_foreign

LOAD = "/v2/repository/models/any/load"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost:8888"},
        {"Origin": "http://127.0.0.1:8000"},
        {"Origin": "http://[::1]:8000"},
        {"Origin": "http://lab.localhost"},
        {"Origin": "http://10.0.0.7:8000", "Host": "10.0.0.7:8000"},
    ],
)
def test_pages_of_this_machine_are_allowed(headers: dict[str, str]) -> None:
    """And clients that are not browsers; and a page of the served address itself."""
    assert not is_foreign(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://example.com"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://[broken"},
        {"Origin": "http://localhost.example.com"},
        {"Origin": "http://10.0.0.7:8000", "Host": "127.0.0.1:8000"},
        {"Origin": "http://example.com:8000", "Host": "example.com:8000"},
    ],
    ids=["site", "file", "empty", "broken", "like", "neighbour", "rebound"],
)
def test_pages_of_other_machines_are_refused(headers: dict[str, str]) -> None:
    """Even if their name resolves to this machine."""
    assert is_foreign(headers)


def test_a_page_of_another_machine_cannot_load_a_model(http_served: Any) -> None:
    """It would run its own code."""
    status, found = http_served.ask(LOAD, b"{}", Origin="https://example.com")

    assert 403 == status
    assert found["error"].startswith("a web page from another machine may not")
