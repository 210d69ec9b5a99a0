"""Values of the options of load tests: rates, times, numbers by model."""

from __future__ import annotations

import argparse
import re

_TO_S = {"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0}
_DAY_S = 86_400
_DURATION = r"(\d+\.?\d*|\.\d+)(ms|s|m|)"
_RATE_RANGE = r"([^:]+):([^:]+)(?::([^:]+))?"
_UNSTEPPED_RATES = 5
"""Number of rates in a range without a step."""
_MAX_RATES = 100
_NUMBER_RANGE = r"(\d+)\.\.(\d+)"
_MAX_NUMBERS = 100
_DELAY = r"(\d+\.?\d*|\.\d+)(us|µs|ms|s|)"
_SHARE = r"(\d+)=(\d+\.?\d*|\.\d+)(%?)"
_TO_US = {"": 1.0, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}


def seconds(text: str) -> float:
    """Return a time such as ``500ms`` in seconds."""
    found = re.fullmatch(_DURATION, text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 5s or 500ms")
    return float(found[1]) * _TO_S[found[2]]


def duration_s(text: str) -> float:
    """Return how long a level lasts in seconds: more than 0, at most a day."""
    found = seconds(text)
    if not 0 < found <= _DAY_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time of more than 0s and at most 1440m"
        )
    return found


def limit_s(text: str) -> float:
    """Return the limit of a latency in seconds; it has a unit, and is not 0."""
    found = re.fullmatch(_DURATION, text)
    if found is None or not found[2] or not float(found[1]):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time with a unit such as 50ms or 1s"
        )
    return seconds(text)


def rates(text: str) -> tuple[float, ...]:
    """Return requests per second: a list, or a range, perhaps with a step."""
    try:
        found = re.fullmatch(_RATE_RANGE, text)
        if found is None:
            return tuple(map(float, text.split(",")))
        return _spread(float(found[1]), float(found[2]), found[3])
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list or a range of requests per second such as "
            "50,100,200 or 50:400 or 50:400:50"
        ) from None


def _spread(first: float, last: float, step: str | None) -> tuple[float, ...]:
    """Return the rates of a range.

    Raises
    ------
    ValueError
        It has no rates, or too many.
    """
    width = (last - first) / (_UNSTEPPED_RATES - 1) if step is None else float(step)
    if not (first < last < float("inf") and width > 0):
        raise ValueError
    count = int((last - first) / width + 1e-9)
    if count >= _MAX_RATES:
        raise ValueError
    found = [first + number * width for number in range(count + 1)]
    return tuple(found) if found[-1] >= last else (*found, last)


def counts(text: str) -> tuple[int, ...]:
    """Return a list of numbers: ``1,2,4``."""
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of numbers such as 1,2,4"
        ) from None


def numbers(text: str) -> tuple[str, list[int]]:
    """Return a model and its numbers to compare: ``a=1..4`` or ``a=1,4,8``."""
    model, _, values = text.partition("=")
    found = re.fullmatch(_NUMBER_RANGE, values)
    try:
        if not model:
            raise ValueError
        if found is None:
            return model, [int(value) for value in values.split(",")]
        first, last = int(found[1]), int(found[2])
        if first <= last < first + _MAX_NUMBERS:
            return model, list(range(first, last + 1))
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a model with numbers, such as a=1..4 or a=1,4,8"
    )


def delays(text: str) -> tuple[str, list[int]]:
    """Return a model and its delays in microseconds: ``a=0,500us,2ms``."""
    model, _, values = text.partition("=")
    found = [re.fullmatch(_DELAY, value) for value in values.split(",")]
    if not model or None in found:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a model with times, such as a=0,500us,2ms"
        )
    return model, [round(float(each[1]) * _TO_US[each[2]]) for each in found if each]


def shares(text: str) -> dict[int, float]:
    """Return shares by priority, such as ``1=20%,2=80%``."""
    found = [re.fullmatch(_SHARE, each) for each in text.split(",")]
    if None in found:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of priorities with shares, such as 1=20%,2=80%"
        )
    return {
        int(each[1]): float(each[2]) * (0.01 if each[3] else 1.0)
        for each in found
        if each
    }
