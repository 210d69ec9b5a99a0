"""Specification of the values of options of load tests."""

from argparse import ArgumentTypeError

import pytest

from blsnb.magics.load_tests import choices

TIME = "is not a time such as 5s or 500ms"
DURATION = "is not a time of more than 0s and at most 1440m"
LIMIT = "is not a time with a unit such as 50ms or 1s"
RATES = (
    "is not a list or a range of requests per second such as 50,100,200 or 50:400 "
    "or 50:400:50"
)
NUMBERS = "is not a model with numbers, such as a=1..4 or a=1,4,8"
DELAYS = "is not a model with times, such as a=0,500us,2ms"
SHARES = "is not a list of priorities with shares, such as 1=20%,2=80%"


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (choices.seconds, "5", 5),
        (choices.seconds, "2.5s", 2.5),
        (choices.seconds, "500ms", 0.5),
        (choices.duration_s, "1440m", 86_400),
        (choices.limit_s, "50ms", 0.05),
        (choices.rates, "50,100", (50, 100)),
        (choices.rates, "50:400:150", (50, 200, 350, 400)),
        (choices.rates, "50:350:150", (50, 200, 350)),
        (choices.rates, "100:800", (100, 275, 450, 625, 800)),
        (choices.counts, "1,2,4", (1, 2, 4)),
        (choices.numbers, "a=2..4", ("a", [2, 3, 4])),
        (choices.numbers, "a=4..4", ("a", [4])),
        (choices.numbers, "a=1,8", ("a", [1, 8])),
        (choices.numbers, "a=1..100", ("a", [*range(1, 101)])),
        (choices.delays, "a=0,500us,2ms,1s,.5µs", ("a", [0, 500, 2000, 10**6, 0])),
        (choices.shares, "1=20%,2=0.8", {1: 0.2, 2: 0.8}),
    ],
)
def test_a_value_is_read(read, text, value):
    """Times are in seconds, or microseconds for a model's delay."""
    assert value == read(text)


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (choices.seconds, "5h", TIME),
        (choices.duration_s, "0s", DURATION),
        (choices.duration_s, "1441m", DURATION),
        (choices.limit_s, "50", LIMIT),
        (choices.limit_s, "0ms", LIMIT),
        (choices.rates, "x", RATES),
        (choices.rates, "5:5", RATES),
        (choices.rates, "1:9:0", RATES),
        (choices.counts, "1,x", "is not a list of numbers such as 1,2,4"),
        (choices.numbers, "a", NUMBERS),
        (choices.numbers, "=1,2", NUMBERS),
        (choices.numbers, "=1..2", NUMBERS),
        (choices.numbers, "a=4..1", NUMBERS),
        (choices.numbers, "a=1..101", NUMBERS),
        (choices.delays, "a=1h", DELAYS),
        (choices.delays, "=1", DELAYS),
        (choices.shares, "1=x", SHARES),
    ],
)
def test_another_value_is_an_error_with_an_example(read, text, said):
    """The error has the value as it was typed."""
    with pytest.raises(ArgumentTypeError) as caught:
        read(text)

    assert f"{text!r} {said}" == str(caught.value)


def test_a_range_has_a_maximum_of_rates():
    """A step that is too small is an error before the list is made."""
    assert 100 == len(choices.rates("1:100:1"))
    with pytest.raises(ArgumentTypeError):
        choices.rates("1:101:1")
