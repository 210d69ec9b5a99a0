"""The answers of blsnb and of a real server to the same requests, compared."""

from __future__ import annotations

from dataclasses import dataclass

from blsnb.comparison import Comparison
from blsnb.parity.checks import Check
from blsnb.parity.triton.answers import Answers
from blsnb.run import Run
from blsnb.views.format import counted, time


@dataclass(frozen=True)
class Case:
    """One request on both servers.

    Parameters
    ----------
    name
        As the file of cases has it, or its number.
    ours, theirs
        What each of them answered.
    checks
        What was compared.
    """

    name: str
    ours: Answers
    theirs: Answers
    checks: tuple[Check, ...]

    def __repr__(self) -> str:
        return f"<Case {self.name}: {'the same' if self.agree else 'different'}>"

    @property
    def agree(self) -> bool:
        """Whether both answered the same."""
        return all(check.agrees for check in self.checks)

    @property
    def run(self) -> Run | None:
        """The run here."""
        return self.ours.run

    @property
    def real_run(self) -> Run | None:
        """The run on the real server, with its own trace if it is here."""
        return self.theirs.run

    @property
    def comparison(self) -> Comparison | None:
        """Our run beside that of the real server, its baseline: calls and phases."""
        if self.run is None or self.real_run is None:
            return None
        return Comparison(self.run, self.real_run)


@dataclass(frozen=True)
class Difference:
    """A part of an answer in which the servers differ."""

    case: str
    check: Check

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        check = self.check
        ours, theirs = check.ours or "nothing", check.theirs or "nothing"
        return f"{self.case}: {check.what}: {check.words} ({ours} | Triton: {theirs})"


@dataclass(frozen=True)
class Agreement:
    """The facts of a `Parity`, without its pictures and pages."""

    model_name: str
    server: str
    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model_name}: {self.verdict}>"

    def __str__(self) -> str:
        lines = [self.caption, *map(str, self.differences), *self.notes]
        return "\n".join(lines)

    @property
    def agree(self) -> bool:
        """Whether both servers answered every request the same."""
        return bool(self.cases) and all(case.agree for case in self.cases)

    @property
    def exit_code(self) -> int:
        """0 if they agree, else 1: what a command ends with."""
        return int(not self.agree)

    @property
    def differences(self) -> list[Difference]:
        """In what they differ, case by case."""
        return [
            Difference(case.name, check)
            for case in self.cases
            for check in case.checks
            if not check.agrees
        ]

    @property
    def verdict(self) -> str:
        """How it ended, in a few words."""
        if self.agree:
            # Two refusals agree, and are seldom what one wanted to see.
            failed = sum(case.ours.failure is not None for case in self.cases)
            tail = f"; {failed:,} failed" if failed else ""
            return f"{counted(len(self.cases), 'case')}, all the same{tail}"
        differing = sum(not case.agree for case in self.cases)
        verb = "differs" if differing == 1 else "differ"
        return f"{differing:,} of {counted(len(self.cases), 'case')} {verb}"

    @property
    def caption(self) -> str:
        """What was compared with what, and how it ended, in a line."""
        return f"{self.model_name} beside {self.server}: {self.verdict}"

    @property
    def told(self) -> Case | None:
        """The case to look at: the first that differs, else the first."""
        differing = (case for case in self.cases if not case.agree)
        return next(differing, self.cases[0] if self.cases else None)

    @property
    def run(self) -> Run | None:
        """The run here of that case."""
        return None if self.told is None else self.told.run

    @property
    def real_run(self) -> Run | None:
        """The run of that case on the real server."""
        return None if self.told is None else self.told.real_run

    @property
    def comparison(self) -> Comparison | None:
        """Both of them, side by side, phases and all."""
        return None if self.told is None else self.told.comparison

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return a head and a line of texts for each part of each answer."""
        rows: list[tuple[str, ...]] = [
            (
                case.name,
                check.what,
                check.ours,
                check.theirs,
                f"{'=' if check.agrees else '≠'} {check.words}",
            )
            for case in self.cases
            for check in case.checks
        ]
        return ("case", "what", "blsnb", "Triton", ""), rows

    def latencies(self) -> list[tuple[str, str, str]]:
        """Return of each case its name, and how long it took here and there."""
        return [
            (case.name, time(case.ours.took_ns / 1e3), time(case.theirs.took_ns / 1e3))
            for case in self.cases
        ]
