"""A test run names its reference first, and its failures last."""

from __future__ import annotations

import pytest

from blsnb.parity.triton.environment import HIDE, installed

from .covering import Deviation, Ledger, summary
from .reference import RECORD, REQUIRE

pytest_plugins = ["pytester"]
KNOWN = "a sample that is never answered"
NEW = "no such reason"
CONFTEST = """
from conformance import report
from conformance.report import pytest_terminal_summary

def pytest_configure(config):
    config.stash[report.REPORT] = ["19 agree"]
    config.stash[report.FAULTS] = ["FAILED conformance - a row is lost"]
"""


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
    """It has the package of the server."""
    assert "beside a real Triton server (nvidia-pytriton" in header()


@pytest.fixture
def ledger():
    """A session with a documented deviation and one that is not."""
    documented = Deviation("known", KNOWN, "ours", 2)
    return Ledger(deviations={"row": [documented, Deviation("case", NEW, 1, "it")]})


def test_documented_deviations_are_counted(ledger):
    """Only a new one is listed, with both answers."""
    lines = list(summary(ledger))

    page = "docs/reference/deviations.md"
    assert f"deviations documented in {page}: 1 (-v lists them)" in lines
    assert [
        f"  deviates: row (case): {NEW}",
        "    Triton: 1",
        '    blsnb:  "it"',
    ] == lines[-3:]
    assert "known" not in "".join(lines)


def test_a_verbose_run_lists_all_deviations(ledger):
    """Each has its reason and both answers."""
    lines = list(summary(ledger, verbose=True))

    assert f"  deviates: row (known): {KNOWN}" in lines
    assert f"  deviates: row (case): {NEW}" in lines


def test_a_run_ends_with_its_failures(pytester):
    """The report of the rows comes before them, their faults come last."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_it="def test_it(): assert not 'so'")

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.stdout.fnmatch_lines(
        [
            "*= conformance =*",
            "19 agree",
            "*= FAILURES =*",
            "*= short test summary info =*",
            "FAILED test_it.py::test_it - *",
            "FAILED conformance - a row is lost",
            "*= 1 failed in *",
        ],
        consecutive=False,
    )
    assert "FAILED conformance - a row is lost" == result.outlines[-2]
