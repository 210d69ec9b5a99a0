"""Specification of verdicts: which failure counts, and how a log continues."""

from __future__ import annotations

import pytest

from .edits import Edit
from .log import Log
from .sampling import Mutant
from .scratch import noticing
from .selection import Stage

COMMAND = ["python", "-m", "pytest"]
MUTANT = Mutant("blsnb/errors.py", Edit(0, 1, "Q"))
NEAR, FAR = Stage("near", [COMMAND], near=True), Stage("far", [COMMAND], near=False)


def failing(*tests):
    """Return what runs a command, and reports the first of these tests as failed."""

    def run(command):
        chosen = [each for each in command if "::" in each and "=" not in each]
        omitted = [each.partition("=")[2] for each in command if "=" in each]
        found = [each for each in chosen or tests if each in tests]
        return next((each for each in found if each not in omitted), "")

    return run


def test_a_test_that_fails_only_with_the_edit_notices_it():
    """Failing tests that fail anyway are left out."""
    assert "a.py::t" == noticing(COMMAND, failing("a.py::t"), failing())
    found = noticing(COMMAND, failing("a.py::s", "a.py::t"), failing("a.py::s"))
    assert "a.py::t" == found
    assert "" == noticing(COMMAND, failing("a.py::s"), failing("a.py::s"))
    assert "" == noticing(COMMAND, failing(), failing())


def test_a_test_that_fails_once_does_not_notice_an_edit():
    """On a busy machine it may fail by chance."""
    answers = iter(["a.py::t", "", ""])

    assert "" == noticing(COMMAND, lambda _: next(answers), failing())


def test_a_failed_test_runs_alone_in_the_same_way():
    """Beside a real server, if that is where it failed."""
    commands = []

    def run(command):
        commands.append(command)
        return "a.py::t" if len(commands) == 1 else ""

    assert "" == noticing(["env", "A=1", *COMMAND, "tests/a"], run, failing())
    assert ["env", "A=1", *COMMAND] == commands[1][:5]
    assert "a.py::t" == commands[1][-1]


def test_a_program_that_fails_anyway_ends_the_run():
    """A build that is broken would notice every edit."""
    with pytest.raises(SystemExit, match="make view fails without an edit"):
        noticing(["make", "view"], lambda _: "make", lambda _: "make")


def test_an_edit_that_breaks_the_import_is_judged_beside_a_failing_test():
    """The test fails anyway; without it only the edit fails the program."""

    def without_edit(command):
        return "" if "--deselect=a.py::t" in command else "a.py::t"

    assert "python" == noticing(COMMAND, lambda _: "python", without_edit)


def test_a_log_continues_with_what_is_not_judged(tmp_path):
    """A noticed edit needs no further tests, a missed one those that are left."""
    file = tmp_path / "log"
    Log(file).add(MUTANT, NEAR, "")

    assert [FAR] == Log(file).remaining(MUTANT, [NEAR, FAR])
    assert "" == Log(file).noticed(MUTANT)
    Log(file).add(MUTANT, FAR, "a.py::t")
    assert [] == Log(file).remaining(MUTANT, [NEAR, FAR])
    assert "a.py::t" == Log(file).noticed(MUTANT)
