"""Specification of the memory that reading may use."""

import gzip
import io
import json

import pytest

from blsnb.files.read_budget import (
    MAX_BYTES,
    MIN_BYTES,
    RATIO,
    Inflated,
    ReadBudget,
    ReadLimitError,
    json_cost,
    limit_of,
)
from blsnb.options import options


@pytest.mark.parametrize(
    ("size", "limit"),
    [
        (0, MIN_BYTES),
        (MIN_BYTES // RATIO, MIN_BYTES),
        (MIN_BYTES // RATIO + 1, MIN_BYTES + RATIO),
        (MAX_BYTES // RATIO, MAX_BYTES),
        (MAX_BYTES, MAX_BYTES),
    ],
)
def test_the_limit_is_a_multiple_of_the_size_within_bounds(size, limit):
    """It is 64 times the size, at least 1 MiB and at most 256 MiB."""
    assert (64, 1 << 20, 256 << 20) == (RATIO, MIN_BYTES, MAX_BYTES)
    assert limit == limit_of(size)


def test_the_option_replaces_the_limit(monkeypatch):
    """For files of every size."""
    monkeypatch.setattr(options, "read_limit_bytes", 7)

    assert [7, 7] == [limit_of(0), limit_of(MAX_BYTES)]


def test_spent_bytes_reduce_the_budget_until_they_are_released():
    """A check alone does not; the error names the file's size and the limit."""
    budget = ReadBudget(1234, "the body", limit=10)
    budget.check(10)
    budget.spend(6)
    budget.check(4)
    with pytest.raises(ReadLimitError) as exceeded:
        budget.spend(5)
    budget.release(6)
    budget.spend(10)

    assert (
        "reading the body of 1,234 bytes would take more than 10 bytes of memory; to "
        "allow more, set blsnb.options.read_limit_bytes (on a command line: "
        "--read-limit-bytes)"
    ) == str(exceeded.value)


def test_a_stream_is_read_up_to_the_limit():
    """What was read is spent."""
    content = bytes(range(256)) * 1000
    budget = ReadBudget(1, "the file", limit=2 * len(content))

    assert content == budget.read(io.BytesIO(content))
    assert content == budget.read(Inflated(gzip.compress(content)))
    with pytest.raises(ReadLimitError):
        budget.read(io.BytesIO(b"x"))


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("1", 2),
        ("é", 8),
        (b"\\u00e9", 48),
        ("[]", 4 + 86 - 64),
        ("{}", 4 + 240 - 176),
        ('""', 4 + 30 - 30),
        ("[1,2]", 10 + 86 + 39),
        ('{"a":1}', 14 + 240 + 30 + 160),
    ],
)
def test_the_cost_of_a_json_text_depends_on_its_punctuation(text, cost):
    """Characters count twice, and four times as much if any is not ASCII."""
    assert cost == json_cost(text)
    if isinstance(text, str):
        assert cost == json_cost(text.encode()) or not text.isascii()


def test_the_json_text_of_a_body_is_spent():
    """Before it is parsed."""
    text = json.dumps([0] * 100)
    budget = ReadBudget(len(text), "the body", limit=json_cost(text))
    budget.spend_json(text)

    with pytest.raises(ReadLimitError):
        budget.check(1)


@pytest.mark.parametrize(
    ("damage", "whole"),
    [
        (lambda data: data, True),
        (lambda data: data[:-1], False),
        (lambda data: data + b"x", False),
        (lambda data: data[:20] + bytes(20) + data[40:], False),
    ],
    ids=["none", "cut", "extended", "overwritten"],
)
def test_only_undamaged_data_is_whole(damage, whole):
    """Reading damaged data ends without an error, piece by piece."""
    content = bytes(range(256))
    inflated = Inflated(damage(gzip.compress(content)))
    pieces = list(iter(lambda: inflated.read(100), b""))

    assert whole == inflated.whole
    assert max(map(len, pieces), default=0) <= 100
