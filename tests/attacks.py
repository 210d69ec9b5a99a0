"""Figures of the attacks: what each of them sent, killed or interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

_NAME = "attack"
Figures = Callable[..., None]


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Return a function that keeps the counts of an attack for the end of the run.

    `figures(requests=410_000, refused=12)`; the values of one test add up.
    """
    # The fixture `record_property` fails with --junitxml where warnings are errors.
    return lambda **counts: request.node.user_properties.append((_NAME, counts))


class AttackReport:
    """Lists the figures of all attacks at the end of a session."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Iterator[None]:
        """Write one line for each test, before the failures."""
        if lines := list(_lines(terminalreporter.stats)):
            terminalreporter.section("attacks")
        for line in lines:
            terminalreporter.line(line)
        yield


def _lines(stats: dict[str, list[object]]) -> Iterator[str]:
    """Yield a line for each test function; its parameters add up."""
    totals: dict[str, dict[str, int]] = {}
    for outcome in ("passed", "failed"):
        for report in stats.get(outcome, ()):
            if isinstance(report, pytest.TestReport) and report.when == "call":
                test = report.nodeid.partition("[")[0]
                for name, counts in report.user_properties:
                    if name == _NAME:
                        _add(totals.setdefault(test, {}), counts)
    for test, counts in sorted(totals.items()):
        found = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        yield f"{test}: {found.replace('_', ' ')}"


def _add(total: dict[str, int], counts: object) -> None:
    assert isinstance(counts, dict)
    for what, count in counts.items():
        total[what] = total.get(what, 0) + count
