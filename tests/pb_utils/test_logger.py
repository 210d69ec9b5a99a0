"""Specification of a model's log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from blsnb.pb_utils.backend import UnboundBackend
from blsnb.pb_utils.logger import bound_logger, server_event


class Backend(UnboundBackend):
    """A backend that keeps what is logged."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def log(self, level: str, text: str, place: tuple[str, int] | None = None) -> None:
        """Keep a line."""
        self.lines.append((level, text))


def test_each_function_has_a_level() -> None:
    """`log` has the level INFO unless it is given."""
    backend = Backend()
    logger: Any = bound_logger(backend)
    logger.log("a")
    logger.log("b", logger.WARNING)
    logger.log(level=logger.VERBOSE, message="c")
    logger.log_info("d")
    logger.log_warn("e")
    logger.log_error(b"f\xff")
    logger.log_verbose(message="g")

    assert [
        ("INFO", "a"),
        ("WARNING", "b"),
        ("VERBOSE", "c"),
        ("INFO", "d"),
        ("WARNING", "e"),
        ("ERROR", "f\ufffd"),
        ("VERBOSE", "g"),
    ] == backend.lines


@pytest.mark.parametrize(
    ("name", "arguments", "signature"),
    [
        (
            "log",
            ("a", 0),
            "(message: str, level: c_python_backend_utils.Logger.LogLevel = "
            "<LogLevel.INFO: 0>) -> None",
        ),
        ("log_info", (1,), "(message: str) -> None"),
        ("log_warn", (), "(message: str) -> None"),
        ("log_error", ("a", "b"), "(message: str) -> None"),
        ("log_verbose", (None,), "(message: str) -> None"),
    ],
)
def test_other_arguments_are_refused(
    name: str, arguments: tuple[Any, ...], signature: str
) -> None:
    """A number is no level."""
    backend = Backend()
    with pytest.raises(TypeError) as caught:
        getattr(bound_logger(backend), name)(*arguments)

    assert (
        f"{name}(): incompatible function arguments. The following argument types are "
        f"supported:\n    1. {signature}\n\nInvoked with: "
        f"{', '.join(map(repr, arguments))}"
    ) == str(caught.value)
    assert [] == backend.lines


def test_an_event_has_its_severity(caplog: pytest.LogCaptureFixture) -> None:
    """Its level is INFO, and its place that of the caller."""
    with caplog.at_level(logging.INFO, "blsnb.server"):
        server_event("E", "%s of %s", 1, 2)
    [record] = caplog.records

    assert ("1 of 2", logging.INFO, "test_logger.py") == (
        record.getMessage(),
        record.levelno,
        record.filename,
    )
    assert "E" == vars(record)["triton_severity"]
