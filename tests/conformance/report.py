"""What pytest says of the conformance tests: first who judges, at the end the rows."""

from __future__ import annotations

from typing import Any

import pytest

from blsnb.parity.environment import installed

from .covering import LEDGER, summary
from .reference import recording, required

REPORT = pytest.StashKey[list[str]]()
"""The rows of this session, line by line."""


def pytest_report_header() -> str:
    """Say whether the real server answers in this run, or its recorded answers."""
    if recording():
        return "conformance: recording golden answers of a real Triton server"
    if env := installed():
        return f"conformance: beside a real Triton server ({env.package})"
    if required():
        return "conformance: NO real Triton server here, and this run demands one"
    return (
        "conformance: no real Triton server here; its recorded answers in golden/ "
        "stand in (make triton sets one up)"
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep which rows agree and which deviate; a worker sends it to its controller."""
    ledger = session.config.stash.get(LEDGER, None)
    if ledger and (ledger.agreed or ledger.deviations):
        lines = list(summary(ledger))
        session.config.stash[REPORT] = lines
        getattr(session.config, "workeroutput", {})["conformance"] = lines


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker found."""
    if lines := getattr(node, "workeroutput", {}).get("conformance"):
        node.config.stash[REPORT] = lines


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which rows agree and which deviate."""
    if lines := config.stash.get(REPORT, []):
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.line(line)
