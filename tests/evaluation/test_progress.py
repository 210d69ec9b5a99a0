"""How far an evaluation is: the text, and when and where it is shown."""

from __future__ import annotations

import io
import sys

import pytest

from blsnb.evaluation import progress
from blsnb.evaluation.progress import Displays, Progress, ShownProgress, TerminalLine


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Progress(0, 0, 10, 0.0), "0 of 10 rows, 0/s"),
        (Progress(0, 0, 0, 1.0), "0 of 0 rows, 0/s"),
        (Progress(5, 0, None, 2.0), "5 rows, 2.5/s"),
        (Progress(1, 0, None, 2.0), "1 row, 0.5/s"),
        (Progress(1, 0, 1, 2.0), "1 of 1 row, 0.5/s"),
        (
            Progress(1200, 2, 10_000, 1.0),
            "1,200 of 10,000 rows, 1,200/s, 7 s left, 2 failed",
        ),
        (Progress(12, 0, 100, 2.0, stored=10), "12 of 100 rows, 1/s, 1 min 28 s left"),
        (Progress(1, 0, 3600, 1.0), "1 of 3,600 rows, 1/s, 59 min 59 s left"),
        (Progress(1, 0, 3601, 1.0), "1 of 3,601 rows, 1/s, 1 h 0 min left"),
        (Progress(1, 0, 60, 1.0), "1 of 60 rows, 1/s, 59 s left"),
        (Progress(1, 0, 61, 1.0), "1 of 61 rows, 1/s, 1 min 0 s left"),
        (Progress(9, 0, 9, 3.0), "9 of 9 rows, 3/s"),
    ],
)
def test_progress_is_one_line(found, text):
    """Rows of an earlier evaluation took no time."""
    assert text == found.text


def test_a_share_needs_a_known_number_of_rows():
    """Without one it is 0."""
    found = [Progress(3, 0, 4, 1.0), Progress(3, 0, None, 1.0), Progress(0, 0, 0, 1.0)]

    assert [0.75, 0.0, 0.0] == [each.share for each in found]


class Terminal(io.StringIO):
    """Error output, of a terminal or of a file."""

    is_terminal = True

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.is_terminal


def test_a_line_of_a_terminal_is_overwritten(monkeypatch):
    """A shorter text leaves nothing of a longer one."""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    line = TerminalLine("m")
    line(0.0, "a")
    line(0.5, "b" * 100)
    line.end()

    first, second = f"{'m: a':79}", f"50% m: {'b' * 72}"
    assert f"\r{first}\r{second}\n" == terminal.getvalue()
    assert [79, 79] == [len(first), len(second)]


def test_progress_is_shown_from_half_a_second_on(monkeypatch):
    """One place is opened for an evaluation, and none for a short one."""
    opened, shown = [], []

    class Place:
        def __call__(self, share, text):
            shown.append((share, text))

        def end(self):
            shown.append("end")

    def make(name):
        opened.append(name)
        return Place()

    monkeypatch.setattr(progress.displays, "make", make)
    short, long = ShownProgress("short"), ShownProgress("long")
    short(Progress(1, 0, 4, 0.49))
    short.end()
    for rows, seconds in ((1, 0.49), (2, 0.5), (4, 1.0)):
        long(Progress(rows, 0, 4, seconds))
    long.end()

    assert ["long"] == opened
    assert [(0.5, "2 of 4 rows, 4/s, 0 s left"), (1.0, "4 of 4 rows, 4/s"), "end"] == (
        shown
    )


def test_progress_needs_a_terminal(monkeypatch):
    """A file, and a program without error output, get none."""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert isinstance(Displays().open("m"), TerminalLine)
    terminal.is_terminal = False
    assert Displays().open("m") is None
    monkeypatch.setattr(sys, "stderr", None)
    assert Displays().open("m") is None
