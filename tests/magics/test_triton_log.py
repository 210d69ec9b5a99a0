"""Specification of what models log."""

import logging
import os
import re
import time

import pytest

from blsnb.serving.server_log import TritonFormatter

from .models import DOUBLE, infer

LINE = re.compile(
    r'([WE])(\d{4}) (\d\d:\d\d:\d\d\.\d{6}) (\d+) model\.py:(\d+)\] (".*")\n'
)


def logging_model(call):
    return DOUBLE.replace(
        "        answers = []\n",
        f"        pb_utils.Logger.{call}\n        answers = []\n",
    )


@pytest.mark.parametrize(("call", "level"), [("log_warn", "W"), ("log_error", "E")])
def test_warnings_and_errors_reach_stderr_in_tritons_format(notebook, call, level):
    """Lines have level, time, process, file, line and escaped message."""
    notebook.run(logging_model(call + "('a \"b\"\\nc')"))
    written = notebook.run(infer("double")).stderr

    found = LINE.fullmatch(written)
    assert (level, time.strftime("%m%d"), str(os.getpid()), "6") == (
        found[1],
        found[2],
        found[4],
        found[5],
    )
    assert r'"a \"b\"\nc"' == found[6]


@pytest.mark.parametrize("call", ["log_info", "log_verbose"])
def test_other_levels_are_not_printed(notebook, call):
    """They are in the call's record and in Python's logging."""
    notebook.run(logging_model(call + "('a')"))

    assert "" == notebook.run(infer("double")).stderr


def test_lines_reach_pythons_logging(notebook, caplog):
    """The logger is named after the model."""
    caplog.set_level(logging.INFO, "blsnb.model")
    notebook.run(logging_model("log_info('hello')"))
    notebook.run(infer("double"))

    assert [("blsnb.model.double", logging.INFO, "hello")] == caplog.record_tuples


def test_a_line_of_another_logger_has_its_own_place():
    """The location is that of the code that logged."""
    record = logging.LogRecord(
        "blsnb.model.m", logging.WARNING, "/x/helper.py", 7, "n = %d", (3,), None
    )

    assert TritonFormatter().format(record).endswith('helper.py:7] "n = 3"')
