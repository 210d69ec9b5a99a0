"""A run with attacks ends with their figures, and with the failures behind them."""

from pathlib import Path

import pytest
import sources
from asserting import some
from attacks import ATTACKS

pytest_plugins = ["pytester"]
HERE = str(Path(__file__).parent)
CONFTEST = f"""
import sys
sys.path.insert(0, {HERE!r})
from attacks import AttackReport, figures

def pytest_configure(config):
    config.pluginmanager.register(AttackReport())
"""
TESTS = """
import pytest

@pytest.mark.parametrize("part", [1, 2])
def test_it(part, figures):
    figures(requests=600 * part, broken_files=1)
    assert part == 1

def test_other():
    pass
"""


def test_the_figures_of_an_attack_add_up(pytester):
    """Over its parameters and all processes."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_it=TESTS)

    for processes in ("-n0", "-n1"):
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", processes)

        result.stdout.fnmatch_lines(
            [
                "*= attacks =*",
                "test_it.py::test_it: 1,800 requests, 2 broken files",
                "*= FAILURES =*",
                "*= short test summary info =*",
                "FAILED test_it.py::test_it*2* - *",
            ]
        )


def test_the_figures_are_in_the_report_of_a_ci_service(pytester):
    """A property of each test case, although warnings are errors."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_it=TESTS)

    options = ("-p", "no:cacheprovider", "-n0", "-W", "error", "--junitxml=report.xml")
    result = pytester.runpytest_inprocess(*options)

    result.assert_outcomes(passed=2, failed=1)
    report = (pytester.path / "report.xml").read_text()
    assert 2 == report.count('<property name="attack"')


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_attack_reports_its_figures(attack):
    """Its tests take the fixture `figures`."""
    for test in some(ATTACKS[attack]):
        path, _, name = test.partition("::")
        found = {each.name: each for each in sources.functions(sources.TESTS / path)}
        assert "figures" in [each.arg for each in found[name].args.args], test
