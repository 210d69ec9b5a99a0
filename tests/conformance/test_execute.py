"""What becomes of the things that `execute` raises and returns."""

import re

import pytest

from .asking import ask, texts
from .targets import REPOSITORIES


def ways_of(model: str) -> list[str]:
    """Name the methods of a model that take requests, but not its hooks."""
    source = (REPOSITORIES / model / "1" / "model.py").read_text()
    found = re.findall(r"    (?:async )?def (\w+)\((?:self, )?requests", source)
    return [name for name in found if name not in ("execute", "error_of_code")]


CODES = [
    "UNKNOWN",
    "INTERNAL",
    "NOT_FOUND",
    "INVALID_ARG",
    "UNAVAILABLE",
    "UNSUPPORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
]


@pytest.mark.parametrize("how", ways_of("failing"))
def test_execute_ends_in_some_way(agree, how):
    """The client gets Triton's words for every exception, return value and response."""
    agree(
        lambda target: ask(target, "failing", HOW=texts(how)),
        # Its frames are those of concurrent.futures and threading.
        python_speaks=how == "in_a_thread",
    )


@pytest.mark.parametrize("how", [f"error_{code}" for code in CODES])
def test_an_error_has_a_code_and_exactly_its_message(agree, how):
    """Each code of TritonError arrives as its status, its message without a prefix."""
    agree(lambda target: ask(target, "failing", HOW=texts(how)))


@pytest.mark.parametrize("how", [*ways_of("failing_async"), "no_such_way"])
def test_async_execute_ends_in_some_way(agree, how):
    """A coroutine's exceptions and return values are told like those of a function."""
    agree(
        lambda target: ask(target, "failing_async", HOW=texts(how)),
        # The frames of these two are those of concurrent.futures.
        python_speaks=how in ("cancelled", "timeout"),
    )


def test_a_class_without_execute_fails_at_each_request(agree):
    """A model without `execute` loads, and each request says what is missing."""
    agree(lambda target: [ask(target, "no_execute", HOW=texts("x")) for _ in "12"])


def test_a_failed_request_leaves_the_model_usable(agree):
    """After an exception the next request is answered."""

    def case(target):
        return [
            ask(target, "failing", HOW=texts(how))
            for how in ("value_error", "nothing_wrong")
        ]

    agree(case)
