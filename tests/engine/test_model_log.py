"""Log lines of models, and where they were written."""

from __future__ import annotations

import logging
import sys

import pytest

import blsnb
from blsnb.engine.model_log import ModelLog, ModelLogLine, keep_line, log_position
from blsnb.trace.events import Call, ModelInfo

KEPT_OF_A_CALL = 1000
KEPT = 10_000
MODEL = ModelInfo("m", 1, "python", "cpu", "m", "")


def a_call(number: int, parent: Call | None) -> Call:
    """Return a call that starts at a time of its own."""
    call = Call(MODEL, parent, number)
    call.request_start_ns = 100 + number
    return call


def test_its_text_counts_the_lines():
    """As `server.log` shows it."""
    log = ModelLog(0)
    log.note("m", "INFO", "text")

    assert "<ModelLog: 1 line>" == repr(log)


def test_only_the_first_lines_of_a_call_are_kept():
    """The last one says so."""
    call = a_call(0, None)
    for number in range(KEPT_OF_A_CALL + 3):
        keep_line(call, "WARNING", f"{number}\n")

    lines = [(line.level, line.text) for line in call.logs]
    first = [("WARNING", f"{number}\n") for number in range(KEPT_OF_A_CALL)]
    assert [*first, ("INFO", "only the first 1000 lines are kept\n")] == lines
    assert sorted(call.logs) == call.logs


@pytest.mark.parametrize(
    ("level", "severity"),
    [
        ("VERBOSE", logging.INFO),
        ("INFO", logging.INFO),
        ("WARNING", logging.WARNING),
        ("ERROR", logging.ERROR),
    ],
)
def test_a_line_of_a_model_is_kept_and_logged(caplog, level, severity):
    """It has the start of its run, and the name of its file without the folder."""
    caplog.set_level("DEBUG", "blsnb.model")
    log = ModelLog(verbose=1)
    root = a_call(0, None)
    call = a_call(2, a_call(1, root))
    log.write("m", level, "a %s\n", "/x/model.py", 7, call)
    log.write("m", level, "b", "/x/model.py", 8)
    log.note("m", level, "c")

    assert [
        ModelLogLine("m", level, "a %s\n", 100, 2),
        ModelLogLine("m", level, "b", 0, -1),
        ModelLogLine("m", level, "c", 0, -1),
    ] == [*log.lines]
    assert 3 == log.count
    assert [("blsnb.model.m", severity, text) for text in ("a %s\n", "b", "c")] == [
        (each.name, each.levelno, each.getMessage()) for each in caplog.records
    ]
    assert [level] * 3 == [each.triton_level for each in caplog.records]
    *written, note = caplog.records
    assert ["model.py:7", "model.py:8"] == [each.triton_place for each in written]
    assert note.is_note


def test_verbose_lines_are_only_kept_on_demand(caplog):
    """Others are."""
    log = ModelLog(verbose=0)
    log.write("m", "VERBOSE", "a", "model.py", 7)
    assert (0, 0, []) == (len(log.lines), log.count, caplog.records)
    log.write("m", "INFO", "b", "model.py", 7)
    assert (1, 1) == (len(log.lines), log.count)


def test_the_latest_lines_are_kept():
    """All are counted."""
    log = ModelLog(verbose=0)
    for number in range(KEPT + 2):
        log.write("m", "INFO", str(number), "model.py", 7)

    assert (KEPT, "2", KEPT + 2) == (len(log.lines), log.lines[0].text, log.count)


def test_a_line_has_the_place_of_its_caller():
    """It is the innermost one that is not blsnb's."""
    assert (__file__, sys._getframe().f_lineno) == log_position()
    ours = compile("def call(work): return work()", blsnb.__file__, "exec")
    exec(ours, names := {})
    assert (__file__, sys._getframe().f_lineno) == names["call"](log_position)
