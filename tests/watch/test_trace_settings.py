"""Specification of trace settings of a server, as text."""

from typing import Any

import pytest

from blsnb.errors import TritonServerError
from blsnb.watch.trace_settings import RemoteTraceSettings, described

READ = {
    "trace_mode": "opentelemetry",
    "trace_level": ["TIMESTAMPS"],
    "trace_rate": "7",
    "trace_count": "-1",
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "mode opentelemetry, level TIMESTAMPS, 1 of 7 requests, no limit"),
        (
            {"trace_count": "50", "trace_level": ["TIMESTAMPS", "TENSORS"]},
            "mode opentelemetry, level TIMESTAMPS, TENSORS, 1 of 7 requests, "
            "at most 50 more",
        ),
        (
            {"trace_count": "1"},
            "mode opentelemetry, level TIMESTAMPS, 1 of 7 requests, at most 1 more",
        ),
        (
            dict.fromkeys(READ),
            "mode None, level None, 1 of None requests, at most None more",
        ),
    ],
)
def test_settings_are_one_line(changed, expected):
    """A server writes -1 where every request is traced."""
    assert expected == described({**READ, **changed})


def test_what_a_server_does_not_say_is_unknown():
    """Other releases may have other settings."""
    assert "mode unknown, level , 1 of ? requests, at most  more" == described({})


class Answers:
    """A server whose settings are known, and that notes the changes."""

    name = "the server at http://a:1"

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self.sent: list[Any] = []

    def read(self, path: str, changes: Any) -> Any:
        """Note the path and the changes."""
        self.sent.append((path, changes))
        return self._settings


def settings_of(found: Any) -> tuple[Any, Answers]:
    """Return the settings of a server, and the server."""
    settings = RemoteTraceSettings("http://a:1")
    settings._http = answers = Answers(found)
    return settings, answers


@pytest.mark.parametrize(
    ("changes", "sent"),
    [
        ({"rate": 1}, {"trace_rate": "1"}),
        ({"level": "off"}, {"trace_level": ["OFF"]}),
        ({"level": "TIMESTAMPS"}, {"trace_level": ["TIMESTAMPS"]}),
        (
            {"rate": 5, "level": "tensors", "count": 0},
            {"trace_rate": "5", "trace_level": ["TENSORS"], "trace_count": "0"},
        ),
        ({"count": -1}, {"trace_count": "-1"}),
        ({}, None),
    ],
)
def test_changes_are_sent_as_the_server_expects_them(changes, sent):
    """All settings are returned, also where none changes."""
    settings, server = settings_of(READ)

    assert READ == settings.change(**changes)
    path = "/v2/trace/setting"
    assert [(path, None), (path, sent)] == server.sent


def test_an_answer_of_another_form_has_no_settings():
    """Something else may listen at the address."""
    settings, _ = settings_of([])

    assert {} == settings.read()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rate": 0}, "rate=0 is not valid; expected 1 or more"),
        ({"count": -2}, "count=-2 is not valid; expected -1 or more"),
        (
            {"level": "all"},
            "level='all' is not valid; expected 'OFF', 'TIMESTAMPS', 'TENSORS'",
        ),
    ],
)
def test_what_a_running_server_would_ignore_is_refused(change, text):
    """The text has the value; nothing is sent."""
    settings, server = settings_of(READ)
    with pytest.raises(ValueError, match=r".") as refused:
        settings.change(**change)

    assert (text, []) == (str(refused.value), server.sent)


def test_a_server_in_another_mode_is_refused():
    """It would write a file."""
    settings, server = settings_of(READ | {"trace_mode": "triton"})
    with pytest.raises(TritonServerError) as refused:
        settings.change(rate=1)

    assert (
        "the server at http://a:1 does not send OpenTelemetry spans. The mode can only "
        "be set when the server is started: --trace-config mode=opentelemetry. A "
        "running server accepts a change and ignores it."
    ) == str(refused.value)
    assert 1 == len(server.sent)
