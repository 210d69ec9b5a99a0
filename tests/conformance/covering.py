"""The rows of the specification that cases cover, and their results."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from itertools import starmap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
ROWS = HERE / "rows.json"
DEVIATIONS = HERE.parents[1] / "docs" / "reference" / "deviations.md"
OBSERVABLE = "observable"
NOT_YET = "not yet: "
NO_ROW = "in no table"
LIVE_SHARE = 0.95
SHOWN = 3

_Ids = str | Iterable[str]


def rows(*ids: str | Mapping[str, _Ids]) -> pytest.MarkDecorator:
    """Mark a test with the ids of the rows that it covers.

    Parameters
    ----------
    ids
        Ids that every case of the test covers; or a mapping from a case's own id to
        the rows that this case covers.
    """
    return pytest.mark.rows(*ids)


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deliberate difference: both results, and the reason."""

    case: str
    reason: str
    triton: Any
    blsnb: Any


@dataclass(slots=True)
class Ledger:
    """The result of each row in this session."""

    agreed: dict[str, set[str]] = field(default_factory=dict)
    """Row and the cases that agreed."""
    live: set[str] = field(default_factory=set)
    """Rows of which a case was compared with the running server."""
    deviations: dict[str, list[Deviation]] = field(default_factory=dict)
    left: dict[str, set[str]] = field(default_factory=dict)
    """Slow tests that this session leaves to the long one, and their rows."""
    chosen: set[str] = field(default_factory=set)
    """Conformance tests that this session runs, without their parameters."""
    whole: bool = False
    """Whether these, and those left to the long session, cover every row."""

    @property
    def later(self) -> set[str]:
        """Rows that only the long session sees."""
        rows = set[str]().union(*self.left.values())
        return rows - set(self.agreed) - set(self.deviations)

    def note(
        self, covered: Iterable[str], case: str, live: bool, deviation: Deviation | None
    ) -> None:
        """Record the result of one case on blsnb."""
        for row in covered or [NO_ROW]:
            if live:
                self.live.add(row)
            if deviation is None:
                self.agreed.setdefault(row, set()).add(case)
            else:
                self.deviations.setdefault(row, []).append(deviation)

    def to_plain(self) -> dict[str, Any]:
        """Return the ledger as JSON can keep it."""
        return {
            "agreed": {row: sorted(cases) for row, cases in self.agreed.items()},
            "live": sorted(self.live),
            "deviations": {
                row: [astuple(each) for each in many]
                for row, many in self.deviations.items()
            },
            "left": {test: sorted(rows) for test, rows in self.left.items()},
            "chosen": sorted(self.chosen),
            "whole": self.whole,
        }

    def merge(self, plain: Mapping[str, Any]) -> None:
        """Add the ledger of another process, as `to_plain` returned it."""
        for row, cases in plain["agreed"].items():
            self.agreed.setdefault(row, set()).update(cases)
        self.live |= set(plain["live"])
        for row, many in plain["deviations"].items():
            self.deviations.setdefault(row, []).extend(starmap(Deviation, many))
        for test, rows in plain["left"].items():
            self.left.setdefault(test, set()).update(rows)
        self.chosen |= set(plain["chosen"])
        self.whole |= plain["whole"]


LEDGER = pytest.StashKey[Ledger]()


def statuses() -> dict[str, str]:
    """Return the status of every row: observable, or why not."""
    return {row: each["status"] for row, each in json.loads(ROWS.read_text()).items()}


def rows_of(marks: Iterable[pytest.Mark], case: str) -> Iterator[str]:
    """Yield the rows that one case covers."""
    for mark in marks:
        for given in mark.args:
            ids = given if isinstance(given, str) else given.get(case, ())
            yield from [ids] if isinstance(ids, str) else ids


def modules() -> Iterator[ModuleType]:
    """Yield the modules that hold cases."""
    for path in sorted(HERE.glob("test_*.py")):
        yield importlib.import_module(f"{__package__}.{path.stem}")


def covered() -> dict[str, list[str]]:
    """Return every row that a test names, with the tests that do."""
    found: dict[str, list[str]] = {}
    for module in modules():
        stem = module.__name__.rpartition(".")[2]
        for name, function in vars(module).items():
            marks = getattr(function, "pytestmark", None)
            if not name.startswith("test_") or not isinstance(marks, list):
                continue
            for row in named(mark for mark in marks if mark.name == "rows"):
                found.setdefault(row, []).append(f"{stem}.{name}")
    return found


def named(marks: Iterable[pytest.Mark]) -> Iterator[str]:
    """Yield all rows that marks name, whatever the case."""
    for mark in marks:
        for given in mark.args:
            groups = [given] if isinstance(given, str) else given.values()
            for ids in groups:
                yield from [ids] if isinstance(ids, str) else ids


def documented(deviation: Deviation) -> bool:
    """Return whether the table of deviations contains the reason of a difference."""
    return deviation.reason in DEVIATIONS.read_text(encoding="utf-8")


def summary(ledger: Ledger, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of the report at the end of a session.

    Documented deviations are counted; `verbose` lists them too.
    """
    status = statuses()
    wanted = {row for row, text in status.items() if text == OBSERVABLE}
    later = [row for row, text in status.items() if text.startswith(NOT_YET)]
    deviating = sorted(ledger.deviations)
    agreeing = set(ledger.agreed) - set(deviating)
    yield (
        f"rows of the specification: {len(status)}, of which {len(wanted)} observable "
        f"and {len(later)} not yet covered"
    )
    known = sum(documented(each) for _, each in _deviations(ledger))
    yield (
        f"this run: {len(wanted & (agreeing | set(deviating)))} covered, "
        f"{len(wanted & ledger.live)} of them beside the real server; "
        f"{len(wanted & agreeing)} agree, {len(wanted & set(deviating))} deviate"
    )
    page = "docs/reference/deviations.md"
    yield f"deviations documented in {page}: {known} (-v lists them)"
    for row, each in _deviations(ledger):
        if verbose or not documented(each):
            yield f"  deviates: {row} ({each.case}): {each.reason}"
            yield f"    Triton: {_short(each.triton)}"
            yield f"    blsnb:  {_short(each.blsnb)}"
    yield from _reasons(status, later)


def _deviations(ledger: Ledger) -> Iterator[tuple[str, Deviation]]:
    for row, many in sorted(ledger.deviations.items()):
        yield from ((row, each) for each in many)


def _reasons(status: Mapping[str, str], later: Iterable[str]) -> Iterator[str]:
    """Yield why rows are not covered yet, and which."""
    reasons: dict[str, list[str]] = {}
    for row in later:
        reasons.setdefault(status[row], []).append(row)
    for reason, many in reasons.items():
        more = f" and {len(many) - SHOWN} more" if len(many) > SHOWN else ""
        yield f"  {reason}: {', '.join(many[:SHOWN])}{more}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"…{text[-159:]}"
