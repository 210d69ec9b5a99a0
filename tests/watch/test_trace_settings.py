"""Specification of trace settings of a server, as text."""

import pytest

from blsnb.watch.trace_settings import described

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
            "50 more requests",
        ),
    ],
)
def test_settings_are_one_line(changed, expected):
    """A server writes -1 where every request is traced."""
    assert expected == described({**READ, **changed})
