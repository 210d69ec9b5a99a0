"""Report of the conformance tests: their reference, and the results of the rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from blsnb.parity.triton.environment import installed

from .covering import LEDGER, Ledger, summary
from .judging import is_whole, verdicts
from .reference import recording, required

REPORT = pytest.StashKey[list[str]]()
"""The rows of this session, line by line."""


def pytest_report_header() -> str:
    """Say whether the reference is a running server or the records."""
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
    """Judge the rows of all processes; a worker sends its own to the controller."""
    config = session.config
    ledger = config.stash.get(LEDGER, None)
    if ledger is None:
        return
    if not config.pluginmanager.hasplugin("dsession"):
        # The controller of other processes has no tests, and cannot tell.
        ledger.whole = is_whole(ledger)
    if (output := getattr(config, "workeroutput", None)) is not None:
        output["conformance"] = json.dumps(ledger.to_plain())
    elif ledger.agreed or ledger.deviations:
        wrong = _verdicts(ledger)
        config.stash[REPORT] = [*wrong, *summary(ledger)]
        if wrong and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _verdicts(ledger: Ledger) -> list[str]:
    if recording() or not ledger.whole:
        return []
    found = verdicts(ledger, beside_triton=installed() is not None)
    return [f"FAILED: {each}" for each in found]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the results of a worker's rows."""
    if text := getattr(node, "workeroutput", {}).get("conformance"):
        stash = node.config.stash
        stash.setdefault(LEDGER, Ledger()).merge(json.loads(text))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the rows that agree and those that deviate."""
    if lines := config.stash.get(REPORT, []):
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.line(line)
