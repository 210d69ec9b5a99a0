"""The outcomes of the same requests on blsnb and on a real server, compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blsnb.parity.checks import ParityCheck
from blsnb.parity.triton.outcome import ClientOutcome
from blsnb.printable import counted, printable
from blsnb.results.comparison import Comparison
from blsnb.results.run import Run
from blsnb.views.format import time


@dataclass(frozen=True)
class Case:
    """One request on both servers.

    Parameters
    ----------
    name
        Its name in the file of cases, or its number.
    actual, expected
        What blsnb and the real server returned.
    checks
        The compared parts of the responses.
    """

    name: str
    actual: ClientOutcome
    expected: ClientOutcome
    checks: tuple[ParityCheck, ...]

    def __repr__(self) -> str:
        return printable(f"<Case {self.name}: {'agrees' if self.agree else 'differs'}>")

    @property
    def agree(self) -> bool:
        """Whether all parts agree."""
        return all(check.agrees for check in self.checks)

    @property
    def failed(self) -> bool:
        """Whether the request failed on blsnb."""
        return self.actual.failure is not None

    @property
    def run(self) -> Run | None:
        """The run on blsnb."""
        return self.actual.run

    @property
    def real_run(self) -> Run | None:
        """The run on the real server, with its own trace if that is available."""
        return self.expected.run

    @property
    def comparison(self) -> Comparison | None:
        """The run on blsnb with that of the real server as its baseline."""
        if self.run is None or self.real_run is None:
            return None
        return Comparison(self.run, self.real_run)


@dataclass(frozen=True)
class Difference:
    """A part of a case in which the servers differ."""

    case: str
    check: ParityCheck

    def __repr__(self) -> str:
        return printable(f"<{self}>")

    def __str__(self) -> str:
        check = self.check
        actual, expected = check.actual or "nothing", check.expected or "nothing"
        values = f"{actual} | Triton: {expected}"
        return printable(f"{self.case}: {check.what}: {check.verdict} ({values})")


@dataclass(frozen=True)
class Agreement:
    """The data of a `Parity`, without its pictures and pages."""

    model_name: str
    server: str
    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return printable(f"<{type(self).__name__} {self.model_name}: {self.verdict}>")

    def __str__(self) -> str:
        differences = map(str, self.differences)
        lines = [self.caption, *differences, *self._shared_errors(), *self.notes]
        return "\n".join(map(printable, lines))

    def _shared_errors(self) -> Iterator[str]:
        """Yield a line for each case that failed equally on both servers."""
        for case in self.cases:
            if case.actual.failure is not None and case.agree:
                code, text = case.actual.failure
                yield ": ".join(
                    filter(None, (case.name, code, text.partition("\n")[0]))
                )

    @property
    def agree(self) -> bool:
        """Whether there is a case, and all cases agree."""
        return bool(self.cases) and all(case.agree for case in self.cases)

    @property
    def exit_code(self) -> int:
        """Exit status of a command: 0 if all cases agree, else 1."""
        return int(not self.agree)

    @property
    def differences(self) -> list[Difference]:
        """All differences, in the order of the cases."""
        return [
            Difference(case.name, check)
            for case in self.cases
            for check in case.checks
            if not check.agrees
        ]

    @property
    def verdict(self) -> str:
        """The number of cases, and how many of them differ."""
        if not self.cases:
            return "no cases to compare"
        count = counted(len(self.cases), "case")
        if self.agree:
            # Equal errors agree, but the user probably expected a result.
            failed = sum(case.failed for case in self.cases)
            if failed == len(self.cases):
                return f"{count}, the same error on both servers"
            tail = f"; {failed:,} failed on both servers" if failed else ""
            return f"{count}, no difference{tail}"
        differing = sum(not case.agree for case in self.cases)
        return f"{differing:,} of {count} {'differs' if differing == 1 else 'differ'}"

    @property
    def caption(self) -> str:
        """The model, the real server and the verdict, in one line."""
        return f"{self.model_name} on blsnb and {self.server}: {self.verdict}"

    @property
    def shown_case(self) -> Case | None:
        """The case to look at: the first that differs, else the first."""
        differing = (case for case in self.cases if not case.agree)
        return next(differing, self.cases[0] if self.cases else None)

    @property
    def run(self) -> Run | None:
        """The run of the shown case on blsnb."""
        return None if self.shown_case is None else self.shown_case.run

    @property
    def real_run(self) -> Run | None:
        """The run of the shown case on the real server."""
        return None if self.shown_case is None else self.shown_case.real_run

    @property
    def comparison(self) -> Comparison | None:
        """Both runs of the shown case, compared."""
        return None if self.shown_case is None else self.shown_case.comparison

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return column titles, and a row of texts for each check."""
        rows: list[tuple[str, ...]] = [
            (
                case.name,
                check.what,
                check.actual,
                check.expected,
                f"{'=' if check.agrees else '≠'} {check.verdict}",
            )
            for case in self.cases
            for check in case.checks
        ]
        return ("case", "part", "blsnb", "Triton", ""), rows

    def latencies(self) -> list[tuple[str, str, str]]:
        """Return each case's name, and its duration on blsnb and on the real server."""
        return [
            (
                case.name,
                time(case.actual.duration_ns / 1e3),
                time(case.expected.duration_ns / 1e3),
            )
            for case in self.cases
        ]
