"""Web pages that ask the server, by way of somebody's browser."""

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
def test_this_machines_own_pages_may_ask(headers: dict[str, str]) -> None:
    """And whatever is no browser; and a page of the very address that is served."""
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
def test_pages_from_elsewhere_may_not(headers: dict[str, str]) -> None:
    """Nor one whose name was made to mean this machine."""
    assert is_foreign(headers)


def test_a_page_from_elsewhere_loads_no_model(http_served: Any) -> None:
    """It would run its own code."""
    status, said = http_served.ask(LOAD, b"{}", Origin="https://example.com")

    assert 403 == status
    assert said["error"].startswith("a web page from another machine may not")
