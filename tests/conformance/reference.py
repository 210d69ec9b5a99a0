"""The answers that count: the real server's own, live where it runs, else recorded."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.parity.triton.server_process import ServerDiedError

from .targets import Answer, Failure, Target

if TYPE_CHECKING:
    from .triton_target import TritonTarget

GOLDEN = Path(__file__).parent / "golden"
RECORD = "BLSNB_RECORD_GOLDEN"
REQUIRE = "BLSNB_REQUIRE_TRITON"

FOLDER = r"/[^\s'\"()]*/folder\w{6,16}(?![\w.])"
"""Where a model lies that was loaded from files given with the call."""

Case = Callable[[Target], Any]
TRIES = 3
"""How often the real server is asked a case before it counts that it says else."""


@dataclass(slots=True)
class Golden:
    """Recorded answers, one dated file for each test module."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

    def read(self, module: str) -> dict[str, Any]:
        """Return what is recorded for a test module."""
        if module not in self.files:
            path = GOLDEN / f"{module}.json"
            empty = {"python": "", "answers": {}}
            self.files[module] = (
                json.loads(path.read_text()) if path.exists() else empty
            )
        return self.files[module]

    def record(self, module: str, key: str, answer: Any) -> None:
        """Take an answer of the real server for the one that counts from now on."""
        if module not in self.written:
            self.files[module] = {"answers": {}}
            self.written.add(module)
        self.files[module]["answers"][key] = answer

    def save(self, server_version: str, python: str) -> None:
        """Write what was recorded, with the date and who said it."""
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
    """What the real server says to a case.

    Parameters
    ----------
    server
        The real server, or None where it cannot run.
    golden
        What it said when it was recorded.
    """

    server: TritonTarget | None
    golden: Golden
    _said: dict[tuple[str, str], Any] = field(default_factory=dict)
    _died: set[tuple[str, str]] = field(default_factory=set)
    """Cases of which it died."""

    def live(self, module: str, key: str, case: Case) -> Any:
        """Ask the real server, once for each case; again if it says else than before.

        Some cases depend on its clock, which a busy machine upsets. What it says
        three times is what it says. If it dies of a case each time, what it said
        before counts.
        """
        if (module, key) not in self._said:
            self._said[module, key] = self._asked(module, key, case)
        return self._said[module, key]

    def _asked(self, module: str, key: str, case: Case) -> Any:
        server = self.server
        if server is None:
            raise LookupError("no real server runs")
        for tries_left in reversed(range(TRIES)):
            try:
                said = server.surviving(lambda: plain(case(server)))
            except ServerDiedError:
                if recording():
                    raise
                self._died.add((module, key))
                return self.recorded(module, key)
            except Exception:
                if not tries_left:
                    raise
            else:
                if not tries_left or not self._is_news(module, key, said):
                    return said
        raise AssertionError("the last try returns or raises")

    def _is_news(self, module: str, key: str, said: Any) -> bool:
        """Whether the record says else; that of another Python may."""
        known = self.golden.read(module)["answers"]
        return not recording() and said != known.get(key, said)

    def is_live(self, module: str, key: str) -> bool:
        """Whether what a case is held against was said just now."""
        return self.server is not None and (module, key) not in self._died

    def recorded(self, module: str, key: str) -> Any:
        """Return what it said before; a case without a record is a failure."""
        answers = self.golden.read(module)["answers"]
        if key not in answers:
            raise LookupError(f"no golden answer for {key}: run record_golden.py")
        return answers[key]

    def expected(self, module: str, key: str, case: Case, target: Target) -> Any:
        """Return what a target must answer.

        The real server is held against its record, so that a golden answer
        cannot grow old unseen.
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
    """True when this run rewrites the golden answers."""
    return os.environ.get(RECORD) == "1"


def required() -> bool:
    """True when a missing real server is a failure."""
    return os.environ.get(REQUIRE) == "1"
