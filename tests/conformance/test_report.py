"""The first line of a test run names the reference of the conformance tests."""

from __future__ import annotations

import pytest

from blsnb.parity.triton.environment import HIDE, installed

from .reference import RECORD, REQUIRE


@pytest.fixture
def header(request, monkeypatch):
    """Return the report headers of all plugins."""
    for name in (RECORD, REQUIRE, HIDE):
        monkeypatch.delenv(name, raising=False)

    def ask(*variables):
        for name in variables:
            monkeypatch.setenv(name, "1")
        config = request.config
        found = config.hook.pytest_report_header(
            config=config, start_path=config.rootpath
        )
        (line,) = (text for text in found if str(text).startswith("conformance: "))
        return line

    return ask


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ([HIDE], "its recorded answers in golden/ stand in"),
        ([HIDE, REQUIRE], "NO real Triton server here, and this run demands one"),
        ([RECORD], "recording golden answers"),
    ],
)
def test_the_header_says_whose_answers_count(header, variables, words):
    """Recorded ones never pass for those of a running server."""
    assert words in header(*variables)


@pytest.mark.skipif(installed() is None, reason="no real Triton server here")
def test_the_header_names_the_running_server(header):
    """By the package that it came with."""
    assert "beside a real Triton server (nvidia-pytriton" in header()
