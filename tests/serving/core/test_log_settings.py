"""Log settings as clients change them."""

from __future__ import annotations

import pytest

from blsnb.engine.model_log import ModelLog
from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.log_settings import LogSettings


@pytest.fixture
def settings() -> LogSettings:
    """The settings at the start."""
    return LogSettings(ModelLog(0), "a.log")


def test_settings_have_tritons_names_and_order(settings: LogSettings) -> None:
    """Each level can be switched off."""
    settings.switch("log_warning", False)
    settings.set_format("ISO8601")
    settings.set_verbose_level(2)

    assert [
        ("log_file", "a.log"),
        ("log_info", True),
        ("log_warning", False),
        ("log_error", True),
        ("log_verbose_level", 2),
        ("log_format", "ISO8601"),
    ] == list(settings.get().items())


@pytest.mark.parametrize(
    ("level", "kept"),
    [
        (2**31 - 1, 2**31 - 1),
        (2**31, 0),
        (2**32 - 1, 0),
        (2**32, 0),
        (2**32 + 1, 1),
        (-1, 0),
    ],
)
def test_a_verbose_level_has_32_bits(
    settings: LogSettings, level: int, kept: int
) -> None:
    """A negative one is 0."""
    settings.set_verbose_level(level)

    assert kept == settings.get()["log_verbose_level"] == settings.log.verbose


def test_refusals_have_tritons_texts(settings: LogSettings) -> None:
    """Nothing changes."""
    with pytest.raises(RequestError) as unknown:
        settings.set_format("iso8601")
    with pytest.raises(RequestError) as file:
        settings.refuse_file()

    assert ("UNAVAILABLE", "invalid argument for --log_format, got: iso8601") == (
        unknown.value.code,
        unknown.value.message,
    )
    assert (
        "UNSUPPORTED",
        "log file location can not be updated through network protocol",
    ) == (file.value.code, file.value.message)
    assert ("a.log", "default") == (
        settings.get()["log_file"],
        settings.get()["log_format"],
    )
