"""Report of the conformance tests: their reference, and the results of the rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from blsnb.parity.triton.environment import installed

from .covering import LEDGER, Ledger, summary
from .judging import is_whole, verdicts
from .reference import recording, required

REPORT = pytest.StashKey[list[str]]()
"""The rows of this session, line by line."""
FAULTS = pytest.StashKey[list[str]]()
"""What is wrong with the rows of a whole session."""


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
        verbose = config.get_verbosity() > 0
        config.stash[REPORT] = list(summary(ledger, verbose=verbose))
        config.stash[FAULTS] = wrong
        if wrong and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _verdicts(ledger: Ledger) -> list[str]:
    if recording() or not ledger.whole:
        return []
    found = verdicts(ledger, beside_triton=installed() is not None)
    return [f"FAILED conformance - {each}" for each in found]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the results of a worker's rows."""
    if text := getattr(node, "workeroutput", {}).get("conformance"):
        stash = node.config.stash
        stash.setdefault(LEDGER, Ledger()).merge(json.loads(text))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    """Report the rows before pytest's summary of failures, and their faults after it.

    The end of a log, which is all that some viewers show, holds the failures.
    """
    lines = config.stash.get(REPORT, [])
    if lines:
        terminalreporter.section("conformance")
    for line in lines:
        terminalreporter.line(line)
    yield
    for line in config.stash.get(FAULTS, []):
        terminalreporter.line(line, red=True)
