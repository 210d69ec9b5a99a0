"""The reference results: those of a running real server, else recorded ones."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from blsnb.parity.triton.environment import TritonEnv, installed
from blsnb.parity.triton.server_process import ServerDiedError

from .targets import Answer, Failure, Target

if TYPE_CHECKING:
    from .triton_target import TritonTarget

GOLDEN = Path(__file__).parent / "golden"
RECORD = "BLSNB_RECORD_GOLDEN"
REQUIRE = "BLSNB_REQUIRE_TRITON"

FOLDER = r"/[^\s'\"()]*/folder\w{6,16}(?![\w.])"
"""Folder of a model that was loaded from files of the request."""

Case = Callable[[Target], Any]
TRIES = 3
"""Number of repetitions before a different result of the real server counts."""


@dataclass(slots=True)
class Golden:
    """Recorded results, in one dated file for each test module."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

    def read(self, module: str) -> dict[str, Any]:
        """Return the records of a test module."""
        if module not in self.files:
            path = GOLDEN / f"{module}.json"
            empty = {"python": "", "answers": {}}
            self.files[module] = (
                json.loads(path.read_text()) if path.exists() else empty
            )
        return self.files[module]

    def record(self, module: str, key: str, answer: Any) -> None:
        """Replace a recorded result."""
        if module not in self.written:
            self.files[module] = {"answers": {}}
            self.written.add(module)
        self.files[module]["answers"][key] = answer

    def save(self, server_version: str, python: str) -> None:
        """Write the records, with date and versions."""
        GOLDEN.mkdir(exist_ok=True)
        head = {
            "server": server_version,
            "python": python,
            "recorded": time.strftime("%Y-%m-%d"),
        }
        for module in self.written:
            # One case a line: a changed answer is a changed line.
            lines = [
                f"  {json.dumps(key)}: {json.dumps(answer, ensure_ascii=False)}"
                for key, answer in self.files[module]["answers"].items()
            ]
            body = ",\n".join(lines)
            text = f'{json.dumps(head)[:-1]}, "answers": {{\n{body}\n}}}}\n'
            (GOLDEN / f"{module}.json").write_text(text)


@dataclass(slots=True)
class Reference:
    """The real server's results.

    Parameters
    ----------
    server
        The real server, or None where it cannot run.
    golden
        What it result when it was recorded.
    """

    server: TritonTarget | None
    golden: Golden
    _results: dict[tuple[str, str], Any] = field(default_factory=dict)
    _died: set[tuple[str, str]] = field(default_factory=set)
    """Cases of which it died."""

    def live(self, module: str, key: str, case: Case) -> Any:
        """Run a case on the real server, once; repeat it if the result is new.

        Some cases depend on its clock, which a busy machine disturbs. A result that
        occurs three times is accepted. If the server ends each time, the record counts.
        A server that was asked before still counts a model that it has unloaded: each
        repetition has a server of its own.
        """
        if (module, key) not in self._results:
            self._results[module, key] = self._measured(module, key, case)
        return self._results[module, key]

    def _measured(self, module: str, key: str, case: Case) -> Any:
        server = self.server
        if server is None:
            raise LookupError("no real server runs")
        for tries_left in reversed(range(TRIES)):
            try:
                result = server.surviving(lambda: plain(case(server)))
            except ServerDiedError:
                if recording():
                    raise
                self._died.add((module, key))
                return self.recorded(module, key)
            except Exception:
                if not tries_left:
                    raise
            else:
                if not tries_left or not self._is_news(module, key, result):
                    return result
            server.start_again()
        raise AssertionError("the last try returns or raises")

    def _is_news(self, module: str, key: str, result: Any) -> bool:
        """Whether a result differs from its record, which may be of another Python."""
        known = self.golden.read(module)["answers"]
        return not recording() and result != known.get(key, result)

    def is_live(self, module: str, key: str) -> bool:
        """Whether the reference of a case was measured in this session."""
        return self.server is not None and (module, key) not in self._died

    def recorded(self, module: str, key: str) -> Any:
        """Return the recorded result; a case without one is an error."""
        answers = self.golden.read(module)["answers"]
        if key not in answers:
            raise LookupError(f"no golden answer for {key}: run record_golden.py")
        return answers[key]

    def expected(self, module: str, key: str, case: Case, target: Target) -> Any:
        """Return the expected result of a target.

        The real server's result is compared with its record, so that an outdated
        record is noticed.
        """
        if self.server is None or target is self.server:
            return self.recorded(module, key)
        return self.live(module, key, case)

    def python(self, module: str, target: Target) -> str:
        """Return the Python release that `expected` speaks of."""
        if self.server is None or target is self.server:
            return self.golden.read(module)["python"]
        return self.server.python


def plain(value: Any) -> Any:
    """Return a case's result as JSON keeps it, without this machine's own addresses."""
    if isinstance(value, Answer):
        return plain(value.plain())
    if isinstance(value, str):
        value = re.sub(r" at 0x[0-9a-f]+", " at 0x…", value)
        value = re.sub(FOLDER, "<folder>", value)
        return re.sub(r"/[^\s'\"]*/lib/python3\.\d+/", "<python>/", value)
    if isinstance(value, Failure | list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def recording() -> bool:
    """Whether this run rewrites the recorded results."""
    return os.environ.get(RECORD) == "1"


def required() -> bool:
    """True when a missing real server is a failure."""
    return os.environ.get(REQUIRE) == "1"


def real_environment() -> TritonEnv:
    """Return the installed real server; without one the test fails or is skipped."""
    env = installed()
    if env is None:
        if required():
            pytest.fail("run make triton first", pytrace=False)
        pytest.skip("no real Triton server is installed")
    return env
