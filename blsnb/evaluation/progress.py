"""Progress of an evaluation: its text, and where it is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple, Protocol

from blsnb.printable import counted, rounded

_SILENT_S = 0.5
"""Seconds before progress is shown: shorter evaluations show only their result."""
_WIDTH = 79


class Progress(NamedTuple):
    """How far an evaluation is.

    Parameters
    ----------
    done, failed
        Number of completed rows, and of failed ones among them.
    total
        Number of rows; None if it is unknown.
    elapsed_s
        Seconds since the start.
    stored
        Number of completed rows that an earlier evaluation had executed.
    """

    done: int
    failed: int
    total: int | None
    elapsed_s: float
    stored: int = 0

    @property
    def share(self) -> float:
        """The completed share, from 0 to 1; 0 if it is unknown."""
        return self.done / self.total if self.total else 0.0

    @property
    def text(self) -> str:
        """Rows, rate, time left and failures, in a line."""
        executed = self.done - self.stored
        rate = executed / self.elapsed_s if self.elapsed_s > 0 else 0.0
        rows = counted(self.done if self.total is None else self.total, "row")
        of = "" if self.total is None else f"{self.done:,} of "
        said = [f"{of}{rows}", f"{rounded(rate)}/s"]
        if self.total and rate and self.done < self.total:
            said.append(f"{_duration((self.total - self.done) / rate)} left")
        if self.failed:
            said.append(f"{self.failed:,} failed")
        return ", ".join(said)


Report = Callable[[Progress], None]
"""Receives the progress of an evaluation, ten times a second and at its end."""


class Shown(Protocol):
    """A place that shows a share and a text, such as a progress bar."""

    def __call__(self, share: float, text: str) -> None:
        """Show a share between 0 and 1, and a text."""

    def end(self) -> None:
        """Show the last text as a result."""


class Displays:
    """Makes the places that show progress."""

    make: Callable[[str], Shown] | None = None
    """Returns a place for a model's name, such as a progress bar of a notebook; None
    for a line of the terminal, and nothing elsewhere."""

    def open(self, model_name: str) -> Shown | None:
        """Return a new place; None without a place for it."""
        if self.make is not None:
            return self.make(model_name)
        return TerminalLine(model_name) if sys.stderr and sys.stderr.isatty() else None


displays = Displays()
"""Shows the progress of evaluations without a ``progress=`` of their own."""


class TerminalLine:
    """Progress as a line of a terminal that is overwritten."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, share: float, text: str) -> None:
        """Show a share between 0 and 1, and a text."""
        percent = f"{share:.0%} " if share else ""
        line = f"{percent}{self._name}: {text}"[:_WIDTH]
        sys.stderr.write(f"\r{line:{_WIDTH}}")
        sys.stderr.flush()

    def end(self) -> None:
        """Begin a new line."""
        sys.stderr.write("\n")


class ShownProgress:
    """Shows the progress of one evaluation once it takes half a second.

    Parameters
    ----------
    model_name
        Name in front of the text.
    """

    def __init__(self, model_name: str) -> None:
        self._model_name = model_name
        self._shown: Shown | None = None
        self._is_open = False

    def __call__(self, progress: Progress) -> None:
        """Show the progress."""
        if progress.elapsed_s < _SILENT_S:
            return
        if not self._is_open:
            self._is_open = True
            self._shown = displays.open(self._model_name)
        if self._shown is not None:
            self._shown(progress.share, progress.text)

    def end(self) -> None:
        """Leave the last text."""
        if self._shown is not None:
            self._shown.end()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
