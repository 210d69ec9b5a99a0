"""A copy of the checkout in which one edit at a time is judged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .sampling import ROOT, Mutant
from .selection import PYTEST, Command, Stage, build

LIMIT_S = 900
"""Time limit of one set of tests in seconds; a hang counts as noticed."""
PASSED = 0
NO_TESTS = 5
_CACHE = "build/mutants"
"""Where pytest writes which tests failed."""


class Scratch:
    """A copy of the checkout, with one edit at a time.

    An edit is noticed if a test fails with it, fails with it again alone, and passes
    without it, since tests may also fail on a busy machine.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        (folder / "js" / "node_modules").symlink_to(ROOT / "js" / "node_modules")
        self._seconds = int(time.time())

    def noticed(self, mutant: Mutant, stage: Stage) -> str:
        """Return the test or the stage that notices an edit, or an empty text."""
        file = self.folder / mutant.path
        source = file.read_text(encoding="utf-8")
        edited = mutant.edit.applied(source)
        try:
            for command in stage.commands:
                failed = noticing(
                    command,
                    partial(self._failure, file=file, source=edited),
                    partial(self._failure, file=file, source=source),
                )
                if failed:
                    return failed if "::" in failed else stage.name
        finally:
            self._write(file, source)
            if build() in stage.commands:
                self._passes(build())
        return ""

    def _failure(self, command: Command, *, file: Path, source: str) -> str:
        """Return what fails with a source: a test, or a program; or an empty text."""
        shutil.rmtree(self.folder / _CACHE, ignore_errors=True)
        self._write(file, source)
        if self._passes(command):
            return ""
        failed = self.folder / _CACHE / "v/cache/lastfailed"
        if failed.exists() and (names := json.loads(failed.read_bytes())):
            return str(next(iter(names)))
        return Path(command[0]).name

    def _write(self, file: Path, source: str) -> None:
        """Write a file with a new time, since Python compares times in seconds."""
        file.write_text(source, encoding="utf-8")
        self._seconds += 1
        os.utime(file, (self._seconds, self._seconds))

    def _passes(self, command: Command) -> bool:
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "PYTEST_ADDOPTS": f"-o cache_dir={self.folder / _CACHE}",
            # Recorded answers replace the real server.
            "BLSNB_HIDE_TRITON": "1",
        }
        for name in ("BLSNB_REQUIRE_TRITON", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            return False
        return ended.returncode in (PASSED, NO_TESTS)


def noticing(
    command: Command,
    with_edit: Callable[[Command], str],
    without_edit: Callable[[Command], str],
) -> str:
    """Return what notices an edit, or an empty text.

    Both functions run a command and return what failed.
    """
    while failed := with_edit(command):
        alone = _only(command, failed)
        if with_edit(alone):
            failing = without_edit(alone)
            if not failing:
                return failed
            if "::" not in failed + failing:
                raise SystemExit(f"{' '.join(command)} fails without an edit")
            failed = failed if "::" in failed else failing
        command = [*command, f"--deselect={failed}"]
    return ""


def _only(command: Command, failed: str) -> Command:
    """Return the command that runs one test, or the whole if no test is known."""
    if "::" not in failed:
        return command
    return [*command[: command.index("pytest") + 1], *PYTEST, failed]
