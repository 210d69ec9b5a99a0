"""Errors that users see: their texts, their defaults, and what survives a copy."""

from __future__ import annotations

import pickle

import pytest

from blsnb.errors import (
    BackendError,
    InferenceError,
    MissingOutputError,
    ModelConfigError,
    ModelLoadError,
    OutOfResourcesError,
    RequestInterrupted,
    ServerClosedError,
    TritonServerError,
    WouldHang,
)

TEXTS = [
    (InferenceError("no"), "[INTERNAL] no"),
    (WouldHang("no", "X", advice="wait"), "[X] no\n\nwait"),
    (OutOfResourcesError("no"), "[RESOURCE_EXHAUSTED] no"),
    (MissingOutputError("no 'Y'"), "no 'Y'"),
    (ModelLoadError("no"), "no"),
    (ModelLoadError("no", reason="why", advice="do"), "no\n\nwhy\n\ndo"),
    (ModelLoadError("no: why", reason="why", advice="do"), "no: why\n\ndo"),
    (ModelConfigError("no"), "no"),
    (ModelConfigError("no", advice="do"), "no\n\ndo"),
    (BackendError("no", advice="do"), "no"),
    (ServerClosedError(), "the server was closed; make a new blsnb.Server()"),
    (ServerClosedError("forked"), "forked"),
    (TritonServerError("no"), "no"),
    (TritonServerError("no", advice="do"), "no\n\ndo"),
    (TritonServerError("no", "log", "do"), "no\n\nlog\n\ndo"),
]
FIELDS = [
    (InferenceError("m"), {"code": "INTERNAL", "run": None, "advice": ""}),
    (
        ModelLoadError("m"),
        {
            "code": "INVALID_ARG",
            "reason": "",
            "advice": "",
            "stage": "create",
            "reasons": None,
        },
    ),
    (
        ModelConfigError("m"),
        {"stage": "poll", "code": "INVALID_ARG", "advice": ""},
    ),
    (TritonServerError("m"), {"log": "", "advice": ""}),
    (BackendError("m"), {"text": "m", "code": "INTERNAL", "advice": ""}),
]


@pytest.mark.parametrize(("error", "text"), TEXTS)
def test_an_error_shows_its_text_and_its_advice(error, text):
    """A reason that the text has is not repeated."""
    assert text == str(error)


@pytest.mark.parametrize(("error", "fields"), FIELDS)
def test_an_error_has_the_fields_of_most_errors_of_its_class(error, fields):
    """They are those that Triton gives most of them."""
    message = {} if "text" in fields else {"message": "m"}
    assert message | fields == vars(error)


def test_a_copy_of_an_error_lacks_only_its_run():
    """The run belongs to a server of this process."""
    error = WouldHang("m", "X", run=object(), advice="do")
    copied = pickle.loads(pickle.dumps(error))

    assert WouldHang is type(copied)
    assert vars(error) | {"run": None} == vars(copied)
    assert str(error) == str(copied)


def test_clients_of_jupyter_recognise_an_interrupt():
    """They compare the name of the class."""
    assert "KeyboardInterrupt" == RequestInterrupted.__name__
