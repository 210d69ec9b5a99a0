"""Members of the compiled enumerations, as values."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from asserting import some

from blsnb.pb_utils.compiled.enums import ErrorCode, LogLevel, MemoryType, MetricKind

NUMBERS: dict[Any, list[str]] = {
    ErrorCode: [
        "UNKNOWN",
        "INTERNAL",
        "NOT_FOUND",
        "INVALID_ARG",
        "UNAVAILABLE",
        "UNSUPPORTED",
        "ALREADY_EXISTS",
        "CANCELLED",
    ],
    LogLevel: ["INFO", "WARNING", "ERROR", "VERBOSE"],
    MemoryType: ["TRITONSERVER_MEMORY_GPU", "TRITONSERVER_MEMORY_CPU"],
    MetricKind: ["COUNTER", "GAUGE", "HISTOGRAM"],
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_members_are_numbered_by_their_position(kind: Any) -> None:
    """They are attributes, values of a number, and entries of the members."""
    names = NUMBERS[kind]
    assert names == list(kind.__members__)
    for number, name in enumerate(some(names)):
        member = getattr(kind, name)
        assert (name, number, number, hash(number)) == (
            member.name,
            member.value,
            int(member),
            hash(member),
        )
        assert member == kind(number) == number
        assert f"{kind.__name__}.{name}" == str(member)
        assert f"<{kind.__name__}.{name}: {number}>" == repr(member)


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_pickled_member_is_restored(kind: Any) -> None:
    """It has the same number, and the same enumeration."""
    for member in some(kind.__members__.values()):
        again = pickle.loads(pickle.dumps(member))
        assert (kind, member.value) == (type(again), again.value)
