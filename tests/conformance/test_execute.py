"""Exceptions and return values of `execute`."""

import re

import pytest

from .asking import ask, run, texts
from .covering import rows
from .targets import REPOSITORIES


def ways_of(model: str) -> list[str]:
    """Return the methods of a model that receive requests, without hooks."""
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


@rows(
    {
        "nothing_wrong": "16.2/list-of-inferenceresponse-same-length",
        "too_many": "16.2/list-shorter-longer",
        "too_few": "16.2/list-shorter-longer",
        **dict.fromkeys(
            ["a_tuple", "a_response", "a_text", "a_number", "a_dict"],
            "16.2/tuple-str-int-dict-a-single",
        ),
        "list_of_numbers": "16.2/element-of-other-type",
        "list_of_requests": "16.2/element-of-other-type",
        "an_async_generator": "17/return-value",
        "error_and_output": "5/both-tensors-and-error",
    }
)
@rows(
    {
        "value_error": "r3.4/raises",
        "too_few": "r3.4/returns-a-list-of-wrong-length",
        "list_of_numbers": "r3.4/list-item-of-other-type",
        "error_default": "r3.4/inferenceresponse-error-tritonerror-msg",
    }
)
@pytest.mark.parametrize("how", ways_of("failing"))
def test_execute_ends_in_some_way(agree, how):
    """The client gets Triton's words for every exception, return value and response."""
    agree(
        lambda target: ask(target, "failing", HOW=texts(how)),
        # Its frames are those of concurrent.futures and threading.
        python_speaks=how == "in_a_thread",
    )


@rows({f"error_{code}": f"7/{code.lower()}" for code in CODES})
@rows(
    {
        "error_INVALID_ARG": "r6.1/invalid_arg",
        "error_NOT_FOUND": "r6.1/not_found",
        "error_INTERNAL": "r6.1/internal",
        "error_UNAVAILABLE": "r6.1/unavailable",
        "error_UNSUPPORTED": "r6.1/unsupported",
        "error_UNKNOWN": "r6.1/unknown-already_exists-cancelled",
        "error_ALREADY_EXISTS": "r6.1/unknown-already_exists-cancelled",
        "error_CANCELLED": "r6.1/unknown-already_exists-cancelled",
    }
)
@pytest.mark.parametrize("how", [f"error_{code}" for code in CODES])
def test_an_error_has_a_code_and_exactly_its_message(agree, how):
    """Each code of TritonError arrives as its status, its message without a prefix."""
    agree(lambda target: ask(target, "failing", HOW=texts(how)))


@rows({"value_error": "17/exception", "too_few": "17/return-value"})
@pytest.mark.parametrize("how", [*ways_of("failing_async"), "no_such_way"])
def test_async_execute_ends_in_some_way(agree, how):
    """Exceptions and values of a coroutine are handled like those of a function."""
    agree(
        lambda target: ask(target, "failing_async", HOW=texts(how)),
        # The frames of these two are those of concurrent.futures.
        python_speaks=how in ("cancelled", "timeout"),
    )


@rows("15.5/missing-execute")
def test_a_class_without_execute_fails_at_each_request(agree):
    """A model without `execute` loads, and each request reports the missing method."""
    agree(lambda target: [ask(target, "no_execute", HOW=texts("x")) for _ in "12"])


def test_a_failed_request_leaves_the_model_usable(agree):
    """After an exception the next request succeeds."""

    def case(target):
        return [
            ask(target, "failing", HOW=texts(how))
            for how in ("value_error", "nothing_wrong")
        ]

    agree(case)


TEXTS = """
import sys, tempfile
path = tempfile.mktemp()
with open(path, "wb") as file:
    file.write(b"h" + bytes([0xc3, 0xa9]))

def used(mode="r", **options):
    with open(path, mode, **options) as file:
        return file.write("h\\xe9") if mode == "w" else file.read()

"""
ASCII = {
    "print": 'trial(lambda: print("a", "h\\xe9", end=""))',
    "bytes that are no text": 'trial(lambda: print("h\\udce9"))',
    "print to another file": 'trial(lambda: print("h\\xe9", file=sys.stderr))',
    "a file to read": "trial(used)",
    "a file to write": 'trial(lambda: used("w"))',
    "an encoding": 'trial(lambda: used(encoding="utf-8"))',
    "another error handler": 'trial(lambda: used(errors="replace"))',
    "bytes": 'trial(lambda: used("rb"))',
}


@pytest.mark.parametrize("code", ASCII.values(), ids=ASCII)
def test_text_is_ascii_unless_an_encoding_is_given(agree, code):
    """So it is in the processes of models, in every locale."""
    agree(lambda target: run(target, f"{TEXTS}{code}\nimport os; os.remove(path)"))
