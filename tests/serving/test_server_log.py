"""Lines of the server's log: their format, and which are written."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

import pytest

from blsnb.engine.model_log import ModelLog
from blsnb.serving.core.log_settings import LogSettings
from blsnb.serving.server_log import ServerLog, TritonFormatter, level_of

MOMENT_S = 1_700_000_000.25


def record(level: int = logging.INFO, **more: object) -> logging.LogRecord:
    """Return a record of a file's line."""
    place = {"filename": "helper.py", "lineno": 7}
    facts = {"msg": "n = %d", "args": (3,), "levelno": level, "created": MOMENT_S}
    return logging.makeLogRecord({**place, **facts, **more})


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of this machine is that of UTC."""
    monkeypatch.setattr(time, "localtime", time.gmtime)


@pytest.mark.parametrize(
    ("iso", "start"),
    [(False, "W1114 22:13:20.250000"), (True, "2023-11-14T22:13:20Z W")],
)
def test_a_line_has_tritons_format(utc: None, iso: bool, start: str) -> None:
    """Level, time, process and place come before the message."""
    line = TritonFormatter(iso=iso).format(record(logging.WARNING))

    assert f'{start} {os.getpid()} helper.py:7] "n = 3"' == line


def test_the_message_is_escaped_and_followed_by_its_exception(utc: None) -> None:
    """A line stays one line, and keeps letters."""
    try:
        raise ValueError("grün")
    except ValueError:
        info = sys.exc_info()
    line = TritonFormatter().format(
        record(exc_info=info, triton_place="model.py:1", msg="a\nb", args=())
    )
    head, _, text = line.partition("] ")

    assert f"I1114 22:13:20.250000 {os.getpid()} model.py:1" == head
    assert text.startswith('"a\\nb\\nTraceback (most recent call last):\\n')
    assert text.endswith('ValueError: grün"')


@pytest.mark.parametrize(
    ("level", "letter"),
    [
        (logging.CRITICAL, "E"),
        (logging.ERROR, "E"),
        (logging.ERROR - 1, "W"),
        (logging.WARNING, "W"),
        (logging.WARNING - 1, "I"),
        (logging.DEBUG, "I"),
    ],
)
def test_a_level_has_a_letter(level: int, letter: str) -> None:
    """Python's levels are limits."""
    assert letter == level_of(record(level))
    assert "I" == level_of(record(level, triton_severity="I"))


def test_a_file_has_the_levels_that_are_switched_on(tmp_path: Path) -> None:
    """Notes for notebooks are never written; what UTF-8 lacks is named."""
    path = tmp_path / "log"
    path.write_text("before\n")
    log = ServerLog(LogSettings(ModelLog(0)), str(path))
    try:
        log.settings.switch("log_warning", False)
        log.settings.set_format("ISO8601")
        log.emit(record(logging.WARNING))
        log.emit(record(logging.ERROR, is_note=True))
        log.emit(record(logging.ERROR, msg="\udcff", args=()))
        lines = path.read_text().splitlines()
    finally:
        log.close()

    line = f'2023-11-14T22:13:20Z E {os.getpid()} helper.py:7] "\u27e8U+DCFF\u27e9"'
    assert ["before", line] == lines
    assert logging.INFO == log.level


def test_without_a_file_lines_are_errors_of_the_process(
    utc: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, which may be replaced at any time."""
    log = ServerLog(LogSettings(ModelLog(0)))
    log.emit(record())
    log.close()

    line = f'I1114 22:13:20.250000 {os.getpid()} helper.py:7] "n = 3"\n'
    assert ("", line) == capsys.readouterr()
